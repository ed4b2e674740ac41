import { hash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { configChange, keyRecord } from '../../../test/support/data/config-records.ts';
import { oneRoute } from '../../../test/support/proxy.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import type { ConfigChange } from '../../model/config.ts';
import type { StoredApiKey } from '../../model/resources.ts';
import { createLogger } from '../../observe/log.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import { createSecretBox } from '../../storage/secrets/secret-box.ts';
import { ConfigState } from '../cluster/config-state.ts';
import { readSnapshotFile } from './snapshot-file.ts';
import { ChangedIds } from './snapshot-parts.ts';
import { SnapshotFileWriter, type SnapshotFileWriterDeps } from './snapshot-file-writer.ts';

const sealing = { box: createSecretBox([randomBytes(32)], 'the test'), places: SECRET_PLACES };
const MANY_KEYS = 12_000;
let folder: string;
let path: string;
let state: ConfigState;
let writer: SnapshotFileWriter;
const lines: { readonly msg: string; readonly bytes: number }[] = [];
const log = createLogger({
  level: 'debug',
  format: 'json',
  output: { write: (line) => void lines.push(JSON.parse(line)) },
  clock: systemClock,
});
const keyOf = (index: number): StoredApiKey =>
  keyRecord({ id: `key-${index}`, token_hash: hash('sha256', String(index)) });
const saved = () => {
  const read = readSnapshotFile(path, sealing);
  return 'error' in read ? read : { keys: read.state.keys, configVersion: read.configVersion };
};

beforeEach(() => {
  lines.length = 0;
  folder = mkdtempSync(join(tmpdir(), 'headgate-snapshot-'));
  path = join(folder, 'last.snapshot');
  state = new ConfigState();
  state.apply(oneRoute({ backendPort: 1 }));
});
afterEach(async () => {
  await writer.stop();
  rmSync(folder, { recursive: true });
});
function open(deps: Partial<SnapshotFileWriterDeps> = {}): SnapshotFileWriter {
  writer = new SnapshotFileWriter({
    path,
    state,
    sealing: () => sealing,
    clock: systemClock,
    log,
    ...deps,
  });
  return writer;
}
function change(fields: Partial<ConfigChange>): void {
  const next = configChange(state.configVersion + 1, fields);
  writer.changed(next);
  state.apply(next);
}
async function written(count: number): Promise<void> {
  await expect
    .poll(() => lines.filter(({ msg }) => msg === 'snapshot file written').length, { timeout: 30_000 })
    .toBe(count);
}

describe('the writer of the snapshot file', { timeout: 60_000 }, () => {
  it('writes everything once, then appends only changed records', async () => {
    state.apply(configChange(2, { keys: Array.from({ length: MANY_KEYS }, (_, index) => keyOf(index)) }));
    open().changed();
    await written(1);
    const { size, ino } = statSync(path);
    expect(size).toBeGreaterThan(MANY_KEYS * 100);
    change({ keys: [keyOf(MANY_KEYS)] });
    change({ removedKeyIds: ['key-0'] });
    await written(2);
    expect(statSync(path)).toMatchObject({ ino });
    expect(statSync(path).size - size).toBeLessThan(2_000);
    expect(saved()).toMatchObject({ configVersion: 4, keys: { size: MANY_KEYS } });
  });

  it('has written all changes when it stops', async () => {
    open().changed();
    change({ keys: [keyOf(1)] });
    await writer.stop();
    expect(saved()).toMatchObject({ configVersion: 2, keys: { size: 1 } });
    open().changed();
    await written(2);
    change({ keys: [keyOf(2)] });
    await writer.stop();
    expect(saved()).toMatchObject({ configVersion: 3, keys: { size: 2 } });
    expect(lines).toHaveLength(3);
  });

  it('abandons a long rewrite one second after a stop, and keeps the old file without temporary files', async () => {
    open().changed();
    await written(1);
    await writer.stop();
    state.apply(configChange(2, { keys: Array.from({ length: MANY_KEYS }, (_, index) => keyOf(index)) }));
    let ms = 0;
    const hurried: Clock = { nowMs: () => systemClock.nowMs(), monotonicMs: () => (ms += 400) };
    open({ clock: hurried }).changed();
    await writer.stop();
    expect(lines.at(-1)?.msg).toMatch(/could not be written; the old one stays/);
    expect(saved()).toMatchObject({ configVersion: 1, keys: { size: 0 } });
    expect(readdirSync(folder)).toEqual(['last.snapshot']);
  });

  it('rewrites the file if it is gone, or if its changes have doubled its size', async () => {
    open().changed();
    await written(1);
    rmSync(path);
    change({ keys: [keyOf(1)] });
    await written(2);
    const { ino } = statSync(path);
    const long = (index: number) => ({ ...keyOf(index), name: 'x'.repeat(150_000) });
    change({ keys: Array.from({ length: 12 }, (_, index) => long(index)) });
    await written(3);
    change({ removedKeyIds: Array.from({ length: 12 }, (_, index) => `key-${index}`) });
    await written(4);
    expect(statSync(path).ino).not.toBe(ino);
    expect(statSync(path).size).toBeLessThan(10_000);
    expect(saved()).toMatchObject({ configVersion: state.configVersion, keys: { size: 0 } });
  });

  it('warns when another gateway writes the same file, as in two containers with one volume', async () => {
    const first = open();
    first.changed();
    await written(1);
    const warned = (): number => lines.filter(({ msg }) => msg.startsWith('another gateway writes')).length;
    for (const round of [1, 2]) {
      open().changed();
      await written(2 * round);
      expect(warned(), 'a takeover replaces it once').toBe(0);
      await writer.stop();
      first.changed();
      await written(2 * round + 1);
    }
    expect(warned()).toBe(1);
    await first.stop();
  });

  it('starts again if the configuration is replaced during a rewrite', async () => {
    state.apply(configChange(2, { keys: Array.from({ length: MANY_KEYS }, (_, index) => keyOf(index)) }));
    open().changed();
    await expect
      .poll(() => readdirSync(folder).some((name) => name.endsWith('.new')), { timeout: 30_000, interval: 2 })
      .toBe(true);
    change({ reset: true, apps: oneRoute({ backendPort: 2 }).apps, keys: [keyOf(7)] });
    await written(1);
    expect(saved()).toMatchObject({ configVersion: 3, keys: { size: 1 } });
    expect(readFileSync(path, 'utf8')).toContain('"backend_port":2');
  });

  it('says since when and why the file cannot be written, until it is', async () => {
    mkdirSync(path);
    open().changed();
    await expect.poll(() => writer.failure, { timeout: 30_000 }).toMatchObject({ reason: 'it is a folder' });
    expect(Date.now() - (writer.failure?.sinceMs ?? 0)).toBeLessThan(30_000);
    rmSync(path, { recursive: true });
    await writer.stop();
    expect(writer.failure).toBeUndefined();
    expect(saved()).toMatchObject({ configVersion: 1 });
  });

  it('keeps no list of changes while a rewrite is pending', async () => {
    const noted = vi.spyOn(ChangedIds.prototype, 'add');
    open({ sealing: () => ({ ...sealing, box: undefined }) });
    change({ keys: [keyOf(1)] });
    expect(noted).toHaveBeenCalledTimes(1);
    writer.changed();
    for (let index = 2; index < 10; index++) change({ keys: [keyOf(index)] });
    expect(noted).toHaveBeenCalledTimes(1);
    noted.mockRestore();
  });

  it('logs a missing key for secrets, and writes nothing', async () => {
    open({ sealing: () => ({ ...sealing, box: undefined }) }).changed();
    await writer.stop();
    expect(lines.map(({ msg }) => msg)).toEqual([
      'the snapshot file could not be written; the old one stays',
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });
});
