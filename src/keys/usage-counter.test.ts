import { expect, it } from 'vitest';
import { uuidv7 } from '../lib/ids.ts';
import { DAY_MS } from '../model/key-usage.ts';
import type { KeyUsage } from '../model/key-usage.ts';
import { readId, WordBuffer } from './key-words.ts';
import { KeyNotes, usagesOf } from './usage-counter.ts';

const NOON_MS = Date.parse('2026-01-31T12:00:00Z');
const ROWS_MAX = 131_072;

function notes(): { readonly notes: KeyNotes; readonly sent: (readonly KeyUsage[])[] } {
  const sent: (readonly KeyUsage[])[] = [];
  return { notes: new KeyNotes((batch) => sent.push([...usagesOf(batch)])), sent };
}

const caller = (id: string): { readonly id: string; countedIn: number } => ({ id, countedIn: 0 });

function wordsOf(id: string): Int32Array {
  const words = new WordBuffer(4);
  readId(id, words);
  return words.words;
}

/** Sums per key. */
function summed(rows: readonly KeyUsage[]): Map<string, Omit<KeyUsage, 'keyId' | 'date'>> {
  const sums = new Map<string, Omit<KeyUsage, 'keyId' | 'date'>>();
  for (const { keyId, date: _date, ...more } of rows) {
    const sum = sums.get(keyId) ?? { lastUsedMs: 0, allowed: 0, limited: 0, denied: 0 };
    sums.set(keyId, {
      lastUsedMs: Math.max(sum.lastUsedMs, more.lastUsedMs),
      allowed: sum.allowed + more.allowed,
      limited: sum.limited + more.limited,
      denied: sum.denied + more.denied,
    });
  }
  return sums;
}

it('counts outcomes per key, and the last use only where the key let the request in', () => {
  const { notes: all, sent } = notes();
  const a = caller('a');
  all.note(a, 'allowed', NOON_MS + 2);
  all.note(a, 'limited', NOON_MS + 1);
  all.noteRefused('a', NOON_MS + 9);
  all.noteRefused('b', NOON_MS + 9);
  all.note(caller('a'), 'denied', NOON_MS);
  all.send();
  all.send();
  expect(sent).toEqual([
    [
      { keyId: 'a', date: '2026-01-31', lastUsedMs: NOON_MS + 2, allowed: 1, limited: 1, denied: 2 },
      { keyId: 'b', date: '2026-01-31', lastUsedMs: 0, allowed: 0, limited: 0, denied: 1 },
    ],
  ]);
});

it.each([
  ['the last millisecond of the day before', -1, '2026-01-30'],
  ['the first millisecond of the day', 0, '2026-01-31'],
  ['the last one', DAY_MS - 1, '2026-01-31'],
  ['the first of the next', DAY_MS, '2026-02-01'],
])('%s is of its UTC day', (_name, offsetMs, date) => {
  const { notes: all, sent } = notes();
  const usedMs = Date.parse('2026-01-31T00:00:00Z') + offsetMs;
  all.note(caller('a'), 'allowed', usedMs);
  all.send();
  expect(sent[0]?.[0]).toMatchObject({ date, lastUsedMs: usedMs });
});

it('keeps days apart, also when the clock is set back', () => {
  const { notes: all, sent } = notes();
  const a = caller(uuidv7(NOON_MS));
  for (const days of [0, 1, 0]) all.note(a, 'allowed', NOON_MS + days * DAY_MS);
  all.send();
  expect(sent.map((rows) => rows.map(({ keyId, date, allowed }) => [keyId === a.id, date, allowed]))).toEqual(
    [[[true, '2026-01-31', 1]], [[true, '2026-02-01', 1]], [[true, '2026-01-31', 1]]],
  );
});

it.each([
  ['UUIDs', () => uuidv7(NOON_MS)],
  ['other ids', (index: number) => `key ${index}`],
])('hands over by itself when very many keys come, so that its memory is bounded: %s', (_name, idOf) => {
  const { notes: all, sent } = notes();
  const count = 2 * ROWS_MAX + 10;
  for (let key = 0; key < count; key++) all.note(caller(idOf(key)), 'allowed', NOON_MS);
  expect(sent.map((rows) => rows.length)).toEqual([ROWS_MAX, ROWS_MAX]);
  all.send();
  expect(new Set(sent.flat().map(({ keyId }) => keyId)).size).toBe(count);
});

it('few keys are handed over every turn, many keys every fifth, and all of them at once when asked', () => {
  const { notes: all, sent } = notes();
  const callers = Array.from({ length: 1_001 }, () => caller(uuidv7(NOON_MS)));
  const use = (keys: number): void => {
    for (const each of callers.slice(0, keys)) all.note(each, 'allowed', NOON_MS);
  };
  use(1_000);
  all.tick();
  expect(sent.map((rows) => rows.length)).toEqual([1_000]);
  for (let turn = 0; turn < 5; turn++) {
    expect(sent).toHaveLength(1);
    use(1_001);
    all.tick();
  }
  expect(sent.at(-1)).toHaveLength(1_001);
  expect(sent.at(-1)?.[7]?.allowed).toBe(5);
  use(1_001);
  all.send();
  expect(sent).toHaveLength(3);
});

it('very many keys wait a turn for each five thousand of them', () => {
  const { notes: all, sent } = notes();
  for (let key = 0; key < 50_000; key++) all.note(caller(uuidv7(NOON_MS)), 'allowed', NOON_MS);
  for (let turn = 0; turn < 9; turn++) all.tick();
  expect(sent).toHaveLength(0);
  all.tick();
  expect(sent.map((rows) => rows.length)).toEqual([50_000]);
});

it('gives a key one row, as long as whoever asks remembers it and it was not handed over', () => {
  const { notes: all, sent } = notes();
  const [one, other] = [uuidv7(NOON_MS), uuidv7(NOON_MS)];
  const row = all.rowOf(wordsOf(one), 0, 0);
  expect(row).not.toBe(0);
  expect(all.rowOf(wordsOf(one), 0, row)).toBe(row);
  const otherRow = all.rowOf(wordsOf(other), 0, 0);
  expect(otherRow).not.toBe(row);
  all.note({ id: one, countedIn: row }, 'allowed', NOON_MS);
  all.send();
  expect(all.rowOf(wordsOf(one), 0, row)).not.toBe(row);
  // What was asked for before the hand-over is counted after it, by the id.
  all.note({ id: one, countedIn: row }, 'limited', NOON_MS);
  all.note({ id: other, countedIn: otherRow }, 'denied', NOON_MS);
  all.send();
  // The first note opened its day, after rows had been given: they went with the day before, unused.
  const of = (rows: readonly KeyUsage[]) =>
    summed(rows.filter(({ allowed, limited, denied }) => allowed + limited + denied > 0));
  expect(of(sent.flat())).toEqual(
    new Map([
      [one, { lastUsedMs: NOON_MS, allowed: 1, limited: 1, denied: 0 }],
      [other, { lastUsedMs: NOON_MS, allowed: 0, limited: 0, denied: 1 }],
    ]),
  );
});

it('counts the same whatever the ids, and whatever is remembered of rows', () => {
  const { notes: all, sent } = notes();
  const ids = Array.from({ length: 3_000 }, (_, index) => (index % 5 === 0 ? `k${index}` : uuidv7(NOON_MS)));
  const callers = ids.map(caller);
  const rows = ids.map(() => 0);
  const outcomes = ['allowed', 'limited', 'denied'] as const;
  for (let round = 0; round < 3; round++) {
    const expected: KeyUsage[] = [];
    for (let request = 0; request < 12_000; request++) {
      const which = (Math.imul(request, 7 + round) % (1_500 * (round + 1))) % ids.length;
      const [keyId, at] = [ids[which] ?? '', NOON_MS + (Math.imul(request, 31) % 1_000)];
      const use = { keyId, date: '', lastUsedMs: at, allowed: 0, limited: 0, denied: 0 };
      if (request % 4 === 0) {
        all.noteRefused(keyId, at);
        expected.push({ ...use, lastUsedMs: 0, denied: 1 });
        continue;
      }
      const outcome = outcomes[request % 3] ?? 'allowed';
      // Now one that is remembered, now one that was made for this request and got its row from what was remembered.
      const kept = callers[which] ?? caller(keyId);
      const made = caller(keyId);
      if (which % 5 > 0 && request % 2 === 0) {
        made.countedIn = rows[which] = all.rowOf(wordsOf(keyId), 0, rows[which] ?? 0);
      }
      all.note(request % 2 === 0 ? made : kept, outcome, at);
      expected.push({ ...use, [outcome]: 1 });
    }
    all.send();
    expect(summed(sent.splice(0).flat())).toEqual(summed(expected));
  }
});
