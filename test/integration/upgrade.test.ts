/** WebSocket and other upgrades (RFC 9110 section 7.8, RFC 6455), with a client and a server that we did not write. */
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { startRawOrigin } from '../support/origin.ts';
import { oneRoute, startProxy, type RouteSetup, type TestProxyOptions } from '../support/proxy.ts';
import { connectRaw, sendRaw } from '../support/raw-client.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function proxyTo(setup: RouteSetup, options: TestProxyOptions = {}) {
  const proxy = await startProxy(oneRoute(setup), options);
  closers.push(() => proxy.close());
  return proxy;
}

/** Echoes every message; `seen` has the handshakes. */
async function echoServer() {
  const server = http.createServer((_request, response) => response.end('plain'));
  const sockets = new WebSocketServer({ server, maxPayload: 128 * 1024 * 1024 });
  const seen: http.IncomingHttpHeaders[] = [];
  sockets.on('connection', (socket, request) => {
    seen.push(request.headers);
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return { port: (server.address() as AddressInfo).port, seen, sockets };
}

const HANDSHAKE =
  'GET /a/v1/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

describe('WebSocket', () => {
  it('carries messages both ways and closes cleanly, with the code of the other side', async () => {
    const echo = await echoServer();
    const proxy = await proxyTo({ backendPort: echo.port });
    const client = new WebSocket(`ws://127.0.0.1:${proxy.port}/a/v1/ws?x=1`, {
      headers: { 'x-headgate-key-id': 'forged' },
    });
    await once(client, 'open');
    for (const text of ['one', 'two', 'x'.repeat(100_000)]) {
      client.send(text);
      const [data] = await once(client, 'message');
      expect(String(data)).toBe(text);
    }
    for (const socket of echo.sockets.clients) socket.close(4001, 'enough');
    const [code, reason] = await once(client, 'close');
    expect([code, String(reason)]).toEqual([4001, 'enough']);
    expect(echo.seen[0]?.['x-forwarded-for']).toBe('127.0.0.1');
    expect(echo.seen[0]?.['x-headgate-key-id']).toBeUndefined();
    expect(proxy.defects).toEqual([]);
  });

  it('carries messages of 64 MiB', async () => {
    const echo = await echoServer();
    const proxy = await proxyTo({ backendPort: echo.port });
    const client = new WebSocket(`ws://127.0.0.1:${proxy.port}/a/v1/ws`, { maxPayload: 128 * 1024 * 1024 });
    await once(client, 'open');
    const message = Buffer.alloc(64 * 1024 * 1024, 'headgate');
    client.send(message);
    const [data] = (await once(client, 'message')) as [Buffer];
    expect(data.equals(message)).toBe(true);
    client.terminate();
  });

  it('lets the policy decide on the handshake', async () => {
    const echo = await echoServer();
    const proxy = await proxyTo({ backendPort: echo.port, policy: { auth: { auth_type: 'api_key' } } });
    const response = await sendRaw(proxy.port, HANDSHAKE);
    expect(response.status).toBe(401);
    expect(echo.seen).toEqual([]);
  });

  it('ends a tunnel in which both sides are silent', async () => {
    const echo = await echoServer();
    const proxy = await proxyTo({ backendPort: echo.port }, { options: { idleTimeoutMs: 200 } });
    const client = new WebSocket(`ws://127.0.0.1:${proxy.port}/a/v1/ws`);
    await once(client, 'open');
    const [code] = await once(client, 'close');
    expect(code).toBe(1006);
  });

  it('takes the backend along when the client goes away', async () => {
    const echo = await echoServer();
    const proxy = await proxyTo({ backendPort: echo.port });
    const client = new WebSocket(`ws://127.0.0.1:${proxy.port}/a/v1/ws`);
    await once(client, 'open');
    const [socket] = echo.sockets.clients;
    if (socket === undefined) throw new Error('the backend has no connection');
    const closed = once(socket, 'close');
    client.terminate();
    expect((await closed)[0]).toBe(1006);
  });
});

describe('upgrades in general', () => {
  it('carry any protocol, and what was sent too early arrives after the 101', async () => {
    const origin = await startRawOrigin((socket, received) => {
      if (socket.bytesWritten === 0)
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat/2\r\n\r\nhello ',
        );
      if (received.endsWith('early')) socket.end('bye');
    });
    closers.push(() => origin.close());
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectRaw(proxy.port);
    client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: chat/2\r\n\r\nearly');
    await client.closed();
    expect(client.received()).toMatch(/^HTTP\/1\.1 101 [^]*Upgrade: chat\/2\r\n\r\nhello bye$/);
    expect(origin.received[0]).toMatch(/Connection: Upgrade\r\nUpgrade: chat\/2\r\n\r\nearly$/);
    client.end();
  });

  it('are not carried before the backend has switched: a refusal closes, and nothing more is read as a request', async () => {
    const origin = await startRawOrigin(
      (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno'),
    );
    closers.push(() => origin.close());
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectRaw(proxy.port);
    client.write(`${HANDSHAKE}GET /a/v1/smuggled HTTP/1.1\r\nHost: a\r\n\r\n`);
    const response = await client.response();
    expect(response.body).toBe('no');
    expect(response.headers['connection']).toBe('close');
    await client.closed();
    expect(origin.received.join('')).not.toContain('smuggled');
    client.end();
  });

  it.each(['h2c', 'HTTP/2.0', 'TLS/1.2', 'websocket, h2c', 'bad protocol'])(
    'to %s are not passed on',
    async (protocol) => {
      const origin = await startRawOrigin(
        (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
      );
      closers.push(() => origin.close());
      const proxy = await proxyTo({ backendPort: origin.port });
      const response = await sendRaw(
        proxy.port,
        `GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`,
      );
      expect(response.body).toBe('ok');
      expect(origin.received[0]).not.toMatch(/upgrade/i);
    },
  );
});
