/** docs/reference/overload.md: a bounded number of exchanges, connections and waiting requests, and 503 beyond it. */
import * as net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { OverloadReason } from '../../../src/proxy/exchange-limiter.ts';
import type { ProxyOptions } from '../../../src/proxy/options.ts';
import { startHoldingOrigin, type HoldingOrigin } from '../../support/backends/holding-origin.ts';
import { connectHttp2, request, TLS_PAIR } from '../../support/clients/http2-client.ts';
import {
  oneRoute,
  startProxy,
  type RouteSetup,
  type TestProxy,
  type TestProxyOptions,
} from '../../support/proxy.ts';
import { connectRaw, sendRaw, type RawClient, type RawResponse } from '../../support/clients/raw-client.ts';
import { until } from '../../support/measure/until.ts';
import { awakeMs, steadily } from '../../support/measure/steady.ts';

const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';
const ANSWER = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\nX-Do: answer\r\n\r\n';
const UPGRADE = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: held\r\n\r\n';

interface Setup {
  readonly proxy: TestProxy;
  readonly origin: HoldingOrigin;
  readonly refused: OverloadReason[];
}

const started: Setup[] = [];
const clients: RawClient[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.end();
  for (const { proxy, origin } of started.splice(0)) {
    if (proxy.defects.length > 0) throw new Error(`The gateway met a defect: ${String(proxy.defects[0])}`);
    await proxy.close();
    await origin.close();
  }
});

async function start(
  options: Partial<ProxyOptions>,
  setup: Partial<RouteSetup> = {},
  more: TestProxyOptions = {},
): Promise<Setup> {
  const origin = await startHoldingOrigin();
  const refused: OverloadReason[] = [];
  const proxy = await startProxy(oneRoute({ backendPort: origin.port, ...setup }), {
    ...more,
    options,
    observer: { overloaded: (reason) => void refused.push(reason) },
  });
  const all = { proxy, origin, refused };
  started.push(all);
  return all;
}

async function client({ proxy }: Setup): Promise<RawClient> {
  const connection = await connectRaw(proxy.port);
  clients.push(connection);
  return connection;
}

/** Sends requests, each on a connection of its own; the answers come later. */
async function askMany(setup: Setup, count: number, text = GET): Promise<Promise<RawResponse>[]> {
  const connections = await Promise.all(Array.from({ length: count }, () => client(setup)));
  return connections.map((connection) => {
    connection.write(text);
    return connection.response();
  });
}

async function answerTo(setup: Setup, text = GET): Promise<RawResponse> {
  const connection = await client(setup);
  connection.write(text);
  return connection.response();
}

function expectRefused(response: RawResponse): void {
  expect(JSON.parse(response.body)).toMatchObject({ status: 503, code: 'overloaded' });
  expect(response.status).toBe(503);
  expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
}

const waiting = ({ origin }: Setup, count: number): Promise<true> => until(() => origin.waiting === count);

describe('exchanges under way', () => {
  it('beyond the bound are refused at once, on connections that go on, and there is room again afterwards', async () => {
    const setup = await start({ maxConcurrentExchanges: 20 });
    const held = await askMany(setup, 20);
    await waiting(setup, 20);
    const startedMs = awakeMs();
    const late = await client(setup);
    for (let round = 0; round < 30; round++) {
      late.write(GET);
      expectRefused(await late.response());
    }
    // A body that is not needed is read and dropped, and the connection stays.
    late.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');
    expectRefused(await late.response());
    expect(awakeMs() - startedMs).toBeLessThan(2_000);
    expect(setup.origin.come).toBe(20);
    expect(setup.refused).toEqual(Array.from({ length: 31 }, () => 'exchanges'));
    setup.origin.answerOne();
    await until(() => setup.proxy.context.exchangeLimiter.inUse === 19);
    late.write(ANSWER);
    expect((await late.response()).status).toBe(200);
    setup.origin.answerAll();
    for (const { status } of await Promise.all(held)) expect(status).toBe(200);
    await until(() => setup.proxy.context.exchangeLimiter.inUse === 0);
  });

  it('of an app whose backend hangs leave room for those of other apps', async () => {
    const [hanging, well] = [await startHoldingOrigin(), await startHoldingOrigin()];
    const [one, other] = [
      oneRoute({ backendPort: hanging.port }),
      oneRoute({
        backendPort: well.port,
        app: { id: 'app-2', slug: 'b', gateway_path: '/b' },
        version: { id: 'ver-2' },
        revision: { id: 'rev-2' },
      }),
    ];
    const refused: OverloadReason[] = [];
    const config = { ...one, apps: [...one.apps, ...other.apps] };
    const proxy = await startProxy(config, {
      options: { maxConcurrentExchanges: 18 },
      observer: { overloaded: (reason) => void refused.push(reason) },
    });
    const setup = { proxy, origin: hanging, refused };
    started.push(setup, { proxy, origin: well, refused });
    const answers = await askMany(setup, 25);
    await waiting(setup, 18);
    await until(() => refused.length === 7);
    expect(new Set(refused)).toEqual(new Set(['exchanges']));
    expect((await answerTo(setup, ANSWER.replace('/a/', '/b/'))).status).toBe(200);
    hanging.answerAll();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    const count = (wanted: number): number => statuses.filter((status) => status === wanted).length;
    expect([count(200), count(503)]).toEqual([18, 7]);
    await until(() => proxy.context.exchangeLimiter.inUse === 0);
    expect((await answerTo(setup, ANSWER)).status).toBe(200);
  });

  it('count tunnels until they end', async () => {
    const setup = await start({ maxConcurrentExchanges: 2 });
    for (let tunnels = 0; tunnels < 2; tunnels++) (await client(setup)).write(UPGRADE);
    await waiting(setup, 2);
    expectRefused(await answerTo(setup));
    setup.origin.endTunnels();
    await until(() => setup.proxy.context.exchangeLimiter.inUse === 0);
    expect((await answerTo(setup, ANSWER)).status).toBe(200);
  });

  it('count each stream of HTTP/2', async () => {
    const setup = await start({ maxConcurrentExchanges: 3 }, {}, { tls: TLS_PAIR });
    const http2 = await connectHttp2(setup.proxy.port);
    const open = (fields: Record<string, string> = {}) => request(http2, { ':path': '/a/v1/x', ...fields });
    const held = Array.from({ length: 3 }, () => open());
    await waiting(setup, 3);
    const refused = await open();
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    setup.origin.answerAll();
    for (const { status } of await Promise.all(held)) expect(status).toBe(200);
    expect((await open({ 'x-do': 'answer' })).status).toBe(200);
    await http2.close();
  });

  it('that a client gave up make room', async () => {
    const setup = await start({ maxConcurrentExchanges: 1 });
    const gone = await client(setup);
    gone.write(GET);
    await waiting(setup, 1);
    gone.socket.resetAndDestroy();
    await until(() => setup.proxy.context.exchangeLimiter.inUse === 0);
    expect((await answerTo(setup, ANSWER)).status).toBe(200);
  });
});

describe('connections', () => {
  it('beyond the limit are answered 503 and closed, whatever their request', async () => {
    const setup = await start({ maxConnections: 5 });
    const kept = await Promise.all(Array.from({ length: 5 }, () => client(setup)));
    for (const each of kept) each.write(GET);
    await waiting(setup, 5);
    for (let round = 0; round < 3; round++) {
      const late = await client(setup);
      late.write(`POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`);
      const response = await late.response();
      expectRefused(response);
      expect(response.headers['connection']).toBe('close');
      await late.closed(3_000);
    }
    expect(setup.refused).toEqual(['connections', 'connections', 'connections']);
    setup.origin.answerOne();
    expect((await kept[0]!.response()).status).toBe(200);
    kept[1]!.socket.destroy();
    await until(() => setup.proxy.listener.connectionCount === 4);
    expect((await answerTo(setup, ANSWER)).status).toBe(200);
  });

  it(
    'with TLS are closed before a handshake',
    steadily(async () => {
      const setup = await start({ maxConnections: 1 }, {}, { tls: TLS_PAIR });
      const first = await connectHttp2(setup.proxy.port);
      const held = request(first, { ':path': '/a/v1/x' });
      await waiting(setup, 1);
      const late = await connected(setup.proxy.port);
      const bytes = await new Promise<number>((done) => {
        let count = 0;
        late.on('data', (chunk: Buffer) => (count += chunk.length)).on('error', () => undefined);
        late.on('close', () => done(count));
      });
      expect(bytes).toBe(0);
      expect(setup.refused).toEqual(['connections']);
      setup.origin.answerAll();
      expect((await held).status).toBe(200);
      await first.close();
      const http2 = await until(() => connectHttp2(setup.proxy.port).catch(() => undefined));
      await http2.close();
    }),
  );

  it(
    'with TLS whose handshake never comes, half closed or not, are let go when its time is over',
    steadily(async () => {
      const setup = await start({ headTimeoutMs: 300 }, {}, { tls: TLS_PAIR });
      const sockets = await Promise.all([1, 2].map(() => connected(setup.proxy.port)));
      await until(() => setup.proxy.listener.connectionCount === 2);
      sockets[0]?.end();
      await until(() => setup.proxy.listener.connectionCount === 0);
      for (const socket of sockets) socket.destroy();
      expect(setup.refused).toEqual([]);
    }),
  );
});

describe('connections to a backend', () => {
  const options = { maxUpstreamConnections: 2, maxUpstreamQueue: 3, upstreamQueueTimeoutMs: 400 };

  it(
    'beyond the bound are waited for in line; a full line and a long wait are 503',
    steadily(async () => {
      const setup = await start(options);
      const held = await askMany(setup, 2);
      await waiting(setup, 2);
      const inLine = await askMany(setup, 3);
      await until(() => setup.proxy.context.permits.waiting === 3);
      const startedMs = performance.now();
      expectRefused(await answerTo(setup));
      expect(performance.now() - startedMs).toBeLessThan(300);
      for (const response of await Promise.all(inLine)) expectRefused(response);
      expect(performance.now() - startedMs).toBeGreaterThan(200);
      expect(setup.refused).toEqual([
        'upstream_queue',
        ...Array.from({ length: 3 }, () => 'upstream_queue_timeout'),
      ]);
      expect(setup.origin.come).toBe(2);
      expect(setup.proxy.context.permits.waiting).toBe(0);
      // None of it is the backend's fault.
      expect(setup.proxy.failures).toEqual([]);
      expect(setup.proxy.breakerOf('rev-1')?.isPristine).toBe(true);
      setup.origin.answerAll();
      for (const { status } of await Promise.all(held)) expect(status).toBe(200);
    }),
  );

  it('are passed on in the order of the queue, except to requests that have ended', async () => {
    const setup = await start({ ...options, maxUpstreamConnections: 1, upstreamQueueTimeoutMs: 5_000 });
    const order: string[] = [];
    const send = async (name: string): Promise<RawClient> => {
      const connection = await client(setup);
      connection.write(GET);
      void connection.response().then(
        () => void order.push(name),
        () => undefined,
      );
      return connection;
    };
    await send('first');
    await waiting(setup, 1);
    await send('second');
    await until(() => setup.proxy.context.permits.waiting === 1);
    const leaving = await send('leaving');
    await until(() => setup.proxy.context.permits.waiting === 2);
    await send('third');
    await until(() => setup.proxy.context.permits.waiting === 3);
    leaving.socket.resetAndDestroy();
    await until(() => setup.proxy.context.permits.waiting === 2);
    for (let answered = 0; answered < 3; answered++) {
      await waiting(setup, 1);
      setup.origin.answerOne();
      await until(() => order.length === answered + 1);
    }
    expect(order).toEqual(['first', 'second', 'third']);
    expect(setup.origin.come).toBe(3);
  });

  it('never exceed the limit, idle ones included, whatever happens to requests', async () => {
    const setup = await start({ ...options, maxUpstreamQueue: 100, upstreamQueueTimeoutMs: 5_000 });
    const relay = await countingRelay(setup.origin.port);
    const change = oneRoute({ backendPort: relay.port });
    setup.proxy.apply({ ...change, configVersion: 2 });
    const deeds = ['answer', 'reset', 'answer', 'truncate', 'answer at length'];
    const ends = Array.from({ length: 60 }, async (_, index) => {
      const method = index % 3 === 0 ? 'POST' : 'GET';
      const text = `${method} /a/v1/x HTTP/1.1\r\nHost: a\r\nX-Do: ${deeds[index % deeds.length]}\r\nConnection: close\r\n\r\n`;
      return sendRaw(setup.proxy.port, text).then(
        ({ status }) => status,
        () => 0,
      );
    });
    const statuses = await Promise.all(ends);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(24);
    expect(statuses).not.toContain(503);
    expect(relay.peak()).toBeGreaterThanOrEqual(2);
    await until(() => setup.proxy.context.exchangeLimiter.inUse === 0);
    expect(setup.proxy.context.permits.waiting).toBe(0);
    const answered = await askMany(setup, 10, ANSWER);
    for (const { status } of await Promise.all(answered)) expect(status).toBe(200);
    await new Promise((done) => setTimeout(done, 50));
    expect(relay.most()).toBeLessThanOrEqual(2);
    await relay.close();
  });
});

function connected(port: number): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** Passes bytes on, and knows how many connections there were at once. */
async function countingRelay(port: number) {
  const open = new Set<net.Socket>();
  let peak = 0;
  let most = 0;
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    peak = Math.max(peak, open.size);
    const together = [...open];
    // The end of one that was closed for this one may be on its way.
    const count = (): number => (most = Math.max(most, together.filter((each) => open.has(each)).length));
    // Where timers are late, what has come meanwhile is read after them.
    setTimeout(() => setImmediate(() => setImmediate(count)), 30);
    const origin = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.pipe(origin).pipe(socket);
    const end = (): void => {
      open.delete(socket);
      socket.destroy();
      origin.destroy();
    };
    socket.on('close', end).on('error', end);
    origin.on('close', end).on('error', end);
    socket.on('end', end);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as net.AddressInfo).port,
    peak: () => peak,
    /** Of those that were open together for a while. */
    most: () => most,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
