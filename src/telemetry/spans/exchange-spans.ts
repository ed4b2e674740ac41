/**
 * The spans of an exchange as OTLP (opentelemetry/proto/trace/v1/trace.proto, 1.x): one of the server, one of the client
 * for each attempt at a backend, and events of what decided. Names are those of the semantic conventions for HTTP
 * (1.45); what they have no name for begins with `headgate.`. Texts of the client are cut, and masked where they look like
 * credentials; a query is never written.
 *
 * Owns the bytes of attributes that many exchanges share.
 */
import { traceparentParts } from '../../http/fields/trace-context.ts';
import { maskCredentials } from '../../observe/log.ts';
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import { newSpanId, type ExchangeTrace, type TracedAttempt } from '../../proxy/tracing/exchange-trace.ts';
import type { Route } from '../../proxy/interfaces/route.ts';
import { upstreamPath } from '../../proxy/upstream-path.ts';
import { attributeBytes, writeAttribute, type AttributeValue } from '../otlp/attributes.ts';
import type { ProtobufWriter } from '../otlp/protobuf-writer.ts';

const SPAN = {
  traceId: 1,
  spanId: 2,
  parentId: 4,
  name: 5,
  kind: 6,
  start: 7,
  end: 8,
  attributes: 9,
  events: 11,
  status: 15,
} as const;
const EVENT = { time: 1, name: 2, attributes: 3 } as const;
const STATUS_CODE = 3;
const STATUS_ERROR = 2;
const KIND = { server: 2, client: 3 } as const;
/** Field of ScopeSpans: each span of a batch is one of its fields. */
const SPANS_FIELD = 2;

const PATH_CHARS_MAX = 1_024;
const TEXT_CHARS_MAX = 256;
/** Combinations of method, status and protocol; there are few but for hostile methods, which have no bytes kept. */
const KEPT_MAX = 512;
/** Methods that are names of spans (semantic conventions, "HTTP request method"); all others are `_OTHER`. */
const METHODS = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'CONNECT',
  'TRACE',
  'QUERY',
]);

interface RouteBytes {
  readonly attributes: Uint8Array;
  readonly template: string;
}

export class ExchangeSpans {
  readonly #routes = new WeakMap<Route, RouteBytes>();
  readonly #outcomes = new Map<string, Uint8Array>();
  /** What adds to the monotonic clock to make Unix milliseconds. */
  readonly #epochMs: () => number;

  /** @param epochMs Unix milliseconds when the monotonic clock was 0, as of now */
  constructor(epochMs: () => number) {
    this.#epochMs = epochMs;
  }

  /** Appends the spans of an exchange that has ended. @returns how many */
  write(writer: ProtobufWriter, exchange: ExchangeView, trace: ExchangeTrace): number {
    const epochMs = this.#epochMs();
    const serverSpanId = newSpanId();
    this.#writeServer(writer, exchange, trace, serverSpanId, epochMs);
    const { attempts } = trace;
    for (let index = 0; index < attempts.length; index++)
      writeClient(writer, exchange, trace, attempts[index] as TracedAttempt, {
        serverSpanId,
        epochMs,
        index,
      });
    return 1 + attempts.length;
  }

  #writeServer(
    writer: ProtobufWriter,
    exchange: ExchangeView,
    trace: ExchangeTrace,
    spanId: string,
    epochMs: number,
  ): void {
    const { startedMs, durationMs, status, route } = exchange;
    const start = writer.begin(SPANS_FIELD);
    writer.hex(SPAN.traceId, trace.traceId);
    writer.hex(SPAN.spanId, spanId);
    if (trace.parentId !== '') writer.hex(SPAN.parentId, trace.parentId);
    const method = spanMethod(exchange);
    const routeBytes = route === undefined ? undefined : this.#routeBytes(route);
    writer.string(SPAN.name, routeBytes === undefined ? method : `${method} ${routeBytes.template}`);
    writer.varint(SPAN.kind, KIND.server);
    writer.nanoseconds(SPAN.start, epochMs + startedMs);
    writer.nanoseconds(SPAN.end, epochMs + (startedMs + durationMs));
    if (routeBytes !== undefined) writer.raw(routeBytes.attributes);
    writer.raw(this.#outcomeBytes(method, exchange));
    writeRequest(writer, exchange);
    writeEvents(writer, exchange, epochMs);
    if (status >= 500) writeError(writer);
    writer.end(start);
  }

  #routeBytes(route: Route): RouteBytes {
    let bytes = this.#routes.get(route);
    if (bytes === undefined) {
      const { revision, version, template } = route;
      bytes = {
        template,
        attributes: attributeBytes(SPAN.attributes, {
          'http.route': template,
          'headgate.app': version.app.slug,
          'headgate.version': version.label,
          'headgate.revision': revision.label,
          'headgate.revision_id': revision.id,
        }),
      };
      this.#routes.set(route, bytes);
    }
    return bytes;
  }

  /** Of what only few combinations exist. */
  #outcomeBytes(method: string, exchange: ExchangeView): Uint8Array {
    const { status, connection, errorCode, isAborted } = exchange;
    const { protocol, isSecure } = connection;
    const key = `${method} ${status} ${protocol} ${isSecure} ${errorCode} ${isAborted}`;
    let bytes = this.#outcomes.get(key);
    if (bytes === undefined) {
      bytes = attributeBytes(SPAN.attributes, {
        'http.request.method': method,
        'http.response.status_code': status === 0 ? undefined : status,
        'network.protocol.name': 'http',
        'network.protocol.version': protocol.slice(protocol.indexOf('/') + 1),
        'url.scheme': isSecure ? 'https' : 'http',
        'error.type': status >= 500 ? (errorCode ?? String(status)) : undefined,
        'headgate.error_code': errorCode,
        'headgate.aborted': isAborted || undefined,
      });
      if (this.#outcomes.size >= KEPT_MAX) this.#outcomes.clear();
      this.#outcomes.set(key, bytes);
    }
    return bytes;
  }
}

function spanMethod({ method, connection }: ExchangeView): string {
  const sent = method || connection.head.method;
  return METHODS.has(sent) ? sent : '_OTHER';
}

/** What differs from request to request. */
function writeRequest(writer: ProtobufWriter, exchange: ExchangeView): void {
  const { evaluation, connection } = exchange;
  const { caller } = evaluation;
  const put = (key: string, value: AttributeValue): void =>
    writeAttribute(writer, SPAN.attributes, key, value);
  put('url.path', maskCredentials(cut(exchange.path || '/', PATH_CHARS_MAX)));
  put('client.address', exchange.clientIp);
  put('headgate.request_id', exchange.requestId);
  put('headgate.config_version', exchange.context.snapshot().configVersion);
  const [host, port] = hostAndPort(exchange.method === '' ? '' : connection.head.host);
  if (host !== '') put('server.address', cut(host, TEXT_CHARS_MAX));
  if (port !== undefined) put('server.port', port);
  if (exchange.method !== '') {
    const agent = exchange.header('user-agent');
    if (agent !== undefined) put('user_agent.original', maskCredentials(cut(agent, TEXT_CHARS_MAX)));
    if (!METHODS.has(exchange.method))
      put('http.request.method_original', cut(exchange.method, TEXT_CHARS_MAX));
  }
  if (caller.kind !== 'anonymous') {
    put('headgate.caller.kind', caller.kind);
    put('headgate.caller.id', cut(caller.id, TEXT_CHARS_MAX));
  }
  if (exchange.retries > 0) put('headgate.retries', exchange.retries);
}

/** The stages that decided, or would have. */
function writeEvents(writer: ProtobufWriter, exchange: ExchangeView, epochMs: number): void {
  const { evaluation, errorCode, startedMs, durationMs } = exchange;
  const endedMs = epochMs + (startedMs + durationMs);
  const decidedMs = epochMs + (exchange.trace?.attempts[0]?.startedMs ?? startedMs + durationMs);
  const { limit, deniedBy, shadowDenials } = evaluation;
  if (limit !== undefined)
    writeEvent(writer, decidedMs, 'headgate.rate_limit', {
      'headgate.limit': limit.limit,
      'headgate.limit.remaining': Math.max(0, limit.remaining),
      'headgate.limit.admitted': limit.admitted,
    });
  for (const { part, denial } of shadowDenials ?? [])
    writeEvent(writer, decidedMs, 'headgate.would_deny', {
      'headgate.part': part,
      'headgate.error_code': denial.kind.code,
    });
  if (errorCode !== undefined && deniedBy !== undefined)
    writeEvent(writer, endedMs, 'headgate.denied', {
      'headgate.part': deniedBy,
      'headgate.error_code': errorCode,
    });
}

function writeEvent(
  writer: ProtobufWriter,
  unixMs: number,
  name: string,
  attributes: Readonly<Record<string, AttributeValue>>,
): void {
  const start = writer.begin(SPAN.events);
  writer.nanoseconds(EVENT.time, unixMs);
  writer.string(EVENT.name, name);
  for (const [key, value] of Object.entries(attributes)) writeAttribute(writer, EVENT.attributes, key, value);
  writer.end(start);
}

interface ClientSpan {
  readonly serverSpanId: string;
  readonly epochMs: number;
  /** Of the attempt. */
  readonly index: number;
}

/** Of one attempt: until it failed, or until the client had its response. */
function writeClient(
  writer: ProtobufWriter,
  exchange: ExchangeView,
  { traceId }: ExchangeTrace,
  attempt: TracedAttempt,
  { serverSpanId, epochMs, index }: ClientSpan,
): void {
  const { startedMs, failedMs, status, failure, target, route } = attempt;
  const endedMs = failedMs < 0 ? exchange.startedMs + exchange.durationMs : failedMs;
  const method = spanMethod(exchange);
  const start = writer.begin(SPANS_FIELD);
  writer.hex(SPAN.traceId, traceId);
  writer.hex(SPAN.spanId, traceparentParts(attempt.traceparent).parentId);
  writer.hex(SPAN.parentId, serverSpanId);
  writer.string(SPAN.name, method);
  writer.varint(SPAN.kind, KIND.client);
  writer.nanoseconds(SPAN.start, epochMs + startedMs);
  writer.nanoseconds(SPAN.end, epochMs + Math.max(startedMs, endedMs));
  const put = (key: string, value: AttributeValue): void =>
    writeAttribute(writer, SPAN.attributes, key, value);
  put('http.request.method', method);
  const [host, port] = hostAndPort(target);
  const path = cut(upstreamPath(route, exchange.path, exchange.suffixStart), PATH_CHARS_MAX);
  put('url.full', `${route.revision.backend.scheme}://${target}${maskCredentials(path)}`);
  put('server.address', host);
  if (port !== undefined) put('server.port', port);
  if (status !== 0) put('http.response.status_code', status);
  const isLast = failedMs < 0;
  if (isLast) put('network.protocol.version', exchange.upstreamProtocol === 'HTTP/2' ? '2' : '1.1');
  if (index > 0) put('http.request.resend_count', index);
  const error = failure !== '' ? failure : status >= 400 ? String(status) : '';
  if (error !== '') {
    put('error.type', error);
    writeError(writer);
  }
  writer.end(start);
}

function writeError(writer: ProtobufWriter): void {
  const start = writer.begin(SPAN.status);
  writer.varint(STATUS_CODE, STATUS_ERROR);
  writer.end(start);
}

/** @param authority `host`, `host:port` or `[address]:port`; '' gives '' */
function hostAndPort(authority: string): readonly [host: string, port: number | undefined] {
  const colon = authority.lastIndexOf(':');
  if (colon < 0 || authority.endsWith(']')) return [authority, undefined];
  const port = Number(authority.slice(colon + 1));
  return Number.isInteger(port) ? [authority.slice(0, colon), port] : [authority, undefined];
}

function cut(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax - 3)}...` : text;
}
