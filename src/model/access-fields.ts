/**
 * The fields that a line of the access log may have, in the order in which it has them. `level`, `time` and `msg` are
 * not among them: every line has these. docs/reference/operations.md explains each one.
 */
export const ACCESS_FIELDS = [
  'request_id',
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
  'retries',
  'key_id',
  'client_ip',
  'code',
  'detail',
  'aborted',
  'would_deny',
] as const;

export type AccessField = (typeof ACCESS_FIELDS)[number];

/** Which exchanges get a line. */
export const ACCESS_MODES = ['off', 'errors', 'all'] as const;

export type AccessMode = (typeof ACCESS_MODES)[number];
