import { expect, it } from 'vitest';
import { uuidv7 } from '../lib/ids.ts';
import { DAY_MS, utcDate, type KeyUsage } from '../model/key-usage.ts';
import { KeyNotes, ROW_WORDS, type KeyUsageBatch } from './usage-counter.ts';
import { PendingKeyUsage } from './pending-usage.ts';

const NOON_MS = Date.parse('2026-01-31T12:00:00Z');

function batchOf(uses: readonly (readonly [keyId: string, usedMs: number])[]): KeyUsageBatch {
  const batches: KeyUsageBatch[] = [];
  const notes = new KeyNotes((batch) => void batches.push(batch));
  for (const [id, usedMs] of uses) notes.note({ id, countedIn: 0 }, 'allowed', usedMs);
  notes.send();
  expect(batches).toHaveLength(1);
  return batches[0]!;
}
const rowsOf = ({ rows }: KeyUsageBatch): number => rows.length / ROW_WORDS;
function all(pending: PendingKeyUsage): KeyUsage[] {
  const taken = pending.takeAll();
  return taken.slice(0, taken.size);
}

it('adds up by key and day, in whatever parts it comes', () => {
  const pending = new PendingKeyUsage(1_000);
  const ids = [uuidv7(NOON_MS), uuidv7(NOON_MS + 5), 'no uuid'];
  for (const dayMs of [0, DAY_MS]) {
    for (const usedMs of [NOON_MS + dayMs + 7, NOON_MS + dayMs]) {
      const batch = batchOf(ids.map((id) => [id, usedMs]));
      for (let row = 0; row < rowsOf(batch); row++) pending.addRows(batch, row, row + 1);
    }
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
  const taken = all(pending);
  expect(taken).toHaveLength(6);
  expect(taken).toEqual(expect.arrayContaining(expected));
  expect([pending.size, all(pending)]).toEqual([0, []]);
});

it('gives keys in the order in which they were made, a day after the other, in any parts', () => {
  const pending = new PendingKeyUsage(100_000);
  const ids = Array.from({ length: 5_000 }, (_, index) => uuidv7(NOON_MS + index * 977));
  const mixed = ids.map((_, index) => ids[(index * 7_919) % ids.length] ?? '');
  for (const day of [0, 1]) {
    const batch = batchOf(mixed.map((id) => [id, NOON_MS + day * DAY_MS]));
    pending.addRows(batch, 0, rowsOf(batch));
  }
  const taken = pending.takeAll();
  const parts: KeyUsage[] = [];
  for (let from = 0; from < taken.size; from += 333) parts.push(...taken.slice(from, from + 333));
  expect(parts.map(({ keyId }) => keyId)).toEqual([...ids, ...ids]);
  expect(parts.map(({ date }) => date)).toEqual(
    ids.map(() => '2026-01-31').concat(ids.map(() => '2026-02-01')),
  );
});

it('takes back what could not be written', () => {
  const pending = new PendingKeyUsage(100);
  const batch = batchOf([
    [uuidv7(NOON_MS), NOON_MS],
    ['other', NOON_MS + 1],
  ]);
  pending.addRows(batch, 0, 2);
  const first = all(pending);
  pending.addRows(batch, 0, 2);
  for (const usage of first) pending.put(usage);
  expect(all(pending)).toEqual(first.map((usage) => ({ ...usage, allowed: 2 })));
});

it('passes over rows that nobody used, and counts what there is no room for', () => {
  const pending = new PendingKeyUsage(1);
  const batches: KeyUsageBatch[] = [];
  const notes = new KeyNotes((batch) => void batches.push(batch));
  notes.note({ id: uuidv7(NOON_MS), countedIn: 0 }, 'allowed', NOON_MS);
  notes.rowOf(Int32Array.of(1, 2, 3, 4), 0, 0);
  notes.send();
  for (const batch of batches) pending.addRows(batch, 0, rowsOf(batch));
  expect([pending.size, pending.takeDropped()]).toEqual([1, 0]);
  const other = batchOf([[uuidv7(NOON_MS), NOON_MS]]);
  pending.addRows(other, 0, 1);
  expect([pending.size, pending.takeDropped(), pending.takeDropped()]).toEqual([1, 1, 0]);
});

it('tells keys apart by each part of their ids', () => {
  const pending = new PendingKeyUsage(10_000);
  const ids = Array.from({ length: 4_000 }, (_, index) => {
    const words = ['0197a1b2', 'c3d47e5f', '8a9b0c1d', '2e3f4a5b'];
    words[index % 4] = (index + 1).toString(16).padStart(8, '0');
    return words.join('').replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  });
  for (const turn of [1, 2]) {
    const batch = batchOf(ids.map((id) => [id, NOON_MS + turn]));
    pending.addRows(batch, 0, rowsOf(batch));
  }
  const taken = all(pending);
  expect(taken.map(({ keyId }) => keyId).sort()).toEqual([...ids].sort());
  expect(new Set(taken.map(({ allowed }) => allowed))).toEqual(new Set([2]));
});
