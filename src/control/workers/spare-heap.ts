/**
 * Gives back the room that V8 keeps for new objects. Reading a configuration makes V8 enlarge that room to its maximum,
 * since all that is read stays. A thread that has little to do afterwards keeps the room, tens of megabytes: V8 makes
 * it smaller only when it collects all garbage. One such collection takes the thread some milliseconds, more with a
 * large configuration. Owns a timer.
 */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { randomFraction } from '../../lib/ids.ts';

/** Less is not worth a collection. */
const ROOM_BYTES_MIN = 4 * 1024 * 1024;
/** To collect in a larger heap would hold its thread up for long, and the room is a small part of it. */
const HEAP_BYTES_MAX = 256 * 1024 * 1024;
/** Without another change, until it is given back. */
export const QUIET_MS = 5_000;

/** After another thread has collected at the same moment. */
const RETRY_MS = 500;

/**
 * @param isIdle whether the thread may be held up when the time has come
 * @returns to be called with each change that may have enlarged the room
 */
export function createHeapRelease(isIdle: () => boolean, quietMs = QUIET_MS): () => void {
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

/** Memory that the space of new objects takes, in use or not. */
export function youngBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return space?.physical_space_size ?? 0;
}

/**
 * V8 has a function for it, which new contexts get once it is asked for. Of its flavors, only this one always makes the
 * room smaller. The flag is taken back, since V8 keeps compiled code for each set of flags (inlining.ts).
 *
 * @returns false when another thread has taken the flag back before this one had the function: all threads of the
 *   process have the same flags
 */
export function collectGarbage(): boolean {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('globalThis.gc') as NodeJS.GCFunction | undefined;
  setFlagsFromString('--no-expose-gc');
  if (collect === undefined) return false;
  void collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  return true;
}
