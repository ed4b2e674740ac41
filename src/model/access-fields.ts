/**
 * The fields that a line of the access log may have, in their order. Every line also has `level`, `time` and `msg`.
 * docs/reference/access-log.md lists them.
 */
export const ACCESS_FIELDS = [
  'request_id',
  'trace_id',
  'app',
  'version',
  'revision',
  'route',
  'method',
  'host',
  'path',
  'protocol',
  'status',
  'bytes_in',
  'bytes_out',
  'duration_ms',
  'upstream_ms',
  'upstream_protocol',
  'target',
  'retries',
  'key_id',
  'client_ip',
  'code',
  'detail',
  'aborted',
  'would_deny',
] as const;

export type AccessField = (typeof ACCESS_FIELDS)[number];

interface AccessFieldMeaning {
  readonly meaning: string;
  /** In words, when a line lacks the field; undefined: every line has it. */
  readonly absent?: string;
}

const NO_VERSION = 'when no version has the path';
const NO_ROUTE = 'without a route';
const UNREADABLE = 'when the request could not be read up to this part';

export const ACCESS_FIELD_MEANINGS: Readonly<Record<AccessField, AccessFieldMeaning>> = {
  request_id: { meaning: 'id of the exchange, as in `X-Request-Id` of the response' },
  trace_id: {
    meaning: 'id of the trace that the exchange belongs to',
    absent: 'while traces are not exported',
  },
  app: { meaning: 'slug of the app that the path leads to', absent: NO_VERSION },
  version: { meaning: 'label of the version that the path leads to', absent: NO_VERSION },
  revision: { meaning: 'label of the revision that served the request', absent: NO_ROUTE },
  route: { meaning: 'gateway path and path template of the endpoint', absent: NO_ROUTE },
  method: { meaning: 'method of the request', absent: UNREADABLE },
  host: { meaning: '`Host` of the request, perhaps with a port', absent: UNREADABLE },
  path: {
    meaning:
      'canonical path of the request, without its query; one longer than 1,024 characters is cut and ends in `...`',
    absent: UNREADABLE,
  },
  protocol: { meaning: '`HTTP/1.0`, `HTTP/1.1` or `HTTP/2`' },
  status: { meaning: 'status of the response; 499 when the client disconnected before there was one' },
  bytes_in: { meaning: 'bytes of the request body' },
  bytes_out: { meaning: 'bytes of the response body' },
  duration_ms: {
    meaning: 'milliseconds from the first byte of the request to the last byte of the response',
  },
  upstream_ms: {
    meaning:
      'milliseconds from sending the request to the backend until the head of its response was received',
    absent: 'without a response from a backend',
  },
  upstream_protocol: {
    meaning: '`HTTP/2`: protocol of the request to the backend',
    absent: 'with HTTP/1.1, and when no backend was asked',
  },
  target: {
    meaning: 'host and port of the target that got the request last',
    absent: 'when the revision has a single target',
  },
  retries: { meaning: 'attempts at a backend beyond the first', absent: 'when there were none' },
  key_id: {
    meaning: 'id of the API key, subject of the JWT, or name of the caller of a certificate',
    absent: 'for anonymous callers',
  },
  client_ip: {
    meaning: 'address of the client, taken from `X-Forwarded-For` when the peer is a trusted proxy',
  },
  code: { meaning: '[error code](errors.md) that the gateway answered with', absent: 'without an error' },
  detail: { meaning: 'cause of the error, for operators', absent: 'without an error' },
  aborted: {
    meaning: '`true`: the client or the gateway aborted the request before the response was complete',
    absent: 'when the response was complete',
  },
  would_deny: {
    meaning: 'parts of the policy in shadow mode that would have denied the request',
    absent: 'when no part would have denied it',
  },
};

/** Which exchanges are logged. */
export const ACCESS_MODES = ['off', 'errors', 'all'] as const;

export type AccessMode = (typeof ACCESS_MODES)[number];
