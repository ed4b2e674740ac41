/**
 * What a thread of this process has done with its time, as Linux accounts for it in `/proc/self/task/<id>/schedstat`
 * (Documentation/scheduler/sched-stats.rst): time on a processor, and time in which it could have run and had to wait
 * for one. Elsewhere, and where that file is missing, nothing is known.
 */
import { readFileSync, readlinkSync } from 'node:fs';

export interface ThreadTimes {
  /** Spent on a processor, milliseconds. */
  readonly computedMs: number;
  /** Spent waiting for a processor, milliseconds. */
  readonly waitedMs: number;
}

const NS_PER_MS = 1e6;

/** The system's number of the thread that calls; 0 where there is none. */
export function ownThreadId(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1)) || 0;
  } catch {
    return 0;
  }
}

/** undefined when the thread is gone, or nothing is known of it. */
export function timesOfThread(threadId: number): ThreadTimes | undefined {
  if (threadId === 0) return undefined;
  try {
    const [computed, waited] = readFileSync(`/proc/self/task/${threadId}/schedstat`, 'latin1').split(' ');
    const times = { computedMs: Number(computed) / NS_PER_MS, waitedMs: Number(waited) / NS_PER_MS };
    // A kernel without these statistics says 0 of everybody.
    return times.computedMs > 0 ? times : undefined;
  } catch {
    return undefined;
  }
}
