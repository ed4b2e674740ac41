/** What a client is told when its backend has failed: the error code for each cause. */
import type { ErrorCode } from '../../model/errors.ts';
import type { UpstreamCause } from './upstream-connection.ts';

export const UPSTREAM_ERROR_CODES: Readonly<Record<UpstreamCause, ErrorCode>> = {
  connect: 'upstream_connect_failed',
  connect_timeout: 'upstream_connect_failed',
  denied: 'upstream_denied',
  tls: 'upstream_connect_failed',
  reset: 'upstream_reset',
  bad_response: 'upstream_bad_response',
  first_byte_timeout: 'upstream_timeout',
  idle_timeout: 'upstream_timeout',
  total_timeout: 'upstream_timeout',
};
