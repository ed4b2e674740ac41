/**
 * How long one management call has waited for its dependencies so far. All operations of the call share one budget, and
 * so one time-out. The budget follows the call through its promises (AsyncLocalStorage). Work that serves other calls
 * too, or continues after the response, starts with `withBudget(undefined, …)`. The dependency decides what counts as
 * waiting and how much is allowed.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

export interface Party {
  readonly actor: string;
  /** The app that the call names, as it names it; '' for none. */
  readonly app: string;
}

export interface DeadlineBudget {
  /** Milliseconds waited so far. */
  spentMs: number;
  /** Monotonic; since when it waits now for something that will be charged. */
  waitingSinceMs?: number | undefined;
  /** Whose call it is, for what calls take turns at. */
  party?: Party;
  /** Part of the response comes from a copy because the database does not answer. */
  usesCopy?: true;
}

const current = new AsyncLocalStorage<DeadlineBudget | undefined>();

export function newBudget(): DeadlineBudget {
  return { spentMs: 0 };
}

/** Runs `work`, and everything it starts, with this budget; undefined: without a budget. */
export function withBudget<T>(budget: DeadlineBudget | undefined, work: () => T): T {
  return current.run(budget, work);
}

/** The budget of the current call. */
export function currentBudget(): DeadlineBudget | undefined {
  return current.getStore();
}
