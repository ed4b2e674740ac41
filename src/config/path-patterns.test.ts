import { describe, expect, it } from 'vitest';
import {
  PATH_LENGTH_MAX,
  PATH_SEGMENTS_MAX,
  backendPathError,
  endpointShape,
  parseBasePath,
  parseEndpointPath,
  parseGatewayPath,
} from './path-patterns.ts';
import type { EndpointPattern } from './path-patterns.ts';

const tooLong = `/${'a'.repeat(PATH_LENGTH_MAX)}`;
const tooDeep = '/a'.repeat(PATH_SEGMENTS_MAX + 1);

/** Refused in every kind of path. */
const NEVER: [string, RegExp][] = [
  ['', /must start with "\/"/],
  ['a', /must start with "\/"/],
  ['//a', /must not contain "\/\/"/],
  ['/a//b', /must not contain "\/\/"/],
  ['/a/./b', /not allowed/],
  ['/a/..', /not allowed/],
  ['/%2e%2E/a', /not allowed/],
  ['/..;x/a', /not allowed/],
  ['/a%5Cb', /not allowed/],
  ['/a\\b', /not allowed/],
  ['/a%00', /not allowed/],
  ['/a%zz', /not allowed/],
  ['/a%', /not allowed/],
  ['/a b', /percent-encoded/],
  ['/a\tb', /percent-encoded/],
  ['/é', /percent-encoded/],
  ['/a?b=1', /without "\?" and "#"/],
  ['/a#b', /without "\?" and "#"/],
  ['/%61', /canonical form: "a"/],
  ['/%c3%a9', /canonical form: "%C3%A9"/],
  ['/a|b', /canonical form: "a%7Cb"/],
  [tooLong, /longer than 1024/],
  [tooDeep, /more than 64 segments/],
];

const errorOf = (result: { error: string } | object): string | undefined =>
  'error' in result ? result.error : undefined;

describe('parseEndpointPath', () => {
  it.each<[string, string[], string[]]>([
    ['/', [''], []],
    ['/invoices', ['invoices'], []],
    ['/invoices/', ['invoices', ''], []],
    ['/invoices/{id}', ['invoices', '{id}'], ['id']],
    ['/{a}/x/{b-2}', ['{a}', 'x', '{b-2}'], ['a', 'b-2']],
    ['/files/*', ['files', '*'], []],
    ['/{a}/*', ['{a}', '*'], ['a']],
    ['/*', ['*'], []],
    ['/a.json;v=1', ['a.json;v=1'], []],
    ['/%C3%A9', ['%C3%A9'], []],
    ['/a%2Fb', ['a%2Fb'], []],
    ['/.well-known/x', ['.well-known', 'x'], []],
  ])('reads %s', (path, segments, names) => {
    expect(parseEndpointPath(path)).toEqual({ segments, names });
  });

  it.each<[string, RegExp]>([
    ...NEVER,
    ['/*/a', /only allowed as the last/],
    ['/a*', /whole segment/],
    ['/**', /whole segment/],
    ['/a{id}', /whole "\{name\}"/],
    ['/{id}.json', /whole "\{name\}"/],
    ['/{a', /whole "\{name\}"/],
    ['/a}', /whole "\{name\}"/],
    ['/{}', /must be named/],
    ['/{1a}', /must be named/],
    ['/{a b}', /must be named/],
    ['/{{a}}', /must be named/],
    ['/{a}{b}', /must be named/],
    ['/{a}/{a}', /must not appear twice/],
    [`/{${'a'.repeat(65)}}`, /longer than 64/],
  ])('refuses %s', (path, message) => {
    expect(errorOf(parseEndpointPath(path))).toMatch(message);
  });
});

describe('endpointShape', () => {
  it.each([
    ['/a/{x}/b/{y}', '/a/{}/b/{}'],
    ['/a', '/a'],
    ['/{a}', '/{}'],
    ['/{a}/*', '/{}/*'],
  ])('of %s is %s', (path, shape) => {
    expect(endpointShape(path)).toBe(shape);
  });
});

describe('parseGatewayPath', () => {
  it('requires characters unencoded that need no encoding, since requests are compared in that form', () => {
    expect(parseGatewayPath('/a%3Ab')).toEqual({ error: 'the segment "a%3Ab" must be written as "a:b"' });
    expect(parseEndpointPath('/a%3Ab/{x}')).toEqual({
      error: 'the segment "a%3Ab" must be written as "a:b"',
    });
  });

  it.each(['/', '/a', '/a/v1', '/a.b/~c', '/%C3%A9'])('accepts %s unchanged', (path) => {
    expect(parseGatewayPath(path)).toEqual({ path });
  });

  it.each<[string, RegExp]>([
    ...NEVER,
    ['/a/', /must not end with "\/"/],
    ['/*', /must not contain "\*"/],
    ['/a*', /must not contain "\*"/],
    ['/{a}', /must not contain "{" or "}": only the paths of endpoints/],
    ['/a%2Fb', /encoded slash/],
  ])('refuses %s', (path, message) => {
    expect(errorOf(parseGatewayPath(path))).toMatch(path === '//a' || path === '/a//b' ? /"\/"/ : message);
  });
});

describe('parseBasePath', () => {
  it.each([
    ['/', ''],
    ['/api', '/api'],
    ['/api/', '/api'],
    ['/api/v1', '/api/v1'],
  ])('reads %s as "%s"', (text, path) => {
    expect(parseBasePath(text)).toEqual({ path });
  });

  it.each<[string, RegExp]>([
    ...NEVER,
    ['/a/*', /must not contain "\*"/],
    ['/{a}', /only the paths of endpoints/],
  ])('refuses %s', (text, message) => {
    expect(errorOf(parseBasePath(text))).toMatch(message);
  });
});

const patternOf = (path: string): EndpointPattern => parseEndpointPath(path) as EndpointPattern;

describe('backendPathError', () => {
  it.each([
    ['/x', '/a'],
    ['/x/', '/a/*'],
    ['/', '/a'],
    ['/x/{id}', '/a/{id}'],
    ['/x/{b}/{a}', '/{a}/{b}'],
    ['/item-{id}.json', '/a/{id}'],
    ['/{a}-{b}', '/{a}/{b}'],
    ['/x/*', '/a/*'],
    ['/{id}/*', '/{id}/*'],
  ])('accepts %s for %s', (backendPath, path) => {
    expect(backendPathError(backendPath, patternOf(path))).toBeUndefined();
  });

  it.each<[string, string, RegExp]>([
    ...NEVER.map(([text, message]): [string, string, RegExp] => [text, '/a', message]),
    ['/{other}', '/a/{id}', /"\{other\}" is not a parameter/],
    ['/{}', '/a/{id}', /not a parameter/],
    ['/x/*', '/a', /ends with "\*", too/],
    ['/*/x', '/a/*', /only allowed as the last/],
    ['/.{id}', '/{id}', /must not start with "\."/],
    ['/a%2F{id}', '/{id}', /encoded slash/],
    ['/{a}{b}', '/{a}/{b}', /something between/],
    ['/%C3{id}', '/{id}', /non-ASCII/],
    ['/{id}%AF', '/{id}', /non-ASCII/],
    ['/%4{id}', '/{id}', /not allowed/],
    ['/{id', '/{id}', /whole "\{name\}"/],
  ])('refuses %s for %s', (backendPath, path, message) => {
    expect(backendPathError(backendPath, patternOf(path))).toMatch(message);
  });
});
