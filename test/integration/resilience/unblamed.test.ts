/**
 * What a client brings about is no failure of its backend: one client could otherwise open the breaker, and have
 * targets ejected, for all others (docs/reference/circuit-breaker.md).
 */
import { constants } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { startFrameBackend, startHttp2Backend, type OnStream } from '../../support/backends/http2-backend.ts';
import { startRawOrigin } from '../../support/backends/origin.ts';
import { connectHttp2, request, type Http2Client } from '../../support/clients/http2-client.ts';
import { FRAME, frame, headers, number32 } from '../../support/clients/http2-frames.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { PLACES_OF_EACH } from '../../support/three-targets.ts';

const closers = closeAfterEach();

/** More than the breaker and the ejection of targets allow by default. */
const TIMES = 6;

/** Of a call that gets its first message in time, also on a busy machine. */
const CALL_MS = 300;

interface Setup {
  readonly maxHeaderListSize?: number;
  readonly options?: TestProxyOptions['options'];
}

/** Clients and backend speak HTTP/2 without TLS. */
async function start(onStream: OnStream, { options = {}, ...settings }: Setup = {}) {
  const backend = await startHttp2Backend(onStream, { settings });
  closers.push(() => backend.close());
  return { backend, ...(await proxyTo(backend.port, options)) };
}

async function proxyTo(backendPort: number, options: TestProxyOptions['options'] = {}) {
  const revision = { backend_protocol: 'h2' } as const;
  const proxy = await startProxy(oneRoute({ backendPort, revision }), { h2c: true, options });
  closers.push(() => proxy.close());
  const client = await connectHttp2(proxy.port, { isPlain: true });
  closers.push(() => client.close());
  return { proxy, client };
}

const call = (fields: Readonly<Record<string, string>> = {}) => ({
  ':method': 'POST',
  ':path': '/a/v1/x',
  ':authority': 'localhost',
  'content-type': 'application/grpc',
  te: 'trailers',
  ...fields,
});

/** On a busy machine, `setTimeout` alone would count from before the call came. */
function notBefore(timeMs: number, act: () => void): void {
  const since = performance.now();
  const look = (): void => {
    if (performance.now() - since < timeMs) setTimeout(look, 1);
    else act();
  };
  setTimeout(look, timeMs);
}

function expectUnblamed(proxy: TestProxy): void {
  expect(proxy.breakerOf('rev-1').isPristine).toBe(true);
  expect(proxy.defects).toEqual([]);
}

describe('a backend that resets a call when its time is over', () => {
  it('has not failed: the call has run out of its time', async () => {
    const { proxy, client } = await start((stream, fields) => {
      const timeMs = Number.parseInt(String(fields['grpc-timeout']));
      notBefore(timeMs, () => stream.close(constants.NGHTTP2_CANCEL));
    });
    for (let time = 0; time < TIMES; time++) {
      const sent = await request(client, call({ 'grpc-timeout': '5m' }), { body: Buffer.from('x') });
      expect(sent.headers).toMatchObject({ ':status': 200, 'grpc-status': '4' });
    }
    expectUnblamed(proxy);
  });

  it('has not failed in the middle of its messages either', async () => {
    // Node's server would end the stream in an orderly way first.
    const backend = await startFrameBackend((connection, { type, stream, payload }) => {
      // A connection whose calls have run out of their time is asked whether it lives.
      if (type === FRAME.ping) return connection.send(frame(FRAME.ping, 1, 0, payload));
      if (type !== FRAME.headers) return;
      const data = frame(FRAME.data, 0, stream, Buffer.from('hello'));
      connection.send(headers(stream, [[':status', '200']], 0), data);
      const reset = frame(FRAME.rstStream, 0, stream, number32(constants.NGHTTP2_CANCEL));
      notBefore(CALL_MS, () => connection.send(reset));
    });
    closers.push(() => backend.close());
    const { proxy, client } = await proxyTo(backend.port);
    for (let time = 0; time < TIMES; time++) {
      const sent = await request(client, call({ 'grpc-timeout': `${CALL_MS}m` }), { body: Buffer.from('x') });
      expect(sent.body.toString()).toBe('hello');
      expect(sent.code).not.toBe(0);
    }
    expectUnblamed(proxy);
  });

  it('has failed while there is time left', async () => {
    const { proxy, client } = await start((stream) => stream.close(constants.NGHTTP2_CANCEL));
    const sent = await request(client, call({ 'grpc-timeout': '5S' }), { body: Buffer.from('x') });
    expect(sent.headers['grpc-status']).toBe('14');
    expect(proxy.breakerOf('rev-1').status.failures).toBe(1);
  });
});

describe('a client that stops sending in the middle of a conversation', () => {
  const SILENT = { options: { idleTimeoutMs: 200 } };

  it('ends its exchange over HTTP/1.1, and no more', async () => {
    const origin = await startRawOrigin((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n');
    });
    closers.push(() => origin.close());
    const proxy = await startProxy(oneRoute({ backendPort: origin.port }), SILENT);
    closers.push(() => proxy.close());
    const clients = await Promise.all(Array.from({ length: TIMES }, () => connectRaw(proxy.port)));
    for (const client of clients)
      client.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    await Promise.all(clients.map((client) => client.closed(5_000)));
    expect(clients.map((client) => client.received().includes('hello'))).not.toContain(false);
    expectUnblamed(proxy);
  });

  it('ends its stream over HTTP/2, and no more', async () => {
    const { proxy, client } = await start((stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      stream.write('hello');
    }, SILENT);
    const codes = await Promise.all(Array.from({ length: TIMES }, () => codeOfSilent(client)));
    expect(codes).not.toContain(0);
    expectUnblamed(proxy);
  });

  function codeOfSilent({ session }: Http2Client): Promise<number> {
    const stream = session.request(call());
    stream.on('error', () => undefined).resume();
    stream.write('a message');
    return new Promise((done) => stream.once('close', () => done(stream.rstCode ?? 0)));
  }
});

describe('a head that is longer than an HTTP/2 backend says that it takes', () => {
  const LIMITED = { maxHeaderListSize: 8_192 };
  const answer: OnStream = (stream) => {
    stream.on('trailers', () => undefined);
    stream.respond({ ':status': 200 });
    stream.resume().on('end', () => stream.end('fine'));
  };
  const get = { ':path': '/a/v1/x', ':authority': 'localhost' };

  it('is 431, which the backend does not see', async () => {
    const { proxy, client, backend } = await start(answer, LIMITED);
    expect((await request(client, get)).status).toBe(200);
    for (let time = 0; time < TIMES; time++) {
      const { status, body } = await request(client, { ...get, 'x-long': 'x'.repeat(9_000) });
      expect(status).toBe(431);
      expect(JSON.parse(body.toString())).toMatchObject({ code: 'header_too_large' });
    }
    // Many short fields count for more than their bytes.
    const short = Array.from({ length: 90 }, (_none, index) => [`x-${index}`, 'x'.repeat(60)]);
    expect((await request(client, { ...get, ...Object.fromEntries(short) })).status).toBe(431);
    expect((await request(client, { ...get, 'x-long': 'x'.repeat(7_000) })).status).toBe(200);
    expect(backend.connections()).toBeLessThanOrEqual(PLACES_OF_EACH);
    expectUnblamed(proxy);
  });

  it('does not matter for trailers, which are dropped', async () => {
    const { proxy, client } = await start(answer, { maxHeaderListSize: 4_096 });
    for (let time = 0; time < TIMES; time++) {
      const trailers = { 'x-long': 'x'.repeat(5_000) };
      const sent = await request(client, { ...get, ':method': 'POST' }, { body: Buffer.from('x'), trailers });
      expect([sent.status, sent.body.toString()]).toEqual([200, 'fine']);
    }
    expectUnblamed(proxy);
  });
});
