/**
 * The limiter against its exact twin: several threads at once take from the same counters, on random schedules, by
 * clocks that differ, jump ahead and are set back. Within one step of a schedule all threads ask at one time, so that
 * what they are admitted together must be what the twin admits, in whatever order they came.
 */
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/lib/clock.ts';
import {
  CLOCK_STEP_MS,
  createLimitMemory,
  SharedMemoryLimitStore,
} from '../../../src/limits/local/local-store.ts';
import { ENTRIES_MAX } from '../../../src/limits/local/sliding-window.ts';
import type { LimitAlgorithm, LimitRule } from '../../../src/limits/store.ts';
import { exactLimit } from '../../support/data/limits-exact.ts';
import type { Schedule, ScheduledCalls } from './schedules-worker.ts';

const THREADS = 4;
const STEPS = 150;
const SUBJECTS = ['', 'a', 'b'];
const START_MS = 1_790_000_000_123;

let workers: readonly Worker[] = [];
beforeAll(() => {
  const url = new URL('schedules-worker.ts', import.meta.url);
  workers = Array.from({ length: THREADS }, () => new Worker(url));
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.terminate()));
});

/** Numbers from 0 up to 1, the same for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) / 2 ** 24;
  };
}

interface Step {
  readonly nowMs: number;
  /** Set back by more than the clocks of threads may differ. */
  readonly isSetBack: boolean;
}

/** The next moment: the same one, a little or much later, an edge of a window or just before it, or long before. */
function nextStep(nowMs: number, windowMs: number, random: () => number): Step {
  const kind = random();
  const edgeMs = (Math.floor(nowMs / windowMs) + 1) * windowMs;
  if (kind < 0.15) return { nowMs, isSetBack: false };
  if (kind < 0.3) return { nowMs: edgeMs, isSetBack: false };
  if (kind < 0.4) return { nowMs: Math.max(nowMs, edgeMs - 1), isSetBack: false };
  if (kind < 0.5) return { nowMs: nowMs + windowMs, isSetBack: false };
  if (kind < 0.55) return { nowMs: nowMs + Math.floor(random() * 10 * windowMs), isSetBack: false };
  if (kind < 0.65) {
    return { nowMs: nowMs - CLOCK_STEP_MS - 1 - Math.floor(random() * 86_400_000), isSetBack: true };
  }
  return { nowMs: nowMs + Math.floor(random() * 0.3 * windowMs), isSetBack: false };
}

function send(worker: Worker, message: Schedule | ScheduledCalls): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window
  worker.postMessage(message);
}

interface Outcome {
  readonly admitted: number;
  readonly exact: number;
}

/** Plays one schedule; `check` sees each step's outcome and how many were in force before it. */
async function play(
  rule: LimitRule,
  seed: number,
  check: (outcome: Outcome, nowMs: number, subject: string, step: Step) => void,
): Promise<Outcome> {
  const random = randomNumbers(seed);
  const memory = createLimitMemory({ counterBytes: 65_536, buckets: 1 });
  const wall = new SharedArrayBuffer(8);
  const wallMs = new Float64Array(wall);
  const clock: Clock = { nowMs: () => wallMs[0]!, monotonicMs: () => 0 };
  const own = new SharedMemoryLimitStore(memory, THREADS + 1, clock);
  for (const [index, worker] of workers.entries()) send(worker, { memory, owner: index + 1, rule, wall });
  const twins = new Map(SUBJECTS.map((subject) => [subject, exactLimit(rule)]));
  const sum = { admitted: 0, exact: 0 };
  let nowMs = START_MS;
  for (let index = 0; index < STEPS; index++) {
    const step = nextStep(nowMs, rule.windowMs, random);
    if (step.isSetBack) for (const twin of twins.values()) twin.setBack(nowMs, step.nowMs);
    nowMs = wallMs[0] = step.nowMs;
    const subject = SUBJECTS[Math.floor(random() * SUBJECTS.length)]!;
    const twin = twins.get(subject)!;
    // The true time comes first; threads that read their clocks earlier may be late by up to CLOCK_STEP_MS.
    let admitted = own.take(rule, subject, nowMs).admitted ? 1 : 0;
    let offered = 1;
    const answers = workers.map((worker) => {
      const calls = Math.floor(random() ** 2 * Math.max(rule.requests, rule.burst));
      const lateMs = random() < 0.5 ? 0 : Math.floor(random() * CLOCK_STEP_MS);
      offered += calls;
      const answer = new Promise<number>((done) => worker.once('message', done));
      send(worker, { subject, askedMs: nowMs - lateMs, calls });
      return answer;
    });
    for (const count of await Promise.all(answers)) admitted += count;
    let exact = 0;
    while (exact < offered && twin.take(nowMs)) exact++;
    sum.admitted += admitted;
    sum.exact += exact;
    check({ admitted, exact }, nowMs, subject, step);
  }
  return sum;
}

const rule = (
  algorithm: LimitAlgorithm,
  requests: number,
  windowMs: number,
  burst = requests,
): LimitRule => ({
  id: 'app:1',
  algorithm,
  requests,
  windowMs,
  burst,
});

describe('four threads on random schedules, with clocks that differ and jump', { timeout: 60_000 }, () => {
  it.each([
    rule('fixed_window', 100, 1_000),
    rule('fixed_window', 7, 60_000),
    rule('fixed_window', 500, 86_400_000),
    rule('token_bucket', 100, 1_000, 40),
    rule('token_bucket', 7, 60_000, 300),
    rule('token_bucket', 500, 3_600_000),
    rule('sliding_window', ENTRIES_MAX, 1_000),
    rule('sliding_window', 7, 60_000),
  ])('$algorithm, $requests in $windowMs ms: exactly what the twin admits', async (limit) => {
    let most = 0;
    for (const seed of [1, 2]) {
      await play(limit, seed, ({ admitted, exact }, nowMs, subject) => {
        expect([seed, nowMs, subject, admitted]).toEqual([seed, nowMs, subject, exact]);
        most = Math.max(most, admitted);
      });
    }
    // The limit was reached, not only approached.
    expect(most).toBe(limit.algorithm === 'token_bucket' ? limit.burst : limit.requests);
  });

  it.each([rule('sliding_window', 300, 1_000), rule('sliding_window', 600, 60_000)])(
    '$algorithm beyond its exact log, $requests in $windowMs ms: never more, and 98 % of it',
    async (limit) => {
      for (const seed of [3, 4]) {
        const logs = new Map<string, (readonly [atMs: number, admitted: number])[]>(
          SUBJECTS.map((subject) => [subject, []]),
        );
        let beforeMs = START_MS;
        const sum = await play(limit, seed, ({ admitted }, nowMs, subject, { isSetBack }) => {
          if (isSetBack) {
            for (const [name, log] of logs) {
              logs.set(
                name,
                log.map(([atMs, count]) => [atMs - (beforeMs - nowMs), count] as const),
              );
            }
          }
          beforeMs = nowMs;
          const log = logs.get(subject)!;
          log.push([nowMs, admitted]);
          const inWindow = log.filter(([atMs]) => atMs > nowMs - limit.windowMs);
          expect(inWindow.reduce((total, [, count]) => total + count, 0)).toBeLessThanOrEqual(limit.requests);
        });
        expect(sum.admitted / sum.exact).toBeGreaterThanOrEqual(0.98);
      }
    },
  );
});
