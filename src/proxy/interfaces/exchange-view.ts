/** An exchange as its readers see it: observers, explain, and the writers of heads. `Exchange` implements it. */
import type { ErrorCode } from '../../model/errors.ts';
import type { Reason } from '../../model/reason.ts';
import type { Evaluation, RequestFacts } from '../../policy/stage.ts';
import type { ClientConnection } from './client-connection.ts';
import type { ExchangeTrace } from '../tracing/exchange-trace.ts';
import type { ExchangeTimeline } from '../timeline.ts';
import type { Route, Version } from './route.ts';
import type { ChosenTarget } from '../targets/target-view.ts';
import type { SharedParts } from './shared-parts.ts';

/** Stages that answer requests without a backend, apart from preflights. */
export type AnsweringStage = 'acme_challenge' | 'https_redirect' | 'last_hop';

export interface ExchangeView extends RequestFacts {
  readonly connection: ClientConnection;
  readonly context: SharedParts;
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** When it began by the wall clock, integer; available at any time. */
  readonly startedAtMs: number;
  readonly requestId: string;
  /** Replaced when another policy decides. */
  readonly evaluation: Evaluation;

  /** `path` is equal in every spelling (`RequestHead.plainPathLength`). */
  readonly hasPlainPath: boolean;
  readonly hasEncodedSlash: boolean;
  /** True for a preflight that the gateway answered itself. */
  readonly preflight: boolean;
  /** The stage in which the gateway itself sent a response that is not an error; undefined otherwise. */
  readonly answeredBy: AnsweringStage | undefined;
  /** With its `?`, or ''. */
  readonly query: string;
  /** The method of the latest match; for a preflight, the requested method. */
  readonly matchedMethod: string;
  readonly version: Version | undefined;
  readonly route: Route | undefined;
  /** The configuration that decided, which may be older than the current one; without a match, the current one. */
  readonly configVersion: number;
  /** Index in `path` of the part after the gateway path. */
  readonly suffixStart: number;
  /** The target of the latest attempt, if the revision has several; see `backendOf`. */
  readonly target: ChosenTarget | undefined;
  /** The protocol of the latest attempt; undefined for HTTP/1.1, or without an attempt. */
  readonly upstreamProtocol: 'HTTP/2' | undefined;
  /** undefined before the first attempt. */
  readonly attempts: object | undefined;

  readonly status: number;
  /** Why it was refused or failed. */
  readonly reason: Reason | undefined;
  readonly errorCode: ErrorCode | undefined;
  /** It was aborted before its response was complete. */
  readonly isAborted: boolean;
  readonly ended: boolean;
  readonly bytesIn: number;
  /** Body bytes written to the client, before framing. */
  readonly bytesOut: number;
  /** From sending the request to the head of its response; -1 without a response, or if not timed. */
  readonly upstreamMs: number;
  /** From the first byte of the request to the last of the response. */
  readonly durationMs: number;
  /**
   * The same, but only to the head of the response for a WebSocket or an event stream, which stay open for as long as
   * their client wants.
   */
  readonly latencyMs: number;
  /** Attempts at the backend after the first. */
  readonly retries: number;
  /** undefined while traces are not exported, and until it is first requested. */
  readonly trace: ExchangeTrace | undefined;
  /** undefined unless an observer requested it when the exchange began. */
  readonly timeline: ExchangeTimeline | undefined;

  /** The trace, created if necessary; undefined while traces are not exported. */
  traced(): ExchangeTrace | undefined;
  /** A header line for a client that may see how its request was decided, or ''. */
  decisionLine(): string;
}

/** For code that may also answer or end the exchange. */
export interface AnswerableExchange extends ExchangeView {
  /**
   * Answers with a problem document (RFC 9457); if a response has begun already, ends the connection instead.
   * @param mayPersist false if the start of the next request is unknown
   */
  respondProblem(reason: Reason, mayPersist?: boolean): void;
  /** Aborts the exchange: the client sees a truncated response. */
  abort(): void;
}
