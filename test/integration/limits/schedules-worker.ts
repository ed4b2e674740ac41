/**
 * A worker thread of limits/schedules.test.ts: takes what it is told to, at the time that it is told, and answers how
 * many requests were admitted. Its wall clock is a word of shared memory that the test sets.
 */
import { parentPort } from 'node:worker_threads';
import type { Clock } from '../../../src/lib/clock.ts';
import { type LimitMemory, SharedMemoryLimitStore } from '../../../src/limits/local/local-store.ts';
import type { LimitRule } from '../../../src/limits/store.ts';

/** Begins a schedule. */
export interface Schedule {
  readonly memory: LimitMemory;
  readonly owner: number;
  readonly rule: LimitRule;
  /** One number: the wall clock. */
  readonly wall: SharedArrayBuffer;
}

export interface ScheduledCalls {
  readonly subject: string;
  readonly askedMs: number;
  readonly calls: number;
}

const port = parentPort!;
let take: (subject: string, askedMs: number) => boolean = () => false;

function begin({ memory, owner, rule, wall }: Schedule): void {
  const wallMs = new Float64Array(wall);
  const clock: Clock = { nowMs: () => wallMs[0]!, monotonicMs: () => 0 };
  const store = new SharedMemoryLimitStore(memory, owner, clock);
  take = (subject, askedMs) => store.take(rule, subject, askedMs).admitted;
}

port.on('message', (message: Schedule | ScheduledCalls) => {
  if ('memory' in message) return begin(message);
  const { subject, askedMs, calls } = message;
  let admitted = 0;
  for (let call = 0; call < calls; call++) if (take(subject, askedMs)) admitted++;
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
  port.postMessage(admitted);
});
