/**
 * Gives back the memory that V8 keeps for new objects. Reading a configuration makes V8 enlarge it to its maximum,
 * because everything that is read stays. An otherwise idle thread keeps it, tens of megabytes: V8 only shrinks it
 * during a full garbage collection. One such collection takes some milliseconds, more with a large configuration. It
 * also discards compiled code that knows objects which are gone, such as those of closed connections: if V8 has
 * optimised the engine because of traffic, the next requests would have to wait until it is optimised again. Room that
 * was asked for, with V8's flag for it, stays. Owns timers.
 */
import { performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { randomFraction } from '../../lib/ids.ts';

/** Less memory is not worth a collection. */
const ROOM_BYTES_MIN = 4 * 1024 * 1024;
/** In a larger heap, a collection would block the thread for long, and the memory is a small part of it. */
const HEAP_BYTES_MAX = 256 * 1024 * 1024;
/** Time without another change before the memory is given back. */
export const QUIET_MS = 5_000;

/**
 * What a thread without a limit of its own may keep between two bursts of work: as much as a worker may have. V8
 * enlarges the room up to 128 MiB as thousands of calls pass, and never makes it smaller while little is allocated.
 */
const KEPT_ROOM_BYTES = 32 * 1024 * 1024;
/** A thread that used less of its time has nothing to do. */
const QUIET_BELOW = 0.1;

/** A start with this flag of Node.js wants that much room at any time. */
const WANTS_ROOM = /^--min[-_]semi[-_]space[-_]size\b/;

/** Used after another thread has collected at the same moment. */
const RETRY_MS = 500;

/**
 * @param isIdle whether the thread may be blocked at that time, and has no optimised code to lose
 * @param flags of Node.js, with which the thread was started
 * @returns a function to call after each change that may have enlarged the memory
 */
export function createHeapRelease(
  isIdle: () => boolean,
  quietMs = QUIET_MS,
  flags: readonly string[] = process.execArgv,
): () => void {
  if (wantsRoom(flags)) return () => undefined;
  let timer: NodeJS.Timeout | undefined;
  const release = (): void => {
    timer = undefined;
    if (!isWorthwhile(ROOM_BYTES_MIN)) return;
    if (isIdle() && !collectGarbage()) timer = setTimeout(release, RETRY_MS * (1 + randomFraction())).unref();
  };
  return () => {
    timer ??= setTimeout(release, quietMs).unref();
    timer.refresh();
  };
}

/**
 * Gives the memory back whenever the thread is quiet and has much of it, for as long as the thread lives. For a thread
 * that has no connections with traffic: a collection costs it its compiled code.
 */
export function releaseWhenQuiet(
  lookMs = QUIET_MS,
  keptBytes = KEPT_ROOM_BYTES,
  flags: readonly string[] = process.execArgv,
): void {
  if (wantsRoom(flags)) return;
  let last = performance.eventLoopUtilization();
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    // If another thread collects at this moment, the next look tries again.
    if (utilization < QUIET_BELOW && isWorthwhile(keptBytes)) collectGarbage();
  };
  setInterval(look, lookMs).unref();
}

function wantsRoom(flags: readonly string[]): boolean {
  return flags.some((flag) => WANTS_ROOM.test(flag));
}

function isWorthwhile(roomBytesMin: number): boolean {
  return youngBytes() > roomBytesMin && getHeapStatistics().used_heap_size <= HEAP_BYTES_MAX;
}

/** Memory that the space of new objects takes, whether in use or not. */
export function youngBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return space?.physical_space_size ?? 0;
}

/**
 * V8 has a function for this, which new contexts get while a flag is set. Of its variants, only this one always
 * shrinks the memory. The flag is reset, because V8 caches compiled code per set of flags (workers/serving-flags.ts).
 *
 * @returns false when another thread has reset the flag before this one got the function: all threads of the
 * process share their flags
 */
export function collectGarbage(): boolean {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as NodeJS.GCFunction | undefined;
  setFlagsFromString('--no-expose-gc');
  if (collect === undefined) return false;
  void collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  return true;
}
