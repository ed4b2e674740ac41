/**
 * gRPC-Web translated to gRPC: servers of grpc-js and of frames, clients of HTTP/1.1 and HTTP/2 that write the bytes
 * themselves.
 */
import * as http from 'node:http';
import { describe, expect, it } from 'vitest';
import type { ExchangeView } from '../../../src/proxy/interfaces/exchange-view.ts';
import type { Policy } from '../../../src/policy/registry.ts';
import { startGrpcServer } from '../../support/backends/grpc-server.ts';
import { startHttp2Backend, type OnStream } from '../../support/backends/http2-backend.ts';
import { startOrigin } from '../../support/backends/origin.ts';
import { connectHttp2, request as requestHttp2 } from '../../support/clients/http2-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';

const closers = closeAfterEach();
const GRPC = { ':status': 200, 'content-type': 'application/grpc' };
const WEB = 'application/grpc-web+proto';
const TEXT = 'application/grpc-web-text+proto';

const framed = (text: string, flag = 0): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
};

async function proxyTo(port: number, policy: Policy = {}, protocol: 'h2' | 'http1' = 'h2') {
  const ended: ExchangeView[] = [];
  const setup = { backendPort: port, revision: { backend_protocol: protocol } as const };
  const proxy = await startProxy(oneRoute({ ...setup, policy: { grpc_web: true, ...policy } }), {
    h2c: true,
    observer: { exchangeEnded: (exchange) => void ended.push(exchange) },
  });
  closers.push(() => proxy.close());
  return { ...proxy, ended };
}

async function proxyToEcho(policy?: Policy) {
  const { port, server } = await startGrpcServer();
  closers.push(() => server.forceShutdown());
  return proxyTo(port, policy);
}

async function proxyToFrames(onStream: OnStream, policy?: Policy) {
  const backend = await startHttp2Backend(onStream);
  closers.push(() => backend.close());
  return proxyTo(backend.port, policy);
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly messages: readonly string[];
  /** Of the last message, by name; undefined: there is none. */
  readonly trailers: Readonly<Record<string, string>> | undefined;
  /** The response did not end. */
  readonly isCut: boolean;
}

function answerOf(status: number, headers: Answer['headers'], body: Buffer, isCut: boolean): Answer {
  const isText = String(headers['content-type']).startsWith('application/grpc-web-text');
  const quanta = body.toString('latin1').match(/.{4}/gs) ?? [];
  let rest = isText ? Buffer.concat(quanta.map((quantum) => Buffer.from(quantum, 'base64'))) : body;
  const messages: string[] = [];
  let trailers: Record<string, string> | undefined;
  while (rest.length >= 5 && String(headers['content-type']).startsWith('application/grpc-web')) {
    const end = 5 + rest.readUInt32BE(1);
    const text = rest.subarray(5, end).toString();
    if (rest[0] === 0x80)
      trailers = Object.fromEntries(
        text
          .split('\r\n')
          .filter(Boolean)
          .map((line) => line.split(': ')),
      );
    else messages.push(text);
    rest = rest.subarray(end);
  }
  return { status, headers, messages, trailers, isCut };
}

interface Call {
  readonly method?: string;
  readonly type?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: Buffer;
  /** The body goes out in pieces of this size, without a length. */
  readonly pieceBytes?: number;
}

async function overHttp1(port: number, call: Call): Promise<Answer> {
  const { method = 'Unary', type = WEB, headers = {}, body = framed('hello'), pieceBytes } = call;
  const sent = http.request({
    port,
    method: 'POST',
    path: `/a/v1/demo.Echo/${method}`,
    headers: {
      'content-type': type,
      'x-grpc-web': '1',
      ...headers,
      ...(pieceBytes === undefined && { 'content-length': body.length }),
    },
  });
  const response = new Promise<http.IncomingMessage>((done, fail) => {
    sent.once('response', done);
    sent.once('error', fail);
  });
  for (let from = 0; pieceBytes !== undefined && from < body.length; from += pieceBytes) {
    sent.write(body.subarray(from, from + pieceBytes));
    await new Promise((done) => setImmediate(done));
  }
  sent.end(pieceBytes === undefined ? body : undefined);
  const received = await response;
  const chunks: Buffer[] = [];
  received.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise((done) => received.on('error', done).once('close', done));
  const { statusCode = 0, headers: fields, complete } = received;
  return answerOf(statusCode, fields, Buffer.concat(chunks), !complete);
}

async function overHttp2(port: number, call: Call): Promise<Answer> {
  const { method = 'Unary', type = WEB, headers = {}, body = framed('hello'), pieceBytes } = call;
  const client = await connectHttp2(port, { isPlain: true });
  const path = `/a/v1/demo.Echo/${method}`;
  const fields = { ':method': 'POST', ':path': path, 'content-type': type, 'x-grpc-web': '1', ...headers };
  const pieces = pieceBytes === undefined ? {} : { pieceBytes };
  const response = await requestHttp2(client, fields, { body, ...pieces });
  await client.close();
  expect(response.trailers, 'no client of gRPC-Web reads them').toEqual({});
  return answerOf(response.status, response.headers, response.body, response.code !== 0);
}

const base64 = (bytes: Buffer): Buffer => Buffer.from(bytes.toString('base64'));

describe.each([
  ['HTTP/1.1', overHttp1],
  ['HTTP/2', overHttp2],
])('a client of %s', (_protocol, call) => {
  it.each([
    ['in binary', WEB, {}, WEB],
    ['in Base64', TEXT, {}, TEXT],
    ['in binary, answered in Base64', WEB, { accept: 'application/grpc-web-text' }, TEXT],
    ['without a kind of message', 'application/grpc-web', {}, WEB],
  ])('makes a call %s', async (_form, type, headers, answeredIn) => {
    const proxy = await proxyToEcho();
    const body = type === TEXT ? base64(framed('hello')) : framed('hello');
    const answer = await call(proxy.port, { type, headers: { ...headers, 'x-own': 'mine' }, body });
    expect(answer).toMatchObject({
      status: 200,
      messages: ['HELLO'],
      trailers: { 'grpc-status': '0', 'x-end': 'of call', 'x-bytes-bin': 'AAH/' },
      isCut: false,
    });
    expect(answer.headers).toMatchObject({ 'content-type': answeredIn, 'x-seen': 'mine' });
    expect(answer.headers['trailer']).toBeUndefined();
    expect(proxy.ended[0]).toMatchObject({ status: 200, upstreamProtocol: 'HTTP/2' });
  });

  it.each([1, 2, 3, 5, 7, 1_000])(
    'sends Base64 in pieces of %d, padded in the middle',
    async (pieceBytes) => {
      const proxy = await proxyToEcho();
      const bytes = framed('h\u00e9llo'.repeat(20));
      const cut = [bytes.subarray(0, 1), bytes.subarray(1, 12), bytes.subarray(12)];
      const body = Buffer.concat(cut.map(base64));
      const answer = await call(proxy.port, { type: TEXT, body, pieceBytes });
      expect(answer).toMatchObject({ messages: ['H\u00c9LLO'.repeat(20)], trailers: { 'grpc-status': '0' } });
    },
  );

  it.each([WEB, TEXT])('gets a stream of messages (%s)', async (type) => {
    const proxy = await proxyToEcho();
    const body = type === TEXT ? base64(framed('500')) : framed('500');
    const answer = await call(proxy.port, { method: 'Count', type, body });
    expect(answer.messages).toEqual(Array.from({ length: 500 }, (_, index) => String(index)));
    expect(answer.trailers).toEqual({ 'grpc-status': '0', 'grpc-message': 'OK' });
  });

  it('gets the errors of the backend', async () => {
    const proxy = await proxyToEcho();
    const failed = await call(proxy.port, { headers: { 'x-fail': '7' } });
    const statusOf = ({ headers, trailers }: Answer) => trailers?.['grpc-status'] ?? headers['grpc-status'];
    expect([failed.status, statusOf(failed)]).toEqual([200, '7']);
    const missing = await call(proxy.port, { method: 'Missing' });
    expect([missing.status, statusOf(missing), missing.messages]).toEqual([200, '12', []]);
  });

  it.each<[string, Policy, Call, string, RegExp]>([
    ['an unknown key', { auth: { auth_type: 'api_key', required: true } }, {}, '16', /./],
    ['a rate limit', { rate_limit: { enabled: true, requests: 0, window_seconds: 60 } }, {}, '8', /./],
    ['junk', {}, { type: TEXT, body: Buffer.from('AAAA!AAA') }, '13', /Base64/],
    ['cut Base64', {}, { type: TEXT, body: base64(framed('hello')).subarray(0, -1) }, '13', /Base64/],
    ['junk in pieces', {}, { type: TEXT, body: Buffer.from('AAAA!AAA'), pieceBytes: 3 }, '13', /Base64/],
    ['cut Base64 in pieces', {}, { type: TEXT, body: Buffer.from('AAAAAA'), pieceBytes: 3 }, '13', /Base64/],
  ])('gets errors of the gateway in its form: %s', async (_what, policy, sent, code, words) => {
    const proxy = await proxyToEcho(policy);
    const { status, headers, isCut } = await call(proxy.port, sent);
    expect([status, headers['grpc-status'], headers['content-type'], isCut]).toEqual([
      200,
      code,
      sent.type ?? WEB,
      false,
    ]);
    expect(String(headers['grpc-message'])).toMatch(words);
    expect(proxy.ended[0]?.status, 'in the log').toBeGreaterThanOrEqual(400);
    expect(proxy.breakerOf('rev-1').isClosed).toBe(true);
    expect(proxy.defects).toEqual([]);
  });

  it('gets an error when its own time is over', async () => {
    const proxy = await proxyToFrames(() => undefined);
    const answer = await call(proxy.port, { headers: { 'grpc-timeout': '200m' } });
    expect([answer.status, answer.headers['grpc-status']]).toEqual([200, '4']);
    expect(proxy.ended[0]?.status, 'in the log').toBe(504);
    expect(proxy.breakerOf('rev-1').isPristine).toBe(true);
  });

  it('sees that a call was cut in the middle', async () => {
    const proxy = await proxyToFrames((stream) => {
      stream.respond(GRPC, { waitForTrailers: true });
      stream.write(framed('one'));
      setTimeout(() => stream.close(2), 100);
    });
    const answer = await call(proxy.port, {}).catch(() => undefined);
    expect([answer?.trailers, answer?.isCut ?? true]).toEqual([undefined, true]);
    expect(proxy.ended[0]?.isAborted).toBe(true);
  });

  it('gets a response that is not gRPC unchanged', async () => {
    const proxy = await proxyToFrames((stream) => {
      stream.respond({ ':status': 404, 'content-type': 'text/html' });
      stream.end('<p>no</p>');
    });
    const answer = await call(proxy.port, { type: TEXT, body: base64(framed('x')) });
    expect([answer.status, answer.headers['content-type']]).toEqual([404, 'text/html']);
  });
});

describe('what the backend gets', () => {
  it.each([
    [WEB, 'application/grpc+proto', '10'],
    [TEXT, 'application/grpc+proto', undefined],
    ['application/grpc-web', 'application/grpc', '10'],
  ])('for %s', async (type, contentType, length) => {
    const seen: Record<string, unknown>[] = [];
    const bodies: Buffer[] = [];
    const proxy = await proxyToFrames((stream, headers) => {
      seen.push({ ...headers });
      stream.on('data', (bytes: Buffer) => bodies.push(bytes));
      stream.on('end', () => stream.respond({ ...GRPC, 'grpc-status': '0' }, { endStream: true }));
    });
    const body = type === TEXT ? base64(framed('hello')) : framed('hello');
    const answer = await overHttp1(proxy.port, { type, body });
    expect(answer.headers['grpc-status']).toBe('0');
    expect(seen[0]).toMatchObject({ ':method': 'POST', 'content-type': contentType, te: 'trailers' });
    expect(seen[0]?.['content-length']).toBe(length);
    expect(Buffer.concat(bodies)).toEqual(framed('hello'));
  });

  it('is never a whole request that is not Base64', async () => {
    let ended = 0;
    const codes: (number | undefined)[] = [];
    const proxy = await proxyToFrames((stream) => {
      stream.on('end', () => void (ended += stream.rstCode === 0 && !stream.aborted ? 1 : 0));
      stream.on('close', () => codes.push(stream.rstCode));
      stream.resume();
    });
    const body = Buffer.concat([base64(framed('a'.repeat(90_000))), Buffer.from('A')]);
    const answer = await overHttp1(proxy.port, { type: TEXT, body, pieceBytes: 30_000 });
    expect(answer.headers['grpc-status']).toBe('13');
    await untilHolds(() => codes.length === 1, 'the backend is told');
    expect([ended, codes[0]]).toEqual([0, 8]);
  });

  it('without the policy, or over HTTP/1.1, is what the client sent', async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const old = await proxyTo(origin.port, {}, 'http1');
    expect((await overHttp1(old.port, {})).status).toBe(200);
    expect(origin.seen[0]?.headers['content-type']).toBe(WEB);
    const types: unknown[] = [];
    const off = await proxyToFrames(
      (stream, headers) => {
        types.push(headers['content-type']);
        stream.respond({ ':status': 200, 'content-type': WEB }, { endStream: true });
      },
      { grpc_web: false },
    );
    await overHttp1(off.port, {});
    expect(types).toEqual([WEB]);
  });
});

describe('a stream from the backend', () => {
  it.each([WEB, TEXT])('reaches the client message by message (%s)', async (type) => {
    let sendNext = (): void => undefined;
    const proxy = await proxyToFrames((stream) => {
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      let count = 0;
      sendNext = () => void (count < 5 ? stream.write(framed(`m${count++}`)) : stream.end());
      sendNext();
    });
    const sent = http.request({ port: proxy.port, method: 'POST', path: '/a/v1/demo.Echo/Count' });
    sent.setHeader('content-type', type);
    sent.end(type === TEXT ? base64(framed('')) : framed(''));
    const response = await new Promise<http.IncomingMessage>((done) => sent.once('response', done));
    const pieces: Buffer[] = [];
    // Each message is waited for before the backend sends the next one.
    response.on('data', (bytes: Buffer) => {
      pieces.push(bytes);
      setImmediate(sendNext);
    });
    await new Promise((done) => response.once('end', done));
    const answer = answerOf(200, response.headers, Buffer.concat(pieces), false);
    expect(answer).toMatchObject({
      messages: ['m0', 'm1', 'm2', 'm3', 'm4'],
      trailers: { 'grpc-status': '0' },
    });
  });

  it.each([WEB, TEXT])('waits for a client that does not read, and ends with it (%s)', async (type) => {
    let written = 0;
    let isGone = false;
    const proxy = await proxyToFrames((stream) => {
      stream.respond(GRPC);
      stream.on('close', () => (isGone = true));
      const message = framed('x'.repeat(60_000));
      const pump = (): void => {
        while (!stream.destroyed && stream.write(message)) written += message.length;
      };
      stream.on('drain', pump);
      pump();
    });
    const sent = http.request({ port: proxy.port, method: 'POST', path: '/a/v1/demo.Echo/Count' });
    sent.on('error', () => undefined);
    sent.setHeader('content-type', type);
    sent.end(type === TEXT ? base64(framed('')) : framed(''));
    const response = await new Promise<http.IncomingMessage>((done) => sent.once('response', done));
    response.pause();
    let before = -1;
    await untilHolds(() => {
      const isStill = written === before;
      before = written;
      return isStill && written > 0;
    }, 'the backend stands still');
    expect(written).toBeLessThan(32 * 1024 * 1024);
    sent.destroy();
    await untilHolds(() => isGone && proxy.ended.length === 1, 'the backend is told');
    expect(proxy.defects).toEqual([]);
  });
});

it('pages of other origins may make calls, and read how they ended', async () => {
  const origin = 'https://page.test';
  const cors = { allowed_origins: [origin], allowed_headers: ['Authorization'], expose_headers: ['X-Seen'] };
  const proxy = await proxyToEcho({ cors });
  const preflight = await new Promise<http.IncomingMessage>((done) =>
    http
      .request(
        {
          port: proxy.port,
          method: 'OPTIONS',
          path: '/a/v1/demo.Echo/Unary',
          headers: {
            origin,
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'content-type,x-grpc-web,x-user-agent,grpc-timeout',
          },
        },
        done,
      )
      .end(),
  );
  expect(preflight.statusCode).toBe(204);
  expect(preflight.headers['access-control-allow-headers']).toBe(
    'Authorization, Content-Type, X-Grpc-Web, X-User-Agent, Grpc-Timeout',
  );
  const { headers } = await overHttp1(proxy.port, { headers: { origin } });
  expect(headers).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'X-Seen, Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin',
  });
});

it('trailers obey the edits of the policy', async () => {
  const headers: Policy['headers'] = {
    response: { remove: ['X-End'], rename: { 'X-Bytes-Bin': 'X-Other-Bin' } },
  };
  const proxy = await proxyToEcho({ headers });
  const { trailers } = await overHttp1(proxy.port, {});
  expect(trailers).toEqual({ 'grpc-status': '0', 'grpc-message': 'OK', 'x-other-bin': 'AAH/' });
});
