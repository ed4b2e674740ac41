/**
 * What one decision of the shared-memory limiter costs, on one thread and on several at once. Not a test.
 *
 *     node bench/limits-micro.ts
 *
 * Prints nanoseconds of CPU time per call, spinning included: for the one counter of a rule, for a counter per client address (hashing included), for
 * addresses never seen before, under memory pressure, and for contending threads.
 */
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../src/kernel/clock.ts';
import { createLimitMemory, type LimitMemory, SharedMemoryLimitStore } from '../src/limits/shared-memory.ts';
import type { LimitAlgorithm, LimitRule } from '../src/limits/store.ts';

const ALGORITHMS: readonly LimitAlgorithm[] = ['fixed_window', 'sliding_window', 'token_bucket'];
const CALLS = 1_000_000;

function ruleOf(algorithm: LimitAlgorithm, requests: number): LimitRule {
  return { id: 'app:bench', algorithm, requests, windowMs: 60_000, burst: requests };
}

/** CPU nanoseconds per call, the best of five rounds, so that a busy machine distorts little; the time that the rule sees moves on by 1 ms every 40 calls. */
function measure(calls: number, call: (index: number, nowMs: number) => unknown): number {
  const startMs = systemClock.nowMs();
  let best = Infinity;
  let index = 0;
  for (let round = 0; round < 5; round++) {
    const begun = process.threadCpuUsage();
    for (let left = calls; left > 0; left--) {
      call(index, startMs + Math.trunc(index / 40));
      index++;
    }
    const spent = process.threadCpuUsage(begun);
    best = Math.min(best, (spent.user + spent.system) / calls);
  }
  return best * 1000;
}

function print(name: string, nanoseconds: number): void {
  process.stdout.write(`${name.padEnd(64)}${nanoseconds.toFixed(0).padStart(8)} ns\n`);
}

function single(): void {
  const addresses = Array.from({ length: 4096 }, (_, index) => `203.0.${index >> 8}.${index & 255}`);
  print(
    'baseline: the loop and the clock',
    measure(CALLS, (_, nowMs) => nowMs),
  );
  for (const algorithm of ALGORITHMS) {
    const store = new SharedMemoryLimitStore(createLimitMemory(), 1);
    const admitting = ruleOf(algorithm, 1_000_000_000);
    const refusing = { ...ruleOf(algorithm, 100), id: 'app:refusing' };
    const small = { ...ruleOf(algorithm, 100_000), id: 'app:small' };
    print(
      `${algorithm}: one counter, admitted`,
      measure(CALLS, (_, nowMs) => store.take(admitting, '', nowMs)),
    );
    print(
      `${algorithm}: one counter, refused`,
      measure(CALLS, (_, nowMs) => store.take(refusing, '', nowMs)),
    );
    print(
      `${algorithm}: two rules by turns`,
      measure(CALLS, (index, nowMs) => store.take(index & 1 ? admitting : small, '', nowMs)),
    );
    print(
      `${algorithm}: 4,096 addresses`,
      measure(CALLS, (index, nowMs) => store.take(small, addresses[index & 4095]!, nowMs)),
    );
  }
  const store = new SharedMemoryLimitStore(createLimitMemory(), 1);
  const rule = ruleOf('fixed_window', 100);
  const names = Array.from(
    { length: 1_000_000 },
    (_, index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
  );
  print(
    'fixed_window: new addresses, then evicting',
    measure(200_000, (index, nowMs) => store.take(rule, names[index]!, nowMs)),
  );
}

async function contended(threads: number): Promise<void> {
  const memory = createLimitMemory();
  const workers = Array.from(
    { length: threads },
    (_, index) => new Worker(new URL(import.meta.url), { workerData: { memory, owner: index + 1 } }),
  );
  const figures = await Promise.all(
    workers.map(
      (worker) =>
        new Promise<number>((resolve, reject) => worker.once('message', resolve).once('error', reject)),
    ),
  );
  print(`fixed_window: one counter, ${threads} threads, per call and thread`, Math.max(...figures));
}

if (isMainThread) {
  single();
  for (const threads of [1, 2, 4]) await contended(threads);
} else {
  const { memory, owner } = workerData as { memory: LimitMemory; owner: number };
  const store = new SharedMemoryLimitStore(memory, owner);
  const rule = ruleOf('fixed_window', 1_000_000_000);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
  parentPort!.postMessage(measure(CALLS, (_, nowMs) => store.take(rule, '', nowMs)));
}
