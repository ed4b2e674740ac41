/**
 * Gives back the memory that V8 keeps for new objects. Reading a configuration makes V8 enlarge it to its maximum,
 * because everything that is read stays. An otherwise idle thread keeps it, tens of megabytes: V8 only shrinks it
 * during a full garbage collection. One such collection takes some milliseconds, more with a large configuration. It
 * also discards compiled code that knows objects which are gone, such as those of closed connections: if V8 has
 * optimised the engine because of traffic, the next requests would have to wait until it is optimised again. Room that
 * was asked for, with V8's flag for it, stays. Owns a timer.
 */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { randomFraction } from '../../lib/ids.ts';

/** Less memory is not worth a collection. */
const ROOM_BYTES_MIN = 4 * 1024 * 1024;
/** In a larger heap, a collection would block the thread for long, and the memory is a small part of it. */
const HEAP_BYTES_MAX = 256 * 1024 * 1024;
/** Time without another change before the memory is given back. */
export const QUIET_MS = 5_000;

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
  if (flags.some((flag) => WANTS_ROOM.test(flag))) return () => undefined;
  let timer: NodeJS.Timeout | undefined;
  const release = (): void => {
    timer = undefined;
    if (youngBytes() < ROOM_BYTES_MIN || getHeapStatistics().used_heap_size > HEAP_BYTES_MAX) return;
    if (isIdle() && !collectGarbage()) timer = setTimeout(release, RETRY_MS * (1 + randomFraction())).unref();
  };
  return () => {
    timer ??= setTimeout(release, quietMs).unref();
    timer.refresh();
  };
}

/** Memory that the space of new objects takes, whether in use or not. */
export function youngBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return space?.physical_space_size ?? 0;
}

/**
 * V8 has a function for this, which new contexts get while a flag is set. Of its variants, only this one always
 * shrinks the memory. The flag is reset, because V8 caches compiled code per set of flags (inlining.ts).
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
