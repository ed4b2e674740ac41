/**
 * Failures of a backend: the cause, which decides about retries, breaker, metrics and error code, and the fault, which
 * describes what happened. The text for operators is made here; clients get a sentence that does not name the backend.
 */
import type { ErrorCode } from '../../model/errors.ts';
import type { Reason, ReasonKind } from '../../model/reason.ts';
import { INTERIM_RESPONSES_MAX } from '../options.ts';

export type UpstreamCause =
  | 'connect'
  | 'connect_timeout'
  /** The gateway must not connect to this address. */
  | 'denied'
  | 'tls'
  | 'reset'
  | 'bad_response'
  | 'first_byte_timeout'
  | 'idle_timeout'
  | 'total_timeout';

const FAULTS = {
  connect_failed: 'cannot connect',
  no_descriptor: 'cannot connect: the gateway has no file descriptor left; raise the limit (ulimit -n)',
  not_tls: 'cannot connect: it does not speak TLS, which backend_scheme https requires',
  untrusted:
    'cannot connect: its certificate was not issued by a trusted authority; add its authority to backend_tls.ca',
  other_name:
    'cannot connect: its certificate is for another name; expected backend_tls.server_name or, without one, the host',
  expired: 'cannot connect: its certificate has expired',
  connection_failed: 'the connection failed',
  egress_denied: '',
  no_client_certificate: '',
  pin_mismatch: '',
  certificate_refused: 'the backend refused the client certificate of the gateway, or requires one',
  malformed: '',
  closed: 'the backend closed the connection',
  closed_early: 'the backend closed the connection before its response was complete',
  spoke_first: 'the backend sent data before it got a request',
  head_too_large: 'the response head is too large',
  not_http2: 'cannot connect: it does not speak HTTP/2, which backend_protocol h2 requires',
  kept_waiting: 'the backend closed the connection after the client had kept it waiting',
  stream_refused: 'the backend did not take the HTTP/2 stream',
  stream_calmed: 'the backend has no room for the HTTP/2 stream',
  stream_reset: 'the backend ended the HTTP/2 stream before its response was complete',
  bad_stream: 'the HTTP/2 stream broke the protocol or its limits',
  bad_session: 'the HTTP/2 connection broke the protocol',
  flood: 'the backend sent too many frames without effect on the HTTP/2 connection',
  no_ping_reply: 'the backend did not reply to an HTTP/2 PING',
  unasked_switch: 'the backend switched to a protocol that the request did not ask for',
  too_many_interims: `more than ${INTERIM_RESPONSES_MAX} interim responses`,
  slow_accept: 'the backend did not accept the connection in time',
  no_stream_free:
    'the backend accepted no further HTTP/2 stream in time; its SETTINGS_MAX_CONCURRENT_STREAMS says how many it accepts on a connection',
  slow_request: 'the backend stopped reading the request',
  no_acknowledgement: 'the backend is gone: it acknowledges nothing of the request',
  slow_continue: 'the backend did not ask for the body in time',
  slow_response: 'the backend did not begin its response in time',
  slow_body: 'the backend stopped in the middle of its response',
  out_of_time:
    'the exchange did not end within total_ms of its timeouts, or within the grpc-timeout of the client',
} as const;
export type UpstreamFault = keyof typeof FAULTS;

export interface UpstreamFailure {
  readonly cause: UpstreamCause;
  readonly fault: UpstreamFault;
  /** Code of the system call or of TLS, such as `ECONNREFUSED`. */
  readonly systemCode?: string;
  /** Set when the fault has no text of its own: the message of egress, the parser or the handshake. */
  readonly text?: string;
}

/** Whether the gateway did not even try to connect: it must not, or has no file descriptor for it. */
export function isUntried({ cause, fault }: UpstreamFailure): boolean {
  return cause === 'denied' || fault === 'no_descriptor';
}

/**
 * Whether the failure says nothing about the state of the backend: it was not asked; or clients have caused it, who
 * could otherwise take a backend from all others: this client has kept the backend waiting for too long, or too many
 * responses wait for clients on the connection of the stream.
 */
export function isNeutral(failure: UpstreamFailure): boolean {
  const { fault } = failure;
  return isUntried(failure) || fault === 'kept_waiting' || fault === 'stream_calmed';
}

/** The text for operators. */
export function failureText({ fault, systemCode, text }: UpstreamFailure): string {
  const what = text ?? FAULTS[fault];
  return systemCode === undefined ? what : `${what} (${systemCode})`;
}

interface FailedBackend {
  readonly authority: string;
  readonly failure: UpstreamFailure;
}

const upstreamKind = (code: ErrorCode, sentence: string): ReasonKind<FailedBackend> => ({
  code,
  detail: ({ authority, failure }) => `Cannot get a response from ${authority}: ${failureText(failure)}`,
  sentence: () => sentence,
});

const CONNECT_FAILED = upstreamKind('upstream_connect_failed', 'The gateway could not reach the backend');
const TIMEOUT = upstreamKind('upstream_timeout', 'The backend did not answer in time');
const KINDS: Readonly<Record<UpstreamCause, ReasonKind<FailedBackend>>> = {
  connect: CONNECT_FAILED,
  connect_timeout: CONNECT_FAILED,
  denied: upstreamKind('upstream_denied', 'The gateway may not connect to the backend'),
  tls: CONNECT_FAILED,
  reset: upstreamKind('upstream_reset', 'The backend ended the connection before its response was complete'),
  bad_response: upstreamKind('upstream_bad_response', 'The response of the backend could not be read'),
  first_byte_timeout: TIMEOUT,
  idle_timeout: TIMEOUT,
  total_timeout: TIMEOUT,
};

/** @param authority authority of the backend */
export function upstreamFailed(authority: string, failure: UpstreamFailure): Reason<FailedBackend> {
  return { kind: KINDS[failure.cause], data: { authority, failure } };
}
