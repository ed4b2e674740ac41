/**
 * gRPC-Web from clients and backends that do not keep to it: Base64 and content types that are almost right, messages
 * that no server of gRPC takes, methods and versions of HTTP that no client of gRPC-Web uses.
 */
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import type { ExchangeView } from '../../../src/proxy/interfaces/exchange-view.ts';
import type { Policy } from '../../../src/policy/registry.ts';
import { startGrpcServer } from '../../support/backends/grpc-server.ts';
import { startFrameBackend, startHttp2Backend, type OnStream } from '../../support/backends/http2-backend.ts';
import { CA, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { END_STREAM, FRAME, headers as headersFrame } from '../../support/clients/http2-frames.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { oneRoute, startProxy, type RouteSetup } from '../../support/proxy.ts';

const closers = closeAfterEach();
const WEB = 'application/grpc-web+proto';
const TEXT = 'application/grpc-web-text+proto';
const PATH = '/a/v1/demo.Echo/Unary';

function message(bytes: string, flag = 0, length = Buffer.byteLength(bytes)): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(bytes)]);
}

async function proxyTo(port: number, policy: Policy = {}, revision: RouteSetup['revision'] = {}) {
  const ended: ExchangeView[] = [];
  const setup = { backendPort: port, revision: { backend_protocol: 'h2' as const, ...revision } };
  const proxy = await startProxy(oneRoute({ ...setup, policy: { grpc_web: true, ...policy } }), {
    observer: { exchangeEnded: (exchange) => void ended.push(exchange) },
  });
  closers.push(() => proxy.close());
  return { ...proxy, ended };
}

/** A backend of HTTP/2 that takes whatever it gets. */
async function proxyToTaker(policy?: Policy) {
  const seen = { types: [] as unknown[], bodies: [] as Buffer[] };
  const onStream: OnStream = (stream, _headers, raw) => {
    seen.types.push(raw.filter((_, index) => index % 2 === 1 && raw[index - 1] === 'content-type'));
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      seen.bodies.push(Buffer.concat(chunks));
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end();
    });
  };
  const backend = await startHttp2Backend(onStream);
  closers.push(() => backend.close());
  return { ...(await proxyTo(backend.port, policy)), seen };
}

async function proxyToEcho() {
  const { port, server } = await startGrpcServer();
  closers.push(() => server.forceShutdown());
  return proxyTo(port);
}

function post(lines: readonly string[], body: Buffer, version = '1.1'): Buffer {
  const fields = [...lines, `Content-Length: ${body.length}`].map((line) => `${line}\r\n`).join('');
  return Buffer.concat([Buffer.from(`POST ${PATH} HTTP/${version}\r\nHost: a\r\n${fields}\r\n`), body]);
}

it.each([
  ['padding that begins a quantum', '=AAA'],
  ['only padding', '===='],
  ['one character before the padding', 'A==='],
  ['a character behind the padding', 'AA=A'],
  ['three pads', 'AAAAA==='],
  ['a line break', 'AAAA\r\nAAAA'],
  ['the alphabet of URLs', 'AAAA-_AA'],
  ['a null', 'AAA\0'],
  ['a byte that is no ASCII', 'AAA\u00e9'],
])('Base64 with %s is refused', async (_what, text) => {
  const proxy = await proxyToTaker();
  const answer = await sendRaw(proxy.port, post([`Content-Type: ${TEXT}`], Buffer.from(text, 'latin1')));
  expect([answer.status, answer.headers['grpc-status']]).toEqual([200, '13']);
  expect(answer.headers['grpc-message']).toContain('Base64');
  expect(proxy.seen.bodies).toEqual([]);
  expect(proxy.defects).toEqual([]);
});

it.each([
  ['padded after each byte', 'AA==AA==AA==AA==BQ==aGVsbG8=', message('hello')],
  // RFC 4648 section 3.5 leaves it to the decoder.
  ['with bits behind the last byte', 'AAAAAAVoZWxsb0==', message('hello')],
  ['empty', '', Buffer.alloc(0)],
])('Base64 %s reaches the backend as its bytes', async (_what, text, expected) => {
  const proxy = await proxyToTaker();
  const answer = await sendRaw(proxy.port, post([`Content-Type: ${TEXT}`], Buffer.from(text)));
  expect(answer.status).toBe(200);
  expect(proxy.seen.bodies).toEqual([expected]);
});

it.each([
  ['a length of four GiB', message('abc', 0, 0xff_ff_ff_ff)],
  ['a message of trailers', message('grpc-status: 0\r\n', 0x80)],
  ['a flag of compression without one', message('abc', 1)],
  ['a flag that does not exist', message('abc', 0x7e)],
  ['half a message', message('abc').subarray(0, 6)],
  ['two messages for a call of one', Buffer.concat([message('a'), message('b')])],
])('%s is for the backend to refuse, and changes nothing for others', async (_what, body) => {
  const taker = await proxyToTaker();
  await sendRaw(taker.port, post([`Content-Type: ${WEB}`], body));
  expect(taker.seen.bodies).toEqual([body]);
  const echo = await proxyToEcho();
  const refused = await sendRaw(echo.port, post([`Content-Type: ${WEB}`, 'Grpc-Timeout: 5S'], body));
  expect(refused.status).toBe(200);
  const sound = await sendRaw(echo.port, post([`Content-Type: ${WEB}`], message('sound')));
  expect(sound.body).toContain('SOUND');
  expect(echo.defects).toEqual([]);
  expect(echo.breakerOf('rev-1').isClosed).toBe(true);
});

it.each([
  ['Application/GRPC-Web+Proto', ['application/grpc+Proto']],
  ['application/grpc-web ; charset=utf-8', ['application/grpc']],
  ['application/grpc-web+proto;a="b"', ['application/grpc+proto']],
  ['application/grpc-web+', ['application/grpc-web+']],
  ['application/grpc-webs', ['application/grpc-webs']],
  ['application/grpc-web-texts', ['application/grpc-web-texts']],
  ['application/grpc-web, text/plain', ['application/grpc-web, text/plain']],
  ['text/plain; a=application/grpc-web', ['text/plain; a=application/grpc-web']],
])('content-type %s goes to the backend as %j', async (type, expected) => {
  const proxy = await proxyToTaker();
  await sendRaw(proxy.port, post([`Content-Type: ${type}`], message('x')));
  expect(proxy.seen.types).toEqual([expected]);
});

it('HTTP/1.0 gets the whole answer without chunks, and its end', async () => {
  const proxy = await proxyToEcho();
  const answer = await sendRaw(proxy.port, post([`Content-Type: ${WEB}`], message('hello'), '1.0'));
  expect([answer.status, answer.headers['transfer-encoding']]).toEqual([200, undefined]);
  expect(answer.body.startsWith('\0\0\0\0\x05HELLO\x80')).toBe(true);
  expect(answer.body).toContain('grpc-status: 0\r\n');
});

it('trailers after the answer to a HEAD are not a body that would delay the next answer', async () => {
  const fields = [
    [':status', '200'],
    ['content-type', 'application/grpc'],
  ] as const;
  const backend = await startFrameBackend((connection, frame) => {
    if (frame.type !== FRAME.headers) return;
    connection.send(
      headersFrame(frame.stream, fields, 0),
      headersFrame(frame.stream, [['grpc-status', '0']], END_STREAM),
    );
  });
  closers.push(() => backend.close());
  const proxy = await proxyTo(backend.port);
  const client = await connectRaw(proxy.port);
  closers.push(async () => client.end());
  const head = `HEAD ${PATH} HTTP/1.1\r\nHost: a\r\nContent-Type: ${WEB}\r\n\r\n`;
  for (let count = 0; count < 2; count++) {
    client.write(head);
    expect((await client.response({ head: true })).status).toBe(200);
  }
  // Nothing stands behind either head.
  expect(client.received()).toMatch(/^(HTTP\/1\.1 200 OK\r\n(?:[^\r\n]+\r\n)+\r\n){2}$/);
});

it('a backend that chooses HTTP/1.1 gets the first and the next call unchanged', async () => {
  const seen: unknown[] = [];
  const server = https.createServer({ ...TLS_PAIR, ALPNProtocols: ['http/1.1'] }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      seen.push([request.headers['content-type'], Buffer.concat(chunks).toString('latin1')]);
      response.writeHead(415, { 'content-type': 'text/plain' }).end('no gRPC here');
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  const { port } = server.address() as AddressInfo;
  const revision = { backend_host: 'localhost', backend_protocol: 'auto', backend_tls: { ca: CA } } as const;
  const proxy = await proxyTo(port, {}, { ...revision, backend_scheme: 'https' });
  for (const [type, body] of [
    [WEB, message('hello')],
    [TEXT, Buffer.from(message('hello').toString('base64'))],
    // Not Base64: nothing here reads it as that.
    [TEXT, Buffer.from('!!!')],
  ] as const) {
    const { status, headers, body: text } = await sendRaw(proxy.port, post([`Content-Type: ${type}`], body));
    expect([status, headers['content-type'], text]).toEqual([415, 'text/plain', 'no gRPC here']);
    expect(seen.pop()).toEqual([type, body.toString('latin1')]);
  }
  expect(proxy.defects).toEqual([]);
});

it('a body that is too large in Base64 is refused as a call is', async () => {
  const proxy = await proxyToTaker({ max_body_bytes: 100 });
  const body = Buffer.from(message('x'.repeat(90)).toString('base64'));
  const answer = await sendRaw(proxy.port, post([`Content-Type: ${TEXT}`], body));
  expect([answer.status, answer.headers['grpc-status'], proxy.ended[0]?.status]).toEqual([200, '8', 413]);
});
