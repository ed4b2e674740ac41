/** Concurrency caps under real threads: several workers on one memory, ended by force or not. */
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { type ConcurrencyCap, REFUSED, SharedConcurrencyStore } from '../../../src/limits/concurrency.ts';
import { createLimitMemory, type LimitMemory, releaseThread } from '../../../src/limits/local/local-store.ts';
import type { ConcurrencyWorkerData, ConcurrencyWorkerReport } from './concurrency-threads-worker.ts';

const SUBJECTS = 5;
const CAP: ConcurrencyCap = { id: 'app:1', max: 3 };

async function message<T>(worker: Worker): Promise<T> {
  return await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

async function ready(memory: LimitMemory, owner: number, witness: SharedArrayBuffer): Promise<Worker> {
  const data: ConcurrencyWorkerData = { memory, owner, cap: CAP, subjects: SUBJECTS, witness };
  const worker = new Worker(new URL('concurrency-threads-worker.ts', import.meta.url), { workerData: data });
  await message(worker);
  return worker;
}

/** On a worker that is terminated meanwhile the report never comes. */
function hammer(worker: Worker, milliseconds: number): Promise<ConcurrencyWorkerReport> {
  const report = message<ConcurrencyWorkerReport>(worker);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window
  worker.postMessage(milliseconds);
  return report;
}

/** How many places each subject has left. */
function placesLeft(memory: LimitMemory, owner: number): number[] {
  const store = new SharedConcurrencyStore(memory.concurrency, memory.hashKey, owner);
  return Array.from({ length: SUBJECTS }, (_, subject) => {
    let left = 0;
    while (left < 100 && store.acquire(CAP, `${subject}`) !== REFUSED) left++;
    return left;
  });
}

const all = (value: number): number[] => Array.from({ length: SUBJECTS }, () => value);

describe('a concurrency cap under four threads', () => {
  it('never admits more than `max` at once, and everything is given back', async () => {
    // One set, so that the threads meet at its lock all the time.
    const memory = createLimitMemory({ counterBytes: 65_536, callers: 32, threads: 5 });
    const witness = new SharedArrayBuffer(8 * SUBJECTS);
    const workers = await Promise.all([1, 2, 3, 4].map((owner) => ready(memory, owner, witness)));
    const reports = await Promise.all(workers.map((worker) => hammer(worker, 1500)));
    for (const { admitted, refused } of reports) expect(Math.min(admitted, refused)).toBeGreaterThan(0);
    const words = [...new Int32Array(witness)];
    // The count goes down before the place is given back, so that it can only be too low: never above, and often at,
    // `max`.
    expect(words.filter((_, index) => index % 2 === 1)).toEqual(all(CAP.max));
    expect(placesLeft(memory, 9)).toEqual(all(CAP.max));
  });

  it('gives back exactly what terminated threads held', async () => {
    const memory = createLimitMemory({ counterBytes: 65_536, callers: 32, threads: 3 });
    const witness = new SharedArrayBuffer(8 * SUBJECTS);
    const survivor = await ready(memory, 1, witness);
    const report = hammer(survivor, 2000);
    const reported = report.then(() => true);
    let deaths = 0;
    while (!(await Promise.race([reported, pause(0).then(() => false)]))) {
      const owner = 100 + deaths++;
      const worker = await ready(memory, owner, new SharedArrayBuffer(8 * SUBJECTS));
      void hammer(worker, 60_000);
      await pause(30);
      await worker.terminate();
      releaseThread(memory, owner);
    }
    expect(deaths).toBeGreaterThan(0);
    expect((await report).admitted).toBeGreaterThan(0);
    expect(placesLeft(memory, 2)).toEqual(all(CAP.max));
  });
});
