/** The limiter under real threads: several workers on one memory, ended by force or not. */
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { bucketAt, lockOf } from '../../../src/limits/local/counter-table.ts';
import {
  createLimitMemory,
  releaseLocksOf,
  SharedMemoryLimitStore,
} from '../../../src/limits/local/local-store.ts';
import type { LimitAlgorithm, LimitRule } from '../../../src/limits/store.ts';
import type { LimitsWorkerData, LimitsWorkerReport } from './threads-worker.ts';

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;
const THREADS = 4;
const FIXED_MS = 1_790_000_000_000;

function start(data: LimitsWorkerData): Worker {
  return new Worker(new URL('threads-worker.ts', import.meta.url), { workerData: data });
}

function message<T>(worker: Worker): Promise<T> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

/** Starts a thread and waits until it is ready to hammer. */
async function ready(data: LimitsWorkerData): Promise<Worker> {
  const worker = start(data);
  await message(worker);
  return worker;
}

/** Lets the worker take for a while; on a worker that is terminated meanwhile the report never comes. */
function hammer(worker: Worker, milliseconds: number): Promise<LimitsWorkerReport> {
  const report = message<LimitsWorkerReport>(worker);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window
  worker.postMessage(milliseconds);
  return report;
}

async function hammerTogether(
  data: Omit<LimitsWorkerData, 'owner' | 'job'>,
  milliseconds: number,
  subjects: number,
): Promise<LimitsWorkerReport[]> {
  const owners = Array.from({ length: THREADS }, (_, index) => index + 1);
  const workers = await Promise.all(owners.map((owner) => ready({ ...data, owner, job: { subjects } })));
  return await Promise.all(workers.map((worker) => hammer(worker, milliseconds)));
}

/** What the threads together reported of a subject, in order. */
function freeAtMs(reports: readonly LimitsWorkerReport[], subject: number): number[] {
  return reports.flatMap((report) => report.freeAtMs[subject]!).sort((a, b) => a - b);
}

/** The largest number of requests that were admitted to one subject beyond what the rule allows. */
function excess(rule: LimitRule, log: readonly number[]): number {
  if (rule.algorithm === 'fixed_window') {
    // Requests of one window are all free at its end.
    const counts = new Map<number, number>();
    for (const endMs of log) counts.set(endMs, (counts.get(endMs) ?? 0) + 1);
    return Math.max(...counts.values()) - rule.requests;
  }
  if (rule.algorithm === 'sliding_window') {
    // Requests are free one window after they were admitted.
    let oldest = 0;
    return Math.max(
      ...log.map((atMs, index) => {
        while (log[oldest]! <= atMs - rule.windowMs) oldest++;
        return index - oldest + 1 - rule.requests;
      }),
    );
  }
  // Each request puts off the time at which the bucket is full by what one token takes; a rounding is within 1 ms.
  const tokens = ((log.at(-1)! - log[0]! + 1) * rule.requests) / rule.windowMs + 1;
  return log.length - Math.floor(tokens);
}

function ruleOf(algorithm: LimitAlgorithm, requests: number, windowMs: number): LimitRule {
  return { id: 'app:1', algorithm, requests, windowMs, burst: requests };
}

describe.each(ALGORITHMS)('%s under four threads', (algorithm) => {
  it('admits exactly the limit when the time does not advance', async () => {
    const memory = createLimitMemory({ counterBytes: 2 ** 17 });
    const rule = ruleOf(algorithm, 10_007, 60_000);
    const reports = await hammerTogether({ memory, rule, fixedMs: FIXED_MS }, 300, 1);
    expect(Math.min(...reports.map((report) => report.calls))).toBeGreaterThan(0);
    expect(reports.reduce((calls, report) => calls + report.calls, 0)).toBeGreaterThan(2 * rule.requests);
    expect(freeAtMs(reports, 0)).toHaveLength(rule.requests);
  });

  it('keeps every subject within its limit while the clock runs', async () => {
    const memory = createLimitMemory({ counterBytes: 2 ** 17 });
    const rule = ruleOf(algorithm, 1000, 250);
    const subjects = 5;
    const reports = await hammerTogether({ memory, rule }, 600, subjects);
    for (let subject = 0; subject < subjects; subject++) {
      const log = freeAtMs(reports, subject);
      expect(log.length).toBeGreaterThanOrEqual(2 * rule.requests);
      expect(excess(rule, log)).toBeLessThanOrEqual(0);
    }
  });

  it('never admits more than the limit though threads are terminated in the middle', async () => {
    // One bucket for all subjects, so that there is always a thread inside it.
    const memory = createLimitMemory({ counterBytes: 65_536, buckets: 1 });
    const rule = ruleOf(algorithm, 100_000, 3_600_000);
    const job = { subjects: 12 };
    const survivor = await ready({ memory, rule, fixedMs: FIXED_MS, owner: 1, job });
    const report = hammer(survivor, 500);
    const reported = report.then(() => true);
    let deaths = 0;
    while (!(await Promise.race([reported, pause(0).then(() => false)]))) {
      const owner = 100 + deaths++;
      const worker = await ready({ memory, rule, fixedMs: FIXED_MS, owner, job });
      void hammer(worker, 60_000);
      await pause(30);
      await worker.terminate();
      releaseLocksOf(memory, owner);
    }
    expect(deaths).toBeGreaterThan(0);
    const store = new SharedMemoryLimitStore(memory, 2);
    for (let subject = 0; subject < job.subjects; subject++) {
      const left = takeAll(store, rule, `${subject}`);
      expect(freeAtMs([await report], subject).length + left).toBeLessThanOrEqual(rule.requests);
    }
    for (let subject = 0; subject < job.subjects; subject++) {
      // Whatever the dead left behind has passed with the window.
      expect(store.take(rule, `${subject}`, FIXED_MS + 2 * rule.windowMs).remaining).toBe(rule.requests - 1);
    }
  });
});

describe('two limits at once under four threads', () => {
  it.each([
    ['fixed_window', 'sliding_window'],
    ['token_bucket', 'fixed_window'],
  ] as const)('what %s refuses takes nothing of the %s beside it', async (one, other) => {
    const memory = createLimitMemory({ counterBytes: 2 ** 21 });
    const subjects = 250;
    const rule = ruleOf(one, 20, 60_000);
    const beside = { ...ruleOf(other, 30_000, 60_000), id: 'ip' };
    // The last permit of each subject is where threads meet.
    const reports = await hammerTogether({ memory, rule, beside, fixedMs: FIXED_MS }, 300, subjects);
    for (let subject = 0; subject < subjects; subject++) {
      expect(freeAtMs(reports, subject)).toHaveLength(rule.requests);
    }
    const store = new SharedMemoryLimitStore(memory, THREADS + 1);
    expect(takeAll(store, beside, '')).toBe(beside.requests - subjects * rule.requests);
  });
});

/** How many more requests are admitted. */
function takeAll(store: SharedMemoryLimitStore, rule: LimitRule, subject: string): number {
  let admitted = 0;
  while (store.take(rule, subject, FIXED_MS).admitted) admitted++;
  return admitted;
}

describe('a thread that dies holding a lock', () => {
  it('stops no thread once the main thread has released it', async () => {
    const memory = createLimitMemory({ counterBytes: 65_536, buckets: 1 });
    const rule = ruleOf('fixed_window', 10, 60_000);
    const worker = start({ memory, rule, owner: 7, job: { holdLock: lockOf(bucketAt(0)) } });
    await message(worker);
    const store = new SharedMemoryLimitStore(memory, 1);
    expect(store.take(rule, '', FIXED_MS).admitted).toBe(false);
    await worker.terminate();
    expect(store.take(rule, '', FIXED_MS).admitted).toBe(false);
    expect(releaseLocksOf(memory, 7)).toBe(1);
    expect(store.take(rule, '', FIXED_MS)).toMatchObject({ admitted: true, remaining: 9 });
  });
});
