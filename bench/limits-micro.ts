/**
 * What one decision of the shared-memory limiter costs, on one thread and on several at once. Not a test.
 *
 *     node bench/limits-micro.ts
 *
 * Prints nanoseconds of CPU time per call, spinning included: for the one counter of a rule, for a counter per client
 * address (hashing included), for addresses never seen before, under memory pressure, for a concurrency cap, and for
 * contending threads. The algorithms take turns within each round, so that what else the machine does weighs on all of
 * them alike; beside each is its ratio to the fixed window, by the median of the rounds.
 */
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../src/lib/clock.ts';
import { type ConcurrencyCap, SharedConcurrencyStore } from '../src/limits/concurrency.ts';
import {
  createLimitMemory,
  type LimitMemory,
  SharedMemoryLimitStore,
} from '../src/limits/local/local-store.ts';
import type { LimitAlgorithm, LimitRule } from '../src/limits/store.ts';
import { median } from '../test/support/measure/stats.ts';

const ALGORITHMS: readonly LimitAlgorithm[] = ['fixed_window', 'sliding_window', 'token_bucket'];
const CALLS = 300_000;
const ROUNDS = 15;

type Call = (index: number, nowMs: number) => unknown;

function ruleOf(algorithm: LimitAlgorithm, requests: number, id = 'app:bench'): LimitRule {
  return { id, algorithm, requests, windowMs: 60_000, burst: requests };
}

/** A call with its place in time: the time that the rule sees moves on by 1 ms every 40 calls. */
class Measured {
  readonly #call: Call;
  readonly #startMs = systemClock.nowMs();
  #index = 0;

  constructor(call: Call) {
    this.#call = call;
  }

  /** CPU nanoseconds per call. */
  round(calls: number): number {
    const begun = process.threadCpuUsage();
    for (let left = calls; left > 0; left--) {
      this.#call(this.#index, this.#startMs + Math.trunc(this.#index / 40));
      this.#index++;
    }
    const spent = process.threadCpuUsage(begun);
    return ((spent.user + spent.system) / calls) * 1000;
  }
}

function print(name: string, nanoseconds: number, ratio?: number): void {
  const end = ratio === undefined ? '' : `   ${ratio.toFixed(2)} x`;
  process.stdout.write(`${name.padEnd(56)}${nanoseconds.toFixed(0).padStart(8)} ns${end}\n`);
}

/** One scenario for all algorithms, in turns; the best round of each, and the median of the ratios. */
function compare(scenario: string, callOf: (algorithm: LimitAlgorithm) => Call): void {
  const measured = ALGORITHMS.map((algorithm) => new Measured(callOf(algorithm)));
  const rounds = Array.from({ length: ROUNDS }, () => measured.map((each) => each.round(CALLS)));
  ALGORITHMS.forEach((algorithm, index) => {
    const best = Math.min(...rounds.map((round) => round[index]!));
    print(`${scenario}: ${algorithm}`, best, median(rounds.map((round) => round[index]! / round[0]!)));
  });
}

function one(scenario: string, call: Call): void {
  const measured = new Measured(call);
  print(scenario, Math.min(...Array.from({ length: ROUNDS }, () => measured.round(CALLS))));
}

function newStore(): SharedMemoryLimitStore {
  return new SharedMemoryLimitStore(createLimitMemory(), 1);
}

function single(): void {
  const addresses = Array.from({ length: 4096 }, (_, index) => `203.0.${index >> 8}.${index & 255}`);
  compare('one counter, admitted', (algorithm) => {
    const [store, rule] = [newStore(), ruleOf(algorithm, 1_000_000_000)];
    return (_, nowMs) => store.take(rule, '', nowMs);
  });
  compare('one counter, refused', (algorithm) => {
    const [store, rule] = [newStore(), ruleOf(algorithm, 100)];
    return (_, nowMs) => store.take(rule, '', nowMs);
  });
  compare('two rules by turns', (algorithm) => {
    const [store, rule, other] = [newStore(), ruleOf(algorithm, 1e9), ruleOf(algorithm, 1e9, 'app:other')];
    return (index, nowMs) => store.take(index & 1 ? rule : other, '', nowMs);
  });
  compare('64 addresses', (algorithm) => {
    const [store, rule] = [newStore(), ruleOf(algorithm, 100_000)];
    return (index, nowMs) => store.take(rule, addresses[index & 63]!, nowMs);
  });
  compare('4,096 addresses', (algorithm) => {
    const [store, rule] = [newStore(), ruleOf(algorithm, 100_000)];
    return (index, nowMs) => store.take(rule, addresses[index & 4095]!, nowMs);
  });
  const names = Array.from(
    { length: 1_000_000 },
    (_, index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
  );
  const [store, rule] = [newStore(), ruleOf('fixed_window', 100)];
  one('new addresses, then evicting: fixed_window', (index, nowMs) =>
    store.take(rule, names[index % names.length]!, nowMs),
  );
  caps(addresses);
}

function caps(addresses: readonly string[]): void {
  const { concurrency, hashKey } = createLimitMemory();
  const store = new SharedConcurrencyStore(concurrency, hashKey, 1);
  const cap: ConcurrencyCap = { id: 'app:bench', max: 100 };
  one('concurrency, one counter: taken and given back', () => store.release(store.acquire(cap, '')));
  one('concurrency, 4,096 addresses: taken and given back', (index) =>
    store.release(store.acquire(cap, addresses[index & 4095]!)),
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
  print(`one counter, ${threads} threads, per call and thread: fixed_window`, Math.max(...figures));
}

if (isMainThread) {
  one('baseline: the loop and the clock', (_, nowMs) => nowMs);
  single();
  for (const threads of [1, 2, 4]) await contended(threads);
} else {
  const { memory, owner } = workerData as { memory: LimitMemory; owner: number };
  const store = new SharedMemoryLimitStore(memory, owner);
  const rule = ruleOf('fixed_window', 1_000_000_000);
  const measured = new Measured((_, nowMs) => store.take(rule, '', nowMs));
  const best = Math.min(...Array.from({ length: ROUNDS }, () => measured.round(CALLS)));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
  parentPort!.postMessage(best);
}
