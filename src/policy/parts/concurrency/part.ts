/**
 * The policy part `concurrency`: a limit of requests under way at once. An admitted request holds a place from here
 * until its exchange ends, in whatever way; an upgraded connection is under way as long as it is open.
 *
 * Runs before the rate limits: a request over this limit is counted by no rate limit, and a request over a rate limit
 * returns its place when it is answered. So a refused request uses up neither. A count belongs to the level that set
 * the limit, as with rate limits. In shadow mode a request over the limit passes without a place, so that the count is
 * the number of requests that would have been admitted.
 */
import { Type, type Static } from 'typebox';
import { type ConcurrencyCap, REFUSED } from '../../../limits/concurrency.ts';
import type { EffectivePolicy } from '../../../model/policy.ts';
import type { ReasonKind } from '../../../model/reason.ts';
import type { AppName } from '../../../model/resources.ts';
import { closed } from '../../../model/schema-pieces.ts';
import { subjectOf, type SubjectOf } from '../../per/limit-subject.ts';
import { definePart, type CompileContext, type PartContribution } from '../../part.ts';
import { limitWithoutCaller, perErrors } from '../../per/per.ts';
import { PerSchema } from '../../per/per-schema.ts';
import { CONCURRENCY_DOCS } from './docs.ts';
import type { Denial, Evaluation } from '../../stage.ts';
import { counted } from '../../../lib/text/counted.ts';

/**
 * It is not known when a request will end; this is the lowest value that Retry-After can have (RFC 9110 section
 * 10.2.3).
 */
const RETRY_AFTER_SECS = 1;

const CONCURRENCY_LIMITED: ReasonKind<ConcurrencyCap> = {
  code: 'concurrency_limited',
  detail: ({ max }) =>
    `${counted(max, 'request is', 'requests are')} under way already, which is the maximum allowed at once`,
  retryAfterSecs: () => RETRY_AFTER_SECS,
};

const ConcurrencySchema = Type.Object(
  {
    max: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: 'Requests that may be under way at once (429); 0 switches an inherited cap off.',
    }),
    per: Type.Optional(PerSchema),
  },
  { ...closed, description: 'How many requests may be under way at once.' },
);
type ConcurrencyPolicy = Static<typeof ConcurrencySchema>;

export const CONCURRENCY = definePart({
  name: 'concurrency',
  schema: ConcurrencySchema,
  docs: CONCURRENCY_DOCS,
  off: { example: { max: 0 }, is: ({ max }) => max === 0 },
  mayShadow: true,
  stages: [{ name: 'concurrency', phase: 'quota' }],
  warnings: [limitWithoutCaller],
  explain: {
    shownCounter: ({ store, id, subject }) =>
      store === 'caps' ? { kind: 'concurrency', id, subject } : undefined,
    fix: (_denial, value) => ({
      action: 'set_policy',
      detail: 'Wait until a request has ended, or raise concurrency.max',
      target: { part: 'concurrency' },
      value: { concurrency: { ...value, max: (value?.max ?? 0) + 1 } },
    }),
  },
  rules: ({ per }, { policy, pointer }) => perErrors(per, policy, pointer),
  compile: compileConcurrency,
});

interface ConcurrencyLimiter {
  readonly cap: ConcurrencyCap;
  readonly subjectOf: SubjectOf;
}

/** @returns undefined where no level has a cap or the most specific one switches it off */
function concurrencyLimiter(
  effective: EffectivePolicy,
  app: AppName,
  ipv6PrefixBits: number,
): ConcurrencyLimiter | undefined {
  const value = effective.policy['concurrency'] as ConcurrencyPolicy | null | undefined;
  if (value === undefined || value === null || value.max === 0) return undefined;
  const { level, id } = effective.sources['concurrency'] ?? { level: 'app', id: app.id };
  const per = value.per ?? 'scope';
  // Counts by different dimensions are different counts, also when a policy goes from one to the other.
  const cap = Object.freeze({ id: `${level}:${id} per ${per}`, max: value.max });
  return Object.freeze({ cap, subjectOf: subjectOf(per, ipv6PrefixBits) });
}

function compileConcurrency(
  _value: ConcurrencyPolicy | undefined,
  { effective, app, dependencies, inShadow }: CompileContext<undefined>,
): PartContribution | undefined {
  const { concurrency, ipv6PrefixBits, onLimit } = dependencies;
  const limiter = concurrencyLimiter(effective, app, ipv6PrefixBits);
  if (limiter === undefined) return undefined;
  const { cap } = limiter;
  const denial: Denial = Object.freeze({ kind: CONCURRENCY_LIMITED, data: cap });
  const run = (facts: Parameters<SubjectOf>[0], evaluation: Evaluation): Denial | undefined => {
    const place = concurrency.acquire(cap, limiter.subjectOf(facts, evaluation));
    onLimit(place !== REFUSED, 'concurrency');
    if (place === REFUSED) return denial;
    evaluation.permitStore = concurrency;
    evaluation.permit = place;
    return undefined;
  };
  return { stages: [{ part: 'concurrency', run, shadow: inShadow }] };
}
