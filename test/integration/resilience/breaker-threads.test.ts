/** A circuit breaker under real threads: four of them step one word at a time, and no step is lost or taken twice. */
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import {
  Breaker,
  createBreakerMemory,
  type BreakerMemory,
  type BreakerRules,
} from '../../../src/proxy/resilience/breaker.ts';
import type { BreakerWorkerData, BreakerWorkerReport, BreakerWorkerTask } from './breaker-threads-worker.ts';

const THREADS = 4;
const workers: Worker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()));
});

function message<T>(worker: Worker): Promise<T> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

async function run(
  memory: BreakerMemory,
  rules: BreakerRules,
  witness: SharedArrayBuffer,
  task: BreakerWorkerTask,
): Promise<BreakerWorkerReport[]> {
  const started = Array.from({ length: THREADS }, async (_, index) => {
    const data: BreakerWorkerData = { memory, seed: 7_919 * (index + 1), rules, witness };
    const worker = new Worker(new URL('breaker-threads-worker.ts', import.meta.url), { workerData: data });
    workers.push(worker);
    await message(worker);
    return worker;
  });
  const ready = await Promise.all(started);
  return Promise.all(
    ready.map((worker) => {
      const report = message<BreakerWorkerReport>(worker);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window
      worker.postMessage(task);
      return report;
    }),
  );
}

function sumOf(reports: readonly BreakerWorkerReport[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { moves } of reports)
    for (const [name, count] of Object.entries(moves)) sums.set(name, (sums.get(name) ?? 0) + count);
  return sums;
}

describe('a breaker under four threads', () => {
  it('changes its state in one sequence, reports each change once, and has one trial at a time', async () => {
    const memory = createBreakerMemory();
    const restless = (): number => new Int32Array(memory.block)[0] ?? 0;
    const restlessBefore = restless();
    const witness = new SharedArrayBuffer(8);
    // A millisecond open, so that all of the table is walked through thousands of times.
    const rules = { failures: 2, open_secs: 0.001, count_5xx: false, recovery_secs: 0.001 };
    const reports = await run(memory, rules, witness, { do: 'requests', milliseconds: 1_500 });
    const moves = sumOf(reports);
    const breaker = new Breaker(memory);
    const { state: last } = breaker.status;
    for (const state of ['closed', 'open', 'half_open'] as const) {
      let balance = 0;
      for (const [name, count] of moves) {
        if (name.includes(`>${state} `)) balance += count;
        if (name.startsWith(`${state}>`)) balance -= count;
      }
      // It began closed: whatever state it came into it has left again, but for the last.
      expect([state, balance]).toEqual([state, Number(state === last) - Number(state === 'closed')]);
    }
    const opened = (moves.get('closed>open failure') ?? 0) + (moves.get('half_open>open trial_failure') ?? 0);
    expect(breaker.openings).toBe(opened);
    expect(moves.get('closed>open failure')).toBeGreaterThan(50);
    expect(moves.get('half_open>closed trial_success')).toBeGreaterThan(50);
    const trials = reports.reduce((sum, report) => sum + report.trials, 0);
    expect(moves.get('open>half_open request')).toBe(trials);
    expect([...new Int32Array(witness)]).toEqual([0, 1]);
    // It is counted in its block while it is not pristine.
    expect(restless() - restlessBefore).toBe(
      Number(last !== 'closed' || breaker.status.failures > 0 || breaker.status.recovering),
    );
  });

  it('counts every failure', async () => {
    const memory = createBreakerMemory();
    const rules = { failures: 10_000, open_secs: 10, count_5xx: false, recovery_secs: 0 };
    await run(memory, rules, new SharedArrayBuffer(8), { do: 'failures', count: 2_499 });
    expect(new Breaker(memory).status).toMatchObject({ state: 'closed', failures: THREADS * 2_499 });
    const breaker = new Breaker(memory);
    for (let count = 0; count < 4; count++) breaker.onOutcome('failure', undefined, rules, Date.now());
    expect(breaker.view(Date.now())).toMatchObject({ state: 'open', openings: 1 });
  });
});
