/**
 * Texts that the writers of heads (upstream-head.ts, downstream-head.ts) cache together with the fields from which
 * they were made, and the parsed heads that carry them.
 */
import type { RequestHead } from '../../http/heads/request-head.ts';
import type { ResponseHead } from '../../http/heads/response-head.ts';
import type { CredentialPlace } from '../../policy/stage.ts';

export type ClientHead = RequestHead<RequestTemplate>;
export type BackendHead = ResponseHead<ResponseTemplate>;

/**
 * A request head for a backend, without the parts that are new in every request: its target, its host, its id, and
 * usually its trace.
 */
export interface RequestTemplate {
  /**
   * Besides the fields, the head depends on these values, and on the connection, which is the same for repeated
   * fields.
   */
  readonly requestHost: string;
  readonly callerLines: string;
  readonly managedHeaders: ReadonlySet<string> | undefined;
  readonly credentialPlace: CredentialPlace | undefined;
  readonly conditions: number;
  /** From after the host to the request id. */
  readonly start: string;
  /** Up to the value of traceparent, if each request has its own. */
  readonly middle: string;
  readonly end: string;
  readonly addsTrace: boolean;
  /** Whether it is kept for further requests. */
  readonly isKept: boolean;
  /** From after the path to the request id; created on first use. */
  front?: RequestFront;
  /** The same parts for HTTP/2; created on first use. */
  fields?: RequestTemplateFields;
  /**
   * The same parts encoded: from `:scheme` to the text of the request id, then up to that of the trace, then the
   * rest.
   */
  blocks?: RequestTemplateBlocks;
}

export interface RequestFront {
  readonly host: string;
  /** With the host. */
  readonly text: string;
}

export interface RequestTemplateBlocks {
  readonly scheme: string;
  readonly host: string;
  /** The text from `:scheme` on. */
  readonly front: string;
  readonly start: string;
  readonly middle: string;
  readonly end: string;
}

export interface RequestTemplateFields {
  readonly start: readonly string[];
  readonly middle: readonly string[];
  readonly end: readonly string[];
}

/**
 * A response head for a client, without the gateway's own fields, which are inserted between the two parts.
 */
export interface ResponseTemplate {
  /** Besides the fields, the parts depend on these values. */
  readonly status: number;
  readonly reason: string;
  readonly conditions: number;
  /** The text up to the request id. */
  readonly start: string;
  /** The text from the request id to the end. */
  readonly end: string;
  /** The same when more fields are inserted. */
  readonly endBehindMore: string;
}
