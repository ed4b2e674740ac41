import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactLimit } from '../../../test/support/data/limits-exact.ts';
import type { Clock } from '../../lib/clock.ts';
import { bucketAt, chainOf, lockOf } from './counter-table.ts';
import { BLOCK_BYTES } from './memory.ts';
import {
  CLOCK_STEP_MS,
  createLimitMemory,
  type LimitMemory,
  releaseLocksOf,
  SharedMemoryLimitStore,
} from './local-store.ts';
import type { LimitAlgorithm, LimitRule } from '../store.ts';

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;
/** A multiple of every window used here. */
const START_MS = 1_728_000_000_000;
const DAY_MS = 86_400_000;

function ruleOf(algorithm: LimitAlgorithm, requests: number, windowMs = 10_000): LimitRule {
  return { id: 'app:1', algorithm, requests, windowMs, burst: requests };
}

function newStore(
  memory: LimitMemory = createLimitMemory({ counterBytes: 2 ** 17 }),
  clock?: Clock,
): SharedMemoryLimitStore {
  return new SharedMemoryLimitStore(memory, 1, clock);
}

/** The number of admitted requests among `calls` at one moment. */
function admittedOf(
  store: SharedMemoryLimitStore,
  rule: LimitRule,
  subject: string,
  nowMs: number,
  calls: number,
): number {
  let admitted = 0;
  for (let call = 0; call < calls; call++) if (store.take(rule, subject, nowMs).admitted) admitted++;
  return admitted;
}

describe.each(ALGORITHMS)('%s in shared memory', (algorithm) => {
  it.each([1000, 60_000, DAY_MS, 30 * DAY_MS, 366 * DAY_MS])(
    'admits the limit in a window of %d ms',
    (windowMs) => {
      const store = newStore();
      const rule = ruleOf(algorithm, 50, windowMs);
      expect(admittedOf(store, rule, '', START_MS, 60)).toBe(50);
      const refused = store.take(rule, '', START_MS);
      expect(refused.retryAfterSecs).toBeLessThanOrEqual(windowMs / 1000);
      expect(store.take(rule, '', START_MS + refused.retryAfterSecs * 1000).admitted).toBe(true);
    },
  );

  it('counts each subject, each rule, and the rule as a whole separately', () => {
    const store = newStore();
    const rule = ruleOf(algorithm, 2);
    for (const subject of ['', 'a', 'b', 'a\0', '203.0.113.7']) {
      expect(admittedOf(store, rule, subject, START_MS, 5)).toBe(2);
    }
    expect(admittedOf(store, { ...rule, id: 'app:2' }, 'a', START_MS, 5)).toBe(2);
    expect(admittedOf(store, { ...rule, windowMs: 20_000 }, 'a', START_MS, 5)).toBe(2);
    expect(admittedOf(store, rule, 'a', START_MS, 5)).toBe(0);
  });

  it('keeps the count when `requests` is changed live, and applies the new limit at once', () => {
    const store = newStore();
    expect(admittedOf(store, ruleOf(algorithm, 10), 'a', START_MS, 8)).toBe(8);
    expect(admittedOf(store, ruleOf(algorithm, 5), 'a', START_MS, 8)).toBe(0);
    expect(admittedOf(store, ruleOf(algorithm, 0), 'a', START_MS, 8)).toBe(0);
    const raised = admittedOf(store, ruleOf(algorithm, 12), 'a', START_MS, 20);
    // A lowered token bucket forgives what exceeds its capacity.
    expect(raised).toBe(algorithm === 'token_bucket' ? 12 : 4);
  });

  it('returns from peek the decision of take, and consumes nothing', () => {
    const store = newStore();
    const rule = ruleOf(algorithm, 3);
    for (let call = 0; call < 6; call++) {
      const nowMs = START_MS + call * 700;
      const peeked = store.peek(rule, 'a', nowMs);
      expect(store.peek(rule, 'a', nowMs)).toEqual(peeked);
      // A peek into the future does not advance the time for others.
      store.peek(rule, 'a', nowMs + DAY_MS);
      expect(store.take(rule, 'a', nowMs)).toEqual(peeked);
    }
  });

  it('is shared by stores over the same memory', () => {
    const memory = structuredCloneOfShared(createLimitMemory({ counterBytes: 2 ** 17 }));
    const stores = [1, 2, 3].map((owner) => new SharedMemoryLimitStore(memory, owner));
    let admitted = 0;
    for (let call = 0; call < 30; call++) {
      // Each thread has its own object for the rule, as after a change of configuration.
      if (stores[call % 3]!.take(ruleOf(algorithm, 10), 'a', START_MS).admitted) admitted++;
    }
    expect(admitted).toBe(10);
  });

  it('admits the same as the exact twin when the clocks of threads differ and step back', () => {
    const anyCall = fc.tuple(
      fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400 })),
      fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: CLOCK_STEP_MS })),
      fc.constantFrom('a', 'b', 'c'),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom(1000, 3000, 10_000),
        fc.array(anyCall, { minLength: 1, maxLength: 300 }),
        (requests, windowMs, calls) => {
          const rule = ruleOf(algorithm, requests, windowMs);
          // One set, so that all subjects see one time.
          const store = newStore(createLimitMemory({ counterBytes: 65_536, buckets: 1 }));
          const exact = new Map(['a', 'b', 'c'].map((subject) => [subject, exactLimit(rule)]));
          let nowMs = START_MS;
          for (const [step, late, subject] of calls) {
            nowMs += step;
            // The latest time comes first, then the late one.
            for (const askedMs of [nowMs, nowMs - late]) {
              expect(store.take(rule, subject, askedMs).admitted).toBe(exact.get(subject)!.take(nowMs));
            }
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it('does not trust an old clock reading of a caller', () => {
    // A new reading shows that the clock was not set back, or at most by the tolerance between threads.
    const clock: Clock = { nowMs: () => START_MS - CLOCK_STEP_MS, monotonicMs: () => 0 };
    const store = newStore(createLimitMemory({ counterBytes: 65_536, buckets: 1 }), clock);
    const rule = ruleOf(algorithm, 5, 1000);
    expect(admittedOf(store, rule, 'a', START_MS, 9)).toBe(5);
    expect(admittedOf(store, rule, 'a', START_MS - 3_600_000, 9)).toBe(0);
    expect(admittedOf(store, rule, 'a', START_MS, 9)).toBe(0);
    expect(admittedOf(store, rule, 'a', START_MS + 1000, 9)).toBe(5);
  });

  it('carries the count over when the wall clock was set back', () => {
    let wallMs = START_MS + DAY_MS;
    const clock: Clock = { nowMs: () => wallMs, monotonicMs: () => 0 };
    const store = newStore(createLimitMemory({ counterBytes: 65_536, buckets: 1 }), clock);
    const rule = ruleOf(algorithm, 5, 1000);
    expect(admittedOf(store, rule, 'a', wallMs, 3)).toBe(3);
    wallMs = START_MS;
    expect(admittedOf(store, rule, 'a', wallMs, 9)).toBe(2);
    const refused = store.take(rule, 'a', wallMs);
    expect(refused.retryAfterSecs).toBe(1);
    wallMs += 1000;
    expect(admittedOf(store, rule, 'a', wallMs, 9)).toBe(5);
  });

  it('refuses while a dead thread holds the lock, and counts exactly once it is released', () => {
    const memory = createLimitMemory({ counterBytes: 65_536, buckets: 1 });
    const store = newStore(memory);
    const rule = ruleOf(algorithm, 5);
    expect(admittedOf(store, rule, 'a', START_MS, 3)).toBe(3);
    new Int32Array(memory.counters.buffer)[lockOf(bucketAt(0))] = 2;
    expect(store.take(rule, 'a', START_MS)).toMatchObject({ admitted: false, retryAfterSecs: 1 });
    expect(releaseLocksOf(memory, 3)).toBe(0);
    expect(releaseLocksOf(memory, 2)).toBe(1);
    expect(admittedOf(store, rule, 'a', START_MS, 9)).toBe(2);
  });
});

describe('two limits at once', () => {
  const anyRule = (id: string) =>
    fc
      .tuple(fc.constantFrom(...ALGORITHMS), fc.integer({ min: 0, max: 6 }), fc.constantFrom(1000, 3000))
      .map(([algorithm, requests, windowMs]): LimitRule => ({
        ...ruleOf(algorithm, requests, windowMs),
        id,
      }));

  it('are charged together or not at all, like two exact twins, in one set or in two', () => {
    const anyCall = fc.tuple(fc.integer({ min: 0, max: 400 }), fc.constantFrom('first', 'second', 'both'));
    fc.assert(
      fc.property(
        anyRule('ip'),
        anyRule('app:1'),
        fc.constantFrom(1, 64),
        fc.array(anyCall, { minLength: 1, maxLength: 200 }),
        (first, second, buckets, calls) => {
          const store = newStore(createLimitMemory({ counterBytes: 65_536, buckets }));
          const twins = { first: exactLimit(first), second: exactLimit(second) };
          let nowMs = START_MS;
          for (const [step, which] of calls) {
            nowMs += step;
            if (which === 'first')
              expect(store.take(first, 'a', nowMs).admitted).toBe(twins.first.take(nowMs));
            else if (which === 'second')
              expect(store.take(second, '', nowMs).admitted).toBe(twins.second.take(nowMs));
            else {
              const looks = { first: store.peek(first, 'a', nowMs), second: store.peek(second, '', nowMs) };
              expect(store.takeBoth(first, 'a', second, '', nowMs)).toEqual(looks);
              const isAdmitted = twins.first.left(nowMs) > 0 && twins.second.left(nowMs) > 0;
              expect(looks.first.admitted && looks.second.admitted).toBe(isAdmitted);
              if (isAdmitted)
                expect([twins.first.take(nowMs), twins.second.take(nowMs)]).toEqual([true, true]);
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it.each([0, 1])('keep no lock when a dead thread holds the lock of bucket %i', (bucket) => {
    const memory = createLimitMemory({ counterBytes: 65_536, buckets: 2 });
    const store = newStore(memory);
    const log = ruleOf('sliding_window', 2);
    const words = new Int32Array(memory.counters.buffer);
    store.take(log, 'a', START_MS);
    const ofLog = words[chainOf(bucketAt(0))] === 0 ? 1 : 0;
    // A rule in the other bucket.
    const names = Array.from({ length: 64 }, (_, name) => `app:${name}`);
    const window = names
      .map((id) => ({ ...ruleOf('fixed_window', 2), id }))
      .find((rule) => {
        store.take(rule, 'a', START_MS - 20_000);
        return words[chainOf(bucketAt(1 - ofLog))] !== 0;
      })!;
    words[lockOf(bucketAt(bucket))] = 2;
    const refused = { admitted: false, retryAfterSecs: 1 };
    for (const [first, second] of [
      [window, log],
      [log, window],
    ] as const) {
      expect(store.takeBoth(first, 'a', second, 'a', START_MS)).toMatchObject({
        first: refused,
        second: refused,
      });
    }
    expect(releaseLocksOf(memory, 2)).toBe(1);
    expect(releaseLocksOf(memory, 1), 'no lock is left behind').toBe(0);
    expect(admittedOf(store, window, 'a', START_MS, 9)).toBe(2);
    expect(admittedOf(store, log, 'a', START_MS, 9)).toBe(1);
  });
});

describe('counters of all algorithms side by side', () => {
  it('admit the same as exact twins, whatever the clocks of two threads do', () => {
    const anyCall = fc.record({
      what: fc.oneof(
        { weight: 6, arbitrary: fc.constant('take') },
        fc.constantFrom('late', 'stale', 'two', 'set back'),
      ),
      rule: fc.nat({ max: 5 }),
      other: fc.nat({ max: 5 }),
      subject: fc.constantFrom('', 'a', 'b', 'c'),
      thread: fc.nat({ max: 1 }),
      stepMs: fc.oneof(fc.constant(0), fc.nat({ max: 900 })),
      backMs: fc.nat({ max: CLOCK_STEP_MS }),
    });
    const anyRequests = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(anyRequests, fc.array(anyCall, { maxLength: 400, size: 'max' }), (requests, calls) => {
        const rules = requests.map((each, index) => ({
          ...ruleOf(ALGORITHMS[index % 3] ?? 'token_bucket', each, [100, 1500, 1000][index >> 1]),
          id: `app:${index}`,
        }));
        let wallMs = START_MS + DAY_MS;
        const clock: Clock = { nowMs: () => wallMs, monotonicMs: () => 0 };
        // One bucket, so that all counters see one time.
        const memory = createLimitMemory({ counterBytes: 65_536, buckets: 1 });
        const stores = [1, 2].map((owner) => new SharedMemoryLimitStore(memory, owner, clock));
        const twins = rules.map(
          (rule) => new Map(['', 'a', 'b', 'c'].map((name) => [name, exactLimit(rule)])),
        );
        let latestMs = 0;
        /** The effective time. */
        const advance = (askedMs: number): number => {
          const fromMs = latestMs;
          if (fromMs - Math.max(askedMs, wallMs) > CLOCK_STEP_MS) {
            latestMs = Math.max(askedMs, wallMs);
            for (const counters of twins) {
              for (const twin of counters.values()) twin.setBack(fromMs, latestMs);
            }
          }
          return (latestMs = Math.max(latestMs, askedMs));
        };
        for (const { what, rule, other, subject, thread, stepMs, backMs } of calls) {
          wallMs += stepMs;
          if (what === 'set back') wallMs -= CLOCK_STEP_MS + 1 + backMs;
          const askedMs = wallMs - (what === 'late' ? backMs : what === 'stale' ? CLOCK_STEP_MS + backMs : 0);
          const store = stores[thread]!;
          const first = rules[rule]!;
          const nowMs = advance(askedMs);
          const twin = twins[rule]!.get(subject)!;
          if (what === 'two' && other !== rule) {
            const secondMs = advance(askedMs);
            const second = twins[other]!.get(subject)!;
            const isAdmitted = twin.left(nowMs) > 0 && second.left(secondMs) > 0;
            const decisions = store.takeBoth(first, subject, rules[other]!, subject, askedMs);
            expect(decisions.first.admitted && decisions.second.admitted).toBe(isAdmitted);
            if (isAdmitted) expect([twin.take(nowMs), second.take(secondMs)]).toEqual([true, true]);
            continue;
          }
          const peeked = store.peek(first, subject, askedMs);
          expect(peeked.admitted).toBe(twin.left(nowMs) > 0);
          expect(store.take(first, subject, askedMs)).toEqual(peeked);
          if (twin.take(nowMs)) expect(peeked.remaining).toBe(twin.left(nowMs));
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe('shared-memory store', () => {
  it('reserves the configured size and uses memory only as counters are created', () => {
    const memory = createLimitMemory({ counterBytes: 2 ** 30 });
    expect(memory.counters.blocks).toBe(2 ** 30 / BLOCK_BYTES);
    const before = process.memoryUsage().rss;
    const store = newStore(memory);
    const rule = ruleOf('sliding_window', 5);
    for (let caller = 0; caller < 10_000; caller++) store.take(rule, `${caller}`, START_MS);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20);
  });

  it('draws a new hash key for every memory', () => {
    expect(createLimitMemory({ counterBytes: 65_536, buckets: 1 }).hashKey).not.toEqual(
      createLimitMemory({ counterBytes: 65_536, buckets: 1 }).hashKey,
    );
  });

  it.each([{ requests: -1 }, { requests: 1.5 }, { windowMs: 0 }, { windowMs: Number.NaN }, { burst: -1 }])(
    'refuses a rule that no configuration can contain: %o',
    (fault) => {
      const store = newStore();
      expect(() => store.take({ ...ruleOf('token_bucket', 1), ...fault }, '', START_MS)).toThrow(
        'Assertion failed',
      );
      // No lock is left behind.
      expect(store.take(ruleOf('token_bucket', 1), '', START_MS).admitted).toBe(true);
    },
  );

  it('rounds a time with a fraction down to milliseconds', () => {
    const store = newStore();
    const rule = ruleOf('token_bucket', 1, 1000);
    expect(store.take(rule, '', START_MS + 0.9).admitted).toBe(true);
    expect(store.take(rule, '', START_MS + 999.9).admitted).toBe(false);
    expect(store.take(rule, '', START_MS + 1000).admitted).toBe(true);
  });
});

/** What `workerData` does to the memory. */
function structuredCloneOfShared(memory: LimitMemory): LimitMemory {
  return structuredClone(memory);
}
