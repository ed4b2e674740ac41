/**
 * The request head for the backend: serialised again from parsed fields, without hop-by-hop fields (RFC 9110 section
 * 7.6.1), and with fields whose values the gateway itself provides. Statements of an untrusted client about the origin
 * of a request are replaced; those of a trusted proxy are extended.
 *
 * Texts that follow from the fields are cached with them as long as the client repeats them on its connection
 * (`isRepeated` of http/heads/field-section.ts), together with everything else that they depend on.
 */
import { foldedName } from '../../lib/folded-name.ts';
import { BodyFraming } from '../../http/bodies/framing.ts';
import { fieldsOfLines } from '../../http/fields/field-lists.ts';
import { HeaderKind } from '../../http/heads/header-kind.ts';
import {
  encodeFields,
  encodeMethod,
  encodeName,
  encodePath,
  encodeText,
} from '../../http/http2/hpack/encoder.ts';
import { forwardedForValue, forwardedLines, viaLine } from '../../http/fields/forwarded.ts';
import { forwardsLeft, isMaxForwards } from '../../http/fields/max-forwards.ts';
import { isValidTraceparent } from '../../http/fields/trace-context.ts';
import { linesWithout } from '../../http/bodies/trailers.ts';
import { ownText } from '../../http/latin1.ts';
import type { CompiledBackend } from '../../config/types.ts';
import { carriesApiKey } from '../../policy/parts/auth/api-key.ts';
import type { CredentialPlace, Evaluation } from '../../policy/stage.ts';
import type { RequestHead } from '../../http/heads/request-head.ts';
import type { ClientConnection } from '../interfaces/client-connection.ts';
import type {
  RequestTemplate,
  RequestTemplateBlocks,
  RequestTemplateFields,
} from '../interfaces/head-templates.ts';
import type { Route } from '../interfaces/route.ts';
import { addedLines, passedLine, passedTrailers } from '../io/edited-fields.ts';
import type { ExchangeView } from '../interfaces/exchange-view.ts';
import { HeadTemplateCache } from '../../http/heads/head-template-cache.ts';
import { newTraceparent } from '../tracing/traceparents.ts';

/** The trailers to forward, as lines, without trailers that a backend could read as fields of the gateway. */
export function upstreamTrailers(route: Route | undefined, trailers: string): string {
  if (trailers === '') return '';
  const withheld = route?.policy.withheldTrailers;
  const kept = withheld === undefined ? trailers : linesWithout(trailers, withheld);
  return passedTrailers(kept, route?.policy.requestFields);
}

const REQUEST_ID = 'X-Request-Id: ';
const TRACEPARENT = 'traceparent: ';

/**
 * @param backend the receiver
 * @param path of the upstream request, without the query
 * @param upgrade the protocol that the backend is asked to switch to
 * @param expectContinue whether the client's expectation is forwarded, because its body has not arrived
 */
export function upstreamRequestHead(
  exchange: ExchangeView,
  route: Route,
  { hostField }: CompiledBackend,
  path: string,
  expectContinue: boolean,
  upgrade: string | undefined,
): string {
  const { head } = exchange.connection;
  const host = hostOf(head, route, hostField);
  const template = templateFor(exchange, route, expectContinue, upgrade);
  return (
    `${head.method} ${path}${exchange.query}${frontOf(template, host)}${exchange.requestId}${template.middle}` +
    (template.addsTrace ? traceOf(exchange) + template.end : template.end)
  );
}

/**
 * From after the path to the request id. In one piece if it is kept: each piece of a text costs time to write. Only
 * that of the first host is kept, since targets in turn would replace each other's for every request.
 */
function frontOf(template: RequestTemplate, host: string): string {
  const { front, start } = template;
  if (front?.host === host) return front.text;
  const text = ` HTTP/1.1\r\nHost: ${host}\r\n${start}`;
  if (template.isKept && front === undefined) template.front = { host, text: ownText(text) };
  return text;
}

/**
 * The same request for HTTP/2 (RFC 9113 section 8.3): names and values alternating.
 * @param backend the receiver
 * @param path of the upstream request, without the query
 */
export function upstreamRequestFields(
  exchange: ExchangeView,
  route: Route,
  { hostField, scheme }: CompiledBackend,
  path: string,
  expectContinue: boolean,
): string[] {
  const { head } = exchange.connection;
  const template = templateFor(exchange, route, expectContinue, undefined);
  const { start, middle, end } = (template.fields ??= templateFields(template));
  return [
    ':method',
    head.method,
    ':scheme',
    scheme,
    ':authority',
    hostOf(head, route, hostField),
    ':path',
    path + exchange.query,
    ...start,
    'x-request-id',
    exchange.requestId,
    ...middle,
    ...(template.addsTrace ? ['traceparent', traceOf(exchange)] : []),
    ...end,
  ];
}

/** The encoded result of `upstreamRequestFields`. */
export function upstreamRequestBlock(
  exchange: ExchangeView,
  route: Route,
  { hostField, scheme }: CompiledBackend,
  path: string,
  expectContinue: boolean,
): string {
  const { head } = exchange.connection;
  const template = templateFor(exchange, route, expectContinue, undefined);
  const host = hostOf(head, route, hostField);
  let { blocks } = template;
  if (blocks === undefined || blocks.scheme !== scheme || blocks.host !== host)
    template.blocks = blocks = templateBlocks(template, scheme, host);
  return (
    encodeMethod(head.method) +
    blocks.front +
    encodePath(path + exchange.query) +
    blocks.start +
    encodeText(exchange.requestId) +
    blocks.middle +
    (template.addsTrace ? encodeText(traceOf(exchange)) + blocks.end : blocks.end)
  );
}

/** Flat texts, because each is written with many requests. */
function templateBlocks(template: RequestTemplate, scheme: string, host: string): RequestTemplateBlocks {
  const { start, middle, end } = (template.fields ??= templateFields(template));
  return {
    scheme,
    host,
    front: ownText(encodeFields([':scheme', scheme, ':authority', host])),
    start: ownText(encodeFields(start) + encodeName('x-request-id')),
    middle: ownText(encodeFields(middle) + (template.addsTrace ? encodeName('traceparent') : '')),
    end: ownText(encodeFields(end)),
  };
}

function templateFields({ start, middle, end, addsTrace }: RequestTemplate): RequestTemplateFields {
  return {
    start: fieldsOfLines(start.slice(0, start.length - REQUEST_ID.length)),
    middle: fieldsOfLines(middle.slice(2, addsTrace ? middle.length - TRACEPARENT.length : undefined)),
    // Without the line ends of the trace and of the head.
    end: fieldsOfLines(end.slice(addsTrace ? 2 : 0, -2)),
  };
}

function hostOf(head: RequestHead, { revision }: Route, hostField: string): string {
  return revision.preserveHost && head.host !== '' ? head.host : hostField;
}

function templateFor(
  exchange: ExchangeView,
  route: Route,
  expectContinue: boolean,
  upgrade: string | undefined,
): RequestTemplate {
  const { head } = exchange.connection;
  return head.isRepeated && upgrade === undefined && forwardsLeft(head) === undefined && !isEdited(route)
    ? cachedTemplate(exchange, route, expectContinue)
    : makeTemplate(exchange, route, expectContinue, upgrade);
}

/** Whether an editor adds fields, which differ between requests. */
function isEdited({ policy }: Route): boolean {
  return policy.requestFields !== undefined;
}

function cachedTemplate(exchange: ExchangeView, route: Route, expectContinue: boolean): RequestTemplate {
  const { head } = exchange.connection;
  const kept = (head.templates ??= new HeadTemplateCache());
  for (const template of kept.all) {
    if (isFor(template, exchange, route, expectContinue)) return template;
  }
  const template = makeTemplate(exchange, route, expectContinue, undefined);
  if (kept.isOpen) kept.keep(ownTemplate(template));
  return template;
}

function isFor(
  template: RequestTemplate,
  exchange: ExchangeView,
  route: Route,
  expectContinue: boolean,
): boolean {
  const { connection, evaluation } = exchange;
  return (
    template.conditions === conditionsOf(evaluation, route, expectContinue) &&
    template.requestHost === connection.head.host &&
    template.callerLines === evaluation.caller.upstreamHeaderLines &&
    template.managedHeaders === route.policy.managedHeaders &&
    template.credentialPlace === route.policy.credentialPlace
  );
}

function conditionsOf(evaluation: Evaluation, { policy }: Route, expectContinue: boolean): number {
  return (expectContinue ? 1 : 0) | (policy.forwardsApiKeys ? 2 : 0) | (evaluation.dropCredential ? 4 : 0);
}

function makeTemplate(
  exchange: ExchangeView,
  route: Route,
  expectContinue: boolean,
  upgrade: string | undefined,
): RequestTemplate {
  const { connection, evaluation } = exchange;
  const { head } = connection;
  const { managedHeaders, credentialPlace } = route.policy;
  const { upstreamHeaderLines } = evaluation.caller;
  const via = head.first(HeaderKind.via) < 0 ? undefined : head.combined('via');
  const continued = isContinuedTrace(head);
  const passesTrace = continued && exchange.context.tracing === undefined;
  return {
    requestHost: head.host,
    callerLines: upstreamHeaderLines,
    managedHeaders,
    credentialPlace,
    conditions: conditionsOf(evaluation, route, expectContinue),
    start:
      ordinaryLines(exchange, route) +
      forwardsLine(head) +
      managedLines(exchange, route, upgrade === undefined) +
      addedLines(route.policy.requestFields, exchange, route) +
      (connection.isTrustedPeer ? continuedLines(connection, head) : connection.forwarded.lines(head.host)) +
      REQUEST_ID,
    middle:
      '\r\n' +
      viaLine(exchange.context.via, head.httpMinor, via, connection.isHttp2) +
      TRACEPARENT +
      (passesTrace ? `${head.valueOf(HeaderKind.traceparent) ?? ''}\r\n` : ''),
    end:
      (passesTrace ? '' : '\r\n') +
      (continued ? tracestateLine(head) : '') +
      upstreamHeaderLines +
      framingLines(head) +
      (upgrade === undefined ? '' : `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`) +
      (expectContinue ? 'Expect: 100-continue\r\n\r\n' : '\r\n'),
    addsTrace: !passesTrace,
    isKept: false,
  };
}

/** Flattens the texts, so that they do not keep other memory alive. */
function ownTemplate(template: RequestTemplate): RequestTemplate {
  const { start, middle, end } = template;
  return { ...template, start: ownText(start), middle: ownText(middle), end: ownText(end), isKept: true };
}

/**
 * Fields that pass unchanged. Routes that write claims into headers omit the client's fields of those names,
 * and routes with their own place for credentials omit the fields that must be kept back.
 */
function ordinaryLines(exchange: ExchangeView, { policy }: Route): string {
  const { head } = exchange.connection;
  const { managedHeaders: managed, credentialPlace: place, requestFields: editor } = policy;
  const isCounted = forwardsLeft(head) !== undefined;
  if (managed === undefined && place === undefined && editor === undefined && !isCounted)
    return head.ordinaryLines();
  const dropped = exchange.evaluation.dropCredential;
  let lines = '';
  for (let index = 0; index < head.count; index++) {
    if (head.kind(index) !== HeaderKind.ordinary || head.isNominated(index)) continue;
    const name = head.name(index);
    if (isCounted && isMaxForwards(name)) continue;
    if (managed?.has(foldedName(name)) === true) continue;
    if (place !== undefined && isKeptBack(name, place, dropped)) continue;
    lines += passedLine(head, index, editor);
  }
  return lines;
}

/**
 * Whether a field is kept back: the credential if it is dropped, and always fields that a backend may take for
 * it.
 */
function isKeptBack(name: string, place: CredentialPlace, dropped: boolean): boolean {
  if (foldedName(name) !== place.foldedName) return false;
  return dropped || name.toLowerCase() !== place.lowerName;
}

/** Max-Forwards minus one; '' if it does not apply. */
function forwardsLine(head: RequestHead): string {
  const left = forwardsLeft(head);
  return left === undefined ? '' : `Max-Forwards: ${left - 1}\r\n`;
}

/** Known fields that pass under a condition; the gateway writes or drops all others. */
function managedLines(exchange: ExchangeView, route: Route, mayHaveTrailers: boolean): string {
  const { head } = exchange.connection;
  const { forwardsApiKeys, managedHeaders, credentialPlace, requestFields: editor } = route.policy;
  const trusted = exchange.connection.isTrustedPeer;
  // It is an ordinary field if the credential is in another one.
  const keepAuthorization = credentialPlace !== undefined || !exchange.evaluation.dropCredential;
  let lines = '';
  for (let index = 0; index < head.count; index++) {
    switch (head.kind(index)) {
      case HeaderKind.authorization:
        if (keepAuthorization && (forwardsApiKeys || !carriesApiKey(head.value(index))))
          lines += passedLine(head, index, editor);
        break;
      case HeaderKind.forwarded:
      case HeaderKind.forwardedOther:
      case HeaderKind.realIp:
        // A claim may be written to one of these; even a trusted proxy's value is then replaced.
        if (trusted && managedHeaders?.has(foldedName(head.name(index))) !== true) lines += head.line(index);
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
        lines += passedLine(head, index, editor);
        break;
      default:
    }
  }
  return lines;
}

function isTrailersRequest(head: RequestHead, index: number): boolean {
  return head.name(index).length === 2 && head.value(index).toLowerCase() === 'trailers';
}

/** A trusted proxy's fields about the request's path, extended by the proxy itself as the last step. */
function continuedLines(connection: ClientConnection, head: RequestHead): string {
  const { peer, isSecure } = connection;
  const forwardedFor = forwardedForValue(peer, head.combined('x-forwarded-for'), true);
  const proto = head.combined('x-forwarded-proto') ?? (isSecure ? 'https' : 'http');
  const host = head.valueOf(HeaderKind.forwardedHost) ?? head.host;
  return forwardedLines(forwardedFor, proto, host);
}

/** W3C Trace Context: anything but one valid traceparent starts a new trace. */
function isContinuedTrace(head: RequestHead): boolean {
  const given = head.valueOf(HeaderKind.traceparent);
  return given !== undefined && !head.repeated(HeaderKind.traceparent) && isValidTraceparent(given);
}

/** The tracestate field, if its trace continues. */
function tracestateLine(head: RequestHead): string {
  if (head.first(HeaderKind.tracestate) < 0) return '';
  const state = head.combined('tracestate');
  return state === undefined ? '' : `tracestate: ${state}\r\n`;
}

/** The value of traceparent for this attempt. */
function traceOf({ trace }: ExchangeView): string {
  return trace === undefined ? newTraceparent() : trace.traceparent;
}

function framingLines(head: RequestHead): string {
  if (head.framing === BodyFraming.chunked) return 'Transfer-Encoding: chunked\r\n';
  return head.framing === BodyFraming.contentLength ? `Content-Length: ${head.contentLength}\r\n` : '';
}
