import { describe, expect, it } from 'vitest';
import {
  fullestOf,
  isNearlyFull,
  memoryText,
  readStoreMemory,
  removesCarelessly,
  type StoreMemory,
} from './store-memory.ts';

const MIB = 1_048_576;

function info(fields: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries(fields).map(([name, value]) => `${name}:${value}`);
  return ['# Memory', ...lines, ''].join('\r\n');
}

const memory = (fields: Partial<StoreMemory>): StoreMemory => ({
  usedBytes: 0,
  maxBytes: 100 * MIB,
  policy: 'noeviction',
  ...fields,
});

describe('what a server tells of its memory', () => {
  it('is read from INFO, without what does not count against its bound', () => {
    const text = info({
      used_memory: 5_000_000,
      used_memory_human: '4.77M',
      maxmemory: 8_000_000,
      maxmemory_policy: 'volatile-lru',
      mem_not_counted_for_evict: 1_000_000,
    });
    expect(readStoreMemory(text)).toEqual({
      usedBytes: 4_000_000,
      maxBytes: 8_000_000,
      policy: 'volatile-lru',
    });
  });

  it('may have no bound', () => {
    const text = info({ used_memory: 5, maxmemory: 0, maxmemory_policy: 'noeviction' });
    expect(readStoreMemory(text)).toEqual({ usedBytes: 5, maxBytes: undefined, policy: 'noeviction' });
  });

  it.each(['', 'OK', '# Memory\r\nused_memory:12\r\n', info({ used_memory: 'x', maxmemory: 0 })])(
    'is unknown for %j',
    (text) => expect(readStoreMemory(text)).toBeUndefined(),
  );
});

it('of several servers, the one that is nearest to its bound counts', () => {
  const full = memory({ usedBytes: 90 * MIB });
  const large = memory({ usedBytes: 500 * MIB, maxBytes: 1_000 * MIB });
  const unbounded = memory({ usedBytes: 900 * MIB, maxBytes: undefined });
  expect(fullestOf([unbounded, large, full])).toBe(full);
  expect(fullestOf([])).toBeUndefined();
});

it.each([
  [{ usedBytes: 89 * MIB }, false],
  [{ usedBytes: 90 * MIB }, true],
  [{ usedBytes: 90 * MIB, policy: 'volatile-lru' }, false],
  [{ usedBytes: 90 * MIB, maxBytes: undefined }, false],
])('%j is nearly full: %s', (fields, isFull) => {
  expect(isNearlyFull(memory(fields))).toBe(isFull);
});

it.each([
  ['volatile-lru', false],
  ['allkeys-lru', false],
  ['noeviction', false],
  ['volatile-ttl', true],
  ['allkeys-random', true],
])('%s removes counters that are in use: %s', (policy, isCareless) => {
  expect(removesCarelessly(memory({ policy }))).toBe(isCareless);
  expect(removesCarelessly(memory({ policy, maxBytes: undefined }))).toBe(false);
});

it('is told with its bound and its policy', () => {
  expect(memoryText(memory({ usedBytes: 12 * MIB }))).toBe('12.0 of 100.0 MiB are used (noeviction)');
  expect(memoryText(memory({ usedBytes: 3, maxBytes: undefined }))).toBe(
    '0.0 MiB are used, without a maxmemory',
  );
});
