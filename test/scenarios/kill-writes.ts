/**
 * Management writes, kill -9 in the middle of them, and a look at what is there after the restart. Each writer has an
 * app of its own and makes one change after the other, so what may be there is known: all that was acknowledged, and
 * of the one change that was under way either everything or nothing. Some changes touch several records, so that a
 * part of one would show. The snapshot file must be whole after each kill, never ahead of the database, and do in its
 * place.
 */
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSnapshotFile } from '../../src/control/fallback/snapshot-file.ts';
import { freePort } from '../support/backends/origin-process.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startLeanBackend } from '../support/clients/lean-client.ts';
import { sendRaw } from '../support/clients/raw-client.ts';
import { createRevision, createService, requestText } from '../support/traffic.ts';
import { until } from '../support/measure/until.ts';

export interface KillScenario {
  readonly rounds: number;
  /** Acknowledged writes of a round before the kill, at least. */
  readonly writesPerRound: number;
  readonly writers: number;
  /** After each so many rounds it is also started without its database. */
  readonly roundsPerFallback: number;
}

export interface KillOutcome {
  readonly acknowledged: number;
  /** That were there although the writer had no answer: they were under way. */
  readonly unacknowledged: number;
  /** What is wrong, in words. */
  readonly wrong: readonly string[];
  /** From the start command to the first request that was served, per round. */
  readonly servingMs: readonly number[];
}

const WORD = 'served';

export async function killDuringWrites(scenario: KillScenario): Promise<KillOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-kill-'));
  const backend = await startLeanBackend(() => WORD);
  const port = await freePort();
  const env = { GATEWAY_PROXY__PORT: String(port), GATEWAY_LOG__ACCESS: 'false' };
  const wrong: string[] = [];
  const servingMs: number[] = [];
  const writers = Array.from({ length: scenario.writers }, (_, index) => new Writer(index));
  let gateway: TestGateway | undefined;
  try {
    gateway = await startGateway({ folder, env });
    await createService(gateway, 'steady', backend.port);
    for (const writer of writers) await writer.begin(gateway, backend.port);
    await until(() => savedVersion(folder) !== undefined);
    for (let round = 1; round <= scenario.rounds; round++) {
      await writeAndKill(gateway, writers, scenario.writesPerRound);
      const saved = savedVersion(folder);
      if (round % scenario.roundsPerFallback === 0) {
        const putBack = moveDatabaseAway(folder);
        const starting = startGateway({ folder, env });
        await untilServed(port);
        gateway = await starting;
        const { status } = await gateway.api('PATCH', '/apps/steady', { description: 'lost' });
        if (status !== 503) wrong.push(`without its database PATCH /apps/steady is ${status}`);
        await gateway.kill();
        putBack();
      }
      const startedMs = performance.now();
      const next = startGateway({ folder, env });
      await untilServed(port);
      servingMs.push(performance.now() - startedMs);
      gateway = await next;
      const stored = Number(
        gateway.logs().find(({ msg }) => msg === 'headgate is ready')?.['config_version'],
      );
      if (saved === undefined || !(saved <= stored))
        wrong.push(`the snapshot file has config version ${saved}, the database ${stored}`);
      for (const writer of writers) wrong.push(...(await writer.check(gateway)));
      wrong.push(...(await checkAudit(gateway, writers)));
    }
    const acknowledged = writers.reduce((sum, writer) => sum + writer.acknowledged, 0);
    const unacknowledged = writers.reduce((sum, writer) => sum + writer.unacknowledged, 0);
    return { acknowledged, unacknowledged, wrong, servingMs };
  } finally {
    await gateway?.kill();
    await backend.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Config version of the snapshot file; undefined when that cannot be used. */
function savedVersion(folder: string): number | undefined {
  const saved = readSnapshotFile(join(folder, 'headgate.db.snapshot'), { box: undefined, places: [] });
  return 'error' in saved ? undefined : saved.configVersion;
}

/** With its log, in which is what was acknowledged last. Returns how to put it back. */
function moveDatabaseAway(folder: string): () => void {
  const away = join(folder, 'away');
  mkdirSync(away);
  const names = ['headgate.db', 'headgate.db-wal', 'headgate.db-shm'].filter((name) =>
    existsSync(join(folder, name)),
  );
  for (const name of names) renameSync(join(folder, name), join(away, name));
  return () => {
    for (const name of names) renameSync(join(away, name), join(folder, name));
    rmSync(away, { recursive: true });
  };
}

async function untilServed(port: number): Promise<void> {
  await until(async () => {
    const answer = await sendRaw(port, requestText('/steady/v1/x')).catch(() => undefined);
    return answer?.status === 200 && answer.body === WORD;
  }, 60_000);
}

/** All write until so many are acknowledged, and then for a random moment more. */
async function writeAndKill(
  gateway: TestGateway,
  writers: readonly Writer[],
  writesPerRound: number,
): Promise<void> {
  const total = (): number => writers.reduce((sum, writer) => sum + writer.acknowledged, 0);
  const goal = total() + writesPerRound;
  let isOver = false;
  const writing = writers.map(async (writer) => {
    while (!isOver && (await writer.write(gateway)));
  });
  await until(() => total() >= goal, 120_000);
  await new Promise((done) => setTimeout(done, randomInt(20)));
  await gateway.kill();
  isOver = true;
  await Promise.all(writing);
}

/** What a writer's app is to look like. */
interface Shape {
  readonly description: string;
  readonly basePath: string;
  /** The only current one of the revisions of `v1`. */
  readonly current: string;
  readonly keys: readonly string[];
  /** How much there is of a second version, which is built record by record and deleted with all that is in it. */
  readonly second: readonly string[];
}

type Change = readonly [method: string, path: string, body: unknown, next: Shape];

class Writer {
  acknowledged = 0;
  unacknowledged = 0;
  readonly slug: string;
  #shape: Shape = { description: 'change 0', basePath: '/0', current: 'r1', keys: [], second: [] };
  /** What it may look like besides, because a change was under way. */
  #maybe: Shape | undefined;
  #count = 0;
  /** Of a new revision. */
  #backend: object = {};

  constructor(index: number) {
    this.slug = `writer-${index}`;
  }

  async begin(gateway: TestGateway, backendPort: number): Promise<void> {
    await createService(gateway, this.slug, backendPort, {
      app: { description: 'change 0' },
      revision: { backend_base_path: '/0' },
    });
    await createRevision(gateway, this.slug, backendPort, { revision: 'r2', is_current: false });
    this.#backend = { backend_scheme: 'http', backend_host: '127.0.0.1', backend_port: backendPort };
  }

  /** One change. False when the gateway is gone. */
  async write(gateway: TestGateway): Promise<boolean> {
    const count = ++this.#count;
    const [method, path, body, next] = this.#change(count);
    this.#maybe = next;
    const answer = await gateway.api(method, path, body).catch(() => undefined);
    if (answer === undefined) return false;
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}`);
    this.acknowledged += 1;
    this.#shape = next;
    this.#maybe = undefined;
    return true;
  }

  #change(count: number): Change {
    const app = `/apps/${this.slug}`;
    const revisions = `${app}/versions/v1/revisions`;
    const shape = this.#shape;
    switch (count % 8) {
      case 0: {
        const description = `change ${count}`;
        return ['PATCH', app, { description }, { ...shape, description }];
      }
      case 1: {
        const basePath = `/${count}`;
        return ['PATCH', `${revisions}/r1`, { backend_base_path: basePath }, { ...shape, basePath }];
      }
      case 2: {
        const name = `key ${count}`;
        return ['POST', `${app}/tokens`, { name, scopes: ['a'] }, { ...shape, keys: [...shape.keys, name] }];
      }
      case 3: {
        const current = shape.current === 'r1' ? 'r2' : 'r1';
        return ['POST', `${revisions}/${current}/activate`, { exclusive: true }, { ...shape, current }];
      }
      default:
        return this.#changeSecond(app, shape);
    }
  }

  #changeSecond(app: string, shape: Shape): Change {
    const versions = `${app}/versions`;
    const revisions = `${versions}/v2/revisions`;
    const { second } = shape;
    const grown = (part: string): Shape => ({ ...shape, second: [...second, part] });
    switch (second.length) {
      case 0:
        return ['POST', versions, { version: 'v2' }, grown('v2')];
      case 1:
        return ['POST', revisions, { revision: 'r1', ...this.#backend }, grown('r1')];
      case 2:
        return ['POST', `${revisions}/r1/endpoints`, { method: 'GET', path: '/x' }, grown('/x')];
      default:
        return ['DELETE', `${versions}/v2?cascade=true`, undefined, { ...shape, second: [] }];
    }
  }

  /** Also takes what was found for what is there from now on. */
  async check(gateway: TestGateway): Promise<string[]> {
    const found = await this.#found(gateway);
    const maybe = this.#maybe;
    this.#maybe = undefined;
    if (isSame(found, this.#shape)) return [];
    if (maybe === undefined || !isSame(found, maybe)) {
      const expected = [this.#shape, ...(maybe === undefined ? [] : [maybe])];
      return [`${this.slug} is ${JSON.stringify(found)}; expected one of ${JSON.stringify(expected)}`];
    }
    this.unacknowledged += 1;
    this.#shape = maybe;
    return [];
  }

  async #found(gateway: TestGateway): Promise<Shape> {
    const path = `/apps/${this.slug}`;
    const app = await gateway.must('GET', path);
    const all = async (field: string, below: string): Promise<string[]> =>
      (await allOf(gateway, path + below)).map((record) => String(record[field]));
    const revisions = await allOf(gateway, `${path}/versions/v1/revisions`);
    const second: string[] = (await all('version', '/versions')).filter((version) => version === 'v2');
    if (second.length > 0) second.push(...(await all('revision', '/versions/v2/revisions')));
    if (second.length > 1) second.push(...(await all('path', '/versions/v2/revisions/r1/endpoints')));
    return {
      description: app.description,
      basePath: String(revisions.find(({ revision }) => revision === 'r1')?.['backend_base_path']),
      current: revisions
        .filter(({ is_current }) => is_current === true)
        .map(({ revision }) => revision)
        .join(' and '),
      keys: await all('name', '/tokens'),
      second,
    };
  }
}

function isSame(left: Shape, right: Shape): boolean {
  const text = ({ keys, ...others }: Shape): string =>
    JSON.stringify([others.description, others.basePath, others.current, keys.toSorted(), others.second]);
  return text(left) === text(right);
}

/** Every change has one entry, and the config versions have no gap. */
async function checkAudit(gateway: TestGateway, writers: readonly Writer[]): Promise<string[]> {
  const entries = await allOf(gateway, '/audit');
  const versions = entries.map(({ config_version }) => Number(config_version)).toSorted((a, b) => a - b);
  const gaps = versions.filter((version, index) => version !== index + 1);
  // Four writes each to begin with, and the three of the app that is always there.
  const writes =
    3 + writers.reduce((sum, { acknowledged, unacknowledged }) => sum + 4 + acknowledged + unacknowledged, 0);
  const wrong: string[] = [];
  if (gaps.length > 0) wrong.push(`config versions have gaps, the first before ${gaps[0]}`);
  if (entries.length !== writes) wrong.push(`${entries.length} audit entries for ${writes} writes`);
  return wrong;
}

async function allOf(gateway: TestGateway, path: string): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = [];
  let cursor = '';
  do {
    const answer = await gateway.api('GET', `${path}?limit=500${cursor}`);
    if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}`);
    all.push(...answer.body.data);
    const next: string | null = answer.body.page.next_cursor;
    cursor = next === null ? '' : `&cursor=${encodeURIComponent(next)}`;
  } while (cursor !== '');
  return all;
}
