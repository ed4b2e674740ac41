/**
 * The spans of an exchange as OTLP (opentelemetry/proto/trace/v1/trace.proto, 1.x): a server span, a client span for
 * each attempt at a backend, and events for the decisions. Names are those of the semantic conventions for HTTP
 * (1.45); names without a convention begin with `headgate.`. Texts of the client are truncated, and masked where
 * they look like credentials; a query is never written.
 *
 * Parts that many exchanges share are in span-blocks.ts.
 */
import { cut } from '../../observe/cut.ts';
import { randomWord } from '../../lib/ids.ts';
import { maskCredentials } from '../../observe/log.ts';
import type { TracedAttempt } from '../../proxy/tracing/exchange-trace.ts';
import type { TraceIds } from '../../proxy/tracing/traceparents.ts';
import { upstreamPath } from '../../proxy/upstream-path.ts';
import { attributeKey, writeAttribute, type AttributeValue } from '../otlp/attributes.ts';
import type { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import type { KeptExchange } from './kept-exchange.ts';
import { EVENT, isKnownMethod, SPAN, SpanBlocks, TEXT_CHARS_MAX } from './span-blocks.ts';

/** The number of the field in ScopeSpans: each span of a batch is one such field. */
const SPANS_FIELD = 2;
const PATH_CHARS_MAX = 1_024;
const SPACE = 0x20;
const COLON = 0x3a;
const CAPITAL_J = 0x4a;
const UNDERSCORE = 0x5f;

const KEY = {
  path: attributeKey('url.path'),
  full: attributeKey('url.full'),
  client: attributeKey('client.address'),
  requestId: attributeKey('headgate.request_id'),
  userAgent: attributeKey('user_agent.original'),
  originalMethod: attributeKey('http.request.method_original'),
  retries: attributeKey('headgate.retries'),
  remaining: attributeKey('headgate.limit.remaining'),
  resendCount: attributeKey('http.request.resend_count'),
} as const;

export class ExchangeSpans {
  readonly #blocks = new SpanBlocks();
  /** Words of the server span's id. */
  #server0 = 0;
  #server1 = 0;

  /**
   * Appends the spans of an exchange.
   * @param epochMs Unix milliseconds when the monotonic clock was 0
   * @returns their number
   */
  write(writer: ProtobufWriter, exchange: KeptExchange, epochMs: number): number {
    const { trace } = exchange;
    const ids = trace.rootIds;
    this.#server0 = randomWord();
    this.#server1 = randomWord();
    this.#writeServer(writer, exchange, ids, epochMs);
    const { attempts } = trace;
    for (let index = 0; index < attempts.length; index++) {
      const attempt = attempts[index] as TracedAttempt;
      this.#writeClient(writer, exchange, attempt, trace.attemptIds(attempt, ids), index, epochMs);
    }
    return 1 + attempts.length;
  }

  #writeServer(writer: ProtobufWriter, exchange: KeptExchange, ids: TraceIds, epochMs: number): void {
    const { trace, startedMs, durationMs, caller } = exchange;
    const start = writer.begin(SPANS_FIELD);
    writer.id128(SPAN.traceId, ids.trace0, ids.trace1, ids.trace2, ids.trace3);
    writer.id64(SPAN.spanId, this.#server0, this.#server1);
    if (trace.isContinued) writer.id64(SPAN.parentId, ids.parent0, ids.parent1);
    writer.nanoseconds(SPAN.start, epochMs + startedMs);
    writer.nanoseconds(SPAN.end, epochMs + (startedMs + durationMs));
    writer.raw(this.#blocks.server(exchange));
    writer.raw(this.#blocks.place(exchange.configVersion, exchange.host));
    if (caller.kind !== 'anonymous') writer.raw(this.#blocks.caller(caller));
    writeRequest(writer, exchange);
    this.#writeEvents(writer, exchange, epochMs);
    writer.end(start);
  }

  /** Events for the stages that decided, or would have decided without shadow mode. */
  #writeEvents(writer: ProtobufWriter, exchange: KeptExchange, epochMs: number): void {
    const { limit, deniedBy, shadowDenials, errorCode, startedMs, durationMs } = exchange;
    const endedMs = epochMs + (startedMs + durationMs);
    const attemptedMs = exchange.trace.attempts[0]?.startedMs;
    const decidedMs = attemptedMs === undefined ? endedMs : epochMs + attemptedMs;
    if (limit !== undefined) {
      const start = writer.begin(SPAN.events);
      writer.nanoseconds(EVENT.time, decidedMs);
      writer.raw(this.#blocks.rateLimit(limit.limit, limit.admitted));
      writer.integerAttribute(EVENT.attributes, KEY.remaining, Math.max(0, limit.remaining));
      writer.end(start);
    }
    if (shadowDenials !== undefined)
      for (const { part, denial } of shadowDenials)
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

  /** The span of one attempt: it ends when the attempt failed, or when the client had its response. */
  #writeClient(
    writer: ProtobufWriter,
    exchange: KeptExchange,
    attempt: TracedAttempt,
    ids: TraceIds,
    index: number,
    epochMs: number,
  ): void {
    const { startedMs, failedMs, route } = attempt;
    const endedMs = failedMs ?? exchange.startedMs + exchange.durationMs;
    const start = writer.begin(SPANS_FIELD);
    writer.id128(SPAN.traceId, ids.trace0, ids.trace1, ids.trace2, ids.trace3);
    writer.id64(SPAN.spanId, ids.parent0, ids.parent1);
    writer.id64(SPAN.parentId, this.#server0, this.#server1);
    writer.nanoseconds(SPAN.start, epochMs + startedMs);
    writer.nanoseconds(SPAN.end, epochMs + Math.max(startedMs, endedMs));
    const block = this.#blocks.client(exchange, attempt);
    writer.raw(block.bytes);
    const path = upstreamPath(route, exchange.path, exchange.suffixStart);
    writer.textAttribute(SPAN.attributes, KEY.full, masked(cut(path, PATH_CHARS_MAX)), block.origin);
    if (index > 0) writer.integerAttribute(SPAN.attributes, KEY.resendCount, index);
    writer.end(start);
  }
}

/** Attributes that differ between requests. */
function writeRequest(writer: ProtobufWriter, exchange: KeptExchange): void {
  const path = exchange.path || '/';
  writer.textAttribute(SPAN.attributes, KEY.path, masked(cut(path, PATH_CHARS_MAX)));
  writer.textAttribute(SPAN.attributes, KEY.client, exchange.clientIp);
  writer.textAttribute(SPAN.attributes, KEY.requestId, exchange.requestId);
  if (exchange.isReadable) {
    const { method, userAgent: agent } = exchange;
    if (agent !== undefined)
      writer.textAttribute(SPAN.attributes, KEY.userAgent, masked(cut(agent, TEXT_CHARS_MAX)));
    if (!isKnownMethod(method))
      writer.textAttribute(SPAN.attributes, KEY.originalMethod, cut(method, TEXT_CHARS_MAX));
  }
  if (exchange.retries > 0) writer.integerAttribute(SPAN.attributes, KEY.retries, exchange.retries);
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

function masked(text: string): string {
  return mayHoldCredential(text) ? maskCredentials(text) : text;
}

/**
 * Whether the text has a character that occurs in every credential that `maskCredentials` finds; most texts have
 * none.
 */
function mayHoldCredential(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === UNDERSCORE || code === SPACE || code === COLON) return true;
    if (code === CAPITAL_J && text.startsWith('ey', index - 2)) return true;
  }
  return false;
}
