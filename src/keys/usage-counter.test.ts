import { expect, it } from 'vitest';
import { uuidv7 } from '../lib/ids.ts';
import { DAY_MS } from '../model/key-usage.ts';
import { NUMBERS_PER_KEY, UsageCounter, type CountedKey, type KeyUsageBatch } from './usage-counter.ts';

const NOON_MS = Date.parse('2026-01-31T12:00:00Z');
const KEYS_MAX = 131_072;
const KEYS_PER_BATCH = 2_000;

function newCounter(): { readonly counter: UsageCounter; readonly sent: KeyUsageBatch[] } {
  const sent: KeyUsageBatch[] = [];
  return { counter: new UsageCounter((batch) => void sent.push(batch)), sent };
}

/** As a request sees it for the first time. */
const key = (id: string): CountedKey => ({ id, usagePlace: 0 });

/** Last use, allowed, limited and denied, by key. */
function numbersByKey(batch: KeyUsageBatch | undefined): Record<string, number[]> {
  const { keyIds = [], numbers = new Float64Array() } = batch ?? {};
  return Object.fromEntries(
    keyIds.map((keyId, index) => {
      const from = index * NUMBERS_PER_KEY;
      return [keyId, Array.from(numbers.subarray(from, from + NUMBERS_PER_KEY))];
    }),
  );
}

it('counts outcomes per key, and the last use only for valid keys', () => {
  const { counter, sent } = newCounter();
  counter.countUse(key('a'), 'allowed', NOON_MS + 2);
  counter.countUse(key('a'), 'limited', NOON_MS + 1);
  counter.countRefusal('a', NOON_MS + 9);
  counter.countRefusal('b', NOON_MS + 9);
  counter.countUse(key('a'), 'denied', NOON_MS);
  counter.flush();
  counter.flush();
  expect(sent.map(({ date }) => date)).toEqual(['2026-01-31']);
  expect(numbersByKey(sent[0])).toEqual({ a: [NOON_MS + 2, 1, 1, 2], b: [0, 0, 0, 1] });
});

it('counts a kept key where it was counted, until its place is of another key', () => {
  const { counter, sent } = newCounter();
  const [kept, other] = [key('kept'), key('other')];
  for (const used of [kept, kept, key('kept')]) counter.countUse(used, 'allowed', NOON_MS);
  counter.flush();
  // Nothing was counted since: all places are free again.
  counter.flush();
  counter.countUse(other, 'limited', NOON_MS);
  counter.countUse(kept, 'denied', NOON_MS);
  counter.countUse(other, 'limited', NOON_MS);
  expect(other.usagePlace).not.toBe(kept.usagePlace);
  counter.flush();
  expect(sent.map(numbersByKey)).toEqual([
    { kept: [NOON_MS, 3, 0, 0] },
    { other: [NOON_MS, 0, 2, 0], kept: [NOON_MS, 0, 0, 1] },
  ]);
});

it.each([
  ['the last millisecond of the day before', -1, '2026-01-30'],
  ['the first millisecond of the day', 0, '2026-01-31'],
  ['the last millisecond of the day', DAY_MS - 1, '2026-01-31'],
  ['the first millisecond of the next day', DAY_MS, '2026-02-01'],
])('%s counts for its UTC day', (_name, offsetMs, date) => {
  const { counter, sent } = newCounter();
  const usedMs = Date.parse('2026-01-31T00:00:00Z') + offsetMs;
  counter.countUse(key('a'), 'allowed', usedMs);
  counter.flush();
  expect(sent[0]?.date).toBe(date);
  expect(numbersByKey(sent[0])).toEqual({ a: [usedMs, 1, 0, 0] });
});

it('separates days, also when the clock is set back', () => {
  const { counter, sent } = newCounter();
  for (const days of [0, 1, 0]) counter.countUse(key('a'), 'allowed', NOON_MS + days * DAY_MS);
  counter.flush();
  expect(sent.map(({ date }) => date)).toEqual(['2026-01-31', '2026-02-01', '2026-01-31']);
  expect(sent.map((batch) => numbersByKey(batch)['a']?.[1])).toEqual([1, 1, 1]);
});

it('sends a batch when very many keys are in use, so that its memory is bounded', () => {
  const { counter, sent } = newCounter();
  const count = KEYS_MAX + 10;
  for (let index = 0; index < count; index++) counter.countUse(key(`key ${index}`), 'allowed', NOON_MS);
  const keyIds = (): string[] => sent.flatMap((batch) => batch.keyIds);
  expect(keyIds()).toHaveLength(KEYS_MAX);
  counter.flush();
  expect(new Set(keyIds()).size).toBe(count);
  expect(Math.max(...sent.map((batch) => batch.keyIds.length))).toBe(KEYS_PER_BATCH);
  expect(sent.every((batch) => batch.numbers.length === batch.keyIds.length * NUMBERS_PER_KEY)).toBe(true);
});

it('sends few keys every tick, many keys every fifth tick, and all keys on flush', () => {
  const { counter, sent } = newCounter();
  const ids = Array.from({ length: 1_001 }, () => uuidv7(NOON_MS));
  const use = (keys: number): void => {
    for (const used of ids.slice(0, keys).map(key)) counter.countUse(used, 'allowed', NOON_MS);
  };
  use(1_000);
  counter.tick();
  expect(sent.map(({ keyIds }) => keyIds.length)).toEqual([1_000]);
  for (let tick = 0; tick < 5; tick++) {
    expect(sent).toHaveLength(1);
    use(1_001);
    counter.tick();
  }
  expect(sent.at(-1)?.keyIds).toEqual(ids);
  expect(numbersByKey(sent.at(-1))[ids[7] ?? '']?.[1]).toBe(5);
  use(1_001);
  counter.flush();
  expect(sent).toHaveLength(3);
});

it('very many keys wait one tick for each five thousand keys', () => {
  const { counter, sent } = newCounter();
  for (let used = 0; used < 50_000; used++) counter.countUse(key(uuidv7(NOON_MS)), 'allowed', NOON_MS);
  for (let tick = 0; tick < 9; tick++) counter.tick();
  expect(sent).toHaveLength(0);
  counter.tick();
  expect(sent.flatMap(({ keyIds }) => keyIds)).toHaveLength(50_000);
});
