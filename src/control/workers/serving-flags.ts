/**
 * Flags of V8 for threads that serve requests.
 *
 * They are set while the program runs, not on its command line: V8 caches compiled code (that of Node.js in its
 * program, ours in NODE_COMPILE_CACHE) per set of flags, so each thread that starts with flags other than those of the
 * program takes 40 to 50 ms longer to load. They are therefore set only while no worker loads. Functions are optimised
 * later, when there is traffic, and garbage of old objects comes later, too.
 */
import { setFlagsFromString } from 'node:v8';

interface Flag {
  readonly serving: string;
  /** V8's default. */
  readonly usual: string;
}

export const FLAGS: readonly Flag[] = [
  /**
   * Limit of the bytes of bytecode that are inlined into one function. A request passes some two hundred small
   * functions, and V8's default leaves many calls in place: with this limit the engine takes a tenth less time.
   */
  {
    serving: '--max-inlined-bytecode-size-cumulative=2500',
    usual: '--max-inlined-bytecode-size-cumulative=920',
  },
  /** Old objects are marked step by step also where new ones are collected meanwhile. */
  { serving: '--no-separate-gc-phases', usual: '--separate-gc-phases' },
];

/** Affects all threads, and code that is optimised from now on. */
export function flagsForServing(): void {
  for (const { serving } of FLAGS) setFlagsFromString(serving);
}

/** Restores V8's defaults; a thread that starts now finds cached code. */
export function flagsForLoading(): void {
  for (const { usual } of FLAGS) setFlagsFromString(usual);
}
