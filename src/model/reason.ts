/**
 * Why the gateway refused a request or failed to answer it: a kind and its data. Code decides by kind and data only;
 * the functions at the end of this file create texts from them at the edge. Each kind is defined once, beside the code
 * that uses it.
 */
import type { ErrorCode } from './errors.ts';

/** One way to refuse a request. It only creates texts. */
export interface ReasonKind<Data, Code extends string = ErrorCode> {
  readonly code: Code;
  /** For operators: what was found, and what was expected. */
  detail(data: Data): string;
  /** For the client, when it may not see everything in `detail`. */
  sentence?(data: Data): string;
  /** The client needs another connection to be served: this one is closed, unless other requests share it. */
  readonly endsConnection?: true;
  /** Header lines of the response, each `Name: value\r\n`; `Retry-After` is created from `retryAfterSecs`. */
  headerLines?(data: Data): string;
  /** Whole seconds after which the same request may succeed, at least 1. */
  retryAfterSecs?(data: Data): number;
}

export interface Reason<Data = unknown, Code extends string = ErrorCode> {
  readonly kind: ReasonKind<Data, Code>;
  /** Plain data that the functions of the kind format. */
  readonly data: Data;
}

/** A kind without data, and its only reason. */
export function plainReason<Code extends string = ErrorCode>(
  kind: ReasonKind<undefined, Code>,
): Reason<undefined, Code> {
  return Object.freeze({ kind, data: undefined });
}

export function isKind<Data, Code extends string>(
  reason: Reason<unknown, string> | undefined,
  kind: ReasonKind<Data, Code>,
): reason is Reason<Data, Code> {
  return reason?.kind === kind;
}

export function operatorDetail({ kind, data }: Reason<unknown, string>): string {
  return kind.detail(data);
}

export function clientSentence({ kind, data }: Reason): string {
  return kind.sentence?.(data) ?? kind.detail(data);
}

export function retryAfterSecs({ kind, data }: Reason): number | undefined {
  return kind.retryAfterSecs?.(data);
}

/** The header lines of the response, each ending in CRLF. */
export function headerLines(reason: Reason): string {
  const { kind, data } = reason;
  const seconds = retryAfterSecs(reason);
  const own = kind.headerLines?.(data) ?? '';
  return seconds === undefined ? own : `${own}Retry-After: ${seconds}\r\n`;
}
