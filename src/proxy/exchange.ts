/**
 * One request and its response: the facts that policy may look at, what was found out so far, and the two ways
 * to answer from here (an error, or a response of the gateway's own). Lives from a parsed head until the last
 * byte of the response is written or the client is gone; `end` runs exactly once.
 */
import { clientAddress } from '../http/forwarded.ts';
import { HeaderKind } from '../http/header-kind.ts';
import type { ErrorCode } from '../model/errors.ts';
import { headerLines, type Reason } from '../model/reason.ts';
import { releasePermit } from '../policy/parts/concurrency/concurrency-stage.ts';
import { newEvaluation } from '../policy/evaluate.ts';
import type { Evaluation, RequestFacts } from '../policy/stage.ts';
import { noteBodyInShadow } from './body-shadow.ts';
import type { Connection } from './downstream/connection.ts';
import type { ProxyContext, Route, Version } from './context.ts';
import type { Forwarding } from './upstream/forward.ts';
import type { RequestBuffer } from './io/request-buffer.ts';
import { POLICY_TIMEOUT } from './reasons.ts';
import { gatewayResponse, problemBody, responseFields } from './respond.ts';

/** Status in logs and metrics of an exchange whose client went away before it was answered. */
export const CLIENT_GONE = 499;
const REQUEST_ID_LENGTH_MAX = 128;

export class Exchange implements RequestFacts {
  readonly connection: Connection;
  readonly context: ProxyContext;
  /** On the monotonic clock. */
  readonly startedMs: number;
  readonly requestId: string;
  readonly clientIp: string;
  /** Begun anew when another policy comes to decide. */
  evaluation: Evaluation = newEvaluation();

  method = '';
  /** Canonical, without the query. */
  path = '';
  /** It is the same in every spelling (`RequestHead.plainPathLength`). */
  hasPlainPath = false;
  hasEncodedSlash = false;
  /** True when this is a preflight that the gateway answered itself. */
  preflight = false;
  /** With its `?`, or ''. */
  query = '';
  /** By which the route was looked for last: of a preflight the one that it asks about. */
  matchedMethod = '';
  version: Version | undefined;
  route: Route | undefined;
  /** Where in `path` the part after the gateway path begins. */
  suffixStart = 0;
  forwarding: Forwarding | undefined;
  /** Only where the body is waited for. */
  buffer: RequestBuffer | undefined;

  status = 0;
  /** Why it was refused or failed. */
  reason: Reason | undefined;
  responseStarted = false;
  /** It was given up before its response was complete. */
  isAborted = false;
  /** Body bytes written to the client, before framing. */
  bytesOut = 0;
  /** From handing the request to the backend to the head of its response; -1 without one, and where nobody asks. */
  upstreamMs = -1;
  durationMs = 0;
  /** Attempts at the backend beyond the first. */
  retries = 0;
  /** -1 until somebody asks. */
  #nowMs = -1;
  /** It counts among the exchanges under way. */
  #isCounted = false;
  #ended = false;

  constructor(connection: Connection, readable = true) {
    const { context } = connection;
    this.connection = connection;
    this.context = context;
    this.startedMs = context.clock.monotonicMs();
    const { isTrustedPeer, head, peer } = connection;
    const useHead = readable && isTrustedPeer;
    this.clientIp = useHead
      ? clientAddress(peer, head.combined('x-forwarded-for'), (ip) => context.isTrustedProxy(ip))
      : peer;
    this.requestId =
      (useHead ? trustedRequestId(head.get('x-request-id')) : undefined) ?? context.nextRequestId();
  }

  /** One wall-clock time for all that policy decides. */
  get nowMs(): number {
    if (this.#nowMs < 0) this.#nowMs = this.context.clock.nowMs();
    return this.#nowMs;
  }

  /** When it began by the wall clock, integer; may be asked at any time. */
  get startedAtMs(): number {
    if (this.#nowMs >= 0) return this.#nowMs;
    const { clock } = this.context;
    return Math.round(clock.nowMs() - (clock.monotonicMs() - this.startedMs));
  }

  header(lowerName: string): string | undefined {
    const { head } = this.connection;
    // The two that nearly every request is asked for are known by their kind, without a search.
    if (lowerName === 'authorization') return head.valueOf(HeaderKind.authorization);
    if (lowerName === 'origin') return head.valueOf(HeaderKind.origin);
    return head.get(lowerName);
  }

  combined(lowerName: string): string | undefined {
    return this.connection.head.combined(lowerName);
  }

  get announcedBytes(): number {
    return this.connection.head.contentLength;
  }

  /** False when the worker has enough to do already. */
  enter(): boolean {
    this.#isCounted = this.context.exchangeLimiter.tryAcquire();
    return this.#isCounted;
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

  /**
   * Answers with a problem document (RFC 9457); when a response has begun already, ends the connection instead.
   * @param mayPersist false where it is not known where the next request would begin
   */
  respondProblem(reason: Reason, mayPersist = true): void {
    if (this.#ended) return;
    this.reason = reason;
    if (this.responseStarted) return this.abort();
    const { status, body } = problemBody(reason, this.path, this.requestId);
    const fields = `Content-Type: application/problem+json\r\nCache-Control: no-store\r\n${headerLines(reason)}`;
    this.#write(status, fields, body, mayPersist);
  }

  /** Answers with a response that has no body, such as the 204 of a preflight. */
  respondEmpty(status: number, headerLines: string): void {
    this.respondText(status, headerLines, '');
  }

  /** Answers with a response of the gateway's own that is no error; `body` is latin1. */
  respondText(status: number, headerLines: string, body: string): void {
    if (!this.#ended) this.#write(status, headerLines, body, true);
  }

  /** Called by the forwarding when the response is written to its end. */
  end(persist: boolean): void {
    if (this.#ended) return;
    this.#finish();
    this.connection.endExchange(persist);
  }

  /** Gives the exchange up where it stands: the client sees a truncated response. */
  abort(): void {
    if (this.#ended) return;
    this.isAborted = true;
    this.forwarding?.cancel();
    this.#finish();
    this.connection.abort();
  }

  onDeadline(): void {
    if (this.forwarding !== undefined) this.forwarding.onDeadline();
    else if (this.buffer?.isFilling === true) this.buffer.onDeadline();
    // Only policy can be that slow without an upstream: a key set or a limit store that does not answer.
    else this.respondProblem(POLICY_TIMEOUT);
  }

  onClientWritable(): void {
    this.forwarding?.onClientWritable();
  }

  onClientGone(): void {
    if (this.#ended) return;
    this.isAborted = true;
    this.forwarding?.cancel();
    if (!this.responseStarted) this.status = CLIENT_GONE;
    this.#finish();
  }

  #write(status: number, fields: string, body: string, mayPersist: boolean): void {
    const { connection } = this;
    this.forwarding?.cancel();
    const persist = mayPersist && connection.canPersist();
    this.status = status;
    this.responseStarted = true;
    releasePermit(this.evaluation);
    const text = gatewayResponse(this, status, fields + responseFields(this), body, persist);
    this.bytesOut = this.method === 'HEAD' ? 0 : body.length;
    connection.writeText(text);
    this.end(persist);
  }

  #finish(): void {
    this.#ended = true;
    if (this.#isCounted) this.context.exchangeLimiter.release();
    this.forwarding?.release();
    this.buffer?.release();
    releasePermit(this.evaluation);
    this.durationMs = this.context.clock.monotonicMs() - this.startedMs;
    const shadowBodyBytes = this.route?.policy.shadowBodyBytes ?? 0;
    if (shadowBodyBytes > 0) noteBodyInShadow(this, shadowBodyBytes);
    this.context.observer.exchangeEnded(this);
  }
}

/** Visible ASCII only: the id goes into logs, headers and error documents. */
function trustedRequestId(value: string | undefined): string | undefined {
  if (value === undefined || value === '' || value.length > REQUEST_ID_LENGTH_MAX) return undefined;
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code < 0x21 || code > 0x7e || code === 0x22 || code === 0x5c) return undefined;
  }
  return value;
}
