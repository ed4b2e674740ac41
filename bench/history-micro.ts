/**
 * What the history of the configuration adds to a write on SQLite, at the level of the repository: the same writes on
 * two databases, one without history, in turns. Prints the median of each, their ratio, and the bytes that the history
 * takes:
 *
 *     node bench/history-micro.ts [rounds]
 *
 * The write path of a gateway also validates, compiles and publishes, which these figures do not include: the ratio
 * that a client sees is lower.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../src/lib/clock.ts';
import { HISTORY_DEFAULTS } from '../src/model/history/config-history.ts';
import type { ChangeSet } from '../src/model/config.ts';
import { SECRET_PLACES } from '../src/policy/secret-places.ts';
import type { ConfigWriter, Repository } from '../src/storage/repository.ts';
import { openSqlite } from '../src/storage/sqlite/sqlite.ts';
import { fillerRecords } from './database.ts';
import { newFolder } from './processes.ts';

const ENDPOINTS = 10_000;
/** The API inserts so many at once. */
const INSERTED_AT_ONCE = 500;
const SMALL_WRITES = 200;

interface Timing {
  readonly ms: number;
  /** Of the whole process; says more than `ms` on a machine with other work. */
  readonly cpuMs: number;
}

type Work = (repository: Repository) => Promise<void>;

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const folder = newFolder('history');
const rounds = Number(process.argv[2] ?? 5);
const records = fillerRecords({ endpoints: ENDPOINTS }, 9);
const [app] = records.apps;
if (app === undefined) throw new Error('there is no app to write');

async function write(
  repository: Repository,
  touched: Partial<ChangeSet>,
  work: (writer: ConfigWriter) => Promise<unknown>,
): Promise<void> {
  await repository.write(async (writer) => {
    await work(writer);
    return { value: undefined, touched: { appIds: [], versionIds: [], keyIds: [], ...touched } };
  });
}

const appIds = records.apps.map(({ id }) => id);
const WORKLOADS: readonly (readonly [string, Work])[] = [
  [
    `create ${ENDPOINTS} endpoints in one write`,
    (repository) =>
      write(repository, { appIds }, async (writer) => {
        for (const each of records.apps) await writer.insertApp(each);
        for (const each of records.versions) await writer.insertVersion(each);
        for (const each of records.revisions) await writer.insertRevision(each);
        for (let start = 0; start < records.endpoints.length; start += INSERTED_AT_ONCE) {
          await writer.insertEndpoints(records.endpoints.slice(start, start + INSERTED_AT_ONCE));
        }
      }),
  ],
  [
    `${SMALL_WRITES} writes that change one endpoint each`,
    async (repository) => {
      for (let index = 0; index < SMALL_WRITES; index++) {
        const endpoint = records.endpoints[index]!;
        const revision = records.revisions.find(({ id }) => id === endpoint.revision_id)!;
        const { version_id: versionId, id: revisionId } = revision;
        const endpoints = [{ versionId, revisionId, endpointId: endpoint.id }];
        await write(repository, { versionIds: [versionId], endpoints }, (writer) =>
          writer.updateEndpoint({ ...endpoint, is_active: false }),
        );
      }
    },
  ],
  [
    `change ${ENDPOINTS} endpoints in one write`,
    (repository) =>
      write(repository, { appIds }, async (writer) => {
        for (const each of records.endpoints)
          await writer.updateEndpoint({ ...each, path: `/new${each.path}` });
      }),
  ],
  [
    `delete ${ENDPOINTS} endpoints with their apps`,
    (repository) =>
      write(repository, { appIds }, async (writer) => {
        for (const id of appIds) await writer.deleteApp(id);
      }),
  ],
];

const open = (name: string, maxVersions: number): Promise<Repository> =>
  openSqlite({
    path: join(folder, `${name}.db`),
    autoMigrate: true,
    clock: systemClock,
    secretPlaces: SECRET_PLACES,
    history: { ...HISTORY_DEFAULTS, maxVersions },
  });

const timings = WORKLOADS.map(() => ({ without: [] as Timing[], with: [] as Timing[], bytes: 0 }));
try {
  for (let round = 0; round < rounds; round++) {
    const without = await open(`without-${round}`, 0);
    const kept = await open(`with-${round}`, HISTORY_DEFAULTS.maxVersions);
    for (const [index, [, work]] of WORKLOADS.entries()) {
      const timing = timings[index]!;
      const before = (await kept.historySize()).bytes;
      // Each comes first in every other round.
      for (const isKept of round % 2 === 0 ? [true, false] : [false, true]) {
        const [startedMs, startedUse] = [performance.now(), process.cpuUsage()];
        await work(isKept ? kept : without);
        const { user, system } = process.cpuUsage(startedUse);
        const one = { ms: performance.now() - startedMs, cpuMs: (user + system) / 1000 };
        timing[isKept ? 'with' : 'without'].push(one);
      }
      timing.bytes = (await kept.historySize()).bytes - before;
    }
    if (round === 0) await readBack(kept);
    await without.close();
    await kept.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const [index, [title]] of WORKLOADS.entries()) {
  const { without, with: kept, bytes } = timings[index]!;
  const figures = (['ms', 'cpuMs'] as const).map((unit) => {
    const [plain, history] = [median(without.map((one) => one[unit])), median(kept.map((one) => one[unit]))];
    const name = unit === 'ms' ? 'elapsed' : 'CPU';
    return `${name} ${plain.toFixed(1)} → ${history.toFixed(1)} ms (× ${(history / plain).toFixed(2)})`;
  });
  print(`${title}: ${figures.join(', ')}; ${bytes} bytes kept`);
}

/** How long it takes to rebuild and to remove what was written. */
async function readBack(repository: Repository): Promise<void> {
  let startedMs = performance.now();
  const states = await repository.read((reader) => reader.appsAt(1));
  print(
    `rebuild version 1 with ${ENDPOINTS} endpoints (${states?.length} apps): ${(performance.now() - startedMs).toFixed(0)} ms`,
  );
  startedMs = performance.now();
  const [{ id }] = [app!];
  await repository.read((reader) => reader.appsAt(1, id));
  print(`rebuild one of its apps: ${(performance.now() - startedMs).toFixed(0)} ms`);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
