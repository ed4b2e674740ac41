/**
 * What SQLite must keep, whatever happens to the process: every acknowledged write, each as a whole, and nothing
 * of one that was not finished.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SECRET_PLACES } from '../../src/policy/secret-places.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { ConfigChange } from '../../src/model/config.ts';
import type { HistoryEntry } from '../../src/model/history/config-history.ts';
import type { AuditEntry } from '../../src/model/resources.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import { FIRST } from './records.ts';

const WRITER = fileURLToPath(new URL('../support/programs/storage-writer.ts', import.meta.url));

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-durability-'));
  path = join(folder, 'headgate.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Line {
  readonly acknowledged?: string;
  readonly configVersion: number;
  readonly error?: string;
  readonly apps?: number;
}

/** Runs the writer until it ends, or kills it (SIGKILL) after that many acknowledged writes. */
async function runWriter(prefix: string, killAfter?: number, shell?: string): Promise<Line[]> {
  const command = [process.execPath, WRITER, path, prefix];
  const child =
    shell === undefined
      ? spawn(command[0] ?? '', command.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] })
      : spawn('sh', ['-c', `${shell}; exec "$0" "$@"`, ...command], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const lines: Line[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(JSON.parse(line) as Line);
    if (lines.length === killAfter) child.kill('SIGKILL');
  }
  await exited;
  return lines;
}

interface Found {
  readonly everything: ConfigChange;
  readonly audit: readonly AuditEntry[];
  readonly history: { readonly from: number; readonly entries: readonly HistoryEntry[] };
}

async function reopen(): Promise<Found> {
  const repository = await openSqlite({
    secretPlaces: SECRET_PLACES,
    path,
    autoMigrate: true,
    clock: systemClock,
  });
  try {
    const everything = await repository.loadAll();
    const { items } = await repository.read((reader) => reader.listAudit(FIRST));
    const history = await repository.read(async (reader) => ({
      from: await reader.historyFrom(),
      entries: (await reader.listHistory(FIRST)).items,
    }));
    return { everything, audit: items, history };
  } finally {
    await repository.close();
  }
}

/** Every write of the writer is an app, its version, an audit entry and one config version: all or none of them. */
function expectWhole({ everything, audit, history }: Found): void {
  const ids = everything.apps.map(({ app }) => app.id);
  expect(everything.apps.map(({ versions }) => versions.map(({ version }) => version.id))).toEqual(
    ids.map((id) => [`${id}-v`]),
  );
  expect(audit.map(({ resource_id }) => resource_id).sort()).toEqual([...ids].sort());
  expect(everything.configVersion).toBe(ids.length);
  expect(history.from).toBe(0);
  expect(history.entries.map(({ config_version }) => config_version)).toEqual(
    ids.map((_, index) => ids.length - index),
  );
  expect(history.entries.every(({ changed_records }) => changed_records === 2)).toBe(true);
}

describe('kill -9 during writes', () => {
  test('loses nothing that was acknowledged and leaves no half write', { timeout: 60_000 }, async () => {
    const acknowledged: string[] = [];
    for (const [round, killAfter] of [1, 23, 60].entries()) {
      const lines = await runWriter(`round${round}`, killAfter);
      expect(lines.length).toBeGreaterThanOrEqual(killAfter);
      acknowledged.push(...lines.map((line) => line.acknowledged ?? ''));
      const found = await reopen();
      expectWhole(found);
      const ids = found.everything.apps.map(({ app }) => app.id);
      expect(ids).toEqual(expect.arrayContaining(acknowledged));
      // A write that was durable but not yet told of may be there as well; at most one for each kill.
      expect(ids.length - acknowledged.length).toBeLessThanOrEqual(round + 1);
    }
  });
});

describe('no room for the file', () => {
  test(
    'refuses the write as unavailable, keeps all before it, and reads go on',
    { timeout: 60_000 },
    async () => {
      // 512-byte blocks: neither the file nor its log may grow beyond 2 MiB.
      const lines = await runWriter('full', undefined, "trap '' XFSZ; ulimit -f 4096");
      const last = lines.at(-1);
      const acknowledged = lines.slice(0, -1).map((line) => line.acknowledged ?? '');
      expect(acknowledged.length).toBeGreaterThan(10);
      expect(last?.error).toMatch(/^StorageUnavailable: Cannot use the database: /);
      expect(last).toMatchObject({ apps: acknowledged.length, configVersion: acknowledged.length });
      const found = await reopen();
      expectWhole(found);
      expect(found.everything.apps.map(({ app }) => app.id).sort()).toEqual([...acknowledged].sort());
    },
  );
});
