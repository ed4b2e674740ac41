/**
 * A million callers of one limit are counted exactly, by two threads at once, in the memory that is there by default.
 */
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { counterUse } from '../../../src/limits/local/counter-use.ts';
import { createLimitMemory, SharedMemoryLimitStore } from '../../../src/limits/local/local-store.ts';
import { LOCK_WAIT_MS_MAX } from '../../../src/limits/lock.ts';
import type { LimitAlgorithm, LimitDecision, LimitRule } from '../../../src/limits/store.ts';
import type { MillionWorkerData, MillionWorkerReport } from './million-callers-worker.ts';

const CALLERS = 1_000_000;
const NOW_MS = 1_790_000_000_000;
/** The threads take once each for all callers; the last of them finds the limit reached. */
const SAMPLE_EVERY = 37;

/** A machine that suspends the thread that holds a lock for longer than others wait makes these refuse. */
const ATTEMPTS = 6;

function run(data: MillionWorkerData): Promise<MillionWorkerReport> {
  const worker = new Worker(new URL('million-callers-worker.ts', import.meta.url), { workerData: data });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

interface Counted {
  readonly admitted: readonly number[];
  /** Callers of the sample that were admitted once more than the limit. */
  readonly tooMany: number;
  readonly newcomer: LimitDecision;
  readonly counters: number;
  readonly bytes: number;
  readonly evictions: number;
  /** The time of both threads: when one waits for the other without success, both take that long. */
  readonly wereSuspended: boolean;
}

async function count(algorithm: LimitAlgorithm): Promise<Counted> {
  const memory = createLimitMemory();
  const rule: LimitRule = { id: 'app:1', algorithm, requests: 2, windowMs: 3_600_000, burst: 2 };
  const job = { memory, rule, callers: CALLERS, nowMs: NOW_MS };
  const reports = await Promise.all([run({ ...job, owner: 1 }), run({ ...job, owner: 2 })]);
  const store = new SharedMemoryLimitStore(memory, 3);
  let tooMany = 0;
  for (let caller = 0; caller < CALLERS; caller += SAMPLE_EVERY) {
    if (store.take(rule, `caller ${caller}`, NOW_MS + 3).admitted) tooMany++;
  }
  const newcomer = store.take(rule, 'newcomer', NOW_MS + 3);
  const { counters, bytes, evictions } = counterUse(memory);
  return {
    admitted: reports.map(({ admitted }) => admitted),
    tooMany,
    newcomer,
    counters,
    bytes,
    evictions: Math.max(...evictions.values()),
    wereSuspended: reports.every(({ longestTakeMs }) => longestTakeMs >= LOCK_WAIT_MS_MAX),
  };
}

const isComplete = ({ admitted, counters }: Counted): boolean =>
  admitted.every((number) => number === CALLERS) && counters === CALLERS + 1;

describe('a million live callers', { timeout: 240_000 }, () => {
  it.each(['fixed_window', 'sliding_window', 'token_bucket'] as const)(
    '%s counts each of them exactly, over two threads',
    async (algorithm) => {
      let counted = await count(algorithm);
      for (let attempt = 2; attempt <= ATTEMPTS && counted.wereSuspended && !isComplete(counted); attempt++)
        counted = await count(algorithm);
      expect(counted.admitted).toEqual([CALLERS, CALLERS]);
      expect(counted.tooMany).toBe(0);
      expect(counted.newcomer).toMatchObject({ admitted: true, remaining: 1 });
      expect(counted.counters).toBe(CALLERS + 1);
      expect(counted.bytes).toBeLessThan(CALLERS * 200);
      expect(counted.evictions).toBe(0);
    },
  );
});
