import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isValidCors } from './parts/cors/cors-rules.ts';
import { validatePolicy } from './policy-rules.ts';
import { rateLimitErrors } from './parts/rate-limit/part.ts';
import type { RateLimitGlobals } from './dependencies.ts';
import type { CorsPolicy } from './parts/cors/schema.ts';
import type { JwtSettings } from './parts/auth/schema.ts';
import type { Policy } from './registry.ts';

const BOTH: RateLimitGlobals = { requests: 100, windowSeconds: 60 };
const SECRET = 'a-secret-of-at-least-thirty-two-bytes!';
const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
const privateJwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
const weakRsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
const ed = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
const jwt = (settings: JwtSettings): Policy => ({ auth: { auth_type: 'jwt', jwt: settings } });

function pointers(policy: Policy, globals?: RateLimitGlobals): string[] {
  return validatePolicy(policy, { globals }, '/default_policy').map((error) => error.pointer);
}

describe('validatePolicy', () => {
  const valid: [string, Policy][] = [
    ['an empty policy', {}],
    ['parts that are null', { auth: null, required_scopes: null, rate_limit: null, cors: null }],
    ['an API key with scopes', { auth: { auth_type: 'api_key' }, required_scopes: ['read'] }],
    ['scopes without auth', { required_scopes: ['read'] }],
    ['no auth and scopes switched off', { auth: { auth_type: 'none' }, required_scopes: [] }],
    ['every method', { allowed_methods: ['*'] }],
    ['a complete rate limit', { rate_limit: { enabled: true, requests: 5, window_seconds: 1 } }],
    ['a rate limit that is not enabled', { rate_limit: { enabled: false } }],
    ['a token bucket with a burst', { rate_limit: { algorithm: 'token_bucket', burst: 3 } }],
    ['a limit per claim', { auth: { auth_type: 'jwt' }, rate_limit: { per: 'claim:tenant' } }],
    ['a limit per claim whose auth is set elsewhere', { rate_limit: { per: 'claim:tenant' } }],
    ['any origin', { cors: { allowed_origins: ['*'] } }],
    ['the origin of pages without one', { cors: { allowed_origins: ['null'] } }],
    ['CORS switched off', { cors: { allowed_origins: [] } }],
    [
      'origins with credentials',
      {
        cors: {
          allowed_origins: ['https://a.example', 'https://*.b.example', 'http://*.localhost:3000'],
          allow_credentials: true,
        },
      },
    ],
    ['a JWT by settings', { auth: { auth_type: 'jwt', required_claims: ['sub'] } }],
    ['a secret', jwt({ secret: SECRET })],
    ['a secret with its algorithm', jwt({ secret: SECRET, algorithms: ['HS256'] })],
    ['public keys', jwt({ jwks: { keys: [jwk, rsa, ed] }, algorithms: ['ES256', 'RS256', 'EdDSA'] })],
    ['a URL', jwt({ jwks_uri: 'https://idp.example/jwks' })],
    ['algorithms for the keys of the settings', jwt({ algorithms: ['HS256'] })],
    ['claims to headers', jwt({ claims_to_headers: { email: 'X-User-Email' } })],
  ];
  it.each(valid)('accepts %s', (_name, policy) => {
    expect(pointers(policy)).toEqual([]);
  });

  const invalid: [string, Policy, string[]][] = [
    [
      'scopes that no caller can hold',
      { auth: { auth_type: 'none' }, required_scopes: ['x'] },
      ['/default_policy/required_scopes'],
    ],
    ['no method at all', { allowed_methods: [] }, ['/default_policy/allowed_methods']],
    ['* among methods', { allowed_methods: ['*', 'GET'] }, ['/default_policy/allowed_methods']],
    [
      'a limit without numbers',
      { rate_limit: { enabled: true } },
      ['/default_policy/rate_limit/requests', '/default_policy/rate_limit/window_seconds'],
    ],
    [
      'a burst without a bucket',
      { rate_limit: { enabled: true, requests: 1, window_seconds: 1, burst: 2 } },
      ['/default_policy/rate_limit/burst'],
    ],
    [
      'a limit per claim of an API key',
      { auth: { auth_type: 'api_key' }, rate_limit: { per: 'claim:x' } },
      ['/default_policy/rate_limit/per'],
    ],
    [
      '* with credentials',
      { cors: { allowed_origins: ['*'], allow_credentials: true } },
      ['/default_policy/cors/allow_credentials'],
    ],
    [
      'credentials for the origin that any page can send',
      { cors: { allowed_origins: ['https://a.example', 'null'], allow_credentials: true } },
      ['/default_policy/cors/allow_credentials'],
    ],
    ...[
      'https://*',
      'https://*.',
      'https://*:443',
      '*.example.com',
      '//*.example.com',
      '*://a.example',
      'https://a.*.example',
      'https://*.*.example',
      'https://a*.example',
      'https://*a.example',
      'https://*.10.0.0.1',
      'https://*.[::1]',
      'https://*.a.example/',
      'https://b\u00fccher.example',
      'null/',
      'NULL',
      ' https://a.example',
    ].map((origin): [string, Policy, string[]] => [
      `the origin "${origin}"`,
      { cors: { allowed_origins: ['https://a.example', origin] } },
      ['/default_policy/cors/allowed_origins/1'],
    ]),
    [
      '* among origins',
      { cors: { allowed_origins: ['*', 'https://a.example'] } },
      ['/default_policy/cors/allowed_origins'],
    ],
    [
      'origins that cannot match',
      { cors: { allowed_origins: ['https://a.example/', 'https://b.example', 'c.example', 'https://*'] } },
      [
        '/default_policy/cors/allowed_origins/0',
        '/default_policy/cors/allowed_origins/2',
        '/default_policy/cors/allowed_origins/3',
      ],
    ],
    [
      'every header exposed with credentials',
      { cors: { allowed_origins: ['https://a.example'], allow_credentials: true, expose_headers: ['*'] } },
      ['/default_policy/cors/expose_headers'],
    ],
    [
      'JWT settings of an API key',
      { auth: { auth_type: 'api_key', jwt: { issuer: 'x' }, required_claims: ['sub'] } },
      ['/default_policy/auth/jwt', '/default_policy/auth/required_claims'],
    ],
    [
      'a secret with public-key algorithms',
      jwt({ secret: SECRET, algorithms: ['HS256', 'RS256'] }),
      ['/default_policy/auth/jwt/algorithms/1'],
    ],
    [
      'public keys with HMAC',
      jwt({ jwks_uri: 'https://idp.example/jwks', algorithms: ['RS256', 'HS256'] }),
      ['/default_policy/auth/jwt/algorithms/1'],
    ],
    [
      'both kinds without keys',
      jwt({ algorithms: ['RS256', 'HS256'] }),
      ['/default_policy/auth/jwt/algorithms/0'],
    ],
    [
      'two sources of keys',
      jwt({ secret: SECRET, jwks_uri: 'https://idp.example/jwks' }),
      ['/default_policy/auth/jwt/secret'],
    ],
    [
      'a URL with a password',
      jwt({ jwks_uri: 'https://user:pass@idp.example/jwks' }),
      ['/default_policy/auth/jwt/jwks_uri'],
    ],
    ['a text that is not a URL', jwt({ jwks_uri: 'https://' }), ['/default_policy/auth/jwt/jwks_uri']],
    ['a short secret', jwt({ secret: 'short' }), ['/default_policy/auth/jwt/secret']],
    [
      'a secret too short for HS512',
      jwt({ secret: SECRET, algorithms: ['HS512'] }),
      ['/default_policy/auth/jwt/secret'],
    ],
    [
      'keys that are no public keys',
      jwt({
        jwks: {
          keys: [jwk, privateJwk, { kty: 'oct', k: 'AAAA' }, { kty: 'RSA' }, weakRsa, { ...jwk, use: 'enc' }],
        },
      }),
      [1, 2, 3, 4, 5].map((index) => `/default_policy/auth/jwt/jwks/keys/${index}`),
    ],
    [
      'header names that the gateway manages',
      jwt({
        claims_to_headers: {
          a: 'X-Headgate-Key-Id',
          b: 'Host',
          c: 'content-length',
          d: 'X_Forwarded_For',
          'e/f': 'Authorization',
          g: 'X-User',
          h: 'x_user',
          i: 'Origin',
          j: 'RateLimit-Policy',
          k: 'Sec-Fetch-Site',
        },
      }),
      ['a', 'b', 'c', 'd', 'e~1f', 'h', 'i', 'j', 'k'].map(
        (name) => `/default_policy/auth/jwt/claims_to_headers/${name}`,
      ),
    ],
  ];
  it.each(invalid)('refuses %s', (_name, policy, expected) => {
    expect(pointers(policy)).toEqual(expected);
  });

  it('lets the global default fill in what a limit leaves out', () => {
    expect(pointers({ rate_limit: { enabled: true } }, BOTH)).toEqual([]);
    expect(pointers({ rate_limit: { enabled: true } }, { requests: 5, windowSeconds: undefined })).toEqual([
      '/default_policy/rate_limit/window_seconds',
    ]);
  });

  it('points into the document that it was told of', () => {
    expect(rateLimitErrors({ enabled: true, requests: 1 }, undefined, '/rate_limit')).toEqual([
      {
        pointer: '/rate_limit/window_seconds',
        detail: 'is required: the limit is enabled and GATEWAY_RATE_LIMIT_WINDOW_SECS is not set',
      },
    ]);
  });
});

describe('isValidCors', () => {
  it.each<[boolean, CorsPolicy]>([
    [true, { allowed_origins: ['https://page.test'], allowed_headers: ['x-a'] }],
    [false, { allowed_origins: ['page.test'] }],
    [false, { allowed_origins: ['*'], allow_credentials: true }],
    [false, { allowed_origins: ['https://page.test'], allowed_headers: ['x a'] }],
  ])('%s: %j', (valid, cors) => {
    expect(isValidCors(cors)).toBe(valid);
  });
});
