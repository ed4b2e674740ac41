import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkValue } from './check-value.ts';
import { schemaTitled, type JsonSchema } from './json-schema.ts';

/** The schema that the gateway publishes. */
const PUBLISHED = resolve(import.meta.dirname, '../../../../docs/reference/configuration.schema.json');
const policy = schemaTitled(JSON.parse(readFileSync(PUBLISHED, 'utf8')), 'Policy') as JsonSchema;

describe('a policy against the schema of the gateway', () => {
  it.each([
    [{}],
    [{ rate_limit: null, max_body_bytes: 0, required_scopes: ['a:b'] }],
    [{ auth: { auth_type: 'jwt', jwt: { secret: '********', algorithms: ['HS256'] } } }],
    [{ auth: { auth_type: 'jwt', jwt: { jwks: { keys: [{ kty: 'RSA', anything: { deep: null } }] } } } }],
    [{ headers: { request: { set: { 'X-User': '${claim.sub}' }, rename: { A: 'B' } } } }],
  ])('%j is well', (value) => {
    expect(checkValue(value, policy)).toEqual([]);
  });

  it.each([
    [{ rate_limit: { requests: 'x' } }, '/rate_limit/requests', 'Must be a whole number'],
    [{ rate_limit: { requests: 0 } }, '/rate_limit/requests', 'Must be at least 1'],
    [{ rate_limit: { requests: 1.5 } }, '/rate_limit/requests', 'Must be a whole number'],
    [{ rate_limit: 'fast' }, '/rate_limit', 'Must be fields with values'],
    [{ auth: { auth_type: 'magic' } }, '/auth/auth_type', 'Must be one of api_key, jwt, mtls, none'],
    [{ auth: {} }, '/auth', 'The field auth_type is missing'],
    [
      { auth: { auth_type: 'jwt', jwt: { secret: 'short' } } },
      '/auth/jwt/secret',
      'Must have at least 32 characters',
    ],
    [{ required_scopes: ['a', 'a'] }, '/required_scopes', 'Must not have an item twice'],
    [
      { retries: { on: ['luck'] } },
      '/retries/on/0',
      'Must be one of connect, reset, timeout, 500, 502, 503, 504',
    ],
    [{ geo: {} }, '/geo', 'This gateway does not know the field'],
    [{ 'a/b~c': 1 }, '/a~1b~0c', 'This gateway does not know the field'],
  ])('%j is told at its place', (value, pointer, message) => {
    expect(checkValue(value, policy)).toEqual([{ pointer, message }]);
  });

  it('lists no more than a reader can use', () => {
    expect(checkValue({ required_scopes: Array.from({ length: 5_000 }, (_, n) => n) }, policy)).toHaveLength(
      100,
    );
  });
});
