/**
 * docs/reference/overload.md: when a worker has as many connections as it takes, the client that has waited longest
 * for its next request makes room; and one address cannot have all of them.
 */
import * as net from 'node:net';
import * as tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { OverloadReason } from '../../../src/proxy/exchange-limiter.ts';
import type { ProxyOptions } from '../../../src/proxy/options.ts';
import { startHoldingOrigin, type HoldingOrigin } from '../../support/backends/holding-origin.ts';
import { CA, connectHttp2, request, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { UNREAD_MS } from '../../../src/proxy/downstream/unread-clients.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { untilHolds } from '../../support/measure/until.ts';

const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';
const ANSWER = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\nX-Do: answer\r\n\r\n';

interface Setup {
  readonly proxy: TestProxy;
  readonly origin: HoldingOrigin;
  readonly refused: OverloadReason[];
  gaveWay(): number;
  /** Number of exchanges that have ended. */
  ended(): number;
}

const closers = closeAfterEach();

async function start(options: Partial<ProxyOptions>, more: TestProxyOptions = {}): Promise<Setup> {
  const origin = await startHoldingOrigin();
  closers.push(() => origin.close());
  const refused: OverloadReason[] = [];
  let gaveWay = 0;
  let ended = 0;
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }), {
    ...more,
    options,
    observer: {
      overloaded: (reason) => void refused.push(reason),
      gaveWay: () => void gaveWay++,
      exchangeEnded: () => void ended++,
    },
  });
  closers.push(async () => {
    await proxy.close();
    expect(proxy.defects).toEqual([]);
  });
  return { proxy, origin, refused, gaveWay: () => gaveWay, ended: () => ended };
}

async function connect({ proxy }: Setup): Promise<RawClient> {
  const client = await connectRaw(proxy.port);
  closers.push(() => client.end());
  return client;
}

/** A connection that was served, and is kept for another request. */
async function idle(setup: Setup): Promise<RawClient> {
  const client = await connect(setup);
  client.write(ANSWER);
  expect((await client.response()).status).toBe(200);
  return client;
}

/** A connection whose request the backend holds. */
async function busy(setup: Setup): Promise<RawClient> {
  const before = setup.origin.waiting;
  const client = await connect(setup);
  client.write(GET);
  await untilHolds(() => setup.origin.waiting === before + 1, 'the request waits');
  return client;
}

async function expectServed(client: RawClient): Promise<void> {
  client.write(ANSWER);
  expect((await client.response()).status).toBe(200);
}

describe('a newcomer on a full worker', () => {
  it('takes the place of the connection that has been idle longest', async () => {
    const setup = await start({ maxConnections: 4 });
    const kept = [await idle(setup), await idle(setup), await idle(setup), await idle(setup)] as const;
    // No longer the one that rests longest.
    await expectServed(kept[0]);
    const newcomer = await idle(setup);
    await kept[1].closed();
    for (const client of [kept[0], kept[2], kept[3], newcomer]) await expectServed(client);
    expect(setup.refused).toEqual([]);
    expect(setup.gaveWay()).toBe(1);
    expect(setup.proxy.listener.connectionCount).toBe(4);
  });

  it('is served, however many idle connections others open', async () => {
    const setup = await start({ maxConnections: 20 });
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 10 }, () => connect(setup)));
      await expectServed(await connect(setup));
    }
    expect(setup.refused).toEqual([]);
    await untilHolds(() => setup.proxy.listener.connectionCount <= 20, 'the bound holds');
  });

  it('also replaces a client that has sent a part of a head, which gets an error', async () => {
    const setup = await start({ maxConnections: 2 });
    const part = await connect(setup);
    part.write('GET /a/v1/x HT');
    await untilHolds(() => setup.proxy.listener.connectionCount === 1, 'it is there');
    const second = await idle(setup);
    await expectServed(await connect(setup));
    expect((await part.response()).status).toBe(408);
    await expectServed(second);
  });

  it('takes none where a request is under way, and is refused', async () => {
    const setup = await start({ maxConnections: 2 });
    const held = [await busy(setup), await busy(setup)];
    const late = await connect(setup);
    expect((await late.response()).status).toBe(503);
    expect(setup.refused).toEqual(['connections']);
    setup.origin.answerAll();
    for (const client of held) expect((await client.response()).status).toBe(200);
    await expectServed(await connect(setup));
  });

  it.each([
    ['is still being passed on', 'answer at length', 40, 300_000],
    // Between two requests as far as the gateway is concerned.
    ['has been read whole from the backend', 'answer in one piece', 600, 20_000],
  ])('takes none that does not read its answer, which %s', async (_what, command, count, bytes) => {
    const setup = await start({ maxConnections: 1 });
    const slow = await connect(setup);
    slow.socket.pause();
    slow.write(`GET /a/v1/x HTTP/1.1\r\nHost: a\r\nX-Do: ${command}\r\n\r\n`.repeat(count));
    await untilHolds(() => setup.origin.come > 5, 'answers come');
    // Until the client is waited for.
    for (let come = 0; come < setup.origin.come; await new Promise((done) => setTimeout(done, 150)))
      come = setup.origin.come;
    expect(setup.origin.come).toBeLessThan(count);
    expect((await (await connect(setup)).response()).status).toBe(503);
    slow.socket.resume();
    const answers = (): number => slow.received().split('HTTP/1.1 200 OK').length - 1;
    const isDelivered = (): boolean => slow.received().length > count * bytes && answers() >= count;
    await untilHolds(isDelivered, 'all of it is delivered');
    expect(answers()).toBe(count);
  });
});

describe('clients that read none of their answers', { timeout: 30_000 }, () => {
  const deaf: readonly [string, TestProxyOptions, (setup: Setup) => Promise<void>][] = [
    [
      'over TCP',
      {},
      async (setup) => {
        const client = await connect(setup);
        client.socket.pause();
        // More than the system takes without the client reading it.
        client.write('GET /none HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(30_000));
        // Until the gateway waits for the client: on a busy machine, the first check could come before.
        let before: number;
        do {
          before = setup.ended();
          await new Promise((done) => setTimeout(done, 500));
        } while (before === 0 || setup.ended() > before);
      },
    ],
    [
      'over HTTP/2',
      { tls: TLS_PAIR },
      async ({ proxy }) => {
        const client = await connectHttp2(proxy.port, { settings: { initialWindowSize: 0 } });
        closers.push(() => client.close());
        void request(client, { ':path': '/none' });
      },
    ],
  ];
  it.each(deaf)('make room after a while, those %s', async (_name, more, open) => {
    const setup = await start({ maxConnections: 4 }, more);
    for (let count = 0; count < 3; count++) await open(setup);
    // A request under way is not cut off.
    const { answer } = await heldRequest(setup, more);
    const startedMs = performance.now();
    while (!(await isServed(setup, more))) await new Promise((done) => setTimeout(done, 200));
    expect(performance.now() - startedMs).toBeGreaterThan(UNREAD_MS);
    await newcomersAreServed(setup, more);
    expect(setup.gaveWay()).toBeGreaterThan(0);
    setup.origin.answerAll();
    expect((await answer).status).toBe(200);
  });

  /** Also those that have not sent their request when the next one comes. */
  async function newcomersAreServed(setup: Setup, { tls: isSecure }: TestProxyOptions): Promise<void> {
    if (isSecure !== undefined) return;
    await untilHolds(() => setup.proxy.listener.connectionCount === 3, 'the one before has gone');
    const [first, second] = [await connect(setup), await connect(setup)];
    await new Promise((done) => setTimeout(done, 100));
    await expectServed(first);
    await expectServed(second);
  }

  /** The answer to a request that the backend holds. */
  async function heldRequest(setup: Setup, { tls: isSecure }: TestProxyOptions) {
    if (isSecure === undefined) {
      const client = await busy(setup);
      return { answer: client.response({ timeoutMs: 20_000 }) };
    }
    const client = await connectHttp2(setup.proxy.port);
    closers.push(() => client.close());
    const answer = request(client, { ':path': '/a/v1/x' });
    await untilHolds(() => setup.origin.waiting === 1, 'the request waits');
    return { answer };
  }

  async function isServed(setup: Setup, { tls: isSecure }: TestProxyOptions): Promise<boolean> {
    if (isSecure === undefined) {
      const client = await connect(setup);
      client.write(ANSWER);
      const status = await client.response().then(
        (response) => response.status,
        () => 0,
      );
      client.end();
      return status === 200;
    }
    const client = await connectHttp2(setup.proxy.port).catch(() => undefined);
    if (client === undefined) return false;
    const { status } = await request(client, { ':path': '/a/v1/x', 'x-do': 'answer' });
    await client.close();
    return status === 200;
  }
});

describe('over TLS', () => {
  it('a handshake that does not come makes room, as does an idle session of HTTP/2', async () => {
    const setup = await start({ maxConnections: 2 }, { tls: TLS_PAIR });
    const { port } = setup.proxy;
    const silent = net.connect(port, '127.0.0.1').on('error', () => undefined);
    const silentClosed = new Promise((done) => silent.once('close', done));
    await untilHolds(() => setup.proxy.listener.connectionCount === 1, 'it is there');
    const first = await connectHttp2(port);
    closers.push(() => first.close());
    let goaway = -1;
    first.session.on('goaway', (code) => (goaway = code));
    const ask = (client: typeof first) => request(client, { ':path': '/a/v1/x', 'x-do': 'answer' });
    expect((await ask(first)).status).toBe(200);
    const second = await connectHttp2(port);
    closers.push(() => second.close());
    await silentClosed;
    expect((await ask(second)).status).toBe(200);
    const held = request(second, { ':path': '/a/v1/x' });
    await untilHolds(() => setup.origin.waiting === 1, 'a stream is open');
    const third = await connectHttp2(port);
    closers.push(() => third.close());
    await untilHolds(() => first.session.closed, 'the idle session was told to go');
    expect(goaway).toBe(0);
    expect((await ask(third)).status).toBe(200);
    setup.origin.answerAll();
    expect((await held).status).toBe(200);
    expect(setup.refused).toEqual([]);
    expect(setup.gaveWay()).toBe(2);
  });

  it('an idle connection of HTTP/1.1 makes room', async () => {
    const setup = await start({ maxConnections: 1 }, { tls: TLS_PAIR });
    const options = { port: setup.proxy.port, ca: CA, servername: 'localhost' };
    const open = (): tls.TLSSocket => tls.connect(options).on('error', () => undefined);
    const first = open();
    const closed = new Promise((done) => first.once('close', done));
    await new Promise((done) => first.once('secureConnect', done));
    first.resume();
    const second = open();
    await new Promise((done) => second.once('secureConnect', done));
    await closed;
    expect(setup.gaveWay()).toBe(1);
    second.destroy();
    await untilHolds(() => setup.proxy.listener.connectionCount === 0, 'all are gone');
  });
});

describe('GATEWAY_PROXY__MAX_CONNECTIONS_PER_IP', () => {
  it.each([
    ['', {}],
    [' over TLS', { tls: TLS_PAIR }],
  ])('bounds the connections of one address%s', async (_name, more) => {
    const setup = await start({ maxConnectionsPerIp: 2 }, more);
    const open = (): net.Socket => net.connect(setup.proxy.port, '127.0.0.1').on('error', () => undefined);
    const first = open();
    const second = open();
    await untilHolds(() => setup.proxy.listener.connectionCount === 2, 'there are two');
    const third = open();
    let received = '';
    third.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    await new Promise((done) => third.once('close', done));
    expect(received.includes('too many connections from this address')).toBe(!('tls' in more));
    expect(setup.refused).toEqual(['connections_per_ip']);
    first.destroy();
    await untilHolds(() => setup.proxy.listener.connectionCount === 1, 'one has gone');
    const fourth = open();
    await untilHolds(() => setup.proxy.listener.connectionCount === 2, 'there is room for one');
    for (const socket of [second, fourth]) socket.destroy();
    await untilHolds(() => setup.proxy.listener.connectionCount === 0, 'all have gone');
    expect(setup.refused).toHaveLength(1);
  });

  it('does not bound those of trusted proxies', async () => {
    const setup = await start({ maxConnectionsPerIp: 2 }, { trustedProxies: ['127.0.0.1'] });
    const clients = [await idle(setup), await idle(setup), await idle(setup), await idle(setup)];
    for (const client of clients) await expectServed(client);
    expect(setup.refused).toEqual([]);
  });
});
