import { describe, expect, it } from 'vitest';
import type { PolicyValues } from '../model/policy.ts';
import { hasParts, mergePolicy } from './merge-policy.ts';

const app = (default_policy: PolicyValues | null) => ({ id: 'app', default_policy });
const revision = (default_policy: PolicyValues | null) => ({ id: 'rev', default_policy });
const endpoint = (policy_override: PolicyValues | null) => ({ id: 'end', policy_override });

describe('mergePolicy', () => {
  it.each<
    [
      string,
      PolicyValues | null,
      PolicyValues | null,
      PolicyValues | null,
      PolicyValues,
      Record<string, string>,
    ]
  >([
    ['is empty when no level has a policy', null, {}, null, {}, {}],
    [
      'uses a part of the app',
      { required_scopes: ['a'] },
      null,
      null,
      { required_scopes: ['a'] },
      { required_scopes: 'app' },
    ],
    [
      'prefers the revision to the app',
      { required_scopes: ['a'] },
      { required_scopes: ['b'] },
      null,
      { required_scopes: ['b'] },
      { required_scopes: 'revision' },
    ],
    [
      'prefers the endpoint to both',
      { required_scopes: ['a'] },
      { required_scopes: ['b'] },
      { required_scopes: ['c'] },
      { required_scopes: ['c'] },
      { required_scopes: 'endpoint' },
    ],
    [
      'inherits through null',
      { max_body_bytes: 1 },
      { max_body_bytes: null },
      { max_body_bytes: null },
      { max_body_bytes: 1 },
      { max_body_bytes: 'app' },
    ],
    [
      'keeps values that switch a part off',
      { required_scopes: ['a'], allowed_methods: ['GET'] },
      null,
      { required_scopes: [], allowed_methods: ['*'] },
      { required_scopes: [], allowed_methods: ['*'] },
      { required_scopes: 'endpoint', allowed_methods: 'endpoint' },
    ],
    [
      'keeps zero',
      { max_body_bytes: 5 },
      { max_body_bytes: 0 },
      null,
      { max_body_bytes: 0 },
      { max_body_bytes: 'revision' },
    ],
    [
      'replaces a part as a whole',
      { rate_limit: { enabled: true, requests: 5, window_seconds: 10, algorithm: 'token_bucket', burst: 9 } },
      null,
      { rate_limit: { enabled: true, requests: 1 } },
      { rate_limit: { enabled: true, requests: 1 } },
      { rate_limit: 'endpoint' },
    ],
    [
      'merges part by part',
      { auth: { auth_type: 'api_key' }, shadow: ['auth'] },
      { required_scopes: ['r'] },
      { cors: { allowed_origins: ['*'] } },
      {
        auth: { auth_type: 'api_key' },
        shadow: ['auth'],
        required_scopes: ['r'],
        cors: { allowed_origins: ['*'] },
      },
      { auth: 'app', shadow: 'app', required_scopes: 'revision', cors: 'endpoint' },
    ],
  ])('%s', (_name, ofApp, ofRevision, ofEndpoint, policy, levels) => {
    const merged = mergePolicy(app(ofApp), revision(ofRevision), endpoint(ofEndpoint));
    expect(merged.policy).toEqual(policy);
    const ids: Record<string, string> = { app: 'app', revision: 'rev', endpoint: 'end' };
    const sources = Object.fromEntries(
      Object.entries(levels).map(([part, level]) => [part, { level, id: ids[level] }]),
    );
    expect(merged.sources).toEqual(sources);
  });

  it('merges without an endpoint and without a revision', () => {
    expect(mergePolicy(app({ max_body_bytes: 1 }), revision({ shadow: ['auth'] })).policy).toEqual({
      max_body_bytes: 1,
      shadow: ['auth'],
    });
    expect(mergePolicy(app({ max_body_bytes: 1 })).policy).toEqual({ max_body_bytes: 1 });
  });

  it('returns one shared object for the empty policy, and frozen results', () => {
    expect(mergePolicy(app(null))).toBe(mergePolicy(app({}), revision({ auth: null })));
    expect(Object.isFrozen(mergePolicy(app({ max_body_bytes: 1 })).policy)).toBe(true);
  });
});

describe('hasParts', () => {
  it.each<[PolicyValues | null | undefined, boolean]>([
    [null, false],
    [undefined, false],
    [{}, false],
    [{ auth: null, cors: null }, false],
    [{ required_scopes: [] }, true],
    [{ max_body_bytes: 0 }, true],
  ])('of %j is %s', (policy, expected) => {
    expect(hasParts(policy)).toBe(expected);
  });
});
