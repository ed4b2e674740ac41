import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactLimit } from '../../../test/support/data/limits-exact.ts';
import { algorithmFor, KIND_OF } from './counter-table.ts';
import { BLOCK_CELLS } from './memory.ts';
import { beginQueue, ENTRIES_MAX, giveBlock, SLIDING_BLOCKS_MAX, wantsBlock } from './sliding-window.ts';
import { noteRule, OWN, REQUESTS, type SlotAlgorithm } from './slot.ts';
import type { LimitAlgorithm, LimitDecision, LimitRule } from '../store.ts';

const AT = BLOCK_CELLS;
/** The blocks of a complete counter, and one before and one after it. */
const BLOCKS = SLIDING_BLOCKS_MAX + 2;

/** One counter in the middle of an array, so that a write outside it is noticed. */
class Counter {
  readonly algorithm: SlotAlgorithm;
  rule: LimitRule;
  cells = new Float64Array(BLOCKS * BLOCK_CELLS);
  #blocks = 1;

  constructor(rule: LimitRule) {
    this.rule = rule;
    this.algorithm = algorithmFor(KIND_OF[rule.algorithm]);
    noteRule(this.state, AT, rule);
    if (this.isSliding) beginQueue(this.state, AT, this.#block());
  }

  get isSliding(): boolean {
    return this.rule.algorithm === 'sliding_window';
  }

  get state() {
    return { cells: this.cells, words: new Int32Array(this.cells.buffer) };
  }

  #block(): number {
    return ++this.#blocks * BLOCK_CELLS;
  }

  take(nowMs: number, askedMs = nowMs): LimitDecision {
    if (this.isSliding && wantsBlock(this.state, AT)) giveBlock(this.state, AT, this.#block());
    const decision = this.algorithm.take(this.state, AT, this.rule, nowMs, askedMs, true);
    this.cells[AT + REQUESTS] = this.rule.requests;
    return decision;
  }

  /** @throws Error when it changes anything */
  peek(nowMs: number): LimitDecision {
    const before = this.cells.slice();
    const decision = this.algorithm.take(this.state, AT, this.rule, nowMs, nowMs, false);
    if (this.cells.some((value, cell) => value !== before[cell])) throw new Error('peek changed the counter');
    return decision;
  }

  touchedOutside(): boolean {
    const end = this.isSliding ? BLOCKS - 1 : 2;
    return this.cells.some((value, cell) => value !== 0 && (cell < AT || cell >= end * BLOCK_CELLS));
  }
}

const START_MS = 1_790_000_000_123;

const anyAlgorithm = fc.constantFrom<LimitAlgorithm>('fixed_window', 'sliding_window', 'token_bucket');
const anyExactRule: fc.Arbitrary<LimitRule> = fc.record({
  id: fc.constant('app:1'),
  algorithm: anyAlgorithm,
  // Sliding windows are exact logs up to ENTRIES_MAX.
  requests: fc.integer({ min: 1, max: ENTRIES_MAX }),
  windowMs: fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.constantFrom(1000, 60_000, 86_400_000)),
  burst: fc.integer({ min: 1, max: 200 }),
});

/** Steps between requests as fractions of the window: bursts, a steady flow, pauses, and several windows at once. */
const anySteps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 4, arbitrary: fc.double({ min: 0, max: 0.03, noNaN: true }) },
    { weight: 2, arbitrary: fc.double({ min: 0, max: 0.5, noNaN: true }) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 5, noNaN: true }) },
  ),
  { minLength: 1, maxLength: 400 },
);

describe('against the exact twin', () => {
  it('admits the same requests and reports the same remainder', () => {
    fc.assert(
      fc.property(anyExactRule, anySteps, (rule, steps) => {
        const counter = new Counter(rule);
        const exact = exactLimit(rule);
        let nowMs = START_MS;
        for (const step of steps) {
          nowMs += Math.round(step * rule.windowMs);
          const left = exact.left(nowMs);
          const decision = counter.take(nowMs);
          expect(decision.admitted).toBe(exact.take(nowMs));
          expect(decision.remaining).toBe(Math.max(0, left - 1));
          expect(decision.limit).toBe(rule.algorithm === 'token_bucket' ? rule.burst : rule.requests);
        }
        expect(counter.touchedOutside()).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it('sets Retry-After to the first whole second at which a request is admitted', () => {
    fc.assert(
      fc.property(anyExactRule, anySteps, (rule, steps) => {
        const counter = new Counter(rule);
        let nowMs = START_MS;
        for (const step of steps) {
          nowMs += Math.round(step * rule.windowMs);
          const decision = counter.take(nowMs);
          let waitSecs = 0;
          while (!decision.admitted && (waitSecs === 0 || !counter.peek(nowMs + waitSecs * 1000).admitted)) {
            // For windows of a day only the seconds around the result are searched.
            waitSecs = Math.max(waitSecs + 1, decision.retryAfterSecs - 3);
          }
          expect(decision.retryAfterSecs).toBe(waitSecs);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('is unused again exactly after resetMs', () => {
    fc.assert(
      fc.property(anyExactRule, anySteps, (rule, steps) => {
        const counter = new Counter(rule);
        let nowMs = START_MS;
        let resetMs = 0;
        for (const step of steps) {
          nowMs += Math.round(step * rule.windowMs);
          resetMs = counter.take(nowMs).resetMs;
        }
        const used = (atMs: number): number => counter.algorithm.used(counter.state, AT, atMs);
        expect(resetMs).toBeGreaterThan(0);
        expect(counter.algorithm.busyUntilMs(counter.state, AT)).toBe(nowMs + resetMs);
        expect(used(nowMs + resetMs - 1)).toBeGreaterThan(0);
        expect(used(nowMs + resetMs)).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it('keeps huge token buckets exact to the unit', () => {
    const month = 30 * 86_400_000;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000_000 }),
        fc.constantFrom(1000, 86_400_000, month, 31_622_400_000),
        fc.array(fc.integer({ min: 0, max: 40_000_000 }), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 0, max: 3 }),
        (requests, windowMs, steps, left) => {
          const rule: LimitRule = {
            id: 'x',
            algorithm: 'token_bucket',
            requests,
            windowMs,
            burst: 1_000_000_000,
          };
          const counter = new Counter(rule);
          // Owes all except a few tokens, as after a billion requests.
          counter.algorithm.inherit(counter.state, AT, rule, rule.burst, START_MS + 1, START_MS);
          let units = 0n;
          let nowMs = START_MS;
          for (const step of [...steps, left]) {
            nowMs += step;
            units += BigInt(step) * BigInt(requests);
            const full = BigInt(rule.burst) * BigInt(windowMs);
            if (units > full) units = full;
            const decision = counter.take(nowMs);
            expect(decision.admitted).toBe(units >= BigInt(windowMs));
            if (decision.admitted) units -= BigInt(windowMs);
            expect(decision.remaining).toBe(Number(units / BigInt(windowMs)));
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('sliding window beyond the exact log', () => {
  const anyLargeRule: fc.Arbitrary<LimitRule> = fc.record({
    id: fc.constant('app:1'),
    algorithm: fc.constant<LimitAlgorithm>('sliding_window'),
    requests: fc.integer({ min: ENTRIES_MAX + 1, max: 600 }),
    windowMs: fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.constantFrom(1000, 60_000)),
    burst: fc.constant(0),
  });
  /** Groups of requests at one moment, with a pause after each, as a fraction of the window. */
  const anyGroups = fc.array(
    fc.tuple(
      fc.integer({ min: 1, max: 120 }),
      fc.oneof(fc.double({ min: 0, max: 0.02, noNaN: true }), fc.double({ min: 0, max: 0.6, noNaN: true })),
    ),
    { minLength: 1, maxLength: 150 },
  );

  it('never admits more than the limit in any window, and Retry-After is correct', () => {
    fc.assert(
      fc.property(anyLargeRule, anyGroups, (rule, groups) => {
        const counter = new Counter(rule);
        const log: number[] = [];
        let nowMs = START_MS;
        for (const [size, pause] of groups) {
          let decision = counter.take(nowMs);
          for (let left = size; left > 1 && decision.admitted; left--) {
            log.push(nowMs);
            decision = counter.take(nowMs);
          }
          if (decision.admitted) log.push(nowMs);
          expect(decision.admitted || counter.peek(nowMs + decision.retryAfterSecs * 1000).admitted).toBe(
            true,
          );
          expect(log.filter((atMs) => atMs > nowMs - rule.windowMs).length).toBeLessThanOrEqual(
            rule.requests,
          );
          nowMs += Math.round(pause * rule.windowMs);
        }
        expect(counter.touchedOutside()).toBe(false);
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    { requests: 125, windowMs: 1000, offered: 1.05 },
    { requests: 200, windowMs: 1000, offered: 1.5 },
    { requests: 500, windowMs: 10_000, offered: 3 },
    { requests: 1000, windowMs: 60_000, offered: 1.2 },
    { requests: 5000, windowMs: 60_000, offered: 10 },
    { requests: 20_000, windowMs: 60_000, offered: 2 },
  ])('admits at least 98 % of the exact log: $requests in $windowMs ms, $offered times the limit', (load) => {
    for (const random of [false, true]) {
      const rule: LimitRule = { id: 'x', algorithm: 'sliding_window', burst: 0, ...load };
      const counter = new Counter(rule);
      const gapMs = rule.windowMs / (rule.requests * load.offered);
      let seed = 1;
      let exactInWindow: number[] = [];
      let oldest = 0;
      let exactAdmitted = 0;
      let admitted = 0;
      for (let atMs = START_MS; atMs < START_MS + 20 * rule.windowMs;) {
        seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
        atMs += random ? -Math.log((seed + 1) / 0x8000_0001) * gapMs : gapMs;
        const nowMs = Math.floor(atMs);
        while (oldest < exactInWindow.length && exactInWindow[oldest]! <= nowMs - rule.windowMs) oldest++;
        if (exactInWindow.length - oldest < rule.requests) {
          exactInWindow.push(nowMs);
          exactAdmitted++;
        }
        if (oldest > 100_000) exactInWindow = exactInWindow.slice(oldest);
        if (oldest > exactInWindow.length) oldest = 0;
        if (counter.take(nowMs).admitted) admitted++;
      }
      expect(exactAdmitted).toBeGreaterThanOrEqual(18 * rule.requests);
      expect(admitted / exactAdmitted).toBeGreaterThanOrEqual(0.98);
      expect(admitted).toBeLessThanOrEqual(exactAdmitted);
    }
  });

  it('stays within its ring when `requests` goes up and down', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 30 })), {
          maxLength: 600,
        }),
        (changes) => {
          const rule: LimitRule = {
            id: 'x',
            algorithm: 'sliding_window',
            requests: 1,
            windowMs: 1000,
            burst: 0,
          };
          const counter = new Counter(rule);
          const log: number[] = [];
          let nowMs = START_MS;
          for (const [requests, step] of changes) {
            nowMs += step;
            counter.rule = { ...rule, requests };
            const before = log.filter((atMs) => atMs > nowMs - rule.windowMs).length;
            const { admitted } = counter.take(nowMs);
            if (admitted) log.push(nowMs);
            expect(admitted && before >= requests).toBe(false);
          }
          expect(counter.touchedOutside()).toBe(false);
        },
      ),
      { numRuns: 150 },
    );
  });
});

function ruleOf(algorithm: LimitAlgorithm, requests: number): LimitRule {
  return { id: 'x', algorithm, requests, windowMs: 10_000, burst: requests };
}

describe('one rule at a time', () => {
  it.each(['fixed_window', 'sliding_window', 'token_bucket'] as const)(
    '%s with 0 requests admits nothing',
    (algorithm) => {
      const decision = new Counter({ ...ruleOf(algorithm, 0), burst: 5 }).take(START_MS);
      expect(decision).toMatchObject({ admitted: false, remaining: 0, retryAfterSecs: 10 });
    },
  );

  it('fixed windows start at multiples of their length', () => {
    const counter = new Counter(ruleOf('fixed_window', 1));
    expect(counter.take(19_999)).toEqual({
      admitted: true,
      limit: 1,
      remaining: 0,
      resetMs: 1,
      retryAfterSecs: 0,
    });
    expect(counter.take(20_000).admitted).toBe(true);
    expect(counter.take(20_001)).toEqual({
      admitted: false,
      limit: 1,
      remaining: 0,
      resetMs: 9999,
      retryAfterSecs: 10,
    });
  });

  it('a token bucket allows its burst, then the refill rate', () => {
    const counter = new Counter({ ...ruleOf('token_bucket', 10), burst: 3 });
    expect([1, 2, 3, 4].map(() => counter.take(50_000).admitted)).toEqual([true, true, true, false]);
    expect(counter.take(50_999).admitted).toBe(false);
    expect(counter.take(51_000).admitted).toBe(true);
    expect(counter.take(51_000)).toEqual({
      admitted: false,
      limit: 3,
      remaining: 0,
      resetMs: 3000,
      retryAfterSecs: 1,
    });
  });

  it('a lowered burst does not make the bucket owe more than its capacity', () => {
    const counter = new Counter({ ...ruleOf('token_bucket', 10), burst: 1000 });
    for (let taken = 0; taken < 500; taken++) counter.take(50_000);
    counter.rule = { ...counter.rule, burst: 10 };
    expect(counter.take(50_000)).toMatchObject({ admitted: false, retryAfterSecs: 1 });
    expect(counter.take(51_000).admitted).toBe(true);
  });

  it.each(['fixed_window', 'sliding_window', 'token_bucket'] as const)(
    '%s: waits are relative to the clock of the caller',
    (algorithm) => {
      const counter = new Counter(ruleOf(algorithm, 1));
      expect(counter.take(50_000, 47_000)).toMatchObject({ admitted: true, resetMs: 13_000 });
      expect(counter.take(50_000, 47_000)).toMatchObject({
        admitted: false,
        resetMs: 13_000,
        retryAfterSecs: 13,
      });
    },
  );
});

describe('what eviction and repair rely on', () => {
  it('an inherited state is at least as strict as the state that it replaces', () => {
    fc.assert(
      fc.property(anyExactRule, anySteps, anySteps, (rule, first, second) => {
        const evicted = new Counter(rule);
        let nowMs = START_MS;
        for (const step of first) evicted.take((nowMs += Math.round(step * rule.windowMs)));
        const amount = evicted.algorithm.used(evicted.state, AT, nowMs);
        const untilMs = evicted.algorithm.busyUntilMs(evicted.state, AT);
        nowMs += Math.round(second[0]! * rule.windowMs);
        if (nowMs >= untilMs) return;
        const heir = new Counter(rule);
        heir.algorithm.inherit(heir.state, AT, rule, amount, untilMs, nowMs);
        for (const step of second.slice(1)) {
          expect(!heir.take(nowMs).admitted || evicted.take(nowMs).admitted).toBe(true);
          nowMs += Math.round(step * rule.windowMs);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('a state that is moved to another time makes the same decisions', () => {
    fc.assert(
      fc.property(anyExactRule, anySteps, fc.integer({ min: 1, max: 1000 }), (rule, steps, windowsBack) => {
        const counter = new Counter(rule);
        let nowMs = START_MS;
        for (const step of steps) counter.take((nowMs += Math.round(step * rule.windowMs)));
        const backMs = windowsBack * rule.windowMs;
        const before = counter.peek(nowMs);
        counter.algorithm.rebase(counter.state, AT, nowMs, nowMs - backMs);
        expect(counter.take(nowMs - backMs)).toEqual(before);
      }),
      { numRuns: 200 },
    );
  });

  it('repair recomputes the total of a sliding window', () => {
    const counter = new Counter({
      id: 'x',
      algorithm: 'sliding_window',
      requests: 10,
      windowMs: 1000,
      burst: 0,
    });
    for (let taken = 0; taken < 7; taken++) counter.take(START_MS + taken);
    const whole = counter.cells.slice();
    // As if the owner had died before it wrote the total.
    counter.cells[AT + OWN] = 3;
    counter.algorithm.repair(counter.state, AT);
    expect(counter.cells).toEqual(whole);
    expect(counter.take(START_MS + 10).remaining).toBe(2);
  });
});
