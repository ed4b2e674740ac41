/**
 * The verdict of each stage on a request, and the level and value that decided it. The stage where the request stopped
 * is known: earlier stages let it pass, later stages were not asked.
 */
import { ofSettings, type Decider, type ExplainSettings } from '../policy/part-explain.ts';
import type { PolicyPart } from '../policy/part.ts';
import { preparedOf } from '../policy/prepared.ts';
import { PARTS, partOfStage } from '../policy/registry.ts';
import type { CompiledPolicy } from '../policy/stage.ts';
import { STAGES, type ExplainedStage, type StageName, type Verdict } from './schema.ts';
import { operatorDetail, type Reason } from '../model/reason.ts';
import { isCutOnTheWay, stageOfCode, type ExchangeFacts } from './facts.ts';

/** @param isReal false for a described request, which is not sent */
export function stagesOf(facts: ExchangeFacts, settings: ExplainSettings, isReal: boolean): ExplainedStage[] {
  const stoppedAt = stopOf(facts);
  const stop = stoppedAt === undefined ? STAGES.length : STAGES.indexOf(stoppedAt);
  const lastAsked = isCutOnTheWay(facts) ? STAGES.indexOf('forward') - 1 : stop;
  return STAGES.map((stage, index) => {
    const decider = deciderOf(stage, facts, settings);
    const applies = appliesTo(stage, facts, decider);
    const shadowed = facts.evaluation.shadowDenials?.find(({ part }) => part === stage)?.denial;
    let verdict: Verdict = applies ? 'passed' : 'not_applicable';
    // Without a route its stages are unknown.
    if (index > lastAsked && (applies || facts.policy === undefined)) verdict = 'skipped';
    else if (wasSkipped(stage, stoppedAt, facts)) verdict = 'skipped';
    else if (index === stop) verdict = facts.code === undefined ? 'answered' : 'denied';
    else if (shadowed !== undefined) verdict = 'would_deny';
    const code = verdict === 'denied' ? (facts.code ?? null) : null;
    return {
      stage,
      verdict,
      code,
      detail:
        stage === 'forward' && verdict === 'passed' && !isReal
          ? NOT_SENT
          : detailOf(stage, verdict, facts, shadowed),
      ...(applies && decider !== undefined ? shownDecider(decider) : NO_DECIDER),
    };
  });
}

const NOT_SENT = 'Nothing was sent: whether the backend answers was not tried';
const NO_DECIDER = { level: null, source_id: null, value: null } as const;

function shownDecider({
  level,
  sourceId,
  value,
}: Decider): Pick<ExplainedStage, 'level' | 'source_id' | 'value'> {
  return { level, source_id: sourceId, value };
}

/** undefined when the request was forwarded and a response came back. */
function stopOf(facts: ExchangeFacts): StageName | undefined {
  if (facts.code !== undefined) return stageOfCode(facts);
  if (facts.preflight) return 'preflight';
  if (facts.answeredBy !== undefined) return facts.answeredBy;
  // `OPTIONS *` is about the gateway itself.
  return facts.version === null ? 'path' : undefined;
}

function wasSkipped(stage: StageName, stoppedAt: StageName | undefined, facts: ExchangeFacts): boolean {
  return partOfStage(stage)?.explain?.wasSkipped?.(stage, stoppedAt, facts.evaluation) ?? false;
}

function detailOf(
  stage: StageName,
  verdict: Verdict,
  facts: ExchangeFacts,
  shadowed: Reason<unknown, string> | undefined,
): string | null {
  const reason = verdict === 'denied' ? facts.reason : verdict === 'would_deny' ? shadowed : undefined;
  if (reason !== undefined) return operatorDetail(reason);
  const { browserRefusal: refused } = facts;
  if (verdict === 'passed' && refused !== undefined && partOfStage(stage) === refused.part)
    return `A browser would keep the answer from the page: ${operatorDetail(refused.reason)}`;
  if (stage === 'route' && verdict === 'passed' && typeof facts.app?.host === 'string')
    return `The host is "${facts.app.host}" of the app ${facts.app.slug}`;
  if (stage === 'preflight' && verdict === 'answered')
    return refused === undefined ? 'The preflight is granted' : operatorDetail(refused.reason);
  return ownAnswerDetail(stage, verdict, facts);
}

/** Details of stages whose answers depend on the settings or on the request itself. */
function ownAnswerDetail(
  stage: StageName,
  verdict: Verdict,
  { httpsRedirect }: ExchangeFacts,
): string | null {
  const isAnswered = verdict === 'answered';
  switch (stage) {
    case 'acme_challenge':
      return isAnswered
        ? 'An ACME authority asks for the token of an order that is under way (GATEWAY_ACME__DIRECTORY)'
        : null;
    case 'https_redirect':
      if (isAnswered)
        return `The request did not come over TLS: GATEWAY_PROXY__HTTPS_REDIRECT_PORT redirects it to https, port ${httpsRedirect?.port}`;
      if (verdict !== 'passed') return null;
      if (httpsRedirect?.tls === 'here') return 'The request came over TLS';
      return httpsRedirect?.tls === 'at_proxy' ? 'A trusted proxy received the request over TLS' : null;
    case 'last_hop':
      return isAnswered ? 'Max-Forwards: 0 makes this gateway the last recipient' : null;
    default:
      return null;
  }
}

function appliesTo(stage: StageName, facts: ExchangeFacts, decider: Decider | undefined): boolean {
  switch (stage) {
    case 'head':
    case 'path':
    case 'route':
    case 'forward':
      return true;
    case 'acme_challenge':
      return facts.ordersCertificates;
    case 'https_redirect':
      return facts.httpsRedirect !== undefined;
    case 'last_hop':
      return facts.answeredBy === 'last_hop' || stageOfCode(facts) === 'last_hop';
    case 'preflight':
      return facts.preflight;
    case 'circuit_breaker':
      return facts.policy !== undefined && facts.candidates.some(({ breaker }) => breaker !== 'none');
    default:
      return decider !== undefined;
  }
}

function deciderOf(stage: StageName, facts: ExchangeFacts, settings: ExplainSettings): Decider | undefined {
  const { policy, revision, evaluation, clientIp, maxBodyBytes, httpsRedirect } = facts;
  if (stage === 'https_redirect' && httpsRedirect !== undefined) return ofSettings(httpsRedirect.port);
  if (policy === undefined) return undefined;
  if (stage === 'circuit_breaker')
    return { level: 'revision', sourceId: revision?.id ?? null, value: facts.breakerRules };
  if (stage === 'forward') return { level: null, sourceId: null, value: forwardingOf(facts, policy) };
  const part = partOfStage(stage);
  if (part === undefined) return undefined;
  const own = ownDecider(part, policy);
  if (part.explain?.decider === undefined) return own;
  const appId = facts.app?.id ?? null;
  const prepared = preparedOf(part, policy.effective);
  const subject = { policy, prepared, evaluation, clientIp, appId, settings, maxBodyBytes, own };
  return part.explain.decider(stage, valueOf(part, policy), subject);
}

function valueOf({ name }: PolicyPart, { effective }: CompiledPolicy): unknown {
  return effective.policy[name] ?? undefined;
}

/** undefined when no level has the part, or it is switched off. */
function ownDecider(part: PolicyPart, policy: CompiledPolicy): Decider | undefined {
  const value = valueOf(part, policy);
  const source = policy.effective.sources[part.name];
  if (value === undefined || source === undefined || part.off?.is(value) === true) return undefined;
  return { level: source.level, sourceId: source.id, value };
}

/** How the request is forwarded to the backend: parts of the policy, each with the level that set it. */
function forwardingOf({ timeoutDefaults }: ExchangeFacts, policy: CompiledPolicy): unknown {
  return Object.fromEntries(
    PARTS.flatMap((part) => {
      const shown = part.explain?.forwarding?.(valueOf(part, policy), policy, timeoutDefaults);
      if (shown === undefined) return [];
      const source = policy.effective.sources[part.name];
      return [[part.name, { ...shown, level: source?.level ?? 'global', source_id: source?.id ?? null }]];
    }),
  );
}
