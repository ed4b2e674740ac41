import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeaderKind, headerKindOf } from './header-kind.ts';

const named: ReadonlyArray<readonly [string, keyof typeof HeaderKind]> = [
  ['Connection', 'connection'],
  ['Keep-Alive', 'hopByHop'],
  ['Proxy-Connection', 'hopByHop'],
  ['Proxy-Authorization', 'hopByHop'],
  ['TE', 'hopByHop'],
  ['Upgrade', 'upgrade'],
  ['Transfer-Encoding', 'transferEncoding'],
  ['Content-Length', 'contentLength'],
  ['Trailer', 'trailer'],
  ['Host', 'host'],
  ['Expect', 'expect'],
  ['Authorization', 'authorization'],
  ['Forwarded', 'forwarded'],
  ['X-Forwarded-For', 'forwardedFor'],
  ['X-Forwarded-Proto', 'forwardedProto'],
  ['X-Forwarded-Host', 'forwardedHost'],
  ['X-Forwarded-Prefix', 'forwardedOther'],
  ['X-Real-IP', 'realIp'],
  ['Client-IP', 'realIp'],
  ['WL-Proxy-Client-IP', 'realIp'],
  ['X-Originating-IP', 'realIp'],
  ['CF-Connecting-IP', 'realIp'],
  ['Fastly-Client-IP', 'realIp'],
  ['CloudFront-Viewer-Address', 'realIp'],
  ['X-Azure-ClientIP', 'realIp'],
  ['X-Request-Id', 'requestId'],
  ['Via', 'via'],
  ['traceparent', 'traceparent'],
  ['tracestate', 'tracestate'],
  ['Origin', 'origin'],
  ['Access-Control-Request-Method', 'accessControlRequestMethod'],
  ['Access-Control-Request-Headers', 'accessControlRequestHeaders'],
  ['Access-Control-Allow-Origin', 'accessControl'],
  ['X-Headgate-Key-Id', 'headgate'],
  ['Deprecation', 'deprecation'],
  ['Sunset', 'sunset'],
  ['RateLimit', 'rateLimit'],
  ['RateLimit-Policy', 'rateLimit'],
  ['X-RateLimit-Remaining', 'rateLimit'],
  ['Date', 'date'],
  ['Server', 'server'],
  ['X-Original-URL', 'targetOverride'],
  ['X-HTTP-Method-Override', 'targetOverride'],
  ['X-Original-Method', 'targetOverride'],
  ['Proxy', 'targetOverride'],
  ['X-Middleware-Subrequest', 'targetOverride'],
];

describe('headerKindOf', () => {
  it.each(named)('classifies %s', (name, kind) => expect(headerKindOf(name)).toBe(HeaderKind[kind]));

  it.each([
    '',
    'Accept',
    'X-A',
    'Hos',
    'Hosts',
    'Cookie',
    'my_header',
    'X-Forwarded',
    'no token',
    'Hoſt',
    'x.y',
  ])('classifies %j as ordinary', (name) => expect(headerKindOf(name)).toBe(HeaderKind.ordinary));

  it('classifies every name in any mixture of case', () => {
    fc.assert(
      fc.property(fc.constantFrom(...named), fc.array(fc.boolean()), ([name, kind], upper) => {
        const mixed = name
          .split('')
          .map((letter, i) => (upper[i % (upper.length || 1)] ? letter.toUpperCase() : letter.toLowerCase()));
        expect(headerKindOf(mixed.join(''))).toBe(HeaderKind[kind]);
      }),
    );
  });

  it('classifies every name whose dashes are replaced by other characters as an alias', () => {
    const dashed = named.filter(([name]) => name.includes('-'));
    fc.assert(
      fc.property(fc.constantFrom(...dashed), fc.constantFrom('_', '.', '+', '!', '~'), ([name], odd) => {
        expect(headerKindOf(name.replace('-', odd))).toBe(HeaderKind.underscoreAlias);
        expect(headerKindOf(name.replaceAll('-', odd))).toBe(HeaderKind.underscoreAlias);
      }),
    );
  });

  it('classifies no other name as managed', () => {
    const lower = new Set(named.map(([name]) => name.toLowerCase()));
    const letters = fc.string({
      unit: fc.constantFrom(...'abcdehilnoprstuxy-'.split('')),
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(letters, (name) => {
        fc.pre(!lower.has(name) && !/^(x-(headgate|forwarded|ratelimit)-|access-control-)/.test(name));
        expect(headerKindOf(name)).toBe(HeaderKind.ordinary);
      }),
      { numRuns: 1000 },
    );
  });

  it.each(['hq5t', 'Cop6ent-Length'])(
    'does not confuse %s with the managed name that has the same hash',
    (name) => expect(headerKindOf(name)).toBe(HeaderKind.ordinary),
  );

  it('has at most 32 kinds, one bit each', () => {
    const kinds = Object.values(HeaderKind);
    expect(new Set(kinds).size).toBe(kinds.length);
    expect(Math.max(...kinds)).toBeLessThan(32);
  });
});
