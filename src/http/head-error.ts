/**
 * The one shape in which the HTTP layer refuses a message. Refusals are values, never exceptions: everything
 * they describe came from a network. After any of them the connection must be closed, since where the next
 * message would begin is no longer certain (RFC 9112 section 2.2 and 9.6).
 */

export type HeadErrorStatus = 400 | 408 | 413 | 414 | 417 | 431 | 501 | 502 | 505;

export type HeadError = {
  /** Status of the answer to the client; 502 for every refused response of an upstream. */
  readonly status: HeadErrorStatus;
  /** Stable, snake_case. */
  readonly code: string;
  /** One sentence for people: what was found and what was wanted. Never holds bytes of the message. */
  readonly detail: string;
};

export function headError(status: HeadErrorStatus, code: string, detail: string): HeadError {
  return Object.freeze({ status, code, detail });
}

/** Codes of RFC 9112 violations in a response head or body; all are answered with 502. */
export function upstreamError(detail: string): HeadError {
  return headError(502, 'bad_upstream_response', detail);
}
