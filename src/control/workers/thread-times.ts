/**
 * How a thread of this process has spent its time, from `/proc/self/task/<id>/schedstat` of Linux
 * (Documentation/scheduler/sched-stats.rst): time on a CPU, and time waiting for one while runnable. Unknown on other
 * systems and without that file. It also has the number of reads and writes of the thread, from
 * `/proc/self/task/<id>/io` (proc(5)).
 */
import { readFileSync, readlinkSync } from 'node:fs';

export interface ThreadTimes {
  /** Time on a CPU, milliseconds. */
  readonly computedMs: number;
  /** Time waiting for a CPU, milliseconds. */
  readonly waitedMs: number;
  /** Its reads and writes of sockets and files so far; 0 where the system does not count them. */
  readonly ioCalls: number;
}

const NS_PER_MS = 1e6;

/** The system's id of the calling thread; 0 if there is none. */
export function ownThreadId(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1)) || 0;
  } catch {
    return 0;
  }
}

/** undefined if the thread is gone, or its times are unknown. */
export function timesOfThread(threadId: number): ThreadTimes | undefined {
  if (threadId === 0) return undefined;
  try {
    const [computed, waited] = readFileSync(`/proc/self/task/${threadId}/schedstat`, 'latin1').split(' ');
    const times = {
      computedMs: Number(computed) / NS_PER_MS,
      waitedMs: Number(waited) / NS_PER_MS,
      ioCalls: ioCallsOf(threadId),
    };
    // A kernel without these statistics reports 0 for every thread.
    return times.computedMs > 0 ? times : undefined;
  } catch {
    return undefined;
  }
}

function ioCallsOf(threadId: number): number {
  try {
    const counts = readFileSync(`/proc/self/task/${threadId}/io`, 'latin1');
    return [...counts.matchAll(/^sysc[rw]: (\d+)$/gm)].reduce((sum, [, calls]) => sum + Number(calls), 0);
  } catch {
    return 0;
  }
}
