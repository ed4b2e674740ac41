/**
 * The request head that the backend gets: re-serialised from parsed fields, never copied through, with what is
 * meant for this hop dropped (RFC 9110 section 7.6.1) and what the gateway vouches for put in place (design
 * section 2 "Client IP"). Trust decides: what an untrusted client says about where a request comes from is
 * replaced, what a trusted proxy says is continued.
 */
import { randomHex } from '../kernel/ids.ts';
import { BodyFraming } from '../http/framing.ts';
import { HeaderKind } from '../http/header-kind.ts';
import { forwardedForValue, forwardedLines, viaLine } from '../http/forwarded.ts';
import { isValidTraceparent, makeTraceparent } from '../http/trace-context.ts';
import { carriesApiKey } from '../policy/api-key.ts';
import type { RequestHead } from '../http/request-head.ts';
import type { Connection } from './connection.ts';
import type { Route } from './context.ts';
import type { Exchange } from './exchange.ts';

/**
 * @param path the upstream's, without the query
 * @param upgrade the protocol that the backend is asked to switch to
 * @param expectContinue whether the client's expectation is passed on, since its body is still to come
 */
export function upstreamRequestHead(
  exchange: Exchange,
  route: Route,
  path: string,
  expectContinue: boolean,
  upgrade: string | undefined,
): string {
  const { head } = exchange.connection;
  const { revision } = route;
  const host = revision.preserveHost && head.host !== '' ? head.host : revision.backend.authority;
  return (
    `${head.method} ${path}${exchange.query} HTTP/1.1\r\nHost: ${host}\r\n` +
    ordinaryLines(head, route.policy.managedHeaders) +
    managedLines(exchange, route, upgrade === undefined) +
    forwardingLines(exchange, head) +
    exchange.evaluation.caller.upstreamHeaderLines +
    framingLines(head) +
    (upgrade === undefined ? '' : `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`) +
    (expectContinue ? 'Expect: 100-continue\r\n\r\n' : '\r\n')
  );
}

/** What passes as it is; on routes that put claims into headers, without what the client sent under those names. */
function ordinaryLines(head: RequestHead, managed: ReadonlySet<string> | undefined): string {
  if (managed === undefined) return head.ordinaryLines();
  let lines = '';
  for (let index = 0; index < head.count; index++) {
    if (head.kind(index) !== HeaderKind.ordinary || head.isNominated(index)) continue;
    if (!managed.has(head.name(index).toLowerCase().replaceAll('_', '-'))) lines += head.line(index);
  }
  return lines;
}

/** Fields of known kinds that pass under a condition; each of the others is written by the gateway or dropped. */
function managedLines(exchange: Exchange, route: Route, mayHaveTrailers: boolean): string {
  const { head } = exchange.connection;
  const { forwardsApiKeys } = route.policy;
  const trusted = exchange.connection.isTrustedPeer;
  const keepAuthorization = !exchange.evaluation.dropAuthorization;
  let lines = '';
  for (let index = 0; index < head.count; index++) {
    switch (head.kind(index)) {
      case HeaderKind.authorization:
        if (keepAuthorization && (forwardsApiKeys || !carriesApiKey(head.value(index))))
          lines += head.line(index);
        break;
      case HeaderKind.forwarded:
      case HeaderKind.forwardedOther:
      case HeaderKind.realIp:
        if (trusted) lines += head.line(index);
        break;
      case HeaderKind.trailer:
        if (head.framing === BodyFraming.chunked) lines += head.line(index);
        break;
      case HeaderKind.hopByHop:
        if (mayHaveTrailers && isTrailersRequest(head, index)) lines += 'TE: trailers\r\nConnection: TE\r\n';
        break;
      case HeaderKind.origin:
      case HeaderKind.accessControlRequestMethod:
      case HeaderKind.accessControlRequestHeaders:
      case HeaderKind.accessControl:
      case HeaderKind.deprecation:
      case HeaderKind.sunset:
      case HeaderKind.rateLimit:
      case HeaderKind.date:
      case HeaderKind.server:
        lines += head.line(index);
        break;
      default:
    }
  }
  return lines;
}

function isTrailersRequest(head: RequestHead, index: number): boolean {
  return head.name(index).length === 2 && head.value(index).toLowerCase() === 'trailers';
}

/** Who sent this, through whom, and under which trace. */
function forwardingLines(exchange: Exchange, head: RequestHead): string {
  const { connection } = exchange;
  const via = head.first(HeaderKind.via) < 0 ? undefined : head.combined('via');
  return (
    (connection.isTrustedPeer ? continuedLines(connection, head) : connection.forwardedLines(head.host)) +
    `X-Request-Id: ${exchange.requestId}\r\n` +
    viaLine(head.httpMinor, via, connection.isHttp2) +
    traceLines(head)
  );
}

/** What a trusted proxy says about the way of the request, with the proxy as the last step of it. */
function continuedLines(connection: Connection, head: RequestHead): string {
  const { peer, isSecure } = connection;
  const forwardedFor = forwardedForValue(peer, head.combined('x-forwarded-for'), true);
  const proto = head.valueOf(HeaderKind.forwardedProto) ?? (isSecure ? 'https' : 'http');
  const host = head.valueOf(HeaderKind.forwardedHost) ?? head.host;
  return forwardedLines(forwardedFor, proto, host);
}

/** W3C Trace Context: a valid traceparent is passed on with its tracestate; anything else starts a new trace. */
function traceLines(head: RequestHead): string {
  const given = head.valueOf(HeaderKind.traceparent);
  if (given === undefined || head.repeated(HeaderKind.traceparent) || !isValidTraceparent(given)) {
    return `traceparent: ${makeTraceparent(randomHex(16), randomHex(8))}\r\n`;
  }
  const state = head.first(HeaderKind.tracestate) < 0 ? undefined : head.combined('tracestate');
  return `traceparent: ${given}\r\n${state === undefined ? '' : `tracestate: ${state}\r\n`}`;
}

function framingLines(head: RequestHead): string {
  if (head.framing === BodyFraming.chunked) return 'Transfer-Encoding: chunked\r\n';
  return head.framing === BodyFraming.contentLength ? `Content-Length: ${head.contentLength}\r\n` : '';
}
