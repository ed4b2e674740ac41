/**
 * A worker thread of limits/threads.test.ts. It says `ready`, and on a message takes as fast as it can for as many
 * milliseconds as the message says; or it grabs the lock of a set at once, and keeps it until it is terminated.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../src/lib/clock.ts';
import { type LimitMemory, SharedMemoryLimitStore } from '../../../src/limits/local/local-store.ts';
import { acquire } from '../../../src/limits/lock.ts';
import type { BothDecisions, LimitDecision, LimitRule } from '../../../src/limits/store.ts';

export interface LimitsWorkerData {
  readonly memory: LimitMemory;
  readonly owner: number;
  readonly rule: LimitRule;
  /** Another rule, whose one counter each request takes along with that of its subject. */
  readonly beside?: LimitRule;
  /** The time that the store is told; the wall clock if absent. */
  readonly fixedMs?: number;
  readonly job: { readonly subjects: number } | { readonly holdLock: number };
}

export interface LimitsWorkerReport {
  readonly calls: number;
  /** For each subject and admitted request, the time at which the counter would have been unused again. */
  readonly freeAtMs: readonly (readonly number[])[];
}

const data = workerData as LimitsWorkerData;
const port = parentPort!;

function hammer(milliseconds: number, subjects: number): LimitsWorkerReport {
  const store = new SharedMemoryLimitStore(data.memory, data.owner);
  const freeAtMs: number[][] = Array.from({ length: subjects }, () => []);
  let calls = 0;
  const untilMs = systemClock.nowMs() + milliseconds;
  while (systemClock.nowMs() < untilMs) {
    for (let batch = 0; batch < 16; batch++) {
      const subject = calls++ % subjects;
      const askedMs = data.fixedMs ?? systemClock.nowMs();
      const name = subjects === 1 ? '' : `${subject}`;
      const decision =
        data.beside === undefined
          ? store.take(data.rule, name, askedMs)
          : both(store.takeBoth(data.beside, '', data.rule, name, askedMs));
      if (decision.admitted) freeAtMs[subject]!.push(askedMs + decision.resetMs);
    }
  }
  return { calls, freeAtMs };
}

/** Refused if either refuses. */
const both = ({ first, second }: BothDecisions): LimitDecision => (first.admitted ? second : first);

function say(message: 'ready' | 'holding' | LimitsWorkerReport): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
  port.postMessage(message);
}

function hold(lock: number): never {
  const words = new Int32Array(data.memory.counters.buffer);
  acquire(words, lock, data.owner);
  say('holding');
  for (;;) Atomics.load(words, lock);
}

const { job } = data;
if ('holdLock' in job) hold(job.holdLock);
port.once('message', (milliseconds: number) => say(hammer(milliseconds, job.subjects)));
say('ready');
