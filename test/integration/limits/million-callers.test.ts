/** A million callers of one limit are counted exactly, by two threads at once, in the memory that is there by default. */
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { counterUse } from '../../../src/limits/local/counter-use.ts';
import { createLimitMemory, SharedMemoryLimitStore } from '../../../src/limits/local/local-store.ts';
import type { LimitRule } from '../../../src/limits/store.ts';
import type { MillionWorkerData } from './million-callers-worker.ts';

const CALLERS = 1_000_000;
const NOW_MS = 1_790_000_000_000;
/** The threads take once each for all callers; the last of them finds the limit reached. */
const SAMPLE_EVERY = 37;

function run(data: MillionWorkerData): Promise<number> {
  const worker = new Worker(new URL('million-callers-worker.ts', import.meta.url), { workerData: data });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

describe('a million live callers', { timeout: 240_000 }, () => {
  it.each(['fixed_window', 'sliding_window', 'token_bucket'] as const)(
    '%s counts each of them exactly, over two threads',
    async (algorithm) => {
      const memory = createLimitMemory();
      const rule: LimitRule = { id: 'app:1', algorithm, requests: 2, windowMs: 3_600_000, burst: 2 };
      const job = { memory, rule, callers: CALLERS, nowMs: NOW_MS };
      const admitted = await Promise.all([run({ ...job, owner: 1 }), run({ ...job, owner: 2 })]);
      expect(admitted).toEqual([CALLERS, CALLERS]);
      const store = new SharedMemoryLimitStore(memory, 3);
      let tooMany = 0;
      for (let caller = 0; caller < CALLERS; caller += SAMPLE_EVERY) {
        if (store.take(rule, `caller ${caller}`, NOW_MS + 3).admitted) tooMany++;
      }
      expect(tooMany).toBe(0);
      expect(store.take(rule, 'newcomer', NOW_MS + 3)).toMatchObject({ admitted: true, remaining: 1 });
      const { counters, bytes, evictions } = counterUse(memory);
      expect(counters).toBe(CALLERS + 1);
      expect(bytes).toBeLessThan(CALLERS * 200);
      expect(Math.max(...evictions.values())).toBe(0);
    },
  );
});
