/** WebSocket and other upgrades (RFC 9110 section 7.8, RFC 6455), with a client and a server that we did not write. */
import { once } from 'node:events';
import * as http from 'node:http';
import * as https from 'node:https';
import type * as net from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { WebSocket, WebSocketServer } from 'ws';
import type { Revision } from '../../../src/model/resources.ts';
import type { Exchange } from '../../../src/proxy/exchange.ts';
import { CA, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { startRawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type RouteSetup, type TestProxyOptions } from '../../support/proxy.ts';
import { connectRaw, sendRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { startSocketServer, type Certificate } from '../../support/backends/socket-server.ts';
import { untilHolds } from '../../support/measure/until.ts';

const closers = closeAfterEach();

async function proxyTo(setup: RouteSetup, options: TestProxyOptions = {}) {
  const proxy = await startProxy(oneRoute(setup), options);
  closers.push(() => proxy.close());
  return proxy;
}

/** Echoes every message; `seen` has the handshakes. */
async function echoServer(isSecure = false) {
  const plain: http.RequestListener = (_request, response) => void response.end('plain');
  const server = isSecure ? https.createServer(TLS_PAIR, plain) : http.createServer(plain);
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

const OVER_TLS: Partial<Revision> = {
  backend_scheme: 'https',
  backend_host: 'localhost',
  backend_tls: { ca: CA },
};

/** An echo server, and the address at which the gateway offers it; with TLS on both sides or on none. */
async function echoThrough(isSecure: boolean) {
  const echo = await echoServer(isSecure);
  const revision = isSecure ? OVER_TLS : {};
  const proxy = await proxyTo({ backendPort: echo.port, revision }, isSecure ? { tls: TLS_PAIR } : {});
  return { echo, proxy, url: `${isSecure ? 'wss' : 'ws'}://localhost:${proxy.port}/a/v1/ws` };
}

const HANDSHAKE =
  'GET /a/v1/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

describe.each([
  ['plain', false, 64],
  ['over TLS on both sides', true, 8],
])('WebSocket, %s,', (_name, isSecure, mebibytes) => {
  it('carries messages both ways and closes cleanly, with the code of the other side', async () => {
    const { echo, proxy, url } = await echoThrough(isSecure);
    const client = new WebSocket(`${url}?x=1`, { ca: CA, headers: { 'x-headgate-key-id': 'forged' } });
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
    expect(echo.seen[0]?.['x-forwarded-proto']).toBe(isSecure ? 'https' : 'http');
    expect(proxy.defects).toEqual([]);
  });

  it('is closed by the client as cleanly', async () => {
    const { echo, proxy, url } = await echoThrough(isSecure);
    const client = new WebSocket(url, { ca: CA });
    await once(client, 'open');
    const [socket] = echo.sockets.clients;
    if (socket === undefined) throw new Error('the backend has no connection');
    const ends = [once(socket, 'close'), once(client, 'close')];
    client.close(4002, 'done');
    for (const end of ends) {
      const [code, reason] = await end;
      expect([code, String(reason)]).toEqual([4002, 'done']);
    }
    await untilHolds(() => proxy.listener.connectionCount === 0, 'the gateway forgets it');
    expect(proxy.defects).toEqual([]);
  });

  it(`carries messages of ${mebibytes} MiB`, async () => {
    const { url } = await echoThrough(isSecure);
    const client = new WebSocket(url, { ca: CA, maxPayload: 128 * 1024 * 1024 });
    await once(client, 'open');
    const message = Buffer.alloc(mebibytes * 1024 * 1024, 'headgate');
    client.send(message);
    const [data] = (await once(client, 'message')) as [Buffer];
    expect(data.equals(message)).toBe(true);
    client.terminate();
  });
});

describe('WebSocket', () => {
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

const upgradeTo = (protocol: string): string =>
  `GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;

/** Switches to `protocol` and says no more; ends its side as `onEnd` says, by itself never. */
async function switchingOrigin(
  protocol: string,
  onEnd: (socket: net.Socket) => void = (socket) => void socket.end(),
  certificate?: Certificate,
) {
  const received: string[] = [];
  const sockets: net.Socket[] = [];
  const server = await startSocketServer((socket) => {
    const index = sockets.push(socket) - 1;
    received.push('');
    socket.on('error', () => undefined);
    socket.on('end', () => onEnd(socket));
    socket.on('data', (chunk: Buffer) => {
      if (received[index] === '')
        socket.write(`HTTP/1.1 101 Yes\r\nConnection: upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
      received[index] += chunk.toString('latin1');
    });
  }, certificate);
  closers.push(() => server.close());
  return { port: server.port, received, sockets };
}

const switched = (client: RawClient): Promise<void> =>
  untilHolds(() => /^HTTP\/1\.1 101 [^]*\r\n\r\n/.test(client.received()), 'the switch');

/** Writes until nothing leaves any more: all that lies between this side and the other is full. */
async function writeUntilFull(socket: net.Socket): Promise<void> {
  const piece = Buffer.alloc(64 * 1024, 'x');
  for (let isFull = false, pieces = 0; !isFull && pieces < 1_000; pieces++) {
    isFull = await new Promise<boolean>((done) => {
      const timer = setTimeout(() => done(true), 150);
      socket.write(piece, () => {
        clearTimeout(timer);
        done(false);
      });
    });
  }
}

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

  it('leave no connection for other requests when they are refused: it may be read as another protocol there', async () => {
    const origin = await startRawOrigin(
      (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno'),
    );
    closers.push(() => origin.close());
    const proxy = await proxyTo({ backendPort: origin.port });
    expect((await sendRaw(proxy.port, HANDSHAKE)).body).toBe('no');
    expect((await sendRaw(proxy.port, 'GET /a/v1/next HTTP/1.1\r\nHost: a\r\n\r\n')).body).toBe('no');
    expect(origin.received.map((text) => text.split(' ', 2)[1])).toEqual(['/ws', '/next']);
  });

  it.each<[string, number]>([
    ['with its head', 0],
    ['after its head', 1],
  ])('are not asked for by a request with a body, which arrives %s', async (_when, apart) => {
    const origin = await startRawOrigin((socket, received) => {
      if (received.endsWith('body')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    closers.push(() => origin.close());
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectRaw(proxy.port);
    const head = HANDSHAKE.replace('\r\n\r\n', '\r\nContent-Length: 4\r\n\r\n');
    client.write(apart === 0 ? `${head}body` : head);
    if (apart > 0) {
      await untilHolds(() => origin.received.length > 0, 'the head is passed on before its body');
      client.write('body');
    }
    expect((await client.response()).body).toBe('ok');
    expect(origin.received.join('')).not.toMatch(/^(?:Connection|Upgrade):/im);
    client.end();
  });

  it.each<[string, string, boolean]>([
    ['websocket', 'websocket', true],
    ['websocket', 'WebSocket', true],
    ['chat/2', 'chat/2', true],
    ['chat', 'chat/2', true],
    ['websocket', 'chat', false],
    ['websocket', 'h2c', false],
    ['websocket', 'websocket, h2c', false],
    ['chat/2', 'chat/3', false],
  ])('to %s, which a backend answers with a switch to %s: carried is %j', async (asked, named, isCarried) => {
    const origin = await switchingOrigin(named);
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectRaw(proxy.port);
    client.write(`${upgradeTo(asked)}PRI * HTTP/2.0\r\n\r\n`);
    if (isCarried) await untilHolds(() => /PRI/.test(origin.received.join('')), 'what follows is carried');
    else await client.closed();
    expect(client.received()).toMatch(isCarried ? /^HTTP\/1\.1 101 / : /^HTTP\/1\.1 502 /);
    expect(origin.received.join('').includes('PRI')).toBe(isCarried);
    expect(proxy.failures).toEqual(isCarried ? [] : ['bad_response']);
    client.end();
  });

  it.each<[string, string]>([
    ['no Upgrade', ''],
    ['no Upgrade but a Connection that lists it', 'Connection: upgrade\r\n'],
    ['an Upgrade that Connection does not list', 'Upgrade: websocket\r\n'],
  ])('to websocket, which a backend answers with a 101 with %s: 502, and the end', async (_what, fields) => {
    const origin = await startRawOrigin(
      (socket) => void socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n`),
    );
    closers.push(() => origin.close());
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectRaw(proxy.port);
    client.write(`${HANDSHAKE}GET /a/v1/smuggled HTTP/1.1\r\nHost: a\r\n\r\n`);
    const response = await client.response();
    expect([response.status, response.headers['connection']]).toEqual([502, 'close']);
    await client.closed();
    expect(client.received().match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(origin.received.join('')).not.toContain('smuggled');
    expect(proxy.failures).toEqual(['bad_response']);
    client.end();
  });

  it('that the gateway itself refuses close, too: what follows may be the other protocol', async () => {
    const proxy = await proxyTo({ backendPort: 1, policy: { auth: { auth_type: 'api_key' } } });
    const client = await connectRaw(proxy.port);
    client.write(`${HANDSHAKE}GET /a/v1/smuggled HTTP/1.1\r\nHost: a\r\n\r\n`);
    const response = await client.response();
    expect([response.status, response.headers['connection']]).toEqual([401, 'close']);
    await client.closed();
    expect(client.received().match(/HTTP\/1\.1/g)).toHaveLength(1);
    client.end();
  });

  it('stay while one side speaks, whichever that is, and end on both when both are silent', async () => {
    const listen = async (speaker: 'client' | 'backend'): Promise<void> => {
      const origin = await switchingOrigin('chat');
      const proxy = await proxyTo({ backendPort: origin.port }, { options: { idleTimeoutMs: 400 } });
      const client = await connectRaw(proxy.port);
      client.write(upgradeTo('chat'));
      await switched(client);
      const [backend] = origin.sockets;
      if (backend === undefined) throw new Error('the backend has no connection');
      const [from, heard] =
        speaker === 'client'
          ? [client.socket, () => origin.received[0] ?? '']
          : [backend, () => client.received()];
      let said = '';
      for (const endMs = performance.now() + 900; performance.now() < endMs;) {
        from.write('.');
        said += '.';
        await new Promise((done) => setTimeout(done, 50));
      }
      await untilHolds(() => heard().endsWith(`\r\n\r\n${said}`), `all of the ${speaker}'s words are heard`);
      expect([client.socket, backend].some((socket) => socket.readableEnded || socket.destroyed)).toBe(false);
      await client.closed();
      await untilHolds(() => backend.destroyed, 'the backend is told, too');
    };
    await Promise.all([listen('client'), listen('backend')]);
  });

  it('bring a client that has ended its side what the backend still says', async () => {
    const origin = await switchingOrigin('chat', (socket) => socket.end('the answer'));
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectRaw(proxy.port);
    client.write(upgradeTo('chat'));
    await switched(client);
    client.socket.end('the question');
    await client.closed();
    expect(origin.received[0]).toMatch(/\r\n\r\nthe question$/);
    expect(client.received()).toMatch(/\r\n\r\nthe answer$/);
    await untilHolds(() => proxy.listener.connectionCount === 0, 'the gateway forgets it');
    expect(proxy.failures).toEqual([]);
  });

  it.each([
    ['', {}],
    [' over TLS', OVER_TLS],
  ])('bring a backend%s that has ended its side what was on its way to it', async (_name, revision) => {
    const isSecure = revision !== undefined && 'backend_tls' in revision;
    const origin = await switchingOrigin('chat', undefined, isSecure ? TLS_PAIR : undefined);
    let exchange: Exchange | undefined;
    const observer = { exchangeEnded: (ended: Exchange) => void (exchange = ended) };
    const proxy = await proxyTo({ backendPort: origin.port, revision }, { observer });
    const client = await connectRaw(proxy.port);
    client.write(upgradeTo('chat'));
    await switched(client);
    const [backend] = origin.sockets;
    if (backend === undefined) throw new Error('the backend has no connection');
    backend.pause();
    const head = origin.received[0]?.length ?? 0;
    await writeUntilFull(client.socket);
    backend.end('last words');
    await client.closed();
    expect(client.received()).toMatch(/\r\n\r\nlast words$/);
    const ended = once(backend, 'end');
    backend.resume();
    await ended;
    expect(origin.received[0]?.length).toBe(head + (exchange?.bytesIn ?? 0));
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
