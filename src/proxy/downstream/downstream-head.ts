/**
 * The response head that the client gets for a backend's response: serialised again, without hop-by-hop fields of the
 * upstream, and with the gateway's own fields replacing the backend's where both exist (CORS, RateLimit, Deprecation,
 * X-Request-Id).
 *
 * As for requests (upstream-head.ts), text made from the fields is cached with them while the backend repeats them on
 * its connection.
 */
import { RESPONSE_VIA, viaLine } from '../../http/fields/forwarded.ts';
import { BodyFraming } from '../../http/bodies/framing.ts';
import { HeaderKind } from '../../http/heads/header-kind.ts';
import { ownText } from '../../http/latin1.ts';
import { statusText } from '../../http/heads/status-text.ts';
import { addedLines, passedLine } from '../io/edited-fields.ts';
import type { ExchangeView } from '../interfaces/exchange-view.ts';
import type { BackendHead, ResponseTemplate } from '../interfaces/head-templates.ts';
import { HeadTemplateCache } from '../../http/heads/head-template-cache.ts';
import { connectionField, fieldsBehindId, hstsLine, responseFields } from '../respond.ts';

/** How the body is framed for the client. */
export type ClientFraming = 'none' | 'length' | 'chunked' | 'until_close';

/** RFC 9112 section 6.3: chunked if the length is unknown and the client can read it. */
export function clientFraming(exchange: ExchangeView, head: BackendHead): ClientFraming {
  if (head.framing === BodyFraming.none) return 'none';
  if (head.framing === BodyFraming.contentLength) return 'length';
  return exchange.connection.head.httpMinor === 1 ? 'chunked' : 'until_close';
}

export function downstreamResponseHead(
  exchange: ExchangeView,
  head: BackendHead,
  framing: ClientFraming,
  persist: boolean,
): string {
  const conditions = conditionsOf(exchange, head, framing, persist);
  // The date that the gateway adds if the backend sends none changes soon.
  const { route } = exchange;
  const editor = route?.policy.responseFields;
  const isKeeping = editor === undefined && head.isRepeated && head.first(HeaderKind.date) >= 0;
  const known = isKeeping ? findCached(head, conditions) : undefined;
  const template = known ?? makeTemplate(exchange, head, framing, persist, conditions);
  if (isKeeping && known === undefined) keep(head, template);
  const added = route === undefined ? '' : addedLines(editor, exchange, route);
  const more = defaultHstsLine(exchange, head) + fieldsBehindId(exchange) + added;
  // Usually there are none; writing fewer pieces is cheaper.
  if (more === '') return template.start + exchange.requestId + template.end;
  return `${template.start}${exchange.requestId}\r\n${more}${template.endBehindMore}`;
}

/** The HSTS line of the settings; a backend may send its own instead. */
function defaultHstsLine(exchange: ExchangeView, head: BackendHead): string {
  const line = hstsLine(exchange);
  return line === '' || head.get('strict-transport-security') !== undefined ? '' : line;
}

function keep(head: BackendHead, template: ResponseTemplate): void {
  const kept = (head.templates ??= new HeadTemplateCache());
  if (kept.isOpen) kept.keep(ownTemplate(template));
}

function findCached(head: BackendHead, conditions: number): ResponseTemplate | undefined {
  const kept = head.templates;
  if (kept === undefined) return undefined;
  for (const template of kept.all) {
    const isSame = template.status === head.status && template.reason === head.reason;
    if (isSame && template.conditions === conditions) return template;
  }
  return undefined;
}

const FRAMINGS: readonly ClientFraming[] = ['none', 'length', 'chunked', 'until_close'];

function conditionsOf(
  { route, version, evaluation, connection }: ExchangeView,
  head: BackendHead,
  framing: ClientFraming,
  persist: boolean,
): number {
  return (
    FRAMINGS.indexOf(framing) |
    (persist ? 4 : 0) |
    (head.httpMinor === 1 ? 8 : 0) |
    (connection.head.httpMinor === 1 ? 16 : 0) |
    (route?.policy.cors === undefined ? 32 : 0) |
    (evaluation.limit === undefined ? 64 : 0) |
    (version?.announcesEnd === true ? 128 : 0)
  );
}

function makeTemplate(
  exchange: ExchangeView,
  head: BackendHead,
  framing: ClientFraming,
  persist: boolean,
  conditions: number,
): ResponseTemplate {
  const { status, reason } = head;
  const via = head.first(HeaderKind.via) < 0 ? undefined : head.combined('via');
  const endBehindMore = `${framingLine(head, framing)}${connectionField(exchange, persist)}\r\n`;
  return {
    status,
    reason,
    conditions,
    start:
      `HTTP/1.1 ${status} ${reason === '' ? statusText(status) : reason}\r\n${ordinaryLines(exchange, head)}` +
      managedLines(exchange, head, framing) +
      (head.first(HeaderKind.date) < 0 ? `Date: ${exchange.context.httpDate()}\r\n` : '') +
      `${viaLine(RESPONSE_VIA, head.httpMinor, via)}X-Request-Id: `,
    end: `\r\n${endBehindMore}`,
    endBehindMore,
  };
}

/** Flattens the texts, so that they do not keep other memory alive. */
function ownTemplate(template: ResponseTemplate): ResponseTemplate {
  const { reason, start, end, endBehindMore } = template;
  return {
    ...template,
    reason: ownText(reason),
    start: ownText(start),
    end: ownText(end),
    endBehindMore: ownText(endBehindMore),
  };
}

/** An interim response (RFC 9110 section 15.2), for clients that know of them. */
export function interimResponseHead(exchange: ExchangeView, head: BackendHead): string {
  const reason = head.reason === '' ? statusText(head.status) : head.reason;
  return `HTTP/1.1 ${head.status} ${reason}\r\n${ordinaryLines(exchange, head)}\r\n`;
}

/** The 101 that begins a tunnel; `upgrade` is the protocol that the backend has chosen. */
export function switchingResponseHead(exchange: ExchangeView, head: BackendHead, upgrade: string): string {
  return (
    `HTTP/1.1 101 Switching Protocols\r\n${ordinaryLines(exchange, head)}${managedLines(exchange, head, 'none')}` +
    `${responseFields(exchange, '')}Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n\r\n`
  );
}

function ordinaryLines({ route }: ExchangeView, head: BackendHead): string {
  const editor = route?.policy.responseFields;
  if (editor === undefined) return head.ordinaryLines();
  let lines = '';
  for (let index = 0; index < head.count; index++) {
    if (head.kind(index) !== HeaderKind.ordinary || head.isNominated(index)) continue;
    lines += passedLine(head, index, editor);
  }
  return lines;
}

function managedLines(exchange: ExchangeView, head: BackendHead, framing: ClientFraming): string {
  const { route, version, evaluation } = exchange;
  const editor = route?.policy.responseFields;
  let lines = '';
  for (let index = 0; index < head.count; index++) {
    switch (head.kind(index)) {
      case HeaderKind.accessControl:
      case HeaderKind.accessControlRequestMethod:
      case HeaderKind.accessControlRequestHeaders:
        if (route?.policy.cors === undefined) lines += passedLine(head, index, editor);
        break;
      case HeaderKind.rateLimit:
        if (evaluation.limit === undefined) lines += passedLine(head, index, editor);
        break;
      case HeaderKind.deprecation:
      case HeaderKind.sunset:
        if (version?.announcesEnd !== true) lines += passedLine(head, index, editor);
        break;
      case HeaderKind.trailer:
        if (framing === 'chunked') lines += head.line(index);
        break;
      case HeaderKind.origin:
      case HeaderKind.date:
      case HeaderKind.server:
      case HeaderKind.expect:
      case HeaderKind.host:
      case HeaderKind.authorization:
      case HeaderKind.traceparent:
      case HeaderKind.tracestate:
      case HeaderKind.forwarded:
      case HeaderKind.forwardedOther:
      case HeaderKind.realIp:
      case HeaderKind.targetOverride:
      case HeaderKind.underscoreAlias:
        lines += passedLine(head, index, editor);
        break;
      default:
    }
  }
  return lines;
}

function framingLine(head: BackendHead, framing: ClientFraming): string {
  switch (framing) {
    case 'length':
      return `Content-Length: ${head.contentLength}\r\n`;
    case 'chunked':
      return 'Transfer-Encoding: chunked\r\n';
    case 'none':
      // HEAD and 304 state the length that the body would have (RFC 9110 section 8.6).
      return head.contentLength >= 0 && head.status !== 204
        ? `Content-Length: ${head.contentLength}\r\n`
        : '';
    case 'until_close':
      return '';
  }
}
