/**
 * How long a call from outside has waited so far for what it depends on, so that all of its operations together have
 * one time-out, and no function in between has to hand it on: it follows the call through its promises. What serves
 * others too, or goes on after the answer, is begun with `withWaits(undefined, …)`. What counts as waiting, and how
 * much of it is too much, is for those who wait to say.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

export interface CallWaits {
  /** Milliseconds; grows with each wait. */
  spentMs: number;
  /** Something of the answer comes from a copy, since what it is a copy of does not answer. */
  usesCopy?: true;
}

const current = new AsyncLocalStorage<CallWaits | undefined>();

/** Of a call that has not waited yet. */
export function noWaits(): CallWaits {
  return { spentMs: 0 };
}

/** Runs `work`, and all that it begins, as a part of the call with these waits; undefined: as part of none. */
export function withWaits<T>(waits: CallWaits | undefined, work: () => T): T {
  return current.run(waits, work);
}

/** Those of the call that this is a part of. */
export function currentWaits(): CallWaits | undefined {
  return current.getStore();
}
