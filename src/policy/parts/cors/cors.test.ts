import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CorsPolicy } from './schema.ts';
import { compileCors } from './cors.ts';
import type { CompiledCors } from '../../stage.ts';

function cors(policy: CorsPolicy): CompiledCors {
  const compiled = compileCors(policy);
  if (compiled === undefined) throw new Error('CORS is off');
  return compiled;
}
const PREFLIGHT_VARY = 'Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers\r\n';
const APP = 'https://app.example';

describe('CORS origins', () => {
  it.each([
    // configured, sent, granted
    [[APP], APP, true],
    [[APP], 'https://APP.example', true],
    [['HTTPS://App.Example:443'], APP, true],
    [[APP], 'https://app.example:443', true],
    [[APP], 'http://app.example', false],
    [[APP], 'https://app.example:8443', false],
    [[APP], 'https://app.example.evil.example', false],
    [[APP], 'https://evil-app.example', false],
    [[APP], 'https://app.example/', false],
    [[APP], 'null', false],
    [[APP], '', false],
    [[APP], 'https://app.example\r\nX: y', false],
    [[APP], 'https://app.example, https://evil.example', false],
    [['null'], 'null', true],
    [['https://*.example.com'], 'https://a.example.com', true],
    [['https://*.example.com'], 'https://a.b.example.com', true],
    [['https://*.example.com'], 'https://A.Example.com:443', true],
    [['https://*.example.com'], 'https://example.com', false],
    [['https://*.example.com'], 'https://evil-example.com', false],
    [['https://*.example.com'], 'https://.example.com', false],
    [['https://*.example.com'], 'https://a.example.com.evil.example', false],
    [['https://*.example.com'], 'https://evil.example/.example.com', false],
    [['https://*.example.com'], 'https://evil.example#.example.com', false],
    [['https://*.example.com'], 'https://user@a.example.com', false],
    [['https://*.example.com'], 'http://a.example.com', false],
    [['https://*.example.com'], 'https://a.example.com:8443', false],
    [['https://*.example.com:8443'], 'https://a.example.com:8443', true],
    [['https://*.example.com:8443'], 'https://a.example.com', false],
    [['https://*.example.com:443'], 'https://a.example.com', true],
    [['https://*.example.com'], 'https://example.com.evil', false],
    [['https://*.example.com'], 'https://a.example.com.', false],
    [['https://*.example.com'], 'https://a..example.com', false],
    [['https://*.example.com'], 'https://a.example.com@evil.example', false],
    [['https://*.example.com'], 'https://evil.example?.example.com', false],
    [['https://*.example.com'], 'https://evil.example\\.example.com', false],
    [['https://*.example.com'], 'https://evil.example:443.example.com', false],
    [['https://*.example.com'], 'https://a.example.com\0.evil', false],
    [['https://*.example.com'], 'null', false],
    [['https://*.EXAMPLE.com'], 'https://a.example.com', true],
    [['http://*.localhost:3000'], 'http://app.localhost:3000', true],
    [['http://localhost'], 'http://localhost:80', true],
    [['http://localhost'], 'http://localhost:8080', false],
    [['http://[::1]:3000'], 'http://[::1]:3000', true],
    [['chrome-extension://abcdef'], 'chrome-extension://abcdef', true],
    [['https://xn--bcher-kva.example'], 'https://xn--bcher-kva.example', true],
    [['https://*.example.com'], 'https://*.example.com', false],
    [['https://a.example', APP, 'http://localhost:3000'], 'http://localhost:3000', true],
  ])('%j for %j: %s', (allowed_origins, origin, granted) => {
    const compiled = cors({ allowed_origins });
    const response = compiled.responseLines(origin);
    const preflight = compiled.preflightLines(origin, 'GET', undefined);
    const line = granted ? `Access-Control-Allow-Origin: ${origin}\r\n` : '';
    expect(response).toBe(`${line}Vary: Origin\r\n`);
    expect(preflight).toBe(
      granted ? `${line}Access-Control-Allow-Methods: GET\r\n${PREFLIGHT_VARY}` : PREFLIGHT_VARY,
    );
  });

  it('grants null where it is listed, but never with credentials', () => {
    const compiled = cors({ allowed_origins: ['null', APP], allow_credentials: true });
    const line = 'Access-Control-Allow-Origin: null\r\n';
    expect(compiled.responseLines('null')).toBe(`${line}Vary: Origin\r\n`);
    expect(compiled.preflightLines('null', 'GET', undefined)).not.toContain('Credentials');
    expect(compiled.responseLines(APP)).toContain('Access-Control-Allow-Credentials: true\r\n');
    expect(compiled.responseLines('NULL')).toBe('Vary: Origin\r\n');
    expect(compiled.responseLines('https://null')).toBe('Vary: Origin\r\n');
  });

  it('answers each origin for itself, whatever was asked before', () => {
    const allowed_origins = [APP, 'https://*.example.com', 'https://app.example:8443', 'null'];
    const remembers = cors({ allowed_origins, allow_credentials: true });
    const anyLabel = fc.string({ unit: fc.constantFrom('a', 'b', 'evil-', '.'), maxLength: 4 });
    const anyOrigin = fc.oneof(
      fc.constantFrom(APP, 'https://app.example:8443', 'null', '', 'https://b.example.com', 'x'.repeat(300)),
      fc
        .tuple(fc.constantFrom('https', 'http'), anyLabel, fc.constantFrom('', ':8443'))
        .map(([scheme, label, port]) => `${scheme}://${label}example.com${port}`),
    );
    fc.assert(
      fc.property(fc.array(anyOrigin, { maxLength: 40 }), (origins) => {
        for (const origin of origins) {
          const fresh = cors({ allowed_origins, allow_credentials: true });
          expect(remembers.responseLines(origin)).toBe(fresh.responseLines(origin));
        }
      }),
      { numRuns: 200 },
    );
  });

  it('is off for an empty list and without configuration', () => {
    expect(compileCors({ allowed_origins: [] })).toBeUndefined();
    expect(compileCors(null)).toBeUndefined();
    expect(compileCors(undefined)).toBeUndefined();
  });

  it('answers any origin with *, the same for all, and never with credentials', () => {
    const compiled = cors({ allowed_origins: ['*'], allow_credentials: true });
    expect(compiled.responseLines(undefined)).toBe('Access-Control-Allow-Origin: *\r\n');
    expect(compiled.responseLines(APP)).toBe('Access-Control-Allow-Origin: *\r\n');
    expect(compiled.preflightLines(APP, 'PUT', 'X-A')).toBe(
      'Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Methods: PUT\r\nAccess-Control-Allow-Headers: X-A\r\n' +
        'Vary: Access-Control-Request-Method, Access-Control-Request-Headers\r\n',
    );
  });

  it('varies by origin also when none is sent', () => {
    expect(cors({ allowed_origins: [APP] }).responseLines(undefined)).toBe('Vary: Origin\r\n');
  });

  it('sends credentials and exposed headers to granted origins only', () => {
    const compiled = cors({
      allowed_origins: [APP],
      allow_credentials: true,
      expose_headers: ['X-Total', 'ETag'],
    });
    expect(compiled.responseLines(APP)).toBe(
      `Access-Control-Allow-Origin: ${APP}\r\nAccess-Control-Allow-Credentials: true\r\n` +
        'Access-Control-Expose-Headers: X-Total, ETag\r\nVary: Origin\r\n',
    );
    expect(compiled.responseLines('https://evil.example')).toBe('Vary: Origin\r\n');
  });
});

/** What a preflight from a granted origin gets, without the lines that all of them get. */
const lines = (policy: Partial<CorsPolicy>, method: string, headers?: string): string[] =>
  cors({ allowed_origins: [APP], ...policy })
    .preflightLines(APP, method, headers)
    .replace(`Access-Control-Allow-Origin: ${APP}\r\n`, '')
    .replace(PREFLIGHT_VARY, '')
    .split('\r\n')
    .slice(0, -1);

describe('CORS preflight', () => {
  it.each<[string, Partial<CorsPolicy>, string, string | undefined, string[]]>([
    [
      'configured lists as they are, whatever is asked for',
      { allowed_methods: ['get', 'POST'], allowed_headers: ['Authorization', 'X-A'] },
      'DELETE',
      'x-b',
      ['Access-Control-Allow-Methods: GET, POST', 'Access-Control-Allow-Headers: Authorization, X-A'],
    ],
    [
      'what is asked for, when nothing is configured',
      {},
      'PATCH',
      'authorization,x-a , X-B',
      ['Access-Control-Allow-Methods: PATCH', 'Access-Control-Allow-Headers: authorization, x-a, X-B'],
    ],
    [
      'what is asked for, when the list has *',
      { allowed_methods: ['*'], allowed_headers: ['*'], allow_credentials: true },
      'PATCH',
      'authorization',
      [
        'Access-Control-Allow-Credentials: true',
        'Access-Control-Allow-Methods: PATCH',
        'Access-Control-Allow-Headers: authorization',
      ],
    ],
    ['no headers when none are asked for', {}, 'GET', undefined, ['Access-Control-Allow-Methods: GET']],
    ['no headers when an empty list is asked for', {}, 'GET', ' , ,', ['Access-Control-Allow-Methods: GET']],
    ['no headers when one is no name', {}, 'GET', 'x-a, x b', ['Access-Control-Allow-Methods: GET']],
    [
      'no headers when they could end the line',
      {},
      'GET',
      'x-a\r\nX: y',
      ['Access-Control-Allow-Methods: GET'],
    ],
    [
      'no headers when there are too many',
      {},
      'GET',
      'x,'.repeat(3000),
      ['Access-Control-Allow-Methods: GET'],
    ],
    ['no method when it is none', {}, 'GE T', undefined, []],
    ['nothing for empty lists', { allowed_methods: [], allowed_headers: [] }, 'GET', 'x-a', []],
    [
      'the age',
      { max_age_secs: 600 },
      'GET',
      undefined,
      ['Access-Control-Allow-Methods: GET', 'Access-Control-Max-Age: 600'],
    ],
    [
      'an age of zero',
      { max_age_secs: 0 },
      'GET',
      undefined,
      ['Access-Control-Allow-Methods: GET', 'Access-Control-Max-Age: 0'],
    ],
  ])('grants %s', (_name, policy, method, headers, expected) => {
    expect(lines(policy, method, headers)).toEqual(expected);
  });
});
