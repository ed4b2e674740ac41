/**
 * One request and its response: the facts for policies, what the stages found out, and the two ways to answer here (an
 * error, or a response of the gateway). Lives from a parsed head until the last byte of the response is written or the
 * client disconnects; `end` runs exactly once.
 */
import { clientAddress } from '../http/fields/forwarded.ts';
import { HeaderKind } from '../http/heads/header-kind.ts';
import type { CompiledBackend } from '../config/types.ts';
import type { ErrorCode } from '../model/errors.ts';
import { clientSentence, headerLines, type Reason } from '../model/reason.ts';
import { releasePermit } from '../policy/evaluate.ts';
import { newEvaluation } from '../policy/evaluate.ts';
import type { ClientTls, CompiledPolicy, Evaluation } from '../policy/stage.ts';
import { noteBodyInShadow } from './body-shadow.ts';
import type { ClientConnection } from './interfaces/client-connection.ts';
import type { AnswerableExchange, AnsweringStage } from './interfaces/exchange-view.ts';
import type { ProxyContext } from './interfaces/proxy-context.ts';
import type { Route, Version } from './interfaces/route.ts';
import { grpcErrorLines } from '../http/grpc/grpc.ts';
import { errorTypeOf } from './upstream/grpc-web/call-form.ts';
import type { AppExchanges, AppOverload } from './exchange-limiter.ts';
import type { MatchResult } from './match.ts';
import { POLICY_TIMEOUT } from './reasons.ts';
import type { RequestBuffer } from './io/request-buffer.ts';
import { gatewayResponse, problemBody, responseFields } from './respond.ts';
import type { ChosenTarget } from './targets/target-view.ts';
import { ExchangeTrace } from './tracing/exchange-trace.ts';
import { ExchangeTimeline } from './timeline.ts';

/** Status in logs and metrics if the client disconnected before a response. */
const CLIENT_GONE = 499;
const REQUEST_ID_LENGTH_MAX = 128;

/** The attempts at a backend as their exchange sees them; attempts.ts implements it. */
export interface ExchangeAttempts {
  /** Ends the current attempt. The client receives nothing. */
  cancel(): void;
  /** At the end of the exchange; may be called again. */
  release(): void;
  onDeadline(): void;
  onClientWritable(): void;
}

export class Exchange implements AnswerableExchange {
  readonly connection: ClientConnection;
  readonly context: ProxyContext;
  /** On the monotonic clock. */
  readonly startedMs: number;
  readonly requestId: string;
  readonly clientIp: string;
  /** '' if the head could not be read. */
  readonly method: string;
  /** Replaced when another policy decides. */
  readonly evaluation: Evaluation = newEvaluation();

  /** Canonical, without the query. */
  readonly path: string = '';
  /** Equal in every spelling (`RequestHead.plainPathLength`). */
  readonly hasPlainPath: boolean = false;
  readonly hasEncodedSlash: boolean = false;
  /** True for a preflight that the gateway answered itself. */
  readonly preflight: boolean = false;
  readonly answeredBy: AnsweringStage | undefined = undefined;
  /** With its `?`, or ''. */
  readonly query: string = '';
  /** The method of the latest match; for a preflight, the requested method. */
  readonly matchedMethod: string = '';
  readonly version: Version | undefined = undefined;
  readonly route: Route | undefined = undefined;
  /** Index in `path` of the part after the gateway path. */
  readonly suffixStart: number = 0;
  /** Matches after the first, because a breaker had opened meanwhile. */
  readonly rematches: number = 0;
  /** Only if the gateway waits for the body. */
  readonly buffer: RequestBuffer | undefined = undefined;
  /** The target of the latest attempt, if the revision has several. */
  readonly target: ChosenTarget | undefined = undefined;
  /** The protocol of the latest attempt; undefined for HTTP/1.1, or without an attempt. */
  readonly upstreamProtocol: 'HTTP/2' | undefined = undefined;
  /** Attempts at the backend. */
  readonly attempts: ExchangeAttempts | undefined = undefined;

  readonly status: number = 0;
  /** Why it was refused or failed. */
  readonly reason: Reason | undefined = undefined;
  readonly responseStarted: boolean = false;
  /** It was aborted before its response was complete. */
  readonly isAborted: boolean = false;
  /** Body bytes written to the client, before framing. */
  readonly bytesOut: number = 0;
  /** From sending the request to the head of its response; -1 without a response, or if not timed. */
  readonly upstreamMs: number = -1;
  readonly durationMs: number = 0;
  /** See `ExchangeView`. */
  readonly latencyMs: number = 0;
  /** Attempts at the backend after the first. */
  readonly retries: number = 0;
  readonly timeline: ExchangeTimeline | undefined;
  readonly trace: ExchangeTrace | undefined = undefined;
  /** -1 until it is read. */
  #nowMs = -1;
  /** Of the latest match; -1 before it. */
  #configVersion = -1;
  /** Whether it has a permit of the exchange limiter. */
  #isCounted = false;
  /** The exchanges of its app that it is counted in. */
  #appExchanges: AppExchanges | undefined;
  #ended = false;
  /** When the head of a WebSocket or of an event stream arrived; -1 for other responses. */
  #streamAtMs = -1;

  constructor(connection: ClientConnection, context: ProxyContext, readable = true) {
    this.connection = connection;
    this.context = context;
    this.startedMs = context.clock.monotonicMs();
    this.timeline =
      context.observer.timesStages?.(this.startedMs) === true
        ? new ExchangeTimeline(() => context.clock.monotonicMs())
        : undefined;
    const { isTrustedPeer, head, peer } = connection;
    this.method = readable ? head.method : '';
    const useHead = readable && isTrustedPeer;
    this.clientIp = useHead
      ? clientAddress(peer, head.combined('x-forwarded-for'), (ip) => context.isTrustedProxy(ip))
      : peer;
    this.requestId =
      (useHead ? trustedRequestId(head.get('x-request-id')) : undefined) ?? context.nextRequestId();
  }

  /** One wall-clock time for all policy decisions. */
  get nowMs(): number {
    if (this.#nowMs < 0) this.#nowMs = this.context.clock.nowMs();
    return this.#nowMs;
  }

  /** When it began by the wall clock, integer; available at any time. */
  get startedAtMs(): number {
    if (this.#nowMs >= 0) return this.#nowMs;
    const { clock } = this.context;
    return Math.round(clock.nowMs() - (clock.monotonicMs() - this.startedMs));
  }

  get configVersion(): number {
    return this.#configVersion < 0 ? this.context.snapshot().configVersion : this.#configVersion;
  }

  header(lowerName: string): string | undefined {
    const { head } = this.connection;
    // The two fields that nearly every request needs are found by kind, without a search.
    if (lowerName === 'authorization') return head.valueOf(HeaderKind.authorization);
    if (lowerName === 'origin') return head.valueOf(HeaderKind.origin);
    return head.get(lowerName);
  }

  combined(lowerName: string): string | undefined {
    return this.connection.head.combined(lowerName);
  }

  get clientTls(): ClientTls | undefined {
    return this.connection.clientTls;
  }

  get announcedBytes(): number {
    return this.connection.head.contentLength;
  }

  /** False if the worker has its maximum of exchanges under way. */
  tryEnter(): boolean {
    this.#isCounted = this.context.exchangeLimiter.tryAcquire();
    return this.#isCounted;
  }

  /** @returns the limit that refuses it, if any */
  tryEnterApp(app: string): AppOverload | undefined {
    const entered = this.context.exchangeLimiter.tryAcquireFor(app);
    if (typeof entered === 'string') return entered;
    this.#appExchanges = entered;
    return undefined;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get errorCode(): ErrorCode | undefined {
    return this.reason?.kind.code;
  }

  get bytesIn(): number {
    return this.connection.body.bytes;
  }

  traced(): ExchangeTrace | undefined {
    const { tracing } = this.context;
    if (tracing === undefined || this.trace !== undefined) return this.trace;
    const { head, isTrustedPeer } = this.connection;
    const given = head.repeated(HeaderKind.traceparent) ? undefined : head.valueOf(HeaderKind.traceparent);
    return (writable(this).trace = new ExchangeTrace(given, isTrustedPeer, tracing));
  }

  decisionLine(): string {
    return this.context.decisionLine?.(this) ?? '';
  }

  // Results of the stages.

  /** @param query with its `?`, or '' */
  located(path: string, query: string, isPlain: boolean, hasEncodedSlash: boolean): void {
    const self = writable(this);
    self.path = path;
    self.query = query;
    self.hasPlainPath = isPlain;
    self.hasEncodedSlash = hasEncodedSlash;
  }

  /** @param suffixStart index in `path`; the index in the result refers to the comparable spelling */
  matched(
    method: string,
    { version, route }: Pick<MatchResult<CompiledPolicy>, 'version' | 'route'>,
    suffixStart: number,
  ): void {
    const self = writable(this);
    this.#configVersion = this.context.snapshot().configVersion;
    self.matchedMethod = method;
    self.version = version;
    self.route = route;
    self.suffixStart = suffixStart;
    this.timeline?.matched();
  }

  countRematch(): void {
    writable(this).rematches += 1;
  }

  /** Another policy decides: releases what the previous one has acquired. */
  restartEvaluation(): void {
    releasePermit(this.evaluation);
    writable(this).evaluation = newEvaluation();
  }

  /** From now on the body goes to `buffer`. */
  bufferBody(buffer: RequestBuffer): void {
    writable(this).buffer = buffer;
    buffer.start();
  }

  beginAttempts(attempts: ExchangeAttempts): void {
    writable(this).attempts = attempts;
  }

  attemptStarted(route: Route, backend: CompiledBackend): void {
    this.timeline?.attemptStarted(route, backend);
    this.traced()?.attemptStarted(
      Math.max(this.startedMs, this.context.deadlines.nowMs),
      route,
      backend.authority,
    );
  }

  /**
   * The latest attempt failed, and the client receives nothing of it.
   * @param status 0 without a response
   * @param failure cause, or ''
   */
  attemptFailed(status: number, failure: string): void {
    this.timeline?.attemptEnded(status, failure);
    this.trace?.attemptFailed(this.context.clock.monotonicMs(), status, failure);
  }

  countRetry(): void {
    writable(this).retries += 1;
  }

  /** An attempt goes to one of several targets. @param target undefined: the revision has only one */
  aimedAt(target: ChosenTarget | undefined): void {
    writable(this).target = target;
  }

  /** Sets the protocol of an attempt. @param protocol undefined: HTTP/1.1 */
  askedIn(protocol: 'HTTP/2' | undefined): void {
    writable(this).upstreamProtocol = protocol;
  }

  /** Another revision takes over. */
  failedOver(route: Route): void {
    writable(this).route = route;
  }

  /**
   * The backend has responded.
   * @param upstreamMs -1 if not timed
   * @param atMs on the monotonic clock; -1 if not timed
   */
  receivedHead(status: number, upstreamMs: number, atMs: number): void {
    const self = writable(this);
    self.status = status;
    self.upstreamMs = upstreamMs;
    this.timeline?.attemptEnded(status, '', atMs);
    this.trace?.attemptAnswered(status);
  }

  /** The response is a WebSocket or an event stream. @param atMs when its head arrived; -1 if not timed */
  beginStream(atMs: number): void {
    this.#streamAtMs = atMs;
  }

  /** The first byte of the response is sent: the status can no longer change. */
  startResponse(): void {
    writable(this).responseStarted = true;
  }

  wroteBody(bytes: number): void {
    writable(this).bytesOut += bytes;
  }

  /**
   * Answers with a problem document (RFC 9457), or for a gRPC client with a gRPC error. If a response has begun
   * already, ends the connection instead.
   * @param mayPersist false if the start of the next request is unknown
   */
  respondProblem(reason: Reason, mayPersist = true): void {
    if (this.#ended) return;
    writable(this).reason = reason;
    if (this.responseStarted) return this.abort();
    const { status, body } = problemBody(reason, this.path, this.requestId, this.traced()?.traceId);
    const grpcType = errorTypeOf(this);
    if (grpcType !== undefined) return this.#writeGrpcError(grpcType, status, reason, mayPersist);
    const fields = `Content-Type: application/problem+json\r\nCache-Control: no-store\r\n${headerLines(reason)}`;
    this.#write(status, fields, body, mayPersist);
  }

  /** Answers a CORS preflight. */
  respondPreflight(headerLines: string): void {
    writable(this).preflight = true;
    this.respondEmpty(204, headerLines);
  }

  /** Answers in place of a backend; `body` is latin1. */
  respondFrom(stage: AnsweringStage, status: number, headerLines: string, body = ''): void {
    writable(this).answeredBy = stage;
    this.respondText(status, headerLines, body);
  }

  /** Answers with a response that has no body. */
  respondEmpty(status: number, headerLines: string): void {
    this.respondText(status, headerLines, '');
  }

  /** Answers with a response of the gateway that is not an error; `body` is latin1. */
  respondText(status: number, headerLines: string, body: string): void {
    if (!this.#ended) this.#write(status, headerLines, body, true);
  }

  /**
   * Answers with 500, without a body and without the fields of the policy, when a defect prevents any other
   * answer. If a response has begun already, ends the connection instead.
   */
  respondBare(): void {
    if (this.#ended) return;
    if (this.responseStarted) return this.abort();
    const text = gatewayResponse(this, 500, `X-Request-Id: ${this.requestId}\r\n`, '', false);
    this.#send(500, text, 0, false);
  }

  /** The response is complete. @param atMs when, by the monotonic clock; -1: now */
  end(persist: boolean, atMs = -1): void {
    if (this.#ended) return;
    try {
      this.#finish(atMs);
    } finally {
      this.connection.endExchange(persist);
    }
  }

  /** Aborts the exchange: the client sees a truncated response. */
  abort(): void {
    if (this.#ended) return;
    writable(this).isAborted = true;
    try {
      this.attempts?.cancel();
      this.#finish();
    } finally {
      this.connection.abort();
    }
  }

  onDeadline(): void {
    if (this.attempts !== undefined) this.attempts.onDeadline();
    else if (this.buffer?.isFilling === true) this.buffer.onDeadline();
    // Only a policy can be this slow without an upstream: a key set or a limit store does not answer.
    else this.respondProblem(POLICY_TIMEOUT, false);
  }

  onClientWritable(): void {
    this.attempts?.onClientWritable();
  }

  onClientGone(): void {
    if (this.#ended) return;
    writable(this).isAborted = true;
    this.attempts?.cancel();
    if (!this.responseStarted) writable(this).status = CLIENT_GONE;
    this.#finish();
  }

  /** The status that the error has over HTTP is used in logs and metrics. */
  #writeGrpcError(type: string, status: number, reason: Reason, mayPersist: boolean): void {
    const fields = grpcErrorLines(type, status, clientSentence(reason)) + headerLines(reason);
    this.#write(status, fields, '', mayPersist, 200);
  }

  /** @param sentStatus the status that the client gets, if it differs from the logged one */
  #write(status: number, fields: string, body: string, mayPersist: boolean, sentStatus = status): void {
    this.attempts?.cancel();
    const persist = mayPersist && this.connection.canPersist();
    writable(this).status = status;
    releasePermit(this.evaluation);
    const text = gatewayResponse(this, sentStatus, fields + responseFields(this, fields), body, persist);
    this.#send(status, text, this.method === 'HEAD' ? 0 : body.length, persist);
  }

  #send(status: number, text: string, bodyBytes: number, persist: boolean): void {
    const self = writable(this);
    self.status = status;
    self.responseStarted = true;
    self.bytesOut = bodyBytes;
    this.connection.writeText(text);
    this.end(persist);
  }

  #finish(atMs = -1): void {
    this.#ended = true;
    if (this.#isCounted) this.context.exchangeLimiter.release(this.#appExchanges);
    this.attempts?.release();
    this.buffer?.release();
    releasePermit(this.evaluation);
    const endedMs = atMs < 0 ? this.context.clock.monotonicMs() : atMs;
    const self = writable(this);
    self.durationMs = endedMs - this.startedMs;
    self.latencyMs = this.#streamAtMs < 0 ? self.durationMs : this.#streamAtMs - this.startedMs;
    const shadowBodyBytes = this.route?.policy.shadowBodyBytes ?? 0;
    if (shadowBodyBytes > 0) noteBodyInShadow(this, shadowBodyBytes);
    this.context.observer.exchangeEnded(this);
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Other code reads the fields of an exchange; only its own methods write them. */
function writable(exchange: Exchange): Writable<Exchange> {
  return exchange;
}

/** Visible ASCII only: the id is used in logs, headers and error documents. */
function trustedRequestId(value: string | undefined): string | undefined {
  if (value === undefined || value === '' || value.length > REQUEST_ID_LENGTH_MAX) return undefined;
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code < 0x21 || code > 0x7e || code === 0x22 || code === 0x5c) return undefined;
  }
  return value;
}
