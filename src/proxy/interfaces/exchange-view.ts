/**
 * An exchange as those see it that read it: observers, explain, and what writes heads. `Exchange` implements it.
 */
import type { ErrorCode } from '../../model/errors.ts';
import type { Reason } from '../../model/reason.ts';
import type { Evaluation, RequestFacts } from '../../policy/stage.ts';
import type { ClientConnection } from './client-connection.ts';
import type { Route, Version } from './route.ts';
import type { SharedParts } from './shared-parts.ts';

export interface ExchangeView extends RequestFacts {
  readonly connection: ClientConnection;
  readonly context: SharedParts;
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** When it began by the wall clock, integer; may be asked at any time. */
  readonly startedAtMs: number;
  readonly requestId: string;
  /** Begun anew when another policy comes to decide. */
  readonly evaluation: Evaluation;

  /** `path` is the same in every spelling (`RequestHead.plainPathLength`). */
  readonly hasPlainPath: boolean;
  readonly hasEncodedSlash: boolean;
  /** True when this is a preflight that the gateway answered itself. */
  readonly preflight: boolean;
  /** With its `?`, or ''. */
  readonly query: string;
  /** The method of the latest match; of a preflight the one that it asks about. */
  readonly matchedMethod: string;
  readonly version: Version | undefined;
  readonly route: Route | undefined;
  /** Where in `path` the part after the gateway path begins. */
  readonly suffixStart: number;
  /** undefined until a backend is asked. */
  readonly attempts: object | undefined;

  readonly status: number;
  /** Why it was refused or failed. */
  readonly reason: Reason | undefined;
  readonly errorCode: ErrorCode | undefined;
  /** It was given up before its response was complete. */
  readonly isAborted: boolean;
  readonly ended: boolean;
  readonly bytesIn: number;
  /** Body bytes written to the client, before framing. */
  readonly bytesOut: number;
  /** From handing the request to the backend to the head of its response; -1 without one, and where it is not timed. */
  readonly upstreamMs: number;
  readonly durationMs: number;
  /** Attempts at the backend beyond the first. */
  readonly retries: number;

  /** The header line for a client that may see how its request was decided, else ''. */
  decisionLine(): string;
}

/** For what may also end it. */
export interface AnswerableExchange extends ExchangeView {
  /**
   * Answers with a problem document (RFC 9457); when a response has begun already, ends the connection instead.
   * @param mayPersist false where it is not known where the next request would begin
   */
  respondProblem(reason: Reason, mayPersist?: boolean): void;
  /** Gives the exchange up where it stands: the client sees a truncated response. */
  abort(): void;
}
