/** HTTP/2 header sections as HTTP/1.1 requests; test/fuzz/http2.ts covers arbitrary input. */
import { describe, expect, it } from 'vitest';
import { fieldLines } from '../../../../test/support/data/field-lines.ts';
import { http1Request, http1Trailers } from './http2-request.ts';

const GET = [':method', 'GET', ':scheme', 'https', ':authority', 'a.test', ':path', '/x?y'];
const POST = [':method', 'POST', ...GET.slice(2)];
const without = (name: string): string[] => GET.filter((_, index) => GET[index - (index % 2)] !== name);

describe('a request', () => {
  it.each<[string, string[], boolean, string, string]>([
    ['without a body', GET, true, 'GET /x?y HTTP/1.1|Host: a.test||', 'none'],
    [
      'POST without a body has content-length 0',
      POST,
      true,
      'POST /x?y HTTP/1.1|Host: a.test|content-length: 0||',
      'none',
    ],
    [
      'with a body of unknown length',
      POST,
      false,
      'POST /x?y HTTP/1.1|Host: a.test|transfer-encoding: chunked||',
      'chunked',
    ],
    [
      'with a body of known length',
      [...POST, 'content-length', '5'],
      false,
      'POST /x?y HTTP/1.1|Host: a.test|content-length: 5||',
      'length',
    ],
    [
      'joins cookie fields',
      [...GET, 'cookie', 'a=1', 'x', 'y', 'cookie', 'b=2'],
      true,
      'GET /x?y HTTP/1.1|Host: a.test|x: y|cookie: a=1; b=2||',
      'none',
    ],
    [
      'takes the host from its field',
      [...without(':authority'), 'host', 'b.test:1'],
      true,
      'GET /x?y HTTP/1.1|Host: b.test:1||',
      'none',
    ],
    [
      'has one host when both are the same',
      [...GET, 'host', 'A.test'],
      true,
      'GET /x?y HTTP/1.1|Host: a.test||',
      'none',
    ],
    [
      'keeps te: trailers',
      [...GET, 'te', 'Trailers'],
      true,
      'GET /x?y HTTP/1.1|Host: a.test|te: trailers||',
      'none',
    ],
    [
      'for everything',
      [':method', 'OPTIONS', ':scheme', 'https', ':path', '*', ':authority', 'a.test'],
      true,
      'OPTIONS * HTTP/1.1|Host: a.test||',
      'none',
    ],
    [
      'CONNECT, which the parser answers',
      [':method', 'CONNECT', ':authority', 'a:1'],
      true,
      'CONNECT a:1 HTTP/1.1|Host: a:1||',
      'none',
    ],
  ])('%s', (_what, fields, endStream, text, framing) => {
    expect(http1Request(fieldLines(fields), endStream)).toMatchObject({
      text: text.replaceAll('|', '\r\n'),
      framing,
    });
  });

  it.each<[string, string[]]>([
    ['LF in a value', [...GET, 'x', 'a\nb']],
    ['CR in a value', [...GET, 'x', 'a\rb']],
    ['NUL in a value', [...GET, 'x', 'a\0b']],
    ['white space before a value', [...GET, 'x', '\ta']],
    ['white space after a value', [...GET, 'x', 'a ']],
    ['a character beyond a byte', [...GET, 'x', '\u010a']],
    ['an upper-case name', [...GET, 'X', 'a']],
    ['an empty name', [...GET, '', 'a']],
    ['a colon in a name', [...GET, 'x:y', 'a']],
    ['connection', [...GET, 'connection', 'x']],
    ['keep-alive', [...GET, 'keep-alive', '1']],
    ['proxy-connection', [...GET, 'proxy-connection', '1']],
    ['transfer-encoding', [...GET, 'transfer-encoding', 'chunked']],
    ['upgrade', [...GET, 'upgrade', 'websocket']],
    ['te', [...GET, 'te', 'trailers, gzip']],
    ['a pseudo-field after others', ['x', 'y', ...GET]],
    ['a repeated pseudo-field', [...GET, ':path', '/']],
    [':protocol', [...GET, ':protocol', 'websocket']],
    ['no method', without(':method')],
    ['no path', without(':path')],
    ['no scheme', without(':scheme')],
    ['another scheme', [...without(':scheme'), ':scheme', 'file']],
    ['a path that is a URL', [...without(':path'), ':path', 'https://a.test/']],
    ['* with GET', [...without(':path'), ':path', '*']],
    ['a line end in a path', [...without(':path'), ':path', '/ HTTP/1.1\r\nx: y']],
    ['a fragment', [...without(':path'), ':path', '/#x']],
    ['a line end in a method', [...without(':method'), ':method', 'GET\r\n']],
    ['a line end in an authority', [...without(':authority'), ':authority', 'a\r\nx: y']],
    ['user information', [...without(':authority'), ':authority', 'u@a.test']],
    ['two hosts', [...GET, 'host', 'b.test']],
    ['a host twice', [...GET, 'host', 'a.test', 'host', 'a.test']],
    ['a length twice', [...GET, 'content-length', '0', 'content-length', '0']],
    ['a signed length', [...GET, 'content-length', '+1']],
    ['a list of lengths', [...GET, 'content-length', '0, 0']],
    ['a length and nothing else', [...GET, 'content-length', '5']],
    ['CONNECT with a path', [':method', 'CONNECT', ':authority', 'a:1', ':path', '/']],
  ])('is malformed with %s', (_what, fields) => {
    expect(http1Request(fieldLines(fields), true)).toHaveProperty('malformed');
  });
});

describe('trailers', () => {
  it('are lines', () => {
    expect(http1Trailers(fieldLines(['x-a', '1', 'x-b', '']))).toBe('x-a: 1\r\nx-b: \r\n');
    expect(http1Trailers([])).toBe('');
  });

  it.each([
    ['a pseudo-field', [':path', '/']],
    ['an upper-case name', ['X', '1']],
    ['a line end', ['x', '1\r\ny: 2']],
    ['a field of the connection', ['transfer-encoding', 'chunked']],
  ])('are malformed with %s', (_what, fields) => {
    expect(http1Trailers(fieldLines(fields))).toHaveProperty('malformed');
  });
});

describe('a WebSocket (RFC 8441)', () => {
  const CONNECT = [
    ':method',
    'CONNECT',
    ':protocol',
    'websocket',
    ':scheme',
    'https',
    ':path',
    '/x',
    ':authority',
    'a',
  ];
  const made = (fields: readonly string[]) => http1Request(fieldLines(fields), false, () => 'the key');

  it('is the handshake of HTTP/1.1, with the key of the gateway alone', () => {
    const sent = [...CONNECT, 'sec-websocket-key', 'other', 'cookie', 'a=b', 'cookie', 'c=d', 'x-own', '1'];
    expect(made(sent)).toEqual({
      text: 'GET /x HTTP/1.1\r\nHost: a\r\nx-own: 1\r\ncookie: a=b; c=d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: the key\r\n\r\n',
      method: 'GET',
      framing: 'tunnel',
      contentLength: 0,
      websocketKey: 'the key',
    });
  });

  it('of another protocol is left for the parser to refuse', () => {
    const other = CONNECT.map((text) => (text === 'websocket' ? 'connect-udp' : text));
    expect(made(other)).toMatchObject({ text: expect.stringMatching(/^CONNECT a HTTP\/1\.1\r\n/) });
  });

  it.each([
    ['another method', CONNECT.with(1, 'GET')],
    ['no path', CONNECT.toSpliced(6, 2)],
    ['no scheme', CONNECT.toSpliced(4, 2)],
    ['no host', CONNECT.toSpliced(8, 2)],
    ['a length', [...CONNECT, 'content-length', '0']],
    ['an upgrade', [...CONNECT, 'upgrade', 'websocket']],
    ['a protocol twice', [...CONNECT.slice(0, 4), ':protocol', 'websocket', ...CONNECT.slice(4)]],
  ])('with %s is malformed', (_what, fields) => {
    expect(made(fields)).toHaveProperty('malformed');
  });
});
