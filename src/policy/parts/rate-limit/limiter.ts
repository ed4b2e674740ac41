/**
 * One limit in its compiled form: the rule for the store, which requests are counted together, and the texts of its
 * header fields (draft-ietf-httpapi-ratelimit-headers), all created once.
 */
import { ownText } from '../../../http/latin1.ts';
import type { LimitKind, LimitRule } from '../../../limits/store.ts';
import type { RateLimitPolicy } from './schema.ts';
import type { PolicyDependencies } from '../../dependencies.ts';
import { subjectOf, type SubjectOf } from '../../per/limit-subject.ts';
import type { Evaluation } from '../../stage.ts';

export interface Limiter {
  readonly kind: LimitKind;
  readonly rule: LimitRule;
  /** The seconds for `limit` requests, the `w` of RateLimit-Policy. */
  readonly windowSecs: number;
  readonly subjectOf: SubjectOf;
  /** Start of the RateLimit header lines, up to what remains; it depends on the rule only. */
  readonly fieldsStart: string;
  /** The level that set the limit, as the fields name it. */
  readonly name: string;
}

/**
 * @param name names the limit in the RateLimit fields: the level that set it
 * @param id names the counter: level and record
 * @returns the name of the missing field when the limit is incomplete and the settings do not fill it in
 */
export function createLimiter(
  kind: LimitKind,
  name: string,
  id: string,
  limit: RateLimitPolicy,
  { globals, ipv6PrefixBits }: Pick<PolicyDependencies, 'globals' | 'ipv6PrefixBits'>,
): Limiter | 'requests' | 'window_seconds' {
  const requests = limit.requests ?? globals?.requests;
  if (requests === undefined) return 'requests';
  const windowSeconds = limit.window_seconds ?? globals?.windowSeconds;
  if (windowSeconds === undefined) return 'window_seconds';
  const algorithm = limit.algorithm ?? 'fixed_window';
  const burst = limit.burst ?? requests;
  const per = limit.per ?? 'scope';
  const isBucket = algorithm === 'token_bucket';
  const quota = isBucket ? burst : requests;
  const windowSecs = isBucket ? Math.ceil((burst * windowSeconds) / requests) : windowSeconds;
  return Object.freeze({
    kind,
    rule: Object.freeze({
      // Counts by different dimensions are different counts, also when a policy goes from one to the other.
      id: per === 'scope' ? id : `${id} per ${per}`,
      algorithm,
      requests,
      windowMs: windowSeconds * 1000,
      burst,
      shared: Object.freeze({ mode: limit.mode, onFailure: limit.on_store_failure ?? 'share' }),
    }),
    windowSecs,
    subjectOf: subjectOf(per, ipv6PrefixBits),
    fieldsStart: ownText(
      `RateLimit-Policy: "${name}";q=${quota};w=${windowSecs}\r\nX-RateLimit-Limit: ${quota}\r\nRateLimit: "${name}";r=`,
    ),
    name,
  });
}

/**
 * The header lines of the decision in the evaluation (RateLimit-Policy, RateLimit and the X-RateLimit fields;
 * times in whole seconds from now); '' when no limit was asked.
 */
export function limitHeaderLines(evaluation: Evaluation): string {
  const { limit: decision, limiter } = evaluation;
  if (decision === undefined || limiter === undefined) return '';
  const { remaining } = decision;
  const { middle, end } = resetTexts(Math.ceil(decision.resetMs / 1000));
  return `${limiter.fieldsStart}${remaining}${middle}${remaining}${end}`;
}

/**
 * Texts that depend on the time until the reset: fewer pieces make a head cheaper, and the time changes once a
 * second.
 */
interface ResetTexts {
  readonly resetSecs: number;
  readonly middle: string;
  readonly end: string;
}

/** A power of two; the times of several limits take different places. */
const RESET_PLACES = 64;
const resets: ResetTexts[] = Array.from({ length: RESET_PLACES }, () => ({
  resetSecs: NaN,
  middle: '',
  end: '',
}));

function resetTexts(resetSecs: number): ResetTexts {
  const place = resetSecs & (RESET_PLACES - 1);
  const known = resets[place] as ResetTexts;
  if (known.resetSecs === resetSecs) return known;
  const middle = ownText(`;t=${resetSecs}\r\nX-RateLimit-Remaining: `);
  return (resets[place] = { resetSecs, middle, end: ownText(`\r\nX-RateLimit-Reset: ${resetSecs}\r\n`) });
}
