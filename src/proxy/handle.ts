/**
 * The way of a request through the gateway, in order; docs/explanation/request-path.md explains each stage and its exits.
 *
 *   enter             room for one more exchange                      503
 *   isLoop            a request that was here before                  508
 *   locate            canonical path, version, revision, endpoint     400 404 410 503
 *   answerPreflight   CORS preflight, without credentials             204
 *   evaluate          authentication, scopes, methods, body size,     401 403 405 413 429
 *                     concurrency, rate limits
 *   answerAtLastHop   OPTIONS and TRACE that may go no further        200 204
 *   waitForBody       only where the policy asks for it               408 413
 *   proceed           breaker, then the upstream                      503, and forward's 413 502 504
 */
import { canonicalPath, comparablePath, hasEncodedSlash, pathEnd } from '../http/canonical-path.ts';
import { viaHolds } from '../http/forwarded.ts';
import { HeaderKind } from '../http/header-kind.ts';
import type { RequestHead } from '../http/request-head.ts';
import { releasePermit } from '../policy/parts/concurrency/concurrency-stage.ts';
import { evaluate, newEvaluation } from '../policy/evaluate.ts';
import type { Denial } from '../policy/stage.ts';
import { TRAFFIC_CLASSES, type TrafficClass } from '../config/weights.ts';
import { ADMITTED, type Admission, type Breaker } from './resilience/breaker.ts';
import { BreakerReport } from './resilience/breaker-report.ts';
import type { Route } from './context.ts';
import type { Exchange } from './exchange.ts';
import { Forwarding } from './upstream/forward.ts';
import { answerAtLastHop } from './last-hop.ts';
import { matchRequest } from './match.ts';
import {
  CIRCUIT_OPEN,
  INTERNAL_ERROR,
  LOOP_DETECTED,
  malformedPath,
  OVERLOADED,
  unmatched,
} from './reasons.ts';
import { suffixStartIn } from './upstream-path.ts';
import { RequestBuffer } from './io/request-buffer.ts';
import { corsOf } from './respond.ts';

export function handle(exchange: Exchange): void {
  try {
    if (!exchange.enter()) return overloaded(exchange);
    if (isLoop(exchange)) return;
    if (!locate(exchange)) return;
    if (answerPreflight(exchange)) return;
    if (!match(exchange, exchange.method, trafficClassOf(exchange))) return;
    if (exchange.version?.status === 'deprecated') {
      exchange.context.observer.deprecatedVersionUsed(exchange, exchange.version);
    }
    const verdict =
      exchange.route === undefined
        ? undefined
        : evaluate(exchange.route.policy, exchange, exchange.evaluation);
    if (verdict instanceof Promise) void proceedLater(exchange, verdict);
    else proceed(exchange, verdict);
  } catch (error) {
    fail(exchange, error);
  }
}

/** Before anything is looked at: refusing must cost less than serving. */
function overloaded(exchange: Exchange): void {
  const { context, connection } = exchange;
  exchange.method = connection.head.method;
  context.observer.overloaded('exchanges');
  exchange.respondProblem({
    kind: OVERLOADED,
    data: { full: 'exchanges', max: context.exchangeLimiter.permitsMax },
  });
}

/** RFC 9110 section 7.6.3: a request that has passed this gateway before would go round and round. */
function isLoop(exchange: Exchange): boolean {
  const { head } = exchange.connection;
  const received = head.first(HeaderKind.via) < 0 ? undefined : head.combined('via');
  if (received === undefined || !viaHolds(received, exchange.context.via)) return false;
  exchange.method = head.method;
  exchange.respondProblem(LOOP_DETECTED);
  return true;
}

/** Reads the target (RFC 9112 section 3.2); from here on there is one path for matching and for forwarding. */
function locate(exchange: Exchange): boolean {
  const { head } = exchange.connection;
  exchange.method = head.method;
  if (head.plainPathLength >= 0) {
    locatePlain(exchange, head);
    return true;
  }
  if (head.target === '*') {
    exchange.respondEmpty(204, '');
    return false;
  }
  const end = pathEnd(head.target);
  const rawPath = end === head.target.length ? head.target : head.target.slice(0, end);
  const path = canonicalPath(rawPath);
  if (typeof path === 'object') {
    // Only for the error document, which names what was asked for.
    exchange.path = rawPath;
    exchange.respondProblem(malformedPath(path));
    return false;
  }
  exchange.path = path;
  exchange.hasEncodedSlash = hasEncodedSlash(path);
  exchange.query = end === head.target.length ? '' : head.target.slice(end);
  return true;
}

/** Nothing is left to be looked at. */
function locatePlain(exchange: Exchange, { target, plainPathLength }: RequestHead): void {
  exchange.hasPlainPath = true;
  if (plainPathLength === target.length) exchange.path = target;
  else {
    exchange.path = target.slice(0, plainPathLength);
    exchange.query = target.slice(plainPathLength);
  }
}

/** Before authentication the mere presence of a credential has to do. */
function trafficClassOf(exchange: Exchange): TrafficClass {
  return exchange.connection.head.first(HeaderKind.authorization) < 0
    ? TRAFFIC_CLASSES.bare
    : TRAFFIC_CLASSES.credentialed;
}

/** Finds the route for a method; false when that was answered with an error. */
function match(exchange: Exchange, method: string, trafficClass: TrafficClass): boolean {
  if (find(exchange, method, trafficClass)) return true;
  refuseUnmatched(exchange, method);
  return false;
}

function refuseUnmatched(exchange: Exchange, method: string): void {
  const reason = unmatched(exchange.context.match, method, exchange.path);
  if (reason !== undefined) exchange.respondProblem(reason);
}

/** Finds the route for a method; false when there is none, and `context.match` says why. */
function find(exchange: Exchange, method: string, trafficClass: TrafficClass): boolean {
  const { context } = exchange;
  const result = context.match;
  const { hasEncodedSlash: encoded, hasPlainPath } = exchange;
  const comparable = hasPlainPath ? exchange.path : comparablePath(exchange.path);
  const { head } = exchange.connection;
  const snapshot = context.snapshot();
  matchRequest(
    snapshot,
    comparable,
    encoded,
    method,
    context.shareOf,
    result,
    trafficClass,
    hasPlainPath,
    head,
  );
  exchange.matchedMethod = method;
  exchange.version = result.version;
  exchange.route = result.route;
  exchange.suffixStart = suffixStartIn(exchange.path, comparable, result.suffixStart);
  // An open breaker is told only to callers that policy lets through.
  return result.code === undefined || (result.code === 'circuit_open' && result.route !== undefined);
}

/**
 * Fetch standard, CORS-preflight: answered for the method that it asks about, before any authentication. Also where
 * the request itself will be an error: a page can only read that when its preflight has succeeded.
 */
function answerPreflight(exchange: Exchange): boolean {
  if (exchange.method !== 'OPTIONS') return false;
  const origin = exchange.header('origin');
  const requestMethod = exchange.header('access-control-request-method');
  if (origin === undefined || requestMethod === undefined) return false;
  const found = find(exchange, requestMethod, TRAFFIC_CLASSES.preflight);
  const cors = corsOf(exchange);
  if (cors === undefined) {
    if (!found) refuseUnmatched(exchange, requestMethod);
    return !found;
  }
  const requestHeaders = exchange.connection.head.combined('access-control-request-headers');
  const lines = cors.preflightLines(origin, requestMethod, requestHeaders);
  exchange.preflight = true;
  exchange.respondEmpty(204, lines);
  return true;
}

async function proceedLater(
  exchange: Exchange,
  verdict: Promise<Denial | undefined>,
  matches = 1,
): Promise<void> {
  try {
    const denial = await verdict;
    if (!exchange.ended) proceed(exchange, denial, matches);
  } catch (error) {
    fail(exchange, error);
  } finally {
    // A client that has gone meanwhile: what the rest of the evaluation took is held by nobody.
    if (exchange.ended) releasePermit(exchange.evaluation);
  }
}

/** @param matches how often the request was matched */
function proceed(exchange: Exchange, denial: Denial | undefined, matches = 1): void {
  const { connection, context, route } = exchange;
  if (denial !== undefined || route === undefined) {
    context.observer.policyDecided(exchange, denial);
    if (denial !== undefined) exchange.respondProblem(denial);
    return;
  }
  if (answerAtLastHop(exchange)) return;
  // The length of a chunked body shows only as it comes.
  connection.body.bytesMax = route.policy.maxBodyBytes || context.options.maxBodyBytes;
  if (route.policy.bufferRequestBytes > 0 && waitForBody(exchange, route, matches)) return;
  const breaker = context.breakerOf(route.revision);
  const admission = admit(exchange, route, breaker);
  if (admission.refused && takeAnother(exchange, route, matches)) return;
  context.observer.policyDecided(exchange, undefined);
  if (admission.refused) return refuse(exchange, route, breaker);
  if (context.interceptUpstream !== undefined) return context.interceptUpstream(exchange, route);
  const report = new BreakerReport(exchange, route.revision, breaker, admission.trial);
  exchange.forwarding = new Forwarding(exchange, route, report);
  exchange.forwarding.start();
}

/** False when there is nothing to wait for. */
function waitForBody(exchange: Exchange, { policy, version }: Route, matches: number): boolean {
  const { connection, context } = exchange;
  const isDone = exchange.buffer !== undefined || connection.body.complete;
  if (isDone || context.interceptUpstream !== undefined || context.requestMemory.isFullFor(version.app.id))
    return false;
  exchange.buffer = new RequestBuffer(exchange, version.app.id, policy.bufferRequestBytes, () => {
    try {
      connection.deadlineMs = context.deadlines.nowMs + context.options.firstByteTimeoutMs;
      proceed(exchange, undefined, matches);
    } catch (error) {
      fail(exchange, error);
    }
  });
  exchange.buffer.start();
  return true;
}

function admit(exchange: Exchange, { revision }: Route, breaker: Breaker | undefined): Admission {
  if (breaker === undefined || breaker.isPristine) return ADMITTED;
  const { context } = exchange;
  const hasProbe = revision.healthCheckPath !== undefined;
  const admission = breaker.admit(revision.breaker, hasProbe, context.clock.nowMs());
  if (!admission.refused && admission.move !== undefined) {
    context.observer.breakerChanged(
      revision,
      admission.move,
      'one request is let through',
      exchange.requestId,
    );
  }
  return admission;
}

/** How often a request is matched: breakers move while requests are on their way to them. */
const MATCHES_MAX = 3;

/**
 * The breaker of the chosen revision has opened since it was chosen, or another request was faster to be its trial:
 * the request goes to another revision that is available. Where another policy holds there, that one decides anew.
 * False when there is none.
 */
function takeAnother(exchange: Exchange, refused: Route, matches: number): boolean {
  if (matches >= MATCHES_MAX) return false;
  const { suffixStart } = exchange;
  const found = find(exchange, exchange.method, trafficClassOf(exchange));
  const { route, context } = exchange;
  if (!found || context.match.code !== undefined || route === undefined || route === refused) {
    exchange.route = refused;
    exchange.version = refused.version;
    exchange.suffixStart = suffixStart;
    return false;
  }
  if (route.policy === refused.policy) proceed(exchange, undefined, matches + 1);
  else {
    releasePermit(exchange.evaluation);
    exchange.evaluation = newEvaluation();
    const verdict = evaluate(route.policy, exchange, exchange.evaluation);
    if (verdict instanceof Promise) void proceedLater(exchange, verdict, matches + 1);
    else proceed(exchange, verdict, matches + 1);
  }
  return true;
}

function refuse(exchange: Exchange, { revision }: Route, breaker: Breaker | undefined): void {
  const seconds = breaker?.retryAfterSecs(revision.breaker, exchange.context.clock.nowMs()) ?? 1;
  exchange.respondProblem({ kind: CIRCUIT_OPEN, data: { revision: revision.label, seconds } });
}

function fail(exchange: Exchange, error: unknown): void {
  exchange.context.observer.internalError(error, exchange.requestId);
  exchange.respondProblem(INTERNAL_ERROR, false);
}
