/**
 * Nothing that a stranger sends is worked on for longer than its length asks for. Each row feeds a reader of bytes from
 * the network with the worst repetition for it, of 4 KiB and of 32 KiB, and compares what they cost. The usual limits
 * are raised or gone round for it, since operators may raise them.
 */
import { describe, expect, it } from 'vitest';
import { normaliseAddress } from '../../../src/http/address.ts';
import { canonicalPath, comparablePath } from '../../../src/http/paths/canonical-path.ts';
import { ChunkedDecoder } from '../../../src/http/bodies/chunked-decoder.ts';
import { clientAddress, viaHolds, viaHops } from '../../../src/http/fields/forwarded.ts';
import { incompleteHeadError } from '../../../src/http/heads/head-end.ts';
import { canonicalHost, parseHostEntry } from '../../../src/http/fields/host-name.ts';
import { isHostAndPort } from '../../../src/http/fields/host.ts';
import { climbsOut, isPlainPath, lenientPath } from '../../../src/http/paths/lenient-path.ts';
import { FrameReader } from '../../../src/http/http2/frame-reader.ts';
import { frameHead, FrameType, PREFACE } from '../../../src/http/http2/frames.ts';
import { HpackDecoder } from '../../../src/http/http2/hpack/decoder.ts';
import { RequestHead } from '../../../src/http/heads/request-head.ts';
import { ResponseHead } from '../../../src/http/heads/response-head.ts';
import { isValidTraceparent } from '../../../src/http/fields/trace-context.ts';
import { forwardableTrailers } from '../../../src/http/bodies/trailers.ts';
import { presentedSession, sessionCookieStyle } from '../../../src/management/sessions/session-cookie.ts';
import { cookieValue } from '../../../src/proxy/targets/hash-source.ts';
import { parseQuery, PAGE_QUERY } from '../../../src/management/api/query.ts';
import { checkIfMatch, isNotModified } from '../../../src/management/api/entity-tag.ts';
import { parseJson } from '../../../src/management/api/strict-json.ts';
import { validate } from '../../../src/management/api/validate.ts';
import { parseOrigin } from '../../../src/policy/parts/cors/origin.ts';
import * as patterns from '../../../src/model/patterns.ts';
import { PolicySchema } from '../../../src/policy/registry.ts';
import { jsonSchema } from '../../../src/model/json-schema.ts';
import { maskCredentials } from '../../../src/observe/log.ts';
import { tokenStart } from '../../../src/policy/parts/auth/bearer.ts';
import { fieldText, scopesLine } from '../../../src/policy/caller.ts';
import { compileCors } from '../../../src/policy/parts/cors/cors.ts';
import { refusal } from '../../../src/policy/parts/cors/cors-shadow.ts';
import { inlineKeys } from '../../../src/policy/parts/auth/jwt/jwks.ts';
import { readClaims, readHeader } from '../../../src/policy/parts/auth/jwt/jwt-token.ts';
import { testFacts } from '../../../src/policy/test-fixtures.ts';
import { Connection } from '../../../src/proxy/downstream/connection.ts';
import type { ProxyContext } from '../../../src/proxy/interfaces/proxy-context.ts';
import { describedHead } from '../../../src/explain/described-request.ts';
import { isSecretName, recordedQuery } from '../../../src/explain/redact.ts';
import { ExplainSocket } from '../../../src/explain/described-socket.ts';
import { HelloBytes, readClientHello } from '../../../src/proxy/downstream/tls/client-hello.ts';
import { ClientWire, type WireOwner } from '../../../src/proxy/downstream/http2/client-wire.ts';
import type { FrameSocket } from '../../../src/proxy/downstream/client-socket.ts';
import { responseBlock } from '../../../src/proxy/downstream/http2/response-block.ts';
import { http1Request, http1Trailers } from '../../../src/proxy/downstream/http2/http2-request.ts';
import { isProtocolAskedFor, tunnelledProtocol } from '../../../src/http/fields/switch-protocol.ts';
import { HostIndex } from '../../../src/config/lookup/host-index.ts';
import { backendPathError, endpointShape, parseEndpointPath } from '../../../src/config/path-patterns.ts';
import { fieldLines } from '../../support/data/field-lines.ts';
import { growth, type Prepare } from '../../support/measure/linear-time.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';

const UNLIMITED = { maxTargetBytes: 1e6, maxHeaders: 1e6, maxHeadBytes: 1e6 };

/** As many of `piece` as fill the size. */
const repeated = (piece: string, bytes: number): string => piece.repeat(Math.ceil(bytes / piece.length));

/** A row whose input is text: what stands before, what is repeated, what stands behind. */
type TextRow = readonly [
  name: string,
  run: (text: string) => unknown,
  before: string,
  piece: string,
  after: string,
];

const hosts = new HostIndex();
for (let labels = 1; labels <= 60; labels++)
  hosts.set({ gatewayPath: '/y', app: { hosts: [`*.${'a.'.repeat(labels)}test`, '*.test'] } });

const requestHead = new RequestHead();
function readRequest(fields: string): string {
  const head = Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${fields}`, 'latin1');
  expect(requestHead.parseBytes(head, 0, head.length, UNLIMITED)).toBe(undefined);
  return requestHead.ordinaryLines() + String(requestHead.combined('x'));
}

const responseHead = new ResponseHead();
function readResponse(fields: string): string {
  const head = Buffer.from(`HTTP/1.1 200 OK\r\n${fields}`, 'latin1');
  expect(responseHead.parseBytes(head, 0, head.length, 'GET', UNLIMITED)).toBe(undefined);
  return responseHead.ordinaryLines();
}

const decoder = new ChunkedDecoder();
function decode(text: string): void {
  decoder.reset();
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length && !decoder.done && decoder.error === undefined; at++)
    decoder.write(bytes, at, at + 1, () => undefined);
}

const cors = compileCors({ allowed_origins: ['https://*.example.com'], allow_credentials: true });
const preflight = (headers: string): unknown => {
  const facts = testFacts(
    {
      origin: 'https://a.example.com',
      'access-control-request-method': 'GET',
      'access-control-request-headers': headers,
    },
    { method: 'OPTIONS' },
  );
  return [cors?.preflightLines('https://a.example.com', 'GET', headers), cors && refusal(cors, facts)];
};

/** A record with the head of a ClientHello of 32,512 bytes. */
const HELLO_START = '\x16\x03\x01\x00\x04\x01\x00\x7f\x00';
const hello = (text: string): unknown => readClientHello(Buffer.from(text, 'latin1'));

/** Each byte is a packet of its own. */
function helloByteByByte(text: string): void {
  const bytes = new HelloBytes();
  const sent = Buffer.from(text, 'latin1');
  for (let at = 0; at < sent.length && bytes.add(sent.subarray(at, at + 1)) === undefined; at++);
}
/** One record of 32,508 bytes with a message of 32,500. */
const LONG_HELLO = '\x16\x03\x01\x7e\xfc\x01\x00\x7e\xf4';

const base64url = (text: string): string => Buffer.from(text, 'utf8').toString('base64url');
const compiledPatterns = Object.values<unknown>(patterns).flatMap((value) =>
  typeof value === 'string' ? [new RegExp(value, 'u')] : [],
);
const policySchema = jsonSchema(PolicySchema);
const isTrusted = (address: string): boolean => address.startsWith('10.');

const PATHS: readonly TextRow[] = [
  ['canonical path, segments to decode', canonicalPath, '', '/%41', ''],
  ['canonical path, characters to encode', canonicalPath, '', '/|', ''],
  ['canonical path, dots', canonicalPath, '/', 'a.', '%41'],
  ['canonical path, segments that begin with a dot', canonicalPath, '', '/.a', '%41'],
  ['comparable path', comparablePath, '/', '%3A', ''],
  ['plain path', isPlainPath, '/a', '.', 'x'],
  ...(['lenient path', 'path that may climb out'] as const).flatMap((name): TextRow[] => {
    const read = name === 'lenient path' ? lenientPath : climbsOut;
    return [
      [`${name}, dots`, read, '/A', '.', 'x'],
      [`${name}, spaces`, read, '/A', '%20', 'x'],
      [`${name}, dots and spaces`, read, '/A', '.%20', 'x'],
      [`${name}, percent signs`, read, '/', '%25', 'x'],
      [`${name}, layers`, read, '/', '%25252e', '/x'],
      [`${name}, parameters`, read, '/', 'a;b/', 'A'],
      [`${name}, dot segments`, read, '/a', '%252e%252e%252F', 'x'],
      [`${name}, marks of two classes`, read, '/a', '%CC%81%CC%A7', 'x'],
      [`${name}, sound marks that are letters`, read, '/a', '%CC%81%EF%BE%9E', 'x'],
      [`${name}, letters that become words`, read, '/a', '%EF%B7%BA', 'x'],
      [`${name}, sigmas`, read, '/a', '%CE%A3%27', 'x'],
      [`${name}, invisible characters`, read, '/a', '%E2%80%8B', 'x'],
      [`${name}, no UTF-8`, read, '/a', '%FF', 'x'],
    ];
  }),
  ['path of an endpoint, braces', parseEndpointPath, '/', '{', ''],
  ['path of an endpoint, segments', parseEndpointPath, '', '/{a}', ''],
  ['shape of an endpoint', endpointShape, '/', '/{a', ''],
  ['backend path', (text) => backendPathError(text, { segments: ['{a}'], names: ['a'] }), '/', '{', ''],
];

const FIELDS: readonly TextRow[] = [
  ['fields', readRequest, '', 'x:\r\n', ''],
  ['names with odd characters', readRequest, '', 'x_y.z:\r\n', ''],
  ['white space', readRequest, 'x:', ' \t', 'a\r\n'],
  ['Connection', readRequest, 'Connection: ', 'x1,', '\r\nx: y\r\n'],
  [
    'Connection and as many fields',
    (text) => readRequest(`Connection: ${text}\r\n${text.replaceAll('b,', 'c:\r\n')}`),
    '',
    'b,',
    '',
  ],
  ['Connection fields', readRequest, '', 'Connection: a\r\n', ''],
  [
    'Connection of a response',
    (text) => readResponse(`Connection: ${text}\r\n${text.replaceAll('b,', 'c:\r\n')}`),
    '',
    'b,',
    '',
  ],
  ['cookies', readResponse, '', 'Set-Cookie: a=b\r\n', ''],
  [
    'Transfer-Encoding',
    (text) => requestHead.parse(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${text}\r\n`, UNLIMITED),
    '',
    'a,',
    '',
  ],
  [
    'an unfinished head',
    (text) => incompleteHeadError(Buffer.from(text), 0, 0, text.length),
    'GET',
    '\r\n',
    '',
  ],
  ['Host', isHostAndPort, '', 'a.', ''],
  ['Host of dots', isHostAndPort, 'a', '.', ''],
  ['a host in its stored form', canonicalHost, '', 'A.', ':80'],
  ['the versions of a host', (text) => hosts.find('/x', text), '', 'a.', 'test'],
  ['the versions of a host of dots', (text) => hosts.find('/x', text), '', '.', ''],
  ['an entry of hosts', parseHostEntry, '*.', 'a.', ''],
  ['an entry of hosts with colons', parseHostEntry, '', ':', ''],
  ['an entry of hosts in U-labels', parseHostEntry, '', 'ü.', ''],
  ['Host in brackets', isHostAndPort, '[', '1:', ']'],
  ['addresses', normaliseAddress, '', '1:', ''],
  ['an address', normaliseAddress, '::', '0', ''],
  ['X-Forwarded-For', (text) => clientAddress('10.0.0.1', text, isTrusted), '', '10.0.0.2,', ''],
  ['X-Forwarded-For, brackets', (text) => clientAddress('10.0.0.1', text, isTrusted), '', '[', ''],
  ['X-Forwarded-For, blanks', (text) => clientAddress('10.0.0.1', text, isTrusted), '10.0.0.2,', ' ', 'x'],
  ['traceparent', isValidTraceparent, '00-', '0', '-'],
  ['Upgrade', tunnelledProtocol, '', 'a', '/ '],
  ['Upgrade of a response', (text) => isProtocolAskedFor('websocket', text), '', 'a/', ''],
  ['trailers', forwardableTrailers, '', 'a:\r\n', ''],
  ['first message of TLS, a record for each byte', hello, HELLO_START, '\x16\x03\x01\x00\x01a', ''],
  ['first message of TLS, byte by byte', helloByteByByte, LONG_HELLO, 'a', ''],
  ['first message of TLS, records byte by byte', helloByteByByte, HELLO_START, '\x16\x03\x01\x00\x01a', ''],
  ['the cookie that leads to a target', (text) => cookieValue(text, 'route'), '', ';', ''],
  ['the cookie that leads to a target, of others', (text) => cookieValue(text, 'route'), '', 'a=;', ''],
  ['the cookie of a session', (text) => presentedSession(text, sessionCookieStyle(false)), '', ';', ''],
  ['Via', (text) => viaHolds(text, viaHops('headgate-a')), '', 'headgate-a', ''],
  ['chunks of one byte', decode, '', '1\r\na\r\n', '0\r\n\r\n'],
  ['chunk extensions', decode, '', '1;a="\\""\r\na\r\n', ''],
  ['trailers byte by byte', decode, '0\r\n', 'a:\r\n', '\r\n'],
  ['Authorization', tokenStart, 'Bearer', ' ', ''],
  ['requested CORS fields', preflight, '', 'a,', ''],
  ['requested CORS fields, blanks', preflight, 'a', ' ', 'b'],
  ['Origin', (text) => [parseOrigin(text, false), cors?.responseLines(text)], 'https://', '1.', 'x:'],
  ...(['eyJaaaaaaaa-', ':', 'a:', '://a:', 'Bearer ', 'hga_aaaaaaaaa.', 'eyJaaaaaaaa.'] as const).map(
    (piece): TextRow => [`a log line with ${piece}`, maskCredentials, '://', piece, ''],
  ),
  ['a recorded query', recordedQuery, '?', '=%3D', 'x'],
  ['a name that may be secret', isSecretName, '', 'auth', 'x'],
  ['a text for a field', fieldText, 'a', ' ', '\u0000'],
  ['scopes for a field', (text) => scopesLine(text.split(' ')), '', 'a ', ''],
];

const DOCUMENTS: readonly TextRow[] = [
  ['JSON, keys', (text) => parseJson(Buffer.from(`{${text}"z":1}`)), '', '"a":1,', ''],
  ['JSON, blanks', (text) => parseJson(Buffer.from(text)), '[', ' ', 'x'],
  ['JSON, lines', (text) => parseJson(Buffer.from(text)), '[', '1,\n', 'x'],
  ['JSON, depth', (text) => parseJson(Buffer.from(text)), '', '[', ''],
  ['JSON, escapes', (text) => parseJson(Buffer.from(text)), '"', '\\u0041', '"'],
  ['JSON, digits', (text) => parseJson(Buffer.from(text)), '', '1', 'x'],
  ['schema patterns, names', (text) => compiledPatterns.map((each) => each.test(text)), '', 'a', '\u0000'],
  ['schema patterns, paths', (text) => compiledPatterns.map((each) => each.test(text)), '/', 'a/', '\u0000'],
  [
    'schema patterns, limits',
    (text) => compiledPatterns.map((each) => each.test(text)),
    'header:',
    'a.-',
    ' ',
  ],
  [
    'a policy with unknown parts',
    (text) => validate(policySchema, JSON.parse(`{${text}"z":1}`)),
    '',
    '"a":1,',
    '',
  ],
  [
    'a policy with equal items',
    (text) => validate(policySchema, { allowed_methods: text.split(',') }),
    '',
    'GET,',
    '',
  ],
  [
    'a policy with a long origin',
    (text) => validate(policySchema, { cors: { allowed_origins: [text] } }),
    'https://',
    'a.',
    '/',
  ],
  ['a query', (text) => parseQuery({ limit: text }, PAGE_QUERY), '', '1', 'x'],
  ['If-Match, tags', (text) => checkIfMatch(text, '"x"'), '', '"a",', '"b'],
  ['If-Match, blanks', (text) => checkIfMatch(text, '"x"'), '"a"', ' ', 'x'],
  ['If-None-Match, quotes', (text) => isNotModified(text, '"x"'), 'W/', '"', 'x'],
  ['a described request', (text) => describedHead({ method: 'GET', url: text }), 'http://', 'a', '#'],
  ['a token, dots', (text) => readHeader(text, ['RS256']), '', '.', ''],
  ['the claims of a token', (text) => readClaims(Buffer.from(`{${text}"z":1}`)), '', '"a":1,', ''],
  ['the claims of a token, depth', (text) => readClaims(Buffer.from(text)), '', '{"a":', ''],
  ['a text of claims', (text) => readClaims(Buffer.from(JSON.stringify({ a: text }))), '', '\\"', ''],
];

/** Distinct keys: the n-th text of `make`, until the size is reached. */
const distinct = (bytes: number, make: (index: number) => string): string[] =>
  Array.from({ length: Math.ceil(bytes / make(1000).length) }, (_, index) => make(index));

const UNLIMITED_SECTION = { listBytesMax: Infinity, fieldsMax: Infinity };
const ignore = (): void => undefined;

const NO_SOCKET = { writeText: () => true, needsDrain: false } as unknown as FrameSocket;
const NO_OWNER = new Proxy({} as WireOwner, { get: () => ignore });

function readFrames(bytes: Buffer, pieceBytes = 1): void {
  const reader = new FrameReader({
    onDataFrame: ignore,
    onData: ignore,
    onDataEnd: ignore,
    onHeaders: ignore,
    onReset: ignore,
    onSetting: ignore,
    onSettingsEnd: ignore,
    onSettingsAck: ignore,
    onPing: ignore,
    onGoaway: ignore,
    onWindowUpdate: ignore,
    onFrameError: (code) => expect(code).toBe(0),
  });
  for (let at = 0; at < bytes.length; at += pieceBytes)
    reader.read(bytes, at, Math.min(bytes.length, at + pieceBytes));
}

const OTHERS: readonly (readonly [name: string, prepare: Prepare])[] = [
  [
    'JSON, distinct keys',
    (bytes) => {
      const text = Buffer.from(`{${distinct(bytes, (index) => `"${index}":1,`).join('')}"z":1}`);
      return () => parseJson(text);
    },
  ],
  [
    'a policy with many wrong parts',
    (bytes) => {
      const value = JSON.parse(
        `{${distinct(bytes, (index) => `"rate_limi${index}":1,`).join('')}"z":1}`,
      ) as unknown;
      return () => validate(policySchema, value);
    },
  ],
  [
    'HTTP/2 cookies',
    (bytes) => {
      const fields = distinct(bytes, () => 'cookie').flatMap((name) => [name, 'a=b']);
      const pseudo = [':method', 'GET', ':scheme', 'https', ':path', '/', ':authority', 'a'];
      const lines = fieldLines([...pseudo, ...fields]);
      return () => http1Request(lines, true);
    },
  ],
  [
    'HTTP/2 trailers',
    (bytes) => {
      const fields = distinct(bytes, () => 'x').flatMap((name) => [name, '']);
      const lines = fieldLines(fields);
      return () => http1Trailers(lines);
    },
  ],
  ...(
    [
      ['names that enter the table', '\x40\x01a\x01b'],
      ['references', '\x82'],
      ['a Huffman code', '\x00\x01a\x85\x18\xc6\x31\x8c\x63'],
      ['changes of the table', '\x20'],
    ] as const
  ).map(([name, piece]): readonly [string, Prepare] => [
    `HPACK, ${name}`,
    (bytes) => {
      const block = Buffer.from(repeated(piece, bytes), 'latin1');
      return () => {
        const isRead = new HpackDecoder(UNLIMITED_SECTION).decode(block, 0, block.length);
        if (!isRead) throw new Error('The section is broken');
      };
    },
  ]),
  [
    'a head of HTTP/2 in parts, read byte by byte',
    (bytes) => {
      const parts = Math.ceil(bytes / 1024);
      const text = Array.from({ length: parts }, (_, index) =>
        index === 0
          ? frameHead(1024, FrameType.headers, 0, 1) + ' '.repeat(1024)
          : frameHead(1024, FrameType.continuation, 0, 1) + ' '.repeat(1024),
      ).join('');
      return () => readFrames(Buffer.from(text, 'latin1'));
    },
  ],
  [
    'fields of an HTTP/2 response',
    (bytes) => {
      const lines = distinct(bytes, (index) => `X-Name: ${index} \r\n`).join('');
      const text = `HTTP/1.1 200 OK\r\n${lines}`;
      return () => expect(responseBlock(text, 0, text.length)?.status).toBe(200);
    },
  ],
  [
    'white space in a field of an HTTP/2 response',
    (bytes) => {
      const text = `HTTP/1.1 200 OK\r\nx: ${' '.repeat(bytes)}a${' '.repeat(bytes)}\r\n`;
      return () => expect(responseBlock(text, 0, text.length)?.status).toBe(200);
    },
  ],
  [
    'requests of HTTP/2 that are malformed',
    (bytes) => {
      const block = '\x82\x84';
      const one = (id: number): string => frameHead(block.length, FrameType.headers, 5, id) + block;
      const count = Math.ceil(bytes / one(1).length);
      const text =
        PREFACE +
        frameHead(0, FrameType.settings, 0, 0) +
        Array.from({ length: count }, (_, n) => one(2 * n + 1)).join('');
      const received = Buffer.from(text, 'latin1');
      return () => {
        const wire = new ClientWire(NO_SOCKET, NO_OWNER, { ...UNLIMITED, http2Websockets: true });
        wire.read(received);
        expect(wire.openCount).toBe(0);
      };
    },
  ],
  [
    'empty frames of HTTP/2',
    (bytes) => {
      const text = repeated(frameHead(0, FrameType.data, 0, 1), bytes);
      return () => readFrames(Buffer.from(text, 'latin1'), text.length);
    },
  ],
  [
    'a JWK set',
    (bytes) => {
      const keys = distinct(bytes, (index) => `${index}`).map((kid) => ({
        kty: 'oct',
        k: base64url('x'),
        kid,
      }));
      return () => inlineKeys(keys);
    },
  ],
];

describe('costs grow no faster than the input', () => {
  describe.each([
    ['paths', PATHS],
    ['fields', FIELDS],
    ['documents', DOCUMENTS],
  ] as const)('%s', (_name, rows) => {
    it.each(rows)('%s', async (_row, run, before, piece, after) => {
      const result = await growth((bytes) => {
        const text = before + repeated(piece, bytes) + after;
        return () => run(text);
      });
      expect(result).toMatchObject({ isLinear: true });
    });
  });

  it.each(OTHERS)('%s', async (_name, prepare) => {
    expect(await growth(prepare)).toMatchObject({ isLinear: true });
  });
});

/** What a request costs from its first byte to its refusal, read in pieces of the given size. */
function wholeRequest(context: ProxyContext, text: string, pieceBytes: number): () => unknown {
  const bytes = Buffer.from(text, 'latin1');
  return () => {
    const socket = new ExplainSocket();
    const connection = new Connection(socket, '10.0.0.1', false, context, () => undefined);
    for (let at = 0; at < bytes.length; at += pieceBytes) socket.receive(bytes.subarray(at, at + pieceBytes));
    expect(socket.written).toMatch(/^HTTP\/1\.1 4\d\d /);
    connection.abort();
  };
}

describe('a whole request that is refused', () => {
  it.each([
    [
      'dots at the end of a segment',
      64 * 1024,
      (bytes: number) => `GET /a/v1/A${'.'.repeat(bytes)}x HTTP/1.1\r\nHost: a\r\n\r\n`,
    ],
    [
      'marks that would be sorted',
      64 * 1024,
      (bytes: number) => `GET /a/v1/A${repeated('%CC%81%CC%A7', bytes)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    ],
    [
      'segments',
      64 * 1024,
      (bytes: number) => `GET /a/v1${repeated('/A', bytes)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    ],
    [
      'names in Connection, and fields',
      64 * 1024,
      (bytes: number) =>
        `GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: ${repeated('b,', bytes / 2)}\r\n${repeated('c:\r\n', bytes / 2)}\r\n`,
    ],
    [
      'a head in reads of one byte',
      1,
      (bytes: number) => `GET /a/v1/x HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(bytes)}\r\n\r\n`,
    ],
    [
      'X-Forwarded-For of a trusted proxy',
      64 * 1024,
      (bytes: number) =>
        `GET /a/v1/x HTTP/1.1\r\nHost: a\r\n${repeated('X-Forwarded-For: 10.0.0.9\r\n', bytes)}\r\n`,
    ],
  ])('%s', async (_name, pieceBytes, requestOf) => {
    const endpoints = [
      { path: '/Admin', policy_override: { auth: { auth_type: 'none' as const } } },
      { path: '/x/{id}' },
    ];
    const policy = { auth: { auth_type: 'api_key' as const } };
    const proxy = await startProxy(oneRoute({ backendPort: 9, policy, endpoints }), {
      options: UNLIMITED,
      trustedProxies: ['10.0.0.0/8'],
    });
    const result = await growth((bytes) => wholeRequest(proxy.context, requestOf(bytes), pieceBytes));
    await proxy.close();
    expect(result).toMatchObject({ isLinear: true });
  });
});
