/**
 * The dependencies of policies that run only to be explained: they read the stores and never change them, report
 * nothing, and note what the limiters were asked and what they answered. Verified tokens and key sets are shared with
 * the real policies, because using them changes no decision.
 */
import { REFUSED, type ConcurrencyCap, type ConcurrencyStore } from '../../limits/concurrency.ts';
import type { LimitDecision, LimitRule, LimitStore } from '../../limits/store.ts';
import type { PolicyDependencies } from '../dependencies.ts';

/** One reading of a counter. */
export interface LimitRead {
  readonly rule: LimitRule;
  readonly subject: string;
  readonly decision: LimitDecision;
}

interface CapRead {
  readonly cap: ConcurrencyCap;
  readonly subject: string;
  readonly inUse: number;
}

/** Filled while policies run, in the order of the reads; the last read of a counter counts. */
export interface CounterReads {
  readonly limits: LimitRead[];
  readonly caps: CapRead[];
}

export function readOnlyDependencies(
  dependencies: PolicyDependencies,
  reads: CounterReads,
): PolicyDependencies {
  return {
    ...dependencies,
    limits: readOnlyStore(dependencies.limits, reads.limits),
    concurrency: readOnlyConcurrency(dependencies.concurrency, reads.caps),
    onAuth: () => undefined,
    onLimit: () => undefined,
  };
}

function readOnlyStore(store: LimitStore, reads: LimitRead[]): LimitStore {
  const look = (rule: LimitRule, subject: string, nowMs: number): LimitDecision | Promise<LimitDecision> => {
    const note = (decision: LimitDecision): LimitDecision => {
      const known = reads.findIndex((other) => other.rule === rule && other.subject === subject);
      if (known >= 0) reads.splice(known, 1);
      reads.push({ rule, subject, decision });
      return decision;
    };
    const decision = store.peek(rule, subject, nowMs);
    return decision instanceof Promise ? decision.then(note) : note(decision);
  };
  return { take: look, peek: look };
}

function readOnlyConcurrency(store: ConcurrencyStore, reads: CapRead[]): ConcurrencyStore {
  return {
    acquire: (cap, subject) => {
      const inUse = store.inUse(cap, subject);
      reads.push({ cap, subject, inUse });
      return inUse < cap.max ? 0 : REFUSED;
    },
    release: () => undefined,
    inUse: (cap, subject) => store.inUse(cap, subject),
  };
}
