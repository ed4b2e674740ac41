/**
 * The form in which the HTTP layer refuses a message. Refusals are values, never exceptions, because messages come from
 * a network. After a refusal the connection must be closed, since the start of the next message is uncertain (RFC 9112
 * sections 2.2 and 9.6).
 */

export type HeadErrorStatus = 400 | 408 | 413 | 414 | 417 | 431 | 501 | 502 | 505;

export type HeadError = {
  /** Status of the response to the client; 502 for every refused response of an upstream. */
  readonly status: HeadErrorStatus;
  /** Stable, snake_case. */
  readonly code: string;
  /** One sentence for people: what was found and what was expected. Never contains bytes of the message. */
  readonly detail: string;
};

export function headError(status: HeadErrorStatus, code: string, detail: string): HeadError {
  return Object.freeze({ status, code, detail });
}

/** The error for a violation of RFC 9112 in an upstream's response head or body; the client gets 502. */
export function upstreamError(detail: string): HeadError {
  return headError(502, 'bad_upstream_response', detail);
}

export const HEAD_TIMED_OUT = headError(408, 'request_timeout', 'The request head did not arrive in time');
