/**
 * Serialises the gateway's own responses, and the fields that it adds to every response, including those of backends:
 * request id, CORS, RateLimit, Deprecation, Sunset, and Link to a successor. Text is latin1, in practice ASCII.
 */
import { problemDocument } from '../model/errors.ts';
import { clientSentence, type Reason } from '../model/reason.ts';
import { HeaderKind } from '../http/heads/header-kind.ts';
import { deprecationField, successorField, sunsetField } from '../http/fields/deprecation.ts';
import { statusText } from '../http/heads/status-text.ts';
import { linesWithout, namesOfLines } from '../http/bodies/trailers.ts';
import { errorRow } from '../policy/error-table.ts';
import { limitHeaderLines } from '../policy/parts/rate-limit/rate-limit.ts';
import type { CompiledCors } from '../policy/stage.ts';
import type { Version } from './interfaces/route.ts';
import type { ExchangeView } from './interfaces/exchange-view.ts';
import { addedLines } from './io/edited-fields.ts';

/** The problem document as ASCII text, so that its length in characters is its length in bytes. */
export function problemBody(
  reason: Reason,
  path: string,
  requestId: string,
  traceId: string | undefined,
): { readonly status: number; readonly body: string } {
  const { code } = reason.kind;
  const document = problemDocument(code, errorRow(code), clientSentence(reason), path, requestId);
  const traced = traceId === undefined ? document : { ...document, trace_id: traceId };
  return { status: document.status, body: asciiJson(traced) };
}

function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Fields that the gateway puts on every response that it creates itself, including those of the policy; each
 * line ends in CRLF.
 * @param own lines of this response: the policy adds no field that is among them
 */
export function responseFields(exchange: ExchangeView, own: string): string {
  const { route, requestId } = exchange;
  const added = route === undefined ? '' : addedLines(route.policy.responseFields, exchange, route);
  const start = `X-Request-Id: ${requestId}\r\n${hstsLine(exchange)}${fieldsBehindId(exchange)}`;
  return start + linesBeside(own, added);
}

/** The HSTS line (RFC 6797 section 7): only over TLS. '' if there is none. */
export function hstsLine({ connection, context }: ExchangeView): string {
  const { hstsSecs } = context.options;
  return hstsSecs > 0 && connection.isSecure ? `Strict-Transport-Security: max-age=${hstsSecs}\r\n` : '';
}

function linesBeside(own: string, added: string): string {
  return added === '' || own === '' ? added : linesWithout(added, namesOfLines(own));
}

/** The gateway's own fields that only some responses have; they come after the request id. */
export function fieldsBehindId(exchange: ExchangeView): string {
  const { route, version, evaluation, target } = exchange;
  let fields = target === undefined ? '' : target.cookieLine;
  if (mayAskForDecision(exchange)) fields += exchange.decisionLine();
  const cors = corsOf(exchange);
  if (cors !== undefined && !exchange.preflight) fields += cors.responseLines(exchange.header('origin'));
  if (route === undefined) return version?.status === 'retired' ? fields + successorLine(version) : fields;
  if (evaluation.limit !== undefined) fields += limitHeaderLines(evaluation);
  return version === undefined ? fields : fields + endOfLifeLines(version);
}

/** Lines for deprecation and sunset of a version; '' for most versions. */
function endOfLifeLines(version: Version): string {
  const { deprecatedAtSecs, sunsetAtSecs } = version;
  let lines = '';
  if (version.announcesEnd) {
    if (deprecatedAtSecs !== undefined) lines += deprecationField(deprecatedAtSecs);
    if (sunsetAtSecs !== undefined) lines += sunsetField(sunsetAtSecs);
  }
  return version.successor === undefined ? lines : lines + successorLine(version);
}

/** The label of a deleted version gives no line. */
function successorLine({ successor, app }: Version): string {
  if (successor === undefined) return '';
  const isUri = successor.includes('/');
  const path = isUri ? successor : app.versionPaths.get(successor);
  return path === undefined ? '' : successorField(path === '' ? '/' : path);
}

/** Lets pages of other origins read the response, even one without a route, such as a 404. */
export function corsOf({ route, version }: ExchangeView): CompiledCors | undefined {
  return (route === undefined ? version?.unmatched : route.policy)?.cors;
}

/** A whole response with its body; for HEAD only the length of the body is written (RFC 9110 section 9.3.2). */
export function gatewayResponse(
  exchange: ExchangeView,
  status: number,
  fields: string,
  body: string,
  persist: boolean,
): string {
  const length = status === 204 || status === 304 ? '' : `Content-Length: ${body.length}\r\n`;
  const head = `HTTP/1.1 ${status} ${statusText(status)}\r\nDate: ${exchange.context.httpDate()}\r\n`;
  const end = `${connectionField(exchange, persist)}\r\n`;
  return head + fields + length + end + (exchange.method === 'HEAD' ? '' : body);
}

/** RFC 9112 section 9.6; also confirms keep-alive to HTTP/1.0 clients that requested it. */
export function connectionField(exchange: ExchangeView, persist: boolean): string {
  if (!persist) return 'Connection: close\r\n';
  return exchange.connection.head.httpMinor === 0 ? 'Connection: keep-alive\r\n' : '';
}

/** Whether the request can have the field: one check of the kinds in its head. */
function mayAskForDecision(exchange: ExchangeView): boolean {
  return exchange.connection.head.first(HeaderKind.headgate) >= 0;
}
