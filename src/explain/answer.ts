/**
 * Creates an explanation from the facts of an exchange (facts.ts). Data that only a described request has (its upstream
 * head, its response and the counter reads) is passed separately. Contains no credentials.
 */
import { timestamp } from '../lib/clock.ts';
import { foldedName } from '../lib/folded-name.ts';
import type { LimitDecision } from '../limits/store.ts';
import type { ExplainedLimit, ExplainedStage, Explanation, HeaderField, Outcome } from './schema.ts';
import type { CounterReads } from '../policy/trial/read-only-context.ts';
import type { ExchangeFacts } from './facts.ts';
import type { AskedCounter, Decider, ExplainSettings, ShownCounter } from '../policy/part-explain.ts';
import { PARTS } from '../policy/registry.ts';
import type { SeenCertificate } from '../policy/stage.ts';
import { fixOf, type FixLookups } from './fix.ts';
import { isSecretName } from './redact.ts';
import { stagesOf } from './stages.ts';

export interface Described {
  readonly upstreamHeaders: readonly HeaderField[];
  readonly response: Explanation['response'];
  readonly counterReads: CounterReads;
}

/** @param template URL of a page that shows a trace */
function traceOf(id: string, template: string | undefined): Pick<Explanation, 'trace_id' | 'trace_url'> {
  return { trace_id: id, ...(template !== undefined && { trace_url: template.replace('{trace_id}', id) }) };
}

/** @param described undefined for a real exchange */
export function explanationOf(
  facts: ExchangeFacts,
  described: Described | undefined,
  settings: ExplainSettings,
  lookups: FixLookups,
): Explanation {
  const { caller } = facts.evaluation;
  const isReal = described === undefined;
  const stages = stagesOf(facts, settings, isReal);
  return {
    outcome: outcomeOf(facts),
    code: facts.code ?? null,
    request_id: isReal ? facts.requestId : null,
    ...(isReal && facts.traceId !== undefined && traceOf(facts.traceId, settings.traceUrl)),
    recorded_at: isReal ? timestamp(facts.startedMs) : null,
    config_version: facts.configVersion,
    request: {
      method: facts.method,
      host: facts.host,
      path: facts.path === '' || facts.code === 'bad_path' ? null : facts.path,
      query: isReal && facts.query === '' ? null : facts.query,
      client_ip: facts.clientIp,
      headers: [...facts.headers],
    },
    app: facts.app,
    version: facts.version,
    revision: facts.revision,
    candidates: [...facts.candidates],
    ...(facts.target !== undefined && { target: facts.target }),
    endpoint: facts.endpoint,
    caller:
      facts.policy === undefined
        ? null
        : { kind: caller.kind, id: caller.id, name: caller.name, scopes: [...caller.scopes] },
    ...(facts.evaluation.certificate !== undefined && {
      certificate: certificateOf(facts.evaluation.certificate),
    }),
    stages,
    limits:
      described === undefined ? announcedLimits(facts, stages) : limitsOf(described.counterReads, facts),
    upstream:
      facts.upstreamUrl === undefined || !facts.forwarded
        ? null
        : {
            method: facts.method,
            url: facts.upstreamUrl + (isReal ? '' : facts.query),
            protocol: facts.upstreamProtocol,
            headers: [...(described?.upstreamHeaders ?? [])],
          },
    response: described?.response ?? { status: facts.status, headers: [], body: null },
    fix: fixOf(facts, lookups),
    times: facts.times,
  };
}

function certificateOf(seen: SeenCertificate): NonNullable<Explanation['certificate']> {
  const { subject, fingerprint, expiresAtMs, ca, trusted = null, rule = null } = seen;
  const expiry = expiresAtMs === undefined ? null : timestamp(expiresAtMs);
  return { subject, fingerprint, expires_at: expiry, ca, trusted, rule };
}

function outcomeOf({ code, forwarded, preflight, answeredBy, version }: ExchangeFacts): Outcome {
  // The gateway has not connected.
  if (code === 'upstream_denied') return 'denied';
  if (code !== undefined) return forwarded ? 'failed' : 'denied';
  return preflight || answeredBy !== undefined || version === null ? 'answered' : 'forwarded';
}

function limitsOf({ limits, caps }: CounterReads, { policy }: ExchangeFacts): ExplainedLimit[] {
  const place = policy?.credentialPlace?.foldedName;
  return [
    ...caps.map(({ cap, subject, inUse }): ExplainedLimit => {
      const admitted = inUse < cap.max;
      return {
        ...shownCounter({ store: 'caps', id: cap.id, subject }, place),
        algorithm: null,
        limit: cap.max,
        remaining: Math.max(0, cap.max - inUse - 1),
        reset_secs: null,
        retry_after_secs: admitted ? null : 1,
        admitted,
      };
    }),
    ...limits.map(({ rule, subject, decision }) => ({
      ...shownCounter({ store: 'limits', id: rule.id, subject }, place),
      algorithm: rule.algorithm,
      ...decided(decision),
    })),
  ];
}

/** For a real exchange, the limit that its response announced at the time. */
function announcedLimits({ evaluation }: ExchangeFacts, stages: readonly ExplainedStage[]): ExplainedLimit[] {
  const deciderOf = (name: string): Decider | undefined => {
    const found = stages.find(({ stage }) => stage === name);
    return found && { level: found.level, sourceId: found.source_id, value: found.value };
  };
  return PARTS.flatMap(({ explain }) => {
    const announced = explain?.announcedLimit?.(evaluation, deciderOf);
    if (announced === undefined) return [];
    const { kind, counter, algorithm, decision } = announced;
    return [{ kind, counter, algorithm, ...decided(decision) }];
  });
}

function decided({ limit, remaining, resetMs, admitted, retryAfterSecs }: LimitDecision) {
  const reset_secs = Math.ceil(resetMs / 1000);
  return { limit, remaining, reset_secs, retry_after_secs: admitted ? null : retryAfterSecs, admitted };
}

/**
 * A subject may be the value of a header field that contains a credential.
 * @param place folded name of the field that contains the credential of the route
 */
function shownCounter(
  asked: AskedCounter,
  place: string | undefined,
): Pick<ExplainedLimit, 'kind' | 'counter'> {
  const { kind, id, subject } = nameOf(asked);
  if (subject === '') return { kind, counter: id };
  const header = / per header:(.*)$/.exec(id)?.[1];
  const isSecret = header !== undefined && (isSecretName(header) || foldedName(header) === place);
  return { kind, counter: isSecret ? id : `${id} = ${subject}` };
}

function nameOf(asked: AskedCounter): ShownCounter {
  for (const { explain } of PARTS) {
    const shown = explain?.shownCounter?.(asked);
    if (shown !== undefined) return shown;
  }
  return { kind: 'policy', id: asked.id, subject: asked.subject };
}
