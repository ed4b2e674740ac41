/** Filters of live traffic in the address of the page, and the query of the stream that they make. Pure. */
import type { LiveQuery } from '../../api/live-stream.ts';
import { PART_ERROR_CODES, type ErrorCode } from '../../api/schema.ts';
import type { PageSearch } from '../../page/search-text.ts';

/** Codes of denials and failures on the path of a request, nearly in the order in which it may meet them. */
export const REASONS = [
  'bad_request',
  'bad_path',
  'request_timeout',
  'target_too_long',
  'header_too_large',
  'expectation_failed',
  'not_implemented',
  'http_version_not_supported',
  'loop_detected',
  'no_route',
  'endpoint_not_found',
  'endpoint_disabled',
  'version_retired',
  'no_revision',
  ...PART_ERROR_CODES,
  'too_many_auth_failures',
  'credentials_missing',
  'credentials_invalid',
  'jwt_keys_unavailable',
  'missing_claim',
  'insufficient_scope',
  'method_not_allowed',
  'body_too_large',
  'concurrency_limited',
  'rate_limited',
  'overloaded',
  'circuit_open',
  'no_targets',
  'upstream_denied',
  'upstream_connect_failed',
  'upstream_reset',
  'upstream_bad_response',
  'upstream_timeout',
  'internal_error',
] as const satisfies readonly ErrorCode[];

export const FILTER_NAMES = ['app', 'status', 'method', 'path', 'key', 'reason'] as const;
export type FilterName = (typeof FILTER_NAMES)[number];

export const RATES = ['20', '50', '200'] as const;

export function liveQueryOf(search: PageSearch): LiveQuery {
  const query: Record<string, string | number> = {};
  for (const name of FILTER_NAMES) {
    const value = search[name]?.trim() ?? '';
    if (value !== '') query[name] = name === 'method' ? value.toUpperCase() : value;
  }
  const rate = Number(search['rate'] ?? RATES[0]);
  if (Number.isInteger(rate) && rate >= 1 && rate <= 200) query['per_second'] = rate;
  return query;
}
