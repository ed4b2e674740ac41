/** How connections of HTTP/2 begin and end: ALPN, the setting, keep-alive, drain, and clients that just go. */
import * as http2 from 'node:http2';
import * as tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { CA, connectHttp2, request, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { connectFrames, FRAME, frame, GET, headers, number32 } from '../../support/clients/http2-frames.ts';
import { startOrigin, startRawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { steadily } from '../../support/measure/steady.ts';

const closers = closeAfterEach();

async function setUp(options: TestProxyOptions = {}, backendPort?: number) {
  const origin = await startOrigin();
  closers.push(() => origin.close());
  const route = oneRoute({ backendPort: backendPort ?? origin.port });
  const proxy = await startProxy(route, { tls: TLS_PAIR, ...options });
  closers.push(() => proxy.close());
  return proxy;
}

/** Answers each request after `delayMs`. */
async function slowOrigin(delayMs: number) {
  const origin = await startRawOrigin((socket, received) => {
    if (received.endsWith('\r\n\r\n'))
      setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate'), delayMs);
  });
  closers.push(() => origin.close());
  return origin;
}

/** The protocol that a client gets that offers `offered`; false for none, an error's code when it is refused. */
function negotiated(port: number, offered: readonly string[]): Promise<string | false | null> {
  return new Promise((done) => {
    const socket = tls.connect({
      port,
      host: '127.0.0.1',
      servername: 'localhost',
      ca: CA,
      ...(offered.length === 0 ? {} : { ALPNProtocols: [...offered] }),
    });
    socket.on('error', (error: NodeJS.ErrnoException) => done(error.code ?? 'error'));
    socket.on('secureConnect', () => {
      done(socket.alpnProtocol);
      socket.destroy();
    });
  });
}

describe('the protocol', () => {
  it.each<[readonly string[], boolean, string | false]>([
    [['h2', 'http/1.1'], true, 'h2'],
    [['http/1.1', 'h2'], true, 'h2'],
    [['http/1.1'], true, 'http/1.1'],
    [[], true, false],
    [['h2', 'http/1.1'], false, 'http/1.1'],
    [['h2'], false, 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'],
    [['spdy/3'], true, 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'],
  ])('of a client that offers %j, HTTP/2 being %j, is %j', async (offered, isOn, expected) => {
    const proxy = await setUp({ http2: isOn });
    expect(await negotiated(proxy.port, offered)).toBe(expected);
  });

  it('is not HTTP/2 without TLS', async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const proxy = await startProxy(oneRoute({ backendPort: origin.port }));
    closers.push(() => proxy.close());
    const session = http2.connect(`http://127.0.0.1:${proxy.port}`);
    const ended = new Promise((done) => session.once('close', done));
    session.on('error', () => undefined);
    session.request({ ':path': '/a/v1/x' }).on('error', () => undefined);
    await ended;
    expect(origin.seen).toEqual([]);
  });
});

describe('an idle connection', () => {
  it('gets GOAWAY after the keep-alive time', async () => {
    const proxy = await setUp({ options: { keepaliveTimeoutMs: 200 } });
    const client = await connectHttp2(proxy.port);
    closers.push(() => client.close());
    let goaway = -1;
    client.session.on('goaway', (code) => (goaway = code));
    expect((await request(client, { ':path': '/a/v1/x' })).status).toBe(200);
    await untilHolds(() => client.session.destroyed, 'the client is told');
    expect(goaway).toBe(0);
    await untilHolds(() => proxy.listener.connectionCount === 0, 'the gateway forgets it');
  });

  it(
    'stays while a stream is open, however long that takes',
    steadily(async () => {
      const origin = await slowOrigin(700);
      const proxy = await setUp({ options: { keepaliveTimeoutMs: 100, headTimeoutMs: 100 } }, origin.port);
      const client = await connectHttp2(proxy.port);
      closers.push(() => client.close());
      expect((await request(client, { ':path': '/a/v1/x' })).body.toString()).toBe('late');
    }),
  );

  it('that a client closes, or tears down, is forgotten', async () => {
    const proxy = await setUp();
    const polite = await connectHttp2(proxy.port);
    expect((await request(polite, { ':path': '/a/v1/x' })).status).toBe(200);
    polite.session.close();
    await untilHolds(() => proxy.listener.connectionCount === 0, 'the polite one is gone');
    const rude = await connectFrames(proxy.port);
    rude.send(headers(1, GET));
    await rude.next(({ type }) => type === FRAME.headers, 'an answer');
    rude.socket.destroy();
    await untilHolds(() => proxy.listener.connectionCount === 0, 'the rude one is gone');
    expect(proxy.defects).toEqual([]);
  });

  it('that ends its half is not kept', async () => {
    const proxy = await setUp();
    const client = await connectFrames(proxy.port);
    client.socket.end();
    await untilHolds(() => proxy.listener.connectionCount === 0, 'it is gone');
    expect(proxy.defects).toEqual([]);
    client.close();
  });
});

describe('a drain', () => {
  it(
    'serves running streams, says with GOAWAY which streams it no longer serves, and ends',
    steadily(async () => {
      const origin = await slowOrigin(1_500);
      const proxy = await setUp({}, origin.port);
      const client = await connectFrames(proxy.port);
      closers.push(() => client.close());
      client.send(headers(1, GET));
      await untilHolds(() => origin.received.length === 1, 'the request is under way');
      proxy.startDraining();
      let drained = false;
      const drain = proxy.listener.drain(20_000).then(() => (drained = true));
      // A client has some time yet in which it need not know.
      client.send(headers(3, GET));
      await untilHolds(
        () => origin.received.join('').split('GET ').length === 3,
        'the late one is served too',
      );
      const goaway = await client.next(({ type }) => type === FRAME.goaway, 'GOAWAY');
      expect([goaway.payload.readUInt32BE(0), goaway.payload.readUInt32BE(4)], 'last stream, code').toEqual([
        3, 0,
      ]);
      client.send(headers(5, GET));
      expect(drained, 'streams are still open').toBe(false);
      for (const id of [1, 3]) {
        const data = await client.next(
          ({ type, stream }) => type === FRAME.data && stream === id,
          `body ${id}`,
        );
        expect(data.payload.toString()).toBe('late');
      }
      await drain;
      expect(await client.ended()).toBe(0);
      expect(
        origin.received.join('').split('GET '),
        'what came after GOAWAY may be sent elsewhere',
      ).toHaveLength(3);
    }),
  );

  it('cuts streams that do not end in time, without an end that looks whole', async () => {
    const origin = await startRawOrigin((socket, received) => {
      if (received.endsWith('\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na part');
    });
    closers.push(() => origin.close());
    const proxy = await setUp({}, origin.port);
    const client = await connectFrames(proxy.port);
    closers.push(() => client.close());
    client.send(headers(1, GET));
    await client.next(({ type, stream }) => type === FRAME.data && stream === 1, 'a part');
    proxy.startDraining();
    await proxy.listener.drain(200);
    await client.ended();
    const ends = client
      .frames()
      .filter(({ type, flags, stream }) => type === 0 && stream === 1 && (flags & 1) === 1);
    expect(ends).toEqual([]);
  });

  it('does not leave open a connection that a client holds', async () => {
    const proxy = await setUp();
    const client = await connectFrames(proxy.port);
    closers.push(() => client.close());
    client.send(frame(FRAME.windowUpdate, 0, 0, number32(1000)));
    proxy.startDraining();
    await proxy.listener.drain(10_000);
    expect(proxy.listener.connectionCount).toBe(0);
  });
});
