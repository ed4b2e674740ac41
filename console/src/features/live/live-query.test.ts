import { expect, expectTypeOf, it } from 'vitest';
import type { ErrorCode } from '../../api/schema.ts';
import { liveQueryOf, REASONS } from './live-query.ts';

/** Codes that requests through the traffic port never get. */
type ManagementCode =
  | 'invalid_json'
  | 'invalid_query'
  | 'unauthenticated'
  | 'forbidden'
  | 'cross_site_request'
  | 'sign_in_failed'
  | 'sign_in_forbidden'
  | 'identity_provider_failed'
  | 'csrf_token_invalid'
  | 'not_found'
  | 'management_method_not_allowed'
  | 'conflict'
  | 'configuration_from_file'
  | 'has_children'
  | 'config_version_gone'
  | 'precondition_failed'
  | 'payload_too_large'
  | 'too_many_sessions'
  | 'unsupported_media_type'
  | 'validation_failed'
  | 'profile_failed'
  | 'handing_over'
  | 'storage_unavailable';

it('every reason for which a request may fail can be chosen, once', () => {
  // A new code is an error of types here, until it is in one of both lists.
  expectTypeOf<Exclude<ErrorCode, (typeof REASONS)[number] | ManagementCode>>().toBeNever();
  expect(new Set(REASONS).size).toBe(REASONS.length);
});

it('the address of the page gives the query of the stream', () => {
  expect(liveQueryOf({ reason: 'no_targets', method: ' get ', rate: '50', app: ' ' })).toEqual({
    reason: 'no_targets',
    method: 'GET',
    per_second: 50,
  });
});
