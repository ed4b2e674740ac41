import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SECRET_PLACES } from '../policy/secret-places.ts';
import { seed } from '../../test/contract/records.ts';
import { systemClock } from '../lib/clock.ts';
import { uuidv7 } from '../lib/ids.ts';
import { createLogger } from '../observe/log.ts';
import type { Repository } from '../storage/repository.ts';
import { StorageUnavailable } from '../storage/storage-errors.ts';
import { openSqlite } from '../storage/sqlite/sqlite.ts';
import type { KeyUsageBatch } from './usage-counter.ts';
import { KeyUsageWriter, type KeyUsageOptions } from './usage-writer.ts';

const lines: string[] = [];
const log = createLogger({
  level: 'warn',
  format: 'json',
  output: { write: (line) => void lines.push(line) },
  clock: systemClock,
});
const DATE = '2030-01-01';
/** The timers of the writer; the database keeps the real ones. */
const FAKED = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] as const;
const FIRST_MS = Date.parse('2030-01-01T00:00:00.000Z');

let repository: Repository;
let appId: string;
let keyId: string;
const writers: KeyUsageWriter[] = [];
beforeEach(async () => {
  lines.length = 0;
  repository = await openSqlite({
    secretPlaces: SECRET_PLACES,
    path: ':memory:',
    autoMigrate: true,
    clock: systemClock,
  });
  const { app, key } = await seed(repository);
  [appId, keyId] = [app.id, key.id];
});
afterEach(async () => {
  vi.useRealTimers();
  for (const writer of writers.splice(0)) await writer.stop();
  await repository.close();
});

function open(options: Partial<KeyUsageOptions> = {}): KeyUsageWriter {
  const writer = new KeyUsageWriter({ repository, log, clock: systemClock, keyUsageDays: 400, ...options });
  writers.push(writer);
  return writer;
}

/** The same, with another clock in the database. */
const atDatabaseTime = (nowMs: () => number): Repository => ({
  ...repository,
  deliveries: { ...repository.deliveries, nowMs: async () => nowMs() },
});

const used = (ms: number, allowed = 1, date = DATE): KeyUsageBatch => batchOf([keyId], ms, allowed, date);
function batchOf(keyIds: readonly string[], ms = 0, allowed = 1, date = DATE): KeyUsageBatch {
  const numbers = Float64Array.from(keyIds.flatMap(() => [ms || Date.parse(date), allowed, 0, 0]));
  return { date, keyIds, numbers };
}
const strangers = (count: number) => batchOf(Array.from({ length: count }, (_, index) => `k${index}`));
const lastUse = async () =>
  (await repository.read((reader) => reader.findKey(appId, keyId)))?.last_used_at ?? null;
const stored = () => repository.read((reader) => reader.listKeyUsage(keyId, '0000-01-01', '9999-12-31'));

describe('KeyUsageWriter', () => {
  it('stores the sum and the latest of several uses', async () => {
    const writer = open();
    writer.add(used(FIRST_MS + 1));
    writer.add(used(FIRST_MS, 2));
    const refused = used(FIRST_MS);
    refused.numbers.set([0, 0, 4, 5]);
    writer.add(refused);
    await writer.stop();
    expect(await lastUse()).toBe('2030-01-01T00:00:00.001Z');
    expect(await stored()).toEqual([{ date: DATE, allowed: 3, limited: 4, denied: 5 }]);
  });

  it('on stop, also stores counts that arrived during a write', async () => {
    const writer = open();
    writer.add(used(FIRST_MS));
    const first = writer.write();
    writer.add(used(FIRST_MS + 2));
    await writer.stop();
    expect(await lastUse()).toBe('2030-01-01T00:00:00.002Z');
    expect(await stored()).toEqual([{ date: DATE, allowed: 2, limited: 0, denied: 0 }]);
    await first;
  });

  it.each([
    ['tries once more after a write that was refused at once', 10, 2],
    ['does not try again after a write without an answer', 1_500, 1],
  ])('on stop, %s', async (_, tookMs, tries) => {
    let nowMs = 0;
    const failing = Promise.withResolvers<void>();
    let tried = 0;
    const writer = open({
      clock: { ...systemClock, monotonicMs: () => nowMs },
      repository: {
        ...repository,
        recordKeyUsage: async () => {
          tried += 1;
          await failing.promise;
          nowMs += tookMs;
          throw new StorageUnavailable('away');
        },
      },
    });
    writer.add(used(FIRST_MS));
    void writer.write();
    await expect.poll(() => tried).toBe(1);
    writer.add(used(FIRST_MS + 2));
    const stopped = writer.stop();
    failing.resolve();
    await stopped;
    expect(tried).toBe(tries);
  });

  it('keeps counts that an unavailable database refused, and counts that arrive in the meantime', async () => {
    let away = true;
    const writer = open({
      repository: {
        ...repository,
        recordKeyUsage: async (usage) => {
          if (away) throw new StorageUnavailable('away');
          await repository.recordKeyUsage(usage);
        },
      },
    });
    writer.add(used(FIRST_MS));
    await writer.write();
    expect(lines.join('')).toMatch(/cannot write API key usage/);
    writer.add(used(FIRST_MS));
    away = false;
    await writer.stop();
    expect(await lastUse()).toBe('2030-01-01T00:00:00.000Z');
    expect(await stored()).toEqual([{ date: DATE, allowed: 2, limited: 0, denied: 0 }]);
  });

  it('writes the rest exactly once after a failure halfway', async () => {
    let calls = 0;
    const writer = open({
      repository: {
        ...repository,
        recordKeyUsage: async (usage) => {
          if (++calls === 2) throw new StorageUnavailable('away');
          await repository.recordKeyUsage(usage);
        },
      },
    });
    // The same key is in the first batch and, for another day, in the last.
    writer.add(used(FIRST_MS, 1, '2030-01-01'));
    writer.add(batchOf(Array.from({ length: 2_000 }, () => uuidv7(FIRST_MS))));
    writer.add(used(Date.parse('2030-01-02'), 1, '2030-01-02'));
    await writer.write();
    expect((await stored()).map(({ date, allowed }) => [date, allowed])).toEqual([['2030-01-01', 1]]);
    await writer.write();
    expect((await stored()).map(({ date, allowed }) => [date, allowed])).toEqual([
      ['2030-01-01', 1],
      ['2030-01-02', 1],
    ]);
  });

  it('bounds the counts that wait for an unavailable database, logs how many it dropped, and continues', async () => {
    let away = true;
    const writer = open({
      pendingMax: 2,
      repository: {
        ...repository,
        recordKeyUsage: async (usage) => {
          if (away) throw new StorageUnavailable('away');
          await repository.recordKeyUsage(usage);
        },
      },
    });
    writer.add(used(FIRST_MS));
    writer.add(strangers(2));
    writer.add(used(FIRST_MS));
    await writer.write();
    expect(lines.join('')).toContain('"dropped":1');
    away = false;
    await writer.write();
    expect(await stored()).toEqual([{ date: DATE, allowed: 2, limited: 0, denied: 0 }]);
  });

  it('writes all waiting counts on stop', async () => {
    const writer = open();
    writer.add(strangers(7_000));
    writer.add(used(FIRST_MS, 3));
    await writer.stop();
    expect(await stored()).toEqual([{ date: DATE, allowed: 3, limited: 0, denied: 0 }]);
  });

  it('adds large batches up in parts, and all of them before a requested write', async () => {
    vi.useFakeTimers({ toFake: [...FAKED] });
    let keys = 0;
    const recordKeyUsage: Repository['recordKeyUsage'] = async (usages) => void (keys += usages.length);
    const writer = open({ repository: { ...repository, recordKeyUsage } });
    for (const from of [0, 5_000]) {
      writer.add(batchOf(Array.from({ length: 5_000 }, (_, index) => `k${from + index}`)));
    }
    await vi.advanceTimersByTimeAsync(1);
    void writer.write();
    await writer.stop();
    expect(keys).toBe(10_000);
  });

  it.each([
    [50, 1, 2_000],
    [1_000, 20, 100],
    [5_000, 100, 100],
    [100_000, 2_000, 75],
  ])('writes %i keys in %i evenly spaced parts, also in the next round', async (keys, parts, restMs) => {
    vi.useFakeTimers({ toFake: [...FAKED] });
    const writes: { readonly keys: number; readonly atMs: number }[] = [];
    const recordKeyUsage: Repository['recordKeyUsage'] = async (usages) =>
      void writes.push({ keys: usages.length, atMs: Date.now() });
    const writer = open({ repository: { ...repository, recordKeyUsage } });
    writer.add(batchOf(Array.from({ length: keys }, () => uuidv7(FIRST_MS))));
    await vi.advanceTimersByTimeAsync(2_010);
    writer.add(used(FIRST_MS));
    await vi.advanceTimersByTimeAsync(parts * restMs);
    expect(writes.map((write) => write.keys)).toEqual([...Array<number>(parts).fill(50), 1]);
    for (let part = 1; part <= parts; part++) {
      expect((writes[part]?.atMs ?? 0) - (writes[part - 1]?.atMs ?? 0)).toBe(restMs);
    }
    await writer.stop();
  });

  it('while a write hangs, no other begins, and counts wait within the limit until it ends', async () => {
    vi.useFakeTimers({ toFake: [...FAKED] });
    const hanging = Promise.withResolvers<void>();
    let calls = 0;
    const recordKeyUsage: Repository['recordKeyUsage'] = async (usages) => {
      if (++calls === 1) await hanging.promise;
      await repository.recordKeyUsage(usages);
    };
    const writer = open({ pendingMax: 2, repository: { ...repository, recordKeyUsage } });
    writer.add(used(FIRST_MS));
    for (let second = 0; second < 60; second++) {
      await vi.advanceTimersByTimeAsync(1_000);
      writer.add(used(FIRST_MS));
      writer.add(strangers(3));
    }
    expect(calls).toBe(1);
    expect(await stored()).toEqual([]);
    hanging.resolve();
    await writer.stop();
    expect(await stored()).toEqual([{ date: DATE, allowed: 61, limited: 0, denied: 0 }]);
  });

  it('keeps the configured number of days, today included', async () => {
    const dates = ['2029-12-29', '2029-12-30', '2029-12-31', DATE];
    await repository.recordKeyUsage(
      dates.map((date) => ({ keyId, date, lastUsedMs: 0, allowed: 1, limited: 0, denied: 0 })),
    );
    await open({ repository: atDatabaseTime(() => FIRST_MS + 3_600_000), keyUsageDays: 3 }).removeOld();
    expect((await stored()).map(({ date }) => date)).toEqual(dates.slice(1));
  });

  it('removes nothing by the clock of this gateway, or by one of the database that jumps ahead', async () => {
    const yearMs = 365 * 86_400_000;
    let jumpMs = 0;
    await repository.recordKeyUsage([
      { keyId, date: DATE, lastUsedMs: 0, allowed: 1, limited: 0, denied: 0 },
    ]);
    const writer = open({
      repository: atDatabaseTime(() => FIRST_MS + jumpMs),
      clock: { nowMs: () => FIRST_MS + yearMs, monotonicMs: () => 0 },
      keyUsageDays: 3,
    });
    for (jumpMs of [0, yearMs, 0]) {
      await writer.removeOld();
      expect((await stored()).map(({ date }) => date)).toEqual([DATE]);
    }
  });
});
