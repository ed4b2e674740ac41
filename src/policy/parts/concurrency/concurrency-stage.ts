/**
 * The cap on requests under way at once (`concurrency` of a policy). A request that is admitted holds a place from
 * here until its exchange ends, however it ends; an upgraded connection is under way for as long as it is open.
 *
 * Comes before the rate limits: a request over the cap is charged to no limit, and one over a limit gives its place
 * back when it is answered, so that a refused request takes nothing of either. A count belongs to the level that
 * set the cap, as with rate limits. In shadow mode a request over the cap passes without a place, so that what is
 * counted is what would have been let through.
 */
import { type ConcurrencyCap, REFUSED } from '../../../limits/concurrency.ts';
import type { EffectivePolicy } from '../../../model/policy.ts';
import type { ReasonKind } from '../../../model/reason.ts';
import type { AppName } from '../../../model/resources.ts';
import type { PolicyDependencies } from '../../dependencies.ts';
import { subjectOf, type SubjectOf } from '../../limit-subject.ts';
import type { Denial, Evaluation, NamedStage } from '../../stage.ts';

/** When a request will end is not known; this is the least that Retry-After can say (RFC 9110 section 10.2.3). */
const RETRY_AFTER_SECS = 1;

const CONCURRENCY_LIMITED: ReasonKind<ConcurrencyCap> = {
  code: 'concurrency_limited',
  detail: ({ max }) => `${max} requests are under way already, which is the most allowed at once`,
  retryAfterSecs: () => RETRY_AFTER_SECS,
};

export interface ConcurrencyLimiter {
  readonly cap: ConcurrencyCap;
  readonly subjectOf: SubjectOf;
}

/** @returns undefined where no level has a cap or the most specific one switches it off */
export function concurrencyLimiter(
  effective: EffectivePolicy,
  app: AppName,
  ipv6PrefixBits: number,
): ConcurrencyLimiter | undefined {
  const part = effective.policy.concurrency;
  if (part === undefined || part === null || part.max === 0) return undefined;
  const { level, id } = effective.sources.concurrency ?? { level: 'app', id: app.id };
  const per = part.per ?? 'scope';
  // Counts by different dimensions are different counts, also when a policy goes from one to the other.
  const cap = Object.freeze({ id: `${level}:${id} per ${per}`, max: part.max });
  return Object.freeze({ cap, subjectOf: subjectOf(per, ipv6PrefixBits) });
}

export function compileConcurrency(
  effective: EffectivePolicy,
  app: AppName,
  { concurrency, ipv6PrefixBits, onLimit }: PolicyDependencies,
): NamedStage | undefined {
  const limiter = concurrencyLimiter(effective, app, ipv6PrefixBits);
  if (limiter === undefined) return undefined;
  const { cap } = limiter;
  const denial: Denial = Object.freeze({ kind: CONCURRENCY_LIMITED, data: cap });
  return {
    part: 'concurrency',
    shadow: effective.policy.shadow?.includes('concurrency') ?? false,
    run: (facts, evaluation) => {
      const place = concurrency.acquire(cap, limiter.subjectOf(facts, evaluation));
      onLimit(place !== REFUSED, 'concurrency');
      if (place === REFUSED) return denial;
      evaluation.permitStore = concurrency;
      evaluation.permit = place;
      return undefined;
    },
  };
}

/** Gives back what the request holds, if anything; may be called more than once. */
export function releasePermit(evaluation: Evaluation): void {
  const store = evaluation.permitStore;
  if (store === undefined) return;
  evaluation.permitStore = undefined;
  store.release(evaluation.permit);
}
