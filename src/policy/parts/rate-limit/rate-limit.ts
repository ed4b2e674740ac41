/**
 * Rate limits of a route (contract part 8): the limit per client address that the settings ask for, and the limit of
 * the route: that of the policy, or instead of it the plan of the caller's key, or the global default if no level has a
 * `rate_limit`.
 *
 * A counter belongs to the level that set the limit: an app's limit counts all requests of the app, an endpoint's those
 * of the endpoint. A `rate_limit` that is not enabled exempts the route, but not a key that has its own plan. A request
 * that is refused here takes nothing: where two limits apply, both are taken in one step. With a store that nodes
 * share, the second is asked before the first is charged. (If another request uses up the second in between, the first
 * counts one request too many. Neither ever admits too many.)
 */
import type { BothDecisions, LimitDecision, LimitKind } from '../../../limits/store.ts';
import { exactDurationText } from '../../../lib/text/duration-text.ts';
import type { EffectivePolicy } from '../../../model/policy.ts';
import type { ReasonKind } from '../../../model/reason.ts';
import type { AppName } from '../../../model/resources.ts';
import { authOf } from '../auth/auth-of.ts';
import type { PolicyDependencies } from '../../dependencies.ts';
import type { CompileContext, PartContribution } from '../../part.ts';
import { createLimiter, limitHeaderLines, type Limiter } from './limiter.ts';
import type { RateLimitPolicy } from './schema.ts';
import type { SubjectOf } from '../../per/limit-subject.ts';
import type { Caller, Evaluation, NamedStage, RequestFacts, Stage, StageResult } from '../../stage.ts';
import { counted } from '../../../lib/text/counted.ts';

export { limitHeaderLines };

export const RATE_LIMITED: ReasonKind<{
  /** The limit that refused. */
  readonly limit: LimitKind;
  /** Names what is counted together, with the record that set the limit. */
  readonly id: string;
  /** The level that set it. */
  readonly level: string;
  readonly requests: number;
  readonly windowMs: number;
  readonly retryAfterSecs: number;
}> = {
  code: 'rate_limited',
  detail: ({ level, requests, windowMs }) =>
    `The limit of ${counted(requests, 'request')} in ${exactDurationText(windowMs / 1000)} is used up (${level})`,
  retryAfterSecs: ({ retryAfterSecs }) => retryAfterSecs,
};

/** Start of the ids of rules that are plans of keys; the id of the app follows. */
export const KEY_RULE = 'keys:';
/** Start of the id of the rule of the limit per client address. */
export const ADDRESS_RULE = 'client';

type StageOutcome = StageResult | Promise<StageResult>;

/** @throws Error when an enabled limit lacks a value that the settings do not fill in */
export function compileRateLimits(
  value: RateLimitPolicy | undefined,
  { effective, app, dependencies, inShadow: shadow }: CompileContext<undefined>,
): PartContribution {
  const perAddress = addressLimiter(dependencies);
  const ofRoute = routeLimiter(value, effective, app, dependencies);
  // Keys may have a plan.
  const usesApiKeys = authOf(effective.policy)?.auth_type === 'api_key';
  const stages: NamedStage[] = [];
  const hasOwn = ofRoute !== undefined || usesApiKeys;
  const separate = shadow || !hasOwn;
  if (perAddress !== undefined && separate) {
    const run = limitStage(dependencies, perAddress, undefined, false);
    stages.push({ part: 'ip_rate_limit', run, shadow: false });
  }
  if (hasOwn) {
    const own = usesApiKeys ? withPlans(ofRoute, app, dependencies) : (): Limiter | undefined => ofRoute;
    const run = limitStage(dependencies, separate ? undefined : perAddress, own, shadow);
    stages.push({ part: 'rate_limit', run, shadow });
  }
  return { stages };
}

function addressLimiter({ perIp, ipv6PrefixBits }: PolicyDependencies): Limiter | undefined {
  if (perIp === undefined) return undefined;
  const limit = { requests: perIp.requests, window_seconds: perIp.windowSecs, per: 'ip' };
  const limiter = createLimiter('ip', 'ip', ADDRESS_RULE, limit, { globals: undefined, ipv6PrefixBits });
  return typeof limiter === 'string' ? undefined : limiter;
}

function routeLimiter(
  limit: RateLimitPolicy | undefined,
  effective: EffectivePolicy,
  app: AppName,
  dependencies: PolicyDependencies,
): Limiter | undefined {
  if (limit === undefined) {
    const limiter = createLimiter('policy', 'global', `global:${app.id}`, {}, dependencies);
    return typeof limiter === 'string' ? undefined : limiter;
  }
  if (limit.enabled !== true) return undefined;
  const source = effective.sources['rate_limit'] ?? { level: 'app', id: app.id };
  const limiter = createLimiter('policy', source.level, `${source.level}:${source.id}`, limit, dependencies);
  if (typeof limiter !== 'string') return limiter;
  const setting = limiter === 'requests' ? 'GATEWAY_RATE_LIMIT_REQUESTS' : 'GATEWAY_RATE_LIMIT_WINDOW_SECS';
  throw new Error(
    `Cannot use the rate_limit of ${source.level} ${source.id} (app "${app.slug}"): ${limiter} is missing and ${setting} is not set`,
  );
}

/**
 * The limiter of a caller: the plan of its key, or else the limit of the route. A plan with `enabled: false` exempts
 * the key. If the plan is incomplete, because the settings have changed since it was written, the limit of the route
 * applies.
 */
function withPlans(
  ofRoute: Limiter | undefined,
  app: AppName,
  dependencies: PolicyDependencies,
): (caller: Caller) => Limiter | undefined {
  // By plan object, which keys with equal plans share (presented-key.ts): with many keys in use, each request has
  // a new caller. The keys of an app share one rule, and so its memory.
  const plans = new WeakMap<RateLimitPolicy, Limiter | 'exempt' | 'none'>();
  const compiled = (plan: RateLimitPolicy): Limiter | 'exempt' | 'none' => {
    if (plan.enabled === false) return 'exempt';
    const limiter = createLimiter('key', 'key', `${KEY_RULE}${app.id}`, plan, dependencies);
    return typeof limiter === 'string' ? 'none' : perKey(limiter, plan.per ?? 'scope');
  };
  return ({ keyRateLimit }) => {
    if (keyRateLimit === null) return ofRoute;
    let plan = plans.get(keyRateLimit);
    if (plan === undefined) {
      plan = compiled(keyRateLimit);
      plans.set(keyRateLimit, plan);
    }
    if (plan === 'none') return ofRoute;
    return plan === 'exempt' ? undefined : plan;
  };
}

/** Counts each key separately: its id is the subject, or precedes the subject of the plan and a space. */
function perKey(limiter: Limiter, per: string): Limiter {
  const ofKey: SubjectOf = (_facts, { caller }) => caller.id;
  const ofBoth: SubjectOf = (facts, evaluation) =>
    `${evaluation.caller.id} ${limiter.subjectOf(facts, evaluation)}`;
  return Object.freeze({ ...limiter, subjectOf: per === 'scope' ? ofKey : ofBoth });
}

interface LimitContext {
  readonly limits: PolicyDependencies['limits'];
  readonly onLimit: PolicyDependencies['onLimit'];
  readonly shadow: boolean;
}

function limitStage(
  { limits, onLimit }: PolicyDependencies,
  perAddress: Limiter | undefined,
  own: ((caller: Caller) => Limiter | undefined) | undefined,
  shadow: boolean,
): Stage {
  const context: LimitContext = { limits, onLimit, shadow };
  return (facts: RequestFacts, evaluation: Evaluation): StageOutcome => {
    const ofCaller = own?.(evaluation.caller);
    if (perAddress === undefined) {
      return ofCaller === undefined ? undefined : takeOne(context, ofCaller, facts, evaluation);
    }
    if (ofCaller === undefined) return takeOne(context, perAddress, facts, evaluation);
    return takeBoth(context, perAddress, ofCaller, facts, evaluation);
  };
}

function takeOne(
  context: LimitContext,
  limiter: Limiter,
  facts: RequestFacts,
  evaluation: Evaluation,
): StageOutcome {
  const decision = context.limits.take(limiter.rule, limiter.subjectOf(facts, evaluation), facts.nowMs);
  if (decision instanceof Promise) {
    return decision.then((settled) => conclude(context, limiter, settled, evaluation));
  }
  return conclude(context, limiter, decision, evaluation);
}

function takeBoth(
  context: LimitContext,
  first: Limiter,
  second: Limiter,
  facts: RequestFacts,
  evaluation: Evaluation,
): StageOutcome {
  const { limits } = context;
  const subject = second.subjectOf(facts, evaluation);
  if (limits.takeBoth !== undefined) {
    const firstSubject = first.subjectOf(facts, evaluation);
    const both = limits.takeBoth(first.rule, firstSubject, second.rule, subject, facts.nowMs);
    return concludeBoth(context, first, second, both, evaluation);
  }
  const expected =
    limits.expect === undefined
      ? limits.peek(second.rule, subject, facts.nowMs)
      : limits.expect(second.rule, subject, facts.nowMs);
  return expected instanceof Promise
    ? expected.then((settled) => chargeBoth(context, first, second, settled, facts, evaluation))
    : chargeBoth(context, first, second, expected, facts, evaluation);
}

/** @param expected what the second limit will say */
function chargeBoth(
  context: LimitContext,
  first: Limiter,
  second: Limiter,
  expected: LimitDecision,
  facts: RequestFacts,
  evaluation: Evaluation,
): StageOutcome {
  if (!expected.admitted) return refuseBoth(context, first, second, expected, facts, evaluation);
  const outcome = takeOne(context, first, facts, evaluation);
  if (outcome instanceof Promise) {
    return outcome.then((denial) => denial ?? takeOne(context, second, facts, evaluation));
  }
  return outcome ?? takeOne(context, second, facts, evaluation);
}

/** `Retry-After` is the time at which neither limit refuses: the longer wait if both refuse. */
function concludeBoth(
  context: LimitContext,
  first: Limiter,
  second: Limiter,
  both: BothDecisions,
  evaluation: Evaluation,
): StageResult {
  evaluation.bothLimitsRefuse = !both.first.admitted && !both.second.admitted;
  const waitsForSecond =
    !both.second.admitted && (both.first.admitted || both.first.retryAfterSecs <= both.second.retryAfterSecs);
  if (waitsForSecond) return conclude(context, second, both.second, evaluation);
  return (
    conclude(context, first, both.first, evaluation) ?? conclude(context, second, both.second, evaluation)
  );
}

function refuseBoth(
  context: LimitContext,
  first: Limiter,
  second: Limiter,
  ofSecond: LimitDecision,
  facts: RequestFacts,
  evaluation: Evaluation,
): StageOutcome {
  const refuse = (ofFirst: LimitDecision): StageResult =>
    concludeBoth(context, first, second, { first: ofFirst, second: ofSecond }, evaluation);
  const ofFirst = context.limits.peek(first.rule, first.subjectOf(facts, evaluation), facts.nowMs);
  return ofFirst instanceof Promise ? ofFirst.then(refuse) : refuse(ofFirst);
}

function conclude(
  { onLimit, shadow }: LimitContext,
  limiter: Limiter,
  decision: LimitDecision,
  evaluation: Evaluation,
): StageResult {
  onLimit(decision.admitted, limiter.kind);
  // A limit in shadow mode is not announced: the client is not bound by it.
  if (!shadow) note(limiter, decision, evaluation);
  if (decision.admitted) return undefined;
  const { kind, name, rule } = limiter;
  const { retryAfterSecs } = decision;
  const { id, requests, windowMs } = rule;
  return {
    kind: RATE_LIMITED,
    data: { limit: kind, id, level: name, requests, windowMs, retryAfterSecs },
  };
}

/** Keeps the decision for the fields of the response: a refusal, or else the decision with the fewest requests left. */
function note(limiter: Limiter, decision: LimitDecision, evaluation: Evaluation): void {
  const known = evaluation.limit;
  if (known !== undefined && decision.admitted && known.remaining <= decision.remaining) return;
  evaluation.limit = decision;
  evaluation.limiter = limiter;
}
