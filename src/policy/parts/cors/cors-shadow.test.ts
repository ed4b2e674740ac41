import { describe, expect, it } from 'vitest';
import type { CorsPolicy } from './schema.ts';
import { compileCors } from './cors.ts';
import { CORS_REFUSED, refusal } from './cors-shadow.ts';
import { testFacts } from '../../test-fixtures.ts';

const PAGE = 'https://page.test';
const LISTED: CorsPolicy = {
  allowed_origins: [PAGE, 'https://*.tenants.test'],
  allowed_methods: ['GET', 'PUT'],
  allowed_headers: ['Authorization', 'X-Custom'],
};

function verdict(cors: CorsPolicy, headers: Readonly<Record<string, string>>, method = 'GET') {
  const compiled = compileCors(cors);
  if (compiled === undefined) throw new Error('the policy is off');
  const refused = refusal(compiled, testFacts(headers, { method }));
  return refused && CORS_REFUSED.detail(refused);
}

describe('requests that CORS does not concern', () => {
  it.each([
    ['no Origin', {}],
    ['the gateway’s own origin', { origin: 'https://api.test:8443', host: 'API.test:8443' }],
    ['its own, as the browser says', { origin: 'https://other.test', 'sec-fetch-site': 'same-origin' }],
    ['a navigation', { origin: 'https://other.test', 'sec-fetch-mode': 'navigate' }],
    ['a WebSocket', { origin: 'https://other.test', 'sec-fetch-mode': 'websocket' }],
  ])('%s', (_name, headers) => {
    expect(verdict(LISTED, headers)).toBeUndefined();
  });
});

describe('requests', () => {
  const other = 'The origin "https://other.test" is not allowed';
  it.each<readonly [string, string, Readonly<Record<string, string>>, string | undefined]>([
    ['a listed origin', 'GET', { origin: PAGE }, undefined],
    ['a name below a wildcard', 'GET', { origin: 'https://a.tenants.test' }, undefined],
    ['another origin', 'GET', { origin: 'https://other.test' }, other],
    ['another origin, mode cors', 'GET', { origin: 'https://other.test', 'sec-fetch-mode': 'cors' }, other],
    ['another port', 'GET', { origin: `${PAGE}:8443` }, `The origin "${PAGE}:8443" is not allowed`],
    ['the null origin', 'GET', { origin: 'null' }, 'The origin "null" is not allowed'],
    ['a method of the list', 'PUT', { origin: PAGE }, undefined],
    ['a method that needs no leave', 'POST', { origin: PAGE }, undefined],
    ['a method that is not granted', 'DELETE', { origin: PAGE }, 'The method "DELETE" is not allowed'],
    ['a granted field', 'GET', { origin: PAGE, authorization: 'Bearer x' }, undefined],
    [
      'a type that needs no leave',
      'POST',
      { origin: PAGE, 'content-type': 'text/plain;charset=UTF-8' },
      undefined,
    ],
    [
      'a type that is not granted',
      'POST',
      { origin: PAGE, 'content-type': 'application/json' },
      'The header field "content-type" is not allowed',
    ],
    [
      'a cookie without allow_credentials',
      'GET',
      { origin: PAGE, cookie: 'a=b' },
      'Credentials are not allowed, and the request has a cookie',
    ],
  ])('%s', (_name, method, headers, expected) => {
    expect(verdict(LISTED, headers, method)).toBe(expected);
  });

  it('a cookie with allow_credentials', () => {
    const policy = { ...LISTED, allow_credentials: true };
    expect(verdict(policy, { origin: PAGE, cookie: 'a=b' })).toBeUndefined();
  });

  it('any origin, any method, any field', () => {
    const policy: CorsPolicy = { allowed_origins: ['*'] };
    const headers = { origin: 'https://other.test', authorization: 'x', 'content-type': 'application/json' };
    expect(verdict(policy, headers, 'DELETE')).toBeUndefined();
    expect(verdict(policy, { ...headers, cookie: 'a=b' }, 'DELETE')).toMatch(/^Credentials/);
  });
});

describe('preflights', () => {
  const ask = (method: string, names?: string, origin = PAGE) =>
    verdict(
      LISTED,
      {
        origin,
        'access-control-request-method': method,
        ...(names !== undefined && { 'access-control-request-headers': names }),
      },
      'OPTIONS',
    );

  it('what is granted', () => {
    expect(ask('PUT')).toBeUndefined();
    expect(ask('PUT', 'authorization,x-custom')).toBeUndefined();
    expect(ask('PUT', 'X-Custom, Authorization')).toBeUndefined();
    expect(ask('POST')).toBeUndefined();
  });

  it('what is not', () => {
    expect(ask('DELETE')).toBe('The method "DELETE" is not allowed');
    expect(ask('PUT', 'x-other')).toBe('The header field "x-other" is not allowed');
    expect(ask('PUT', 'x-custom', 'https://other.test')).toMatch(/^The origin/);
  });

  it('a list that is too long, or no list of names, with every field allowed', () => {
    const asked = (names: string) =>
      verdict(
        { allowed_origins: [PAGE] },
        {
          origin: PAGE,
          'access-control-request-method': 'GET',
          'access-control-request-headers': names,
        },
        'OPTIONS',
      );
    expect(asked('x-any')).toBeUndefined();
    expect(asked('x'.repeat(5_000))).toBe('Too many header fields are requested');
    expect(asked('no token')).toBe('The header field "no token" is not allowed');
  });

  it('OPTIONS without a question is a request like any other', () => {
    expect(verdict(LISTED, { origin: PAGE }, 'OPTIONS')).toBe('The method "OPTIONS" is not allowed');
  });

  it('what a client sends is shortened where people read it', () => {
    expect(verdict(LISTED, { origin: `https://${'x'.repeat(5_000)}.test` })?.length).toBeLessThan(150);
  });
});
