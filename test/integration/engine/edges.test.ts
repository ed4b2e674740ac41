/**
 * The ends of exchanges and connections where bytes are easily lost or sent twice: answers to clients that read
 * slowly or still upload, resets in the middle of a response, and defects of our own.
 */
import diagnostics from 'node:diagnostics_channel';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { ClientSocket } from '../../../src/proxy/downstream/client-socket.ts';
import { Connection } from '../../../src/proxy/downstream/connection.ts';
import { tcpClientSocket } from '../../../src/proxy/downstream/tcp-client-socket.ts';
import { startRawOrigin, type RawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';
import { untilHolds } from '../../support/measure/until.ts';

const closers = closeAfterEach();

async function proxyTo(port: number, options: TestProxyOptions = {}): Promise<TestProxy> {
  const proxy = await startProxy(oneRoute({ backendPort: port }), options);
  closers.push(() => proxy.close());
  return proxy;
}

async function rawOrigin(...args: Parameters<typeof startRawOrigin>): Promise<RawOrigin> {
  const origin = await startRawOrigin(...args);
  closers.push(() => origin.close());
  return origin;
}

/** A server as the listener's; gives its port. */
async function acceptWith(accept: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, accept);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Sockets that this process opens from now on, the gateway's among them. */
function watchSockets(name: 'net.client.socket'): Socket[] {
  const sockets: Socket[] = [];
  const onSocket = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
  diagnostics.subscribe(name, onSocket);
  closers.push(() => void diagnostics.unsubscribe(name, onSocket));
  return sockets;
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

describe('an answer is not lost', () => {
  it('when the client reads its end later than the connection would linger', async () => {
    let backend: Socket | undefined;
    const origin = await rawOrigin((socket) => void (backend = socket));
    let ended = false;
    const { context } = await proxyTo(origin.port, {
      observer: { exchangeEnded: () => void (ended = true) },
    });
    let downstream: ClientSocket | undefined;
    const port = await acceptWith((socket) => {
      downstream = tcpClientSocket(socket);
      context.deadlines.add(
        new Connection(downstream, '127.0.0.1', false, context, (gone) => context.deadlines.delete(gone)),
      );
    });
    const client = await connectRaw(port);
    client.socket.pause();
    client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await untilHolds(() => backend !== undefined, 'the request at the backend', 5_000);
    backend?.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    // Until the kernel takes no more, and the end of the response waits in the gateway.
    let sent = 0;
    while (downstream?.isFlushed === true) {
      backend?.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`);
      sent += 0x4000;
      await pause(1);
    }
    backend?.write('0\r\n\r\n');
    await untilHolds(() => ended, 'the end of the exchange', 5_000);
    expect(downstream?.isFlushed).toBe(false);
    await pause(2_500);
    client.socket.resume();
    expect((await client.response()).body).toHaveLength(sent);
    await client.closed();
  });

  it('when the client uploads much more, and reads only after a while', async () => {
    const proxy = await proxyTo(1);
    const client = await connectRaw(proxy.port);
    client.socket.pause();
    client.write(`POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 30000000\r\n\r\n`);
    client.write('x'.repeat(30_000_000));
    await pause(700);
    client.socket.resume();
    expect((await client.response()).status).toBe(404);
    client.end();
  });
});

describe('a backend that fails', () => {
  it.each([
    ['a part of a status line', 'HTTP/1.1 2'],
    ['a part of a head', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['an interim response', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'],
  ])('after %s is not asked again', async (_name, bytes) => {
    const origin = await rawOrigin((socket, received) => {
      if (received.split('\r\n\r\n').length === 2) socket.write(OK);
      else socket.end(bytes);
    });
    const proxy = await proxyTo(origin.port);
    expect((await sendRaw(proxy.port, GET)).body).toBe('ok');
    expect((await sendRaw(proxy.port, GET)).status).toBe(502);
    expect(origin.connections()).toBe(1);
  });

  it('in the middle of a body without a length resets the client, which cannot take it for complete', async () => {
    const origin = await rawOrigin((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n');
      setTimeout(() => socket.end(), 50);
    });
    const proxy = await proxyTo(origin.port);
    const client = await connectRaw(proxy.port);
    const errors: string[] = [];
    client.socket.on('error', (error: NodeJS.ErrnoException) => void errors.push(error.code ?? ''));
    client.write('GET /a/v1/x HTTP/1.0\r\n\r\n');
    await client.closed();
    expect(errors).toEqual(['ECONNRESET']);
  });

  it('to say 100 in time is what is at fault, not the client that waits for it', async () => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo(origin.port, { options: { idleTimeoutMs: 200 } });
    const response = await sendRaw(
      proxy.port,
      'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n',
    );
    expect(response.status).toBe(504);
    expect(proxy.failures).toEqual(['first_byte_timeout']);
  });

  it('to read what comes through a tunnel, and closes its side, leaves nothing behind', async () => {
    const opened = watchSockets('net.client.socket');
    let endBackend: (() => void) | undefined;
    const origin = await rawOrigin((socket) => {
      socket.pause();
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n');
      endBackend = (): void => void socket.end();
    });
    const proxy = await proxyTo(origin.port);
    const client = await connectRaw(proxy.port);
    client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n');
    await untilHolds(() => client.received().includes('101'), 'the switch', 5_000);
    client.write(Buffer.alloc(20_000_000));
    const upstream = opened.find((socket) => socket.remotePort === origin.port);
    await untilHolds(
      () => (upstream?.writableLength ?? 0) > 0,
      'bytes that the backend does not read',
      5_000,
    );
    endBackend?.();
    await untilHolds(() => upstream?.destroyed === true, 'the end of the connection to the backend', 5_000);
    expect(proxy.defects).toEqual([]);
    client.end();
  });
});

it('a response that a backend sends before it was asked answers no request', async () => {
  const sockets: Socket[] = [];
  const answer = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const origin = await rawOrigin((socket) => {
    if (!sockets.includes(socket)) sockets.push(socket);
    socket.write(answer('asked for'));
  });
  const proxy = await proxyTo(origin.port);
  const client = await connectRaw(proxy.port);
  client.write(GET);
  expect((await client.response()).body).toBe('asked for');
  // Both are there when the gateway, which runs in this thread, looks at its sockets next: first the request, which
  // takes the idle connection, then what the backend says on that.
  client.write(GET);
  sockets[0]?.write(answer('unasked'));
  expect((await client.response()).body).toBe('asked for');
  expect(sockets).toHaveLength(2);
});

describe('a defect of the gateway ends its exchange and nothing else', () => {
  const defect = new Error('a defect for the test');
  const observer = {
    upstreamFailed: () => {
      throw defect;
    },
  };

  it.each<[string, Parameters<typeof startRawOrigin>[0] | undefined]>([
    ['when a connection is refused', undefined],
    ['when a backend closes', (socket) => void socket.destroy()],
    ['when a deadline passes', () => undefined],
  ])('%s', async (_name, onData) => {
    const origin = await rawOrigin(onData ?? (() => undefined));
    if (onData === undefined) await origin.close();
    const proxy = await proxyTo(origin.port, { observer, options: { firstByteTimeoutMs: 100 } });
    const client = await connectRaw(proxy.port);
    client.write(GET);
    await client.closed();
    expect(proxy.defects).toContain(defect);
    expect((await sendRaw(proxy.port, 'GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n')).status).toBe(404);
    expect(proxy.listener.connectionCount).toBeLessThanOrEqual(1);
  });
});
