/**
 * The verdict of each stage on a request, and the level and value that decided it. Where the request stopped is
 * known; what stands before that has let it pass, what stands behind was not asked.
 */
import { PARTS, typedPolicy, type PartName } from '../policy/registry.ts';
import { STAGES, type ExplainedStage, type Level, type StageName, type Verdict } from './schema.ts';
import type { RateLimitGlobals } from '../policy/dependencies.ts';
import { operatorDetail, type Reason } from '../model/reason.ts';
import { CORS_REFUSED } from '../policy/parts/cors/cors-shadow.ts';
import { stageOfCode, type ExchangeFacts } from './facts.ts';

/** What the settings say where no record does. */
export interface ExplainSettings {
  readonly globals: RateLimitGlobals | undefined;
  readonly perIp: { readonly requests: number; readonly windowSecs: number } | undefined;
  readonly authFailuresPerMinute: number;
}

interface Decider {
  readonly level: Level | null;
  readonly sourceId: string | null;
  readonly value: unknown;
}

export function stagesOf(facts: ExchangeFacts, settings: ExplainSettings): ExplainedStage[] {
  const stoppedAt = stopOf(facts);
  const stop = stoppedAt === undefined ? STAGES.length : STAGES.indexOf(stoppedAt);
  const lastAsked = isCutOnTheWay(facts) ? STAGES.indexOf('forward') - 1 : stop;
  return STAGES.map((stage, index) => {
    const decider = deciderOf(stage, facts, settings);
    const applies = appliesTo(stage, facts, decider);
    const shadowed = facts.evaluation.shadowDenials?.find(({ part }) => part === stage)?.denial;
    let verdict: Verdict = applies ? 'passed' : 'not_applicable';
    // Without a route nobody knows which stages it would have had.
    if (index > lastAsked && (applies || facts.policy === undefined)) verdict = 'skipped';
    else if (stage === 'ip_rate_limit' && refusesBeside(stoppedAt, facts)) verdict = 'skipped';
    else if (index === stop) verdict = facts.code === undefined ? 'answered' : 'denied';
    else if (shadowed !== undefined) verdict = 'would_deny';
    const code = verdict === 'denied' ? (facts.code ?? null) : null;
    return {
      stage,
      verdict,
      code,
      detail: detailOf(stage, verdict, facts, shadowed),
      ...(applies && decider !== undefined ? shownDecider(decider) : NOBODY),
    };
  });
}

/** A chunked body grows too large while it is passed on: by then all stages but the last have let it pass. */
function isCutOnTheWay({ code, policy, evaluation }: ExchangeFacts): boolean {
  return code === 'body_too_large' && policy !== undefined && evaluation.deniedBy === undefined;
}

const NOBODY = { level: null, source_id: null, value: null } as const;

function shownDecider({
  level,
  sourceId,
  value,
}: Decider): Pick<ExplainedStage, 'level' | 'source_id' | 'value'> {
  return { level, source_id: sourceId, value };
}

/** undefined when the request went on to the backend and came back. */
function stopOf(facts: ExchangeFacts): StageName | undefined {
  if (facts.code !== undefined) return stageOfCode(facts);
  if (facts.preflight) return 'preflight';
  // `OPTIONS *` is about the gateway itself.
  return facts.version === null ? 'path' : undefined;
}

/** The two limits are asked together: the one with the shorter wait refuses as well, and is not what denied. */
function refusesBeside(stoppedAt: StageName | undefined, { evaluation }: ExchangeFacts): boolean {
  return stoppedAt === 'rate_limit' && evaluation.bothLimitsRefuse;
}

function detailOf(
  stage: StageName,
  verdict: Verdict,
  facts: ExchangeFacts,
  shadowed: Reason<unknown, string> | undefined,
): string | null {
  const reason = verdict === 'denied' ? facts.reason : verdict === 'would_deny' ? shadowed : undefined;
  if (reason !== undefined) return operatorDetail(reason);
  if (stage === 'cors' && verdict === 'passed') {
    const { corsRefusal } = facts;
    return corsRefusal === undefined
      ? null
      : `A browser would keep the answer from the page: ${CORS_REFUSED.detail(corsRefusal)}`;
  }
  if (stage === 'preflight' && verdict === 'answered')
    return facts.corsRefusal === undefined
      ? 'The preflight is granted'
      : CORS_REFUSED.detail(facts.corsRefusal);
  return null;
}

function appliesTo(stage: StageName, facts: ExchangeFacts, decider: Decider | undefined): boolean {
  switch (stage) {
    case 'head':
    case 'path':
    case 'route':
    case 'forward':
      return true;
    case 'preflight':
      return facts.preflight;
    case 'circuit_breaker':
      return facts.policy !== undefined && facts.candidates.some(({ breaker }) => breaker !== 'none');
    case 'ip_rate_limit':
    case 'auth_guard':
      // Combined stages carry the limit per address within `rate_limit`.
      return (
        decider !== undefined &&
        facts.policy !== undefined &&
        (stage !== 'auth_guard' || hasStage(facts, stage))
      );
    default:
      return decider !== undefined;
  }
}

function hasStage({ policy }: ExchangeFacts, stage: StageName): boolean {
  return policy?.stages.some(({ part }) => part === stage) ?? false;
}

function deciderOf(stage: StageName, facts: ExchangeFacts, settings: ExplainSettings): Decider | undefined {
  if (facts.policy === undefined) return undefined;
  const ofPolicy = (part: PartName): Decider | undefined => partDecider(facts, part);
  switch (stage) {
    case 'cors':
    case 'required_scopes':
    case 'allowed_methods':
    case 'concurrency':
      return ofPolicy(stage);
    case 'auth': {
      if (!hasStage(facts, 'auth')) return undefined;
      const implied = ofPolicy('required_scopes');
      return ofPolicy('auth') ?? (implied && { ...implied, value: { auth_type: 'api_key' } });
    }
    case 'auth_guard': {
      const { authFailuresPerMinute: failures } = settings;
      return failures === 0 ? undefined : ofSettings({ failures_per_minute: failures });
    }
    case 'ip_rate_limit': {
      const { perIp } = settings;
      return perIp && ofSettings({ requests: perIp.requests, window_seconds: perIp.windowSecs });
    }
    case 'rate_limit':
      return rateLimitDecider(facts, settings);
    case 'max_body_bytes':
      return (
        ofPolicy('max_body_bytes') ?? (facts.maxBodyBytes > 0 ? ofSettings(facts.maxBodyBytes) : undefined)
      );
    case 'circuit_breaker':
      return { level: 'revision', sourceId: facts.revision?.id ?? null, value: facts.breakerRules };
    case 'forward':
      return { level: null, sourceId: null, value: forwardingOf(facts) };
    default:
      return undefined;
  }
}

/** How the request is carried to the backend: parts of the policy, each with the level that it comes from. */
function forwardingOf({ policy, timeoutDefaults }: ExchangeFacts): unknown {
  const sourceOf = (part: PartName) => {
    const source = policy?.effective.sources[part];
    return { level: source?.level ?? 'global', source_id: source?.id ?? null };
  };
  const timeouts = policy?.timeouts;
  const retries = policy?.retries;
  return {
    timeouts: {
      connect_ms: timeouts?.connectMs ?? timeoutDefaults.connectTimeoutMs,
      first_byte_ms: timeouts?.firstByteMs ?? timeoutDefaults.firstByteTimeoutMs,
      idle_ms: timeouts?.idleMs ?? timeoutDefaults.idleTimeoutMs,
      total_ms: timeouts?.totalMs ?? null,
      ...sourceOf('timeouts'),
    },
    retries: { max: retries?.max, on: [...(retries?.on ?? [])], ...sourceOf('retries') },
    buffer_request_bytes: { value: policy?.bufferRequestBytes ?? 0, ...sourceOf('buffer_request_bytes') },
    min_body_bytes_per_sec: {
      value: policy?.minBodyBytesPerSec ?? timeoutDefaults.minBodyBytesPerSec,
      ...sourceOf('min_body_bytes_per_sec'),
    },
  };
}

function ofSettings(value: unknown): Decider {
  return { level: 'global', sourceId: null, value };
}

/** The part of the effective policy; undefined where no level has it or it is switched off. */
function partDecider({ policy }: ExchangeFacts, part: PartName): Decider | undefined {
  const value = policy && typedPolicy(policy.effective)[part];
  const source = policy?.effective.sources[part];
  if (value === undefined || value === null || source === undefined) return undefined;
  const { off } = PARTS.find(({ name }) => name === part) ?? {};
  return off?.is(value) === true ? undefined : { level: source.level, sourceId: source.id, value };
}

/** As rate-limit.ts has it: the plan of the key, else the policy's, else the global default. */
function rateLimitDecider(facts: ExchangeFacts, { globals }: ExplainSettings): Decider | undefined {
  const { caller } = facts.evaluation;
  const plan = caller.keyRateLimit;
  if (plan !== null && plan.enabled === false) return undefined;
  if (plan !== null) return { level: 'key', sourceId: caller.id, value: plan };
  const limit = facts.policy && typedPolicy(facts.policy.effective).rate_limit;
  if (limit !== undefined && limit !== null) {
    return limit.enabled === true ? partDecider(facts, 'rate_limit') : undefined;
  }
  if (globals?.requests === undefined || globals.windowSeconds === undefined) return undefined;
  return {
    level: 'global',
    sourceId: facts.app?.id ?? null,
    value: { requests: globals.requests, window_seconds: globals.windowSeconds },
  };
}
