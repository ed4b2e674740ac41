import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactLimit } from '../../../test/support/data/limits-exact.ts';
import { counterUse, limitUse } from './counter-use.ts';
import { BLOCK_BYTES } from './memory.ts';
import { createLimitMemory, SharedMemoryLimitStore } from './local-store.ts';
import type { LimitAlgorithm, LimitRule } from '../store.ts';

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;
const START_MS = 1_728_000_000_000;

function ruleOf(id: string, algorithm: LimitAlgorithm, requests: number, windowMs = 3_600_000): LimitRule {
  return { id, algorithm, requests, windowMs, burst: requests };
}

describe.each(ALGORITHMS)('a flood of callers under one limit: %s', (algorithm) => {
  it('never refuses a caller of another limit, old or new', () => {
    const memory = createLimitMemory({ counterBytes: 4096 * BLOCK_BYTES });
    const store = new SharedMemoryLimitStore(memory, 1);
    const flooded = ruleOf('app:1 per header:x-device', algorithm, 1);
    const other = ruleOf('app:2 per api_key', algorithm, 3);
    const take = (caller: number): boolean => store.take(other, `key ${caller}`, START_MS).admitted;
    for (let caller = 0; caller < 200; caller++) expect(take(caller)).toBe(true);
    for (let device = 0; device < 40_000; device++) store.take(flooded, `device ${device}`, START_MS);
    expect(limitUse(memory)[0]).toMatchObject({ name: 'app:1 per header:x-device' });
    for (let caller = 0; caller < 600; caller++) {
      // A caller that arrives now, during the flood, has exactly the whole limit.
      const before = caller < 200 ? 1 : 0;
      for (let request = before; request < 3; request++) expect(take(caller)).toBe(true);
      expect(take(caller)).toBe(false);
      store.take(flooded, `late device ${caller}`, START_MS);
    }
    expect(limitUse(memory).find(({ name }) => name === other.id)?.evictions).toBe(0);
    expect(counterUse(memory).evictions.get('app')).toBeGreaterThan(0);
  });
});

describe('limits that meet in a full memory', () => {
  it('stay exact except for the largest one, whatever the others do', () => {
    const anyCall = fc.record({
      device: fc.nat({ max: 400 }),
      caller: fc.nat({ max: 12 }),
      stepMs: fc.nat({ max: 40 }),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...ALGORITHMS),
        fc.constantFrom(...ALGORITHMS),
        fc.integer({ min: 1, max: 4 }),
        fc.array(anyCall, { minLength: 300, maxLength: 1500, size: 'max' }),
        (floodedAlgorithm, algorithm, requests, calls) => {
          const memory = createLimitMemory({ counterBytes: 200 * BLOCK_BYTES });
          const store = new SharedMemoryLimitStore(memory, 1);
          const flooded = ruleOf('flooded', floodedAlgorithm, 2, 60_000);
          const other = ruleOf('other', algorithm, requests, 5_000);
          const twins = new Map<number, ReturnType<typeof exactLimit>>();
          let nowMs = START_MS;
          for (const { device, caller, stepMs } of calls) {
            nowMs += stepMs;
            store.take(flooded, `${device}`, nowMs);
            let twin = twins.get(caller);
            if (twin === undefined) twins.set(caller, (twin = exactLimit(other)));
            expect(store.take(other, `${caller}`, nowMs).admitted).toBe(twin.take(nowMs));
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('share it evenly: a late limit gets as much as an early one', () => {
    const memory = createLimitMemory({ counterBytes: 8192 * BLOCK_BYTES });
    const store = new SharedMemoryLimitStore(memory, 1);
    const [early, late] = [ruleOf('early', 'fixed_window', 5), ruleOf('late', 'fixed_window', 5)];
    for (let caller = 0; caller < 20_000; caller++) store.take(early, `${caller}`, START_MS);
    for (let caller = 0; caller < 3_000; caller++) {
      expect(store.take(late, `${caller}`, START_MS)).toMatchObject({ admitted: true, remaining: 4 });
    }
    for (let caller = 0; caller < 20_000; caller++) store.take(late, `${caller}`, START_MS);
    const [most, least] = limitUse(memory).map(({ blocks }) => blocks);
    expect(least! / most!).toBeGreaterThan(0.8);
  });

  it('a used allowance stays used when the limit is lowered after the eviction', () => {
    const memory = createLimitMemory({ counterBytes: 16 * BLOCK_BYTES, buckets: 1 });
    const store = new SharedMemoryLimitStore(memory, 1);
    const rule = ruleOf('app:1', 'fixed_window', 100);
    for (let request = 0; request < 50; request++) store.take(rule, 'evicted', START_MS);
    // All others have used more.
    for (let caller = 0; caller < 15; caller++) {
      for (let request = 0; request < 60; request++) store.take(rule, `${caller}`, START_MS);
    }
    const lowered = { ...rule, requests: 20 };
    expect(store.peek(lowered, 'evicted', START_MS).admitted).toBe(false);
  });
});

describe('the memory of counters', () => {
  it.each(ALGORITHMS)('follows the number of active callers: %s', (algorithm) => {
    const memory = createLimitMemory({ counterBytes: 2 ** 26 });
    const store = new SharedMemoryLimitStore(memory, 1);
    const rule = ruleOf('app:1', algorithm, 100, 1_000);
    for (let minute = 0; minute < 40; minute++) {
      for (let caller = 0; caller < 5_000; caller++) {
        for (let request = 0; request < 2; request++) {
          store.take(rule, `${minute} ${caller}`, START_MS + minute * 120_000 + request);
        }
      }
    }
    const { bytes, bytesPeak, counters } = counterUse(memory);
    expect(counters).toBeGreaterThanOrEqual(5_000);
    // There were 200,000 callers; each bucket has at most one counter of past callers.
    expect(counters).toBeLessThan(50_000);
    expect(bytes).toBeLessThanOrEqual(bytesPeak);
    expect(bytesPeak).toBeLessThan(50_000 * 2 * BLOCK_BYTES);
  });

  it('of a sliding window grows with admitted requests and shrinks again', () => {
    const memory = createLimitMemory({ counterBytes: 2 ** 20 });
    const store = new SharedMemoryLimitStore(memory, 1);
    const rule = ruleOf('app:1', 'sliding_window', 100, 1_000);
    store.take(rule, 'a', START_MS);
    expect(counterUse(memory)).toMatchObject({ counters: 1, bytes: 2 * BLOCK_BYTES });
    for (let request = 0; request < 100; request++) store.take(rule, 'a', START_MS + request);
    expect(counterUse(memory).bytes).toBeGreaterThan(20 * BLOCK_BYTES);
    for (let request = 0; request < 10; request++) store.take(rule, 'a', START_MS + 5_000 * (request + 1));
    expect(counterUse(memory).bytes).toBeLessThanOrEqual(3 * BLOCK_BYTES);
  });
});
