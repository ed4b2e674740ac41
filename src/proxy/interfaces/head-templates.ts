/**
 * What the writers of heads (upstream-head.ts, downstream-head.ts) leave with the fields that it was made from, and the
 * parsed heads that carry it.
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
  /** What the head depends on besides the fields, and besides the connection, which is the same for repeated fields. */
  readonly requestHost: string;
  readonly callerLines: string;
  readonly managedHeaders: ReadonlySet<string> | undefined;
  readonly credentialPlace: CredentialPlace | undefined;
  readonly conditions: number;
  /** From behind the host to the request id. */
  readonly start: string;
  /** Up to the value of traceparent, if that is another one in each request. */
  readonly middle: string;
  readonly end: string;
  readonly addsTrace: boolean;
  /** The same parts for HTTP/2, made when they are first needed. */
  fields?: RequestTemplateFields;
  /** And encoded: from `:scheme` to the text of the request id, up to that of the trace, and the rest. */
  blocks?: RequestTemplateBlocks;
}

export interface RequestTemplateBlocks {
  readonly scheme: string;
  readonly host: string;
  /** From `:scheme` on. */
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
 * A response head for a client, without the fields of the gateway's own, which are inserted between these two parts.
 */
export interface ResponseTemplate {
  /** What the parts depend on besides the fields. */
  readonly status: number;
  readonly reason: string;
  readonly conditions: number;
  /** Up to the request id. */
  readonly start: string;
  /** From the request id to the end. */
  readonly end: string;
  /** The same, if more fields are inserted. */
  readonly endBehindMore: string;
}
