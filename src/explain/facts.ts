/**
 * The stored facts about an exchange that explain needs now or later: plain data and the policy that was run, but
 * not versions or routes, which would keep a replaced configuration alive. Created from the exchange after the
 * engine is done; answer.ts creates the explanation from these facts.
 */
import { comparablePath } from '../http/paths/canonical-path.ts';
import { canonicalHost, entryFor } from '../http/fields/host-name.ts';
import type { ErrorCode } from '../model/errors.ts';
import type { Reason } from '../model/reason.ts';
import type { BackendProtocol } from '../model/resources.ts';
import type { PolicyPart } from '../policy/part.ts';
import { PARTS, partOfStage } from '../policy/registry.ts';
import type {
  Candidate,
  ExplainedTarget,
  ExplainedTimes,
  Explanation,
  HeaderField,
  StageName,
} from './schema.ts';
import type { CompiledPolicy, Evaluation } from '../policy/stage.ts';
import { candidatesOf, explainedTarget } from './candidates.ts';
import { stageTimes } from './live/stage-times.ts';
import { fieldsOf } from './redact.ts';
import type { Route, Version } from '../proxy/interfaces/route.ts';
import { cameOverTls } from '../proxy/downstream/https-redirect.ts';
import type { AnsweringStage, ExchangeView } from '../proxy/interfaces/exchange-view.ts';
import { pathParameters, upstreamPath } from '../proxy/upstream-path.ts';
import { backendOf } from '../proxy/targets/backend-of.ts';
import type { ProxyOptions } from '../proxy/options.ts';
import { BAD_MAX_FORWARDS, HTTPS_WITHOUT_HOST } from '../proxy/reasons.ts';

export interface HttpsRedirect {
  /** `GATEWAY_PROXY__HTTPS_REDIRECT_PORT`. */
  readonly port: number;
  /** Where TLS ended, if the request came over TLS. */
  readonly tls: 'none' | 'here' | 'at_proxy';
}

/** Why a browser keeps a response from its page: not an error, but what the response grants. */
export interface BrowserRefusal {
  readonly part: PolicyPart;
  /** The policy of the route, or of responses without a route. */
  readonly policy: CompiledPolicy;
  readonly reason: Reason<unknown, string>;
}

export interface ExchangeFacts {
  readonly requestId: string;
  /** undefined while traces are not exported. */
  readonly traceId: string | undefined;
  readonly startedMs: number;
  readonly configVersion: number;
  /** '' when the head could not be read. */
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  readonly clientIp: string;
  readonly headers: readonly HeaderField[];
  /** Why a browser would not let a page make the request or read its response; undefined when it would. */
  readonly browserRefusal: BrowserRefusal | undefined;
  /** The method of the last route match; for a preflight, the method that it asks about. */
  readonly matchedMethod: string;
  /** SHA-256 of a refused bearer token. */
  readonly refusedTokenHash: string | undefined;
  readonly bodyBytes: number;
  readonly status: number;
  readonly code: ErrorCode | undefined;
  readonly reason: Reason | undefined;
  readonly forwarded: boolean;
  readonly preflight: boolean;
  readonly answeredBy: AnsweringStage | undefined;
  /** Whether certificates are ordered by ACME. */
  readonly ordersCertificates: boolean;
  /** undefined: the settings ask for no redirect. */
  readonly httpsRedirect: HttpsRedirect | undefined;
  readonly app: Explanation['app'];
  readonly version: Explanation['version'];
  readonly revision: Explanation['revision'];
  readonly endpoint: Explanation['endpoint'];
  readonly backend: string;
  readonly hasProbe: boolean;
  readonly candidates: readonly Candidate[];
  readonly upstreamUrl: string | undefined;
  /** `backend_protocol` of the revision. */
  readonly upstreamProtocol: BackendProtocol;
  /** undefined: the revision has a single target. */
  readonly target: ExplainedTarget | undefined;
  /** The part after the gateway path, in the form in which endpoints are registered. */
  readonly restPath: string;
  readonly hasEncodedSlash: boolean;
  readonly policy: CompiledPolicy | undefined;
  readonly evaluation: Evaluation;
  readonly maxBodyBytes: number;
  /** Values of the settings. */
  readonly timeoutDefaults: Pick<
    ProxyOptions,
    'connectTimeoutMs' | 'firstByteTimeoutMs' | 'idleTimeoutMs' | 'minBodyBytesPerSec'
  >;
  readonly breakerRules: unknown;
  /** null for an exchange that was not timed. */
  readonly times: ExplainedTimes | null;
}

export function factsOf(exchange: ExchangeView, forwarded: boolean): ExchangeFacts {
  const { connection, context, evaluation, route, version, errorCode } = exchange;
  const { head, body } = connection;
  // A head that was refused cannot be read.
  const isReadable = exchange.method !== '';
  const matched = exchange.matchedMethod === '' ? exchange.method : exchange.matchedMethod;
  return {
    requestId: exchange.requestId,
    traceId: exchange.traced()?.traceId,
    startedMs: exchange.startedAtMs,
    configVersion: exchange.configVersion,
    method: exchange.method,
    host: isReadable ? head.host : '',
    path: exchange.path,
    query: exchange.query,
    clientIp: exchange.clientIp,
    headers: isReadable ? fieldsOf(head, route?.policy.credentialPlace?.foldedName) : [],
    browserRefusal: browserRefusalOf(exchange),
    refusedTokenHash: refusedTokenHash(exchange),
    bodyBytes: Math.max(body.bytes + body.remaining, 0),
    status: exchange.status,
    code: errorCode,
    reason: exchange.reason,
    forwarded,
    preflight: exchange.preflight,
    answeredBy: exchange.answeredBy,
    ordersCertificates: context.ordered !== undefined,
    httpsRedirect: isReadable ? httpsRedirectOf(exchange) : undefined,
    ...placeOf(version, route, exchange),
    matchedMethod: matched,
    candidates: version === undefined ? [] : candidatesFor(exchange, version, matched),
    policy: route?.policy,
    evaluation,
    maxBodyBytes: context.options.maxBodyBytes,
    timeoutDefaults: context.options,
    times: timesOf(exchange),
  };
}

function httpsRedirectOf(exchange: ExchangeView): HttpsRedirect | undefined {
  const { connection, context } = exchange;
  const port = context.options.httpsRedirectPort;
  if (port === undefined) return undefined;
  return { port, tls: connection.isSecure ? 'here' : cameOverTls(exchange) ? 'at_proxy' : 'none' };
}

function timesOf({ timeline, startedMs, durationMs }: ExchangeView): ExplainedTimes | null {
  return timeline === undefined ? null : stageTimes(timeline, { startedMs, endMs: startedMs + durationMs });
}

/** undefined when a browser would not refuse, or when the head could not be read. */
export function browserRefusalOf(exchange: ExchangeView): BrowserRefusal | undefined {
  const { method, route, version } = exchange;
  const policy = route === undefined ? version?.unmatched : route.policy;
  if (method === '' || policy === undefined) return undefined;
  for (const part of PARTS) {
    const reason = part.explain?.browserRefusal?.(policy, exchange);
    if (reason !== undefined) return { part, policy, reason };
  }
  return undefined;
}

function refusedTokenHash(exchange: ExchangeView): string | undefined {
  const { errorCode, route } = exchange;
  if (errorCode === undefined || route === undefined) return undefined;
  for (const { explain } of PARTS) {
    const hash = explain?.refusedTokenHash?.(errorCode, route.policy, exchange);
    if (hash !== undefined) return hash;
  }
  return undefined;
}

type Place = Pick<
  ExchangeFacts,
  | 'app'
  | 'version'
  | 'revision'
  | 'endpoint'
  | 'backend'
  | 'hasProbe'
  | 'upstreamUrl'
  | 'upstreamProtocol'
  | 'target'
  | 'restPath'
  | 'hasEncodedSlash'
  | 'breakerRules'
>;

function placeOf(version: Version | undefined, route: Route | undefined, exchange: ExchangeView): Place {
  const { path, suffixStart } = exchange;
  const rest = comparablePath(path.slice(suffixStart));
  return {
    app:
      version === undefined
        ? null
        : {
            id: version.app.id,
            slug: version.app.slug,
            routing_mode: version.app.managed ? 'managed_endpoint' : 'pass_through',
            host: entryFor(version.app.hosts, canonicalHost(exchange.connection.head.host)) ?? null,
          },
    version:
      version === undefined
        ? null
        : {
            id: version.id,
            version: version.label,
            gateway_path: version.gatewayPath === '' ? '/' : version.gatewayPath,
            status: version.status,
          },
    revision: route === undefined ? null : { id: route.revision.id, revision: route.revision.label },
    endpoint: route === undefined ? null : endpointOf(route, path, suffixStart),
    backend: route === undefined ? '' : backendOf(exchange, route).authority,
    hasProbe: route?.revision.hasHealthCheck === true,
    upstreamUrl: route?.active === true ? upstreamUrlOf(exchange, route) : undefined,
    upstreamProtocol: route?.revision.backend.protocol ?? 'http1',
    target: explainedTarget(exchange, route),
    restPath: rest === '' ? '/' : rest,
    hasEncodedSlash: exchange.hasEncodedSlash,
    breakerRules: route?.revision.breaker ?? null,
  };
}

function endpointOf(route: Route, path: string, suffixStart: number): Explanation['endpoint'] {
  if (route.endpointId === undefined) return null;
  return {
    id: route.endpointId,
    method: route.method,
    path: route.template,
    backend_path: route.backendPath ?? null,
    parameters: { ...pathParameters(route, path, suffixStart) },
  };
}

/** Without a query. */
export function upstreamUrlOf(exchange: ExchangeView, route: Route): string {
  const { path, suffixStart } = exchange;
  const { scheme, authority } = backendOf(exchange, route);
  return `${scheme}://${authority}${upstreamPath(route, path, suffixStart)}`;
}

/** Codes of requests that no revision got: the route only shows what the request was about. */
const NOT_CHOSEN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'endpoint_disabled',
  'circuit_open',
  'no_targets',
]);

/** The candidates for the method of the last match; for a preflight, the method that it asks about. */
function candidatesFor(exchange: ExchangeView, version: Version, method: string): Candidate[] {
  if (version.status === 'retired') return [];
  const { errorCode, route, context } = exchange;
  const chosenId = errorCode === undefined || !NOT_CHOSEN.has(errorCode) ? route?.revision.id : undefined;
  return candidatesOf(version, comparablePath(exchange.path), method, chosenId, context);
}

/** Codes with which the engine refuses in the name of a policy part, each with the stage that it belongs to. */
const ENGINE_STAGES: Readonly<Record<string, StageName>> = Object.assign(
  {},
  ...PARTS.map(({ explain }) => explain?.engineStages),
);

/**
 * True for a request that was refused while it was forwarded, such as one with a chunked body that turned out too long:
 * all stages except the last have let it pass.
 */
export function isCutOnTheWay({ code, policy, evaluation }: ExchangeFacts): boolean {
  return (
    code !== undefined &&
    Object.hasOwn(ENGINE_STAGES, code) &&
    policy !== undefined &&
    evaluation.deniedBy === undefined
  );
}

/**
 * The stage that stopped the request: a policy part that can deny is a stage; for other denials it follows from the
 * code.
 */
export function stageOfCode(facts: ExchangeFacts): StageName | undefined {
  const { code, evaluation } = facts;
  if (code === undefined) return undefined;
  if (evaluation.deniedBy !== undefined) {
    const { deniedBy } = evaluation;
    const part = partOfStage(deniedBy);
    return (facts.reason && part?.explain?.stageOf?.(facts.reason)) ?? deniedBy;
  }
  if (facts.reason?.kind === HTTPS_WITHOUT_HOST.kind) return 'https_redirect';
  if (facts.reason?.kind === BAD_MAX_FORWARDS.kind) return 'last_hop';
  switch (code) {
    case 'bad_path':
      return facts.version === null ? 'path' : 'route';
    case 'no_route':
    case 'version_retired':
    case 'endpoint_not_found':
    case 'endpoint_disabled':
    case 'no_revision':
      return 'route';
    case 'circuit_open':
      return 'circuit_breaker';
    default:
      return facts.version === null ? 'head' : (ENGINE_STAGES[code] ?? 'forward');
  }
}
