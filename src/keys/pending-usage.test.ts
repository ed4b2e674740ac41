import { expect, it } from 'vitest';
import { uuidv7 } from '../lib/ids.ts';
import { DAY_MS, utcDate } from '../model/key-usage.ts';
import { PendingUsage } from './pending-usage.ts';
import type { KeyUsageBatch } from './usage-counter.ts';

const NOON_MS = Date.parse('2026-01-31T12:00:00Z');

/** One allowed request of each key. */
function batchOf(keyIds: readonly string[], usedMs: number): KeyUsageBatch {
  const numbers = Float64Array.from(keyIds.flatMap(() => [usedMs, 1, 0, 0]));
  return { date: utcDate(usedMs), keyIds, numbers };
}

it('adds up by key and day', () => {
  const pending = new PendingUsage(1_000);
  const ids = [uuidv7(NOON_MS), uuidv7(NOON_MS + 5), 'no uuid'];
  for (const dayMs of [0, DAY_MS]) {
    for (const usedMs of [NOON_MS + dayMs + 7, NOON_MS + dayMs]) pending.addBatch(batchOf(ids, usedMs));
  }
  expect(pending.size).toBe(6);
  const expected = [0, DAY_MS].flatMap((dayMs) =>
    ids.map((keyId) => ({
      keyId,
      date: utcDate(NOON_MS + dayMs),
      lastUsedMs: NOON_MS + dayMs + 7,
      allowed: 2,
      limited: 0,
      denied: 0,
    })),
  );
  expect(pending.takeAll()).toEqual(expected);
  expect([pending.size, pending.takeAll()]).toEqual([0, []]);
});

it('accepts entries that could not be written', () => {
  const pending = new PendingUsage(100);
  const batch = batchOf([uuidv7(NOON_MS), 'other'], NOON_MS);
  pending.addBatch(batch);
  const first = pending.takeAll();
  pending.addBatch(batch);
  for (const usage of first) pending.add(usage);
  expect(pending.takeAll()).toEqual(first.map((usage) => ({ ...usage, allowed: 2 })));
});

it('does not change entries that were taken', () => {
  const pending = new PendingUsage(100);
  pending.addBatch(batchOf(['a'], NOON_MS));
  const taken = pending.takeAll();
  pending.addBatch(batchOf(['a'], NOON_MS));
  expect(taken.map(({ allowed }) => allowed)).toEqual([1]);
});

it('counts additions beyond its limit and still adds to known keys', () => {
  const pending = new PendingUsage(1);
  pending.addBatch(batchOf(['a'], NOON_MS));
  expect([pending.size, pending.takeDropped()]).toEqual([1, 0]);
  pending.addBatch(batchOf(['b', 'a'], NOON_MS));
  expect([pending.size, pending.takeDropped(), pending.takeDropped()]).toEqual([1, 1, 0]);
  expect(pending.takeAll()).toMatchObject([{ keyId: 'a', allowed: 2 }]);
});

it('returns keys in the order of their ids, day by day', () => {
  const pending = new PendingUsage(1_000);
  for (const dayMs of [0, DAY_MS]) {
    pending.addBatch(batchOf(['b', 'c'], NOON_MS + dayMs));
    pending.addBatch(batchOf(['a', 'c'], NOON_MS + dayMs));
  }
  expect(pending.takeAll().map(({ keyId, date }) => `${date} ${keyId}`)).toEqual([
    '2026-01-31 a',
    '2026-01-31 b',
    '2026-01-31 c',
    '2026-02-01 a',
    '2026-02-01 b',
    '2026-02-01 c',
  ]);
});
