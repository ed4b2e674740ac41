import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { heapBytes } from '../../../test/support/measure/garbage.ts';
import { exactLimit } from '../../../test/support/data/limits-exact.ts';
import { BLOCK_BYTES } from './memory.ts';
import { createLimitMemory, type LimitMemory, SharedMemoryLimitStore } from './local-store.ts';
import type { LimitAlgorithm, LimitRule } from '../store.ts';

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;
const START_MS = 1_728_000_000_000;

function ruleOf(algorithm: LimitAlgorithm, requests: number, windowMs = 60_000): LimitRule {
  return { id: 'ip', algorithm, requests, windowMs, burst: requests };
}

/** Memory for this number of lightly used counters. */
function roomFor(algorithm: LimitAlgorithm, counters: number, buckets = counters / 16): LimitMemory {
  const blocks = algorithm === 'sliding_window' ? 2 : 1;
  return createLimitMemory({ counterBytes: counters * blocks * BLOCK_BYTES, buckets });
}

describe.each(ALGORITHMS)('eviction: %s', (algorithm) => {
  it('admits no more requests per subject than the exact twin, however few slots there are', () => {
    const anyCall = fc.tuple(
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 0, max: 1 }),
      fc.integer({ min: 0, max: 300 }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 12 }),
        fc.array(anyCall, { minLength: 200, maxLength: 800 }),
        (requests, otherRequests, calls) => {
          const store = new SharedMemoryLimitStore(roomFor(algorithm, 16), 1);
          // Two rules that share the record of evicted slots, with windows of different length.
          const rules = [
            ruleOf(algorithm, requests, 5000),
            { ...ruleOf(algorithm, otherRequests, 6000), id: 'key' },
          ];
          const exact = new Map<string, ReturnType<typeof exactLimit>>();
          let nowMs = START_MS;
          for (const [subject, which, step] of calls) {
            // Mostly bursts: the subjects exceed the slots many times within one window.
            if (step > 250) nowMs += step;
            const rule = rules[which]!;
            const name = `${which} ${subject}`;
            let twin = exact.get(name);
            if (twin === undefined) exact.set(name, (twin = exactLimit(rule)));
            expect(!store.take(rule, String(subject), nowMs).admitted || twin.take(nowMs)).toBe(true);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('does not admit a limited caller early while others flood the table', () => {
    const store = new SharedMemoryLimitStore(roomFor(algorithm, 64), 1);
    const rule = ruleOf(algorithm, 10);
    const limited = Array.from({ length: 20 }, (_, index) => `limited ${index}`);
    for (const subject of limited) {
      for (let call = 0; call < 12; call++) store.take(rule, subject, START_MS);
    }
    let early = 0;
    for (let flood = 0; flood < 20_000; flood++) {
      store.take(rule, `flood ${flood}`, START_MS + (flood >> 8));
      if (store.take(rule, limited[flood % 20]!, START_MS + (flood >> 8)).admitted) early++;
    }
    expect(early).toBe(0);
  });

  it('gives an attacker no advantage for evicting its own counter with invented subjects', () => {
    const memory = roomFor(algorithm, 128);
    const store = new SharedMemoryLimitStore(memory, 1);
    const rule = ruleOf(algorithm, 10);
    const exact = exactLimit(rule);
    let admitted = 0;
    let nowMs = START_MS;
    // Invented subjects use one request or the whole limit, over five windows.
    for (let round = 0; round < 2000; round++) {
      const asMuch = round % 2 === 0 ? 1 : 10;
      for (let call = 0; call < asMuch; call++) store.take(rule, `invented ${round}`, nowMs);
      const isAdmitted = store.take(rule, 'attacker', nowMs).admitted;
      if (isAdmitted) admitted++;
      // Never earlier than the twin, which is never evicted.
      expect(!isAdmitted || exact.take(nowMs)).toBe(true);
      nowMs += 150;
    }
    expect(admitted).toBeGreaterThan(0);
  });

  it('admits no caller early, also in the hundredth window with ten times more callers than slots', () => {
    const store = new SharedMemoryLimitStore(roomFor(algorithm, 32), 1);
    const rule = ruleOf(algorithm, 3, 1000);
    const twins = Array.from({ length: 320 }, () => exactLimit(rule));
    let early = 0;
    let nowMs = START_MS;
    for (let call = 0; call < 60_000; call++) {
      const caller = (call * 7919) % twins.length;
      if (store.take(rule, `${caller}`, nowMs).admitted && !twins[caller]!.take(nowMs)) early++;
      if (call % 40 === 0) nowMs += 67;
    }
    expect(early).toBe(0);
    expect(nowMs - START_MS).toBeGreaterThan(100 * rule.windowMs);
    // The usage of others is forgotten after their windows: a newcomer gets the whole limit.
    expect(store.take(rule, 'newcomer', nowMs + 2 * rule.windowMs).remaining).toBe(2);
  });

  it('reuses the slots of unused counters first, so that past callers cost newcomers nothing', () => {
    const store = new SharedMemoryLimitStore(roomFor(algorithm, 16), 1);
    const rule = ruleOf(algorithm, 10);
    for (let window = 0; window < 50; window++) {
      const nowMs = START_MS + window * 120_000;
      for (let caller = 0; caller < 16; caller++) {
        expect(store.take(rule, `${window} ${caller}`, nowMs).remaining).toBe(9);
      }
    }
  });

  it('evicts the least used counter, so that one exhausted caller costs newcomers little', () => {
    const store = new SharedMemoryLimitStore(roomFor(algorithm, 16), 1);
    const rule = ruleOf(algorithm, 50);
    for (let call = 0; call < 60; call++) store.take(rule, 'exhausted', START_MS);
    for (let flood = 0; flood < 150; flood++) {
      // Sixteen newcomers at a time increase the recorded usage by one.
      expect(store.take(rule, `flood ${flood}`, START_MS).remaining).toBeGreaterThanOrEqual(38 - flood / 15);
    }
    expect(store.take(rule, 'exhausted', START_MS).admitted).toBe(false);
  });

  it('gives newcomers the whole limit once the evicted counters would be unused', () => {
    const store = new SharedMemoryLimitStore(roomFor(algorithm, 16), 1);
    const rule = ruleOf(algorithm, 10);
    for (let flood = 0; flood < 400; flood++) store.take(rule, `flood ${flood}`, START_MS);
    expect(store.peek(rule, 'newcomer', START_MS).admitted).toBe(false);
    expect(store.peek(rule, 'newcomer', START_MS + 60_000)).toMatchObject({ admitted: true, remaining: 9 });
  });
});

describe('memory', () => {
  const WARM_UP = 20_000;

  it.each([
    { algorithm: 'fixed_window', subjects: 400_000, requests: 1_000_000 },
    { algorithm: 'sliding_window', subjects: 100_000, requests: 1000 },
    { algorithm: 'token_bucket', subjects: 100_000, requests: 1000 },
  ] as const)(
    '$algorithm: stores $subjects subjects in its initial memory',
    ({ algorithm, subjects, requests }) => {
      const memory = roomFor(algorithm, 4096);
      const store = new SharedMemoryLimitStore(memory, 1);
      const rule = ruleOf(algorithm, requests);
      const take = (subject: number): boolean =>
        store.take(rule, `2001:db8::${subject.toString(16)}`, START_MS + subject / 1000).admitted;
      const before = process.memoryUsage().rss;
      let admitted = 0;
      for (let subject = 0; subject < WARM_UP; subject++) if (take(subject)) admitted++;
      const heapBefore = heapBytes();
      for (let subject = WARM_UP; subject < subjects; subject++) if (take(subject)) admitted++;
      // Newcomers inherit usage, which no spread over the buckets brings near so large a limit.
      expect(admitted).toBe(subjects);
      expect(process.memoryUsage().rss - before).toBeLessThan(80 * 1024 * 1024);
      // Ten bytes per subject would exceed this with 400,000 subjects.
      expect(heapBytes() - heapBefore).toBeLessThan(2 * 1024 * 1024);
    },
    240_000,
  );
});

describe('the record of evicted counters', () => {
  it('of a daily limit does not affect a limit per second', () => {
    const store = new SharedMemoryLimitStore(
      createLimitMemory({ counterBytes: 16 * BLOCK_BYTES, buckets: 1 }),
      1,
    );
    const daily = { ...ruleOf('fixed_window', 2, 86_400_000), id: 'daily' };
    for (let flood = 0; flood < 200; flood++) store.take(daily, `flood ${flood}`, START_MS);
    expect(store.peek(daily, 'newcomer', START_MS).admitted).toBe(false);
    expect(store.take(ruleOf('fixed_window', 2, 1000), 'newcomer', START_MS)).toMatchObject({
      admitted: true,
      remaining: 1,
    });
  });
});
