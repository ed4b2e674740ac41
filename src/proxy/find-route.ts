/**
 * From the request target to the route that serves it, for one exchange: reads the target, matches it, and answers if
 * there is no route. The rules are in http/paths/canonical-path.ts and match.ts.
 */
import { TRAFFIC_CLASSES, type TrafficClass } from '../config/weights.ts';
import { canonicalPath, comparablePath, hasEncodedSlash, pathEnd } from '../http/paths/canonical-path.ts';
import { HeaderKind } from '../http/heads/header-kind.ts';
import type { Route } from './interfaces/route.ts';
import type { Exchange } from './exchange.ts';
import { matchRequest } from './match.ts';
import { malformedPath, unmatched } from './reasons.ts';
import { corsOf } from './respond.ts';
import { DONE, NEXT, type StageResult } from './stage-result.ts';
import { suffixStartIn } from './upstream-path.ts';

/** Breakers may open repeatedly while a request looks for a revision. */
const REMATCHES_MAX = 2;

/** Reads the target (RFC 9112 section 3.2); from here on, matching and forwarding use the same path. */
export function locate(exchange: Exchange): StageResult {
  const { target, plainPathLength } = exchange.connection.head;
  if (plainPathLength >= 0) {
    const isWhole = plainPathLength === target.length;
    const path = isWhole ? target : target.slice(0, plainPathLength);
    exchange.located(path, isWhole ? '' : target.slice(plainPathLength), true, false);
    return NEXT;
  }
  if (target === '*') {
    exchange.respondEmpty(204, '');
    return DONE;
  }
  const end = pathEnd(target);
  const rawPath = end === target.length ? target : target.slice(0, end);
  const path = canonicalPath(rawPath);
  if (typeof path === 'object') {
    // Only for the error document, which names the request.
    exchange.located(rawPath, '', false, false);
    exchange.respondProblem(malformedPath(path));
    return DONE;
  }
  exchange.located(path, end === target.length ? '' : target.slice(end), false, hasEncodedSlash(path));
  return NEXT;
}

/** Finds the route, or answers that there is none. */
export function match(exchange: Exchange): StageResult {
  if (!findRoute(exchange, exchange.method, trafficClassOf(exchange))) {
    refuseUnmatched(exchange, exchange.method);
    return DONE;
  }
  const { context, version } = exchange;
  if (version?.status === 'deprecated') context.observer.deprecatedVersionUsed(exchange, version);
  return NEXT;
}

/**
 * Fetch standard, CORS-preflight: answered for the requested method, before any authentication. Also if the request
 * itself will be an error: a page can read the error only after a successful preflight.
 */
export function answerPreflight(exchange: Exchange): StageResult {
  if (exchange.method !== 'OPTIONS') return NEXT;
  const origin = exchange.header('origin');
  const requestMethod = exchange.header('access-control-request-method');
  if (origin === undefined || requestMethod === undefined) return NEXT;
  const isFound = findRoute(exchange, requestMethod, TRAFFIC_CLASSES.preflight);
  const cors = corsOf(exchange);
  if (cors !== undefined) {
    const requestHeaders = exchange.connection.head.combined('access-control-request-headers');
    exchange.respondPreflight(cors.preflightLines(origin, requestMethod, requestHeaders));
    return DONE;
  }
  if (isFound) return NEXT;
  refuseUnmatched(exchange, requestMethod);
  return DONE;
}

/**
 * Matches again, because the breaker of the chosen revision has opened since the match, or admitted another request as
 * its trial. False if no other revision is available; then the exchange is unchanged.
 */
export function findOtherRoute(exchange: Exchange, refused: Route): boolean {
  const { method } = exchange;
  if (exchange.rematches === REMATCHES_MAX) return false;
  const comparable = lookUp(exchange, method, trafficClassOf(exchange));
  const { match: result } = exchange.context;
  const { code, route } = result;
  if (code !== undefined || route === undefined || route === refused) return false;
  exchange.countRematch();
  exchange.matched(method, result, suffixStartIn(exchange.path, comparable, result.suffixStart));
  return true;
}

/** Before authentication, only the presence of a credential is known. */
function trafficClassOf(exchange: Exchange): TrafficClass {
  return exchange.connection.head.first(HeaderKind.authorization) < 0
    ? TRAFFIC_CLASSES.bare
    : TRAFFIC_CLASSES.credentialed;
}

/** False if there is no route for the method; `context.match` has the reason. */
function findRoute(exchange: Exchange, method: string, trafficClass: TrafficClass): boolean {
  const comparable = lookUp(exchange, method, trafficClass);
  const { match: result } = exchange.context;
  exchange.matched(method, result, suffixStartIn(exchange.path, comparable, result.suffixStart));
  // Only callers that the policy admits learn about an open breaker.
  return result.code === undefined || (result.code === 'circuit_open' && result.route !== undefined);
}

/** Fills `context.match`. @returns the comparable spelling of the path, which was matched */
function lookUp(exchange: Exchange, method: string, trafficClass: TrafficClass): string {
  const { context, path, hasEncodedSlash: encoded, hasPlainPath } = exchange;
  const comparable = hasPlainPath ? path : comparablePath(path);
  const { head } = exchange.connection;
  const { match: result, shareOf } = context;
  const snapshot = context.snapshot();
  matchRequest(
    snapshot,
    comparable,
    encoded,
    method,
    shareOf,
    result,
    trafficClass,
    hasPlainPath,
    head,
    head.host,
  );
  return comparable;
}

function refuseUnmatched(exchange: Exchange, method: string): void {
  const reason = unmatched(exchange.context.match, method, exchange.path);
  if (reason !== undefined) exchange.respondProblem(reason);
}
