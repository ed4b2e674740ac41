/**
 * The dependencies of policies that are run to be explained: the stores are asked and never changed, nothing is
 * reported, and what the limiters were asked and answered is noted. Verified tokens and key sets are shared with
 * the real policies, since using them changes no decision.
 */
import { REFUSED, type ConcurrencyCap, type ConcurrencyStore } from '../limits/concurrency.ts';
import type { LimitDecision, LimitRule, LimitStore } from '../limits/store.ts';
import type { PolicyDependencies } from './dependencies.ts';

/** One look at a counter. */
export interface LimitLook {
  readonly rule: LimitRule;
  readonly subject: string;
  readonly decision: LimitDecision;
}

export interface ConcurrencyLook {
  readonly cap: ConcurrencyCap;
  readonly subject: string;
  readonly inUse: number;
}

/** Filled while policies run; in the order of the looks, the last one at a counter counts. */
export interface PolicyLooks {
  readonly limits: LimitLook[];
  readonly concurrency: ConcurrencyLook[];
}

export function lookingDependencies(
  dependencies: PolicyDependencies,
  looks: PolicyLooks,
): PolicyDependencies {
  return {
    ...dependencies,
    keyRows: undefined,
    limits: lookingStore(dependencies.limits, looks.limits),
    concurrency: lookingConcurrency(dependencies.concurrency, looks.concurrency),
    onAuth: () => undefined,
    onLimit: () => undefined,
  };
}

function lookingStore(store: LimitStore, looks: LimitLook[]): LimitStore {
  const look = (rule: LimitRule, subject: string, nowMs: number): LimitDecision | Promise<LimitDecision> => {
    const note = (decision: LimitDecision): LimitDecision => {
      const known = looks.findIndex((other) => other.rule === rule && other.subject === subject);
      if (known >= 0) looks.splice(known, 1);
      looks.push({ rule, subject, decision });
      return decision;
    };
    const decision = store.peek(rule, subject, nowMs);
    return decision instanceof Promise ? decision.then(note) : note(decision);
  };
  return { take: look, peek: look };
}

function lookingConcurrency(store: ConcurrencyStore, looks: ConcurrencyLook[]): ConcurrencyStore {
  return {
    acquire: (cap, subject) => {
      const inUse = store.inUse(cap, subject);
      looks.push({ cap, subject, inUse });
      return inUse < cap.max ? 0 : REFUSED;
    },
    release: () => undefined,
    inUse: (cap, subject) => store.inUse(cap, subject),
  };
}
