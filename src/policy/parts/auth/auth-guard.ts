/**
 * Protects against guessing (GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE): an address that has sent that many bad
 * credentials within a minute is refused before its next one is checked. Requests without a credential do not count.
 * One count per address, for IPv6 per network, over all apps and workers.
 */
import type { LimitDecision, LimitRule } from '../../../limits/store.ts';
import type { ReasonKind } from '../../../model/reason.ts';
import type { PolicyDependencies } from '../../dependencies.ts';
import { addressSubject } from '../../per/limit-subject.ts';
import type { RequestFacts, Stage, StageResult } from '../../stage.ts';

const WINDOW_MS = 60_000;
/** Id of the rule. */
export const FAILURES_RULE = 'auth_failures';

export interface AuthGuard {
  /** Refuses an address that has used up its failures; counts nothing. */
  readonly stage: Stage;
  /**
   * Counts one failure. Returns `verdict` (the refusal of the credential, or undefined if authentication is optional),
   * or 429 if concurrent failures have used up the count meanwhile.
   */
  failed(facts: RequestFacts, verdict: StageResult): StageResult | Promise<StageResult>;
}

/** @returns undefined if the guard is off */
export function createAuthGuard(dependencies: PolicyDependencies): AuthGuard | undefined {
  const { limits, authFailuresPerMinute, ipv6PrefixBits, onAuth } = dependencies;
  if (authFailuresPerMinute === 0) return undefined;
  const subjectOf = addressSubject(ipv6PrefixBits);
  const rule: LimitRule = Object.freeze({
    id: FAILURES_RULE,
    algorithm: 'fixed_window',
    requests: authFailuresPerMinute,
    windowMs: WINDOW_MS,
    burst: authFailuresPerMinute,
  });
  const conclude = (decision: LimitDecision, verdict: StageResult): StageResult => {
    if (decision.admitted) return verdict;
    onAuth('throttled');
    return { kind: TOO_MANY_FAILURES, data: decision };
  };
  return Object.freeze({
    stage: (facts: RequestFacts): StageResult | Promise<StageResult> => {
      const decision = limits.peek(rule, subjectOf(facts), facts.nowMs);
      if (decision instanceof Promise) return decision.then((settled) => conclude(settled, undefined));
      return conclude(decision, undefined);
    },
    failed: (facts: RequestFacts, verdict: StageResult): StageResult | Promise<StageResult> => {
      const decision = limits.take(rule, subjectOf(facts), facts.nowMs);
      if (decision instanceof Promise) return decision.then((settled) => conclude(settled, verdict));
      return conclude(decision, verdict);
    },
  });
}

const TOO_MANY_FAILURES: ReasonKind<LimitDecision> = {
  code: 'too_many_auth_failures',
  detail: () => 'Too many requests with bad credentials came from this address',
  retryAfterSecs: (decision) => decision.retryAfterSecs,
};
