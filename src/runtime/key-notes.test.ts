import { expect, it } from 'vitest';
import { uuidv7 } from '../kernel/ids.ts';
import { DAY_MS } from '../model/key-usage.ts';
import type { KeyUsage } from '../model/key-usage.ts';
import { KeyNotes, usagesOf } from './key-notes.ts';

const NOON_MS = Date.parse('2026-01-31T12:00:00Z');

function notes(): { readonly notes: KeyNotes; readonly sent: (readonly KeyUsage[])[] } {
  const sent: (readonly KeyUsage[])[] = [];
  return { notes: new KeyNotes((batch) => sent.push([...usagesOf(batch)])), sent };
}

it('counts outcomes per key, and the last use only where the key let the request in', () => {
  const { notes: all, sent } = notes();
  all.note('a', 'allowed', true, NOON_MS + 2);
  all.note('a', 'limited', true, NOON_MS + 1);
  all.note('a', 'denied', false, NOON_MS + 9);
  all.note('b', 'denied', false, NOON_MS + 9);
  all.send();
  all.send();
  expect(sent).toEqual([
    [
      { keyId: 'a', date: '2026-01-31', lastUsedMs: NOON_MS + 2, allowed: 1, limited: 1, denied: 1 },
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
  all.note('a', 'allowed', true, Date.parse('2026-01-31T00:00:00Z') + offsetMs);
  all.send();
  expect(sent[0]?.[0]?.date).toBe(date);
});

it('keeps days apart, also when the clock is set back', () => {
  const { notes: all, sent } = notes();
  for (const days of [0, 1, 0]) all.note('a', 'allowed', true, NOON_MS + days * DAY_MS);
  all.send();
  expect(sent.map((rows) => rows.map(({ date, allowed }) => [date, allowed]))).toEqual([
    [['2026-01-31', 1]],
    [['2026-02-01', 1]],
    [['2026-01-31', 1]],
  ]);
});

it('hands over by itself when very many keys come, so that its memory is bounded; nothing is lost', () => {
  const { notes: all, sent } = notes();
  for (let key = 0; key < 120_000; key++) all.note(`key ${key}`, 'allowed', true, NOON_MS);
  expect(sent.length).toBe(2);
  all.send();
  const total = sent.flat().reduce((sum, row) => sum + row.allowed, 0);
  expect(total).toBe(120_000);
});

it('few keys are handed over every turn, many keys every fifth, and all of them at once when asked', () => {
  const { notes: all, sent } = notes();
  const use = (keys: number): void => {
    for (let key = 0; key < keys; key++) all.note(`key ${key}`, 'allowed', true, NOON_MS);
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

it('counts the same, whether keys are few or many, and whatever their ids', () => {
  const { notes: all, sent } = notes();
  const ids = Array.from({ length: 3_000 }, (_, index) => (index % 5 === 0 ? `k${index}` : uuidv7(NOON_MS)));
  const outcomes = ['allowed', 'limited', 'denied'] as const;
  const expected = new Map<
    string,
    { allowed: number; limited: number; denied: number; lastUsedMs: number }
  >();
  for (let round = 0; round < 3; round++) {
    expected.clear();
    for (let request = 0; request < 12_000; request++) {
      const keyId = ids[(Math.imul(request, 7 + round) % (1_500 * (round + 1))) % ids.length] ?? '';
      const [outcome, accepted] = [outcomes[request % 3] ?? 'allowed', request % 4 > 0];
      const at = NOON_MS + (Math.imul(request, 31) % 1_000);
      all.note(keyId, outcome, accepted, at);
      const counts = expected.get(keyId) ?? { allowed: 0, limited: 0, denied: 0, lastUsedMs: 0 };
      counts[outcome]++;
      if (accepted) counts.lastUsedMs = Math.max(counts.lastUsedMs, at);
      expected.set(keyId, counts);
    }
    all.send();
    const counted = sent.pop()?.map(({ keyId, date: _date, ...counts }) => [keyId, counts] as const);
    expect(new Map(counted)).toEqual(expected);
    expect(counted?.length).toBe(expected.size);
  }
});

it('holds a bounded number of UUIDs, too, and loses none', () => {
  const { notes: all, sent } = notes();
  for (let key = 0; key < 120_000; key++) all.note(uuidv7(NOON_MS), 'allowed', true, NOON_MS);
  expect(sent.map((rows) => rows.length)).toEqual([50_000, 50_000]);
  all.send();
  expect(new Set(sent.flat().map(({ keyId }) => keyId)).size).toBe(120_000);
});
