/**
 * `GET /api/v1/stats` of the started program: the traffic of clients adds up exactly, for the gateway, each app,
 * version and route, by seconds and by minutes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { startOrigin, startRawOrigin, type Origin } from '../../support/backends/origin.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { createEndpoint, createService, request } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely by tests
type Json = any;

let gateway: TestGateway;
let origin: Origin;
let key: { id: string; token: string };

const SHOP_ITEMS = 7;
const SHOP_OTHERS = 3;
const DENIED = 4;
const LIMITED = 2;
const FAILED = 5;
const UNROUTED = 6;
/** For how long an answer stays open: much longer than its head takes on a slow machine. */
const HELD_MS = 1_500;
const SWITCHED =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n';
const EVENTS = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: hello\n\n';
const ALL = SHOP_ITEMS + SHOP_OTHERS + DENIED + LIMITED + FAILED + UNROUTED;

const stats = (query: string): Promise<Json> => gateway.must('GET', `/stats?${query}`);
const top = (query: string): Promise<Json> => gateway.must('GET', `/stats/top?${query}`);
const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);

async function answers(status: number, path: string, options?: Parameters<typeof request>[2]): Promise<void> {
  const got = (await request(gateway, path, options)).status;
  if (got !== status) throw new Error(`${path} was answered ${got}, expected ${status}`);
}

beforeAll(async () => {
  const deadPort = await freePort();
  [gateway, origin] = await Promise.all([
    startGateway({ env: { ...INSPECTABLE, GATEWAY_WORKERS: '2' } }),
    startOrigin(),
  ]);
  await createService(gateway, 'shop', origin.port, { app: { routing_mode: 'managed_endpoint' } });
  await createEndpoint(gateway, 'shop', 'GET', '/items/{id}');
  await createEndpoint(gateway, 'shop', 'POST', '/orders');
  await createService(gateway, 'keyed', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
  await createService(gateway, 'dead', deadPort);
  await createService(gateway, 'limited', origin.port, {
    app: { default_policy: { rate_limit: { enabled: true, requests: 1, window_seconds: 3600 } } },
  });
  key = await gateway.must('POST', '/apps/keyed/tokens', { name: 'mobile' });

  for (let id = 0; id < SHOP_ITEMS; id++) await request(gateway, `/shop/v1/items/${id}`);
  for (let count = 0; count < SHOP_OTHERS; count++) {
    await request(gateway, '/shop/v1/orders', { method: 'POST', body: 'hello' });
  }
  const headers = { Authorization: `Bearer ${key.token}` };
  await answers(200, '/keyed/v1/x', { headers });
  for (let count = 1; count < DENIED; count++) {
    await answers(401, '/keyed/v1/x');
  }
  for (let count = 0; count < LIMITED; count++) await request(gateway, '/limited/v1/x');
  for (let count = 0; count < FAILED; count++) {
    await request(gateway, '/dead/v1/x');
  }
  for (let count = 0; count < UNROUTED; count++) {
    await answers(404, `/nowhere/${count}`);
  }
  await until(async () => (await stats('')).totals.requests === ALL);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

describe('the numbers of requests add up', () => {
  it('for the gateway, by status class, denial and failure', async () => {
    const { points, totals, denials, failures, enabled } = await stats('');
    expect(enabled).toBe(true);
    expect(totals).toMatchObject({
      requests: ALL,
      status_2xx: SHOP_ITEMS + SHOP_OTHERS + 1 + 1,
      status_4xx: UNROUTED + (DENIED - 1) + (LIMITED - 1),
      status_5xx: FAILED,
      errors: FAILED,
      failures: FAILED,
      denied: UNROUTED + (DENIED - 1) + (LIMITED - 1),
      rate_limited: LIMITED - 1,
      bytes_in: SHOP_OTHERS * 'hello'.length,
    });
    for (const name of Object.keys(totals).filter((each) => !each.endsWith('_ms'))) {
      expect([name, sum(points[name])]).toEqual([name, totals[name]]);
      expect(points[name]).toHaveLength(points.time.length);
    }
    expect(sum(denials.no_route)).toBe(UNROUTED);
    expect(sum(denials.credentials_missing)).toBe(DENIED - 1);
    expect(sum(denials.rate_limited)).toBe(LIMITED - 1);
    expect(sum(Object.values<number[]>(failures).flat())).toBe(FAILED);
    expect(totals.p50_ms).toBeGreaterThan(0);
    expect(totals.p99_ms).toBeGreaterThanOrEqual(totals.p95_ms);
    expect(totals.upstream_p50_ms).toBeLessThanOrEqual(totals.p99_ms);
  });

  it('for an app, a version and a route, by slug, label and id', async () => {
    const { id } = await gateway.must('GET', '/apps/shop');
    for (const query of ['app=shop', `app=${id}`, 'app=shop&version=v1']) {
      expect([query, (await stats(query)).totals.requests]).toEqual([query, SHOP_ITEMS + SHOP_OTHERS]);
    }
    const route = encodeURIComponent('GET /shop/v1/items/{id}');
    expect((await stats(`app=shop&version=v1&route=${route}`)).totals.requests).toBe(SHOP_ITEMS);
    expect((await stats('app=dead')).totals.errors).toBe(FAILED);
  });

  it('by minutes, and in longer steps', async () => {
    const day = await stats('window=24h');
    expect([day.step_secs, day.points.time.length, day.totals.requests]).toEqual([60, 1_440, ALL]);
    const coarse = await stats('step=60');
    expect([coarse.points.time.length, coarse.totals.requests]).toEqual([15, ALL]);
    expect(coarse.points.time.every((time: number) => time % 60 === 0)).toBe(true);
  });
});

describe('what is not known', () => {
  it('is null before the start, and 0 after it', async () => {
    const { points, nodes } = await stats('');
    expect(points.time).toHaveLength(900);
    expect(points.requests[0]).toBeNull();
    expect(points.p95_ms[0]).toBeNull();
    expect(points.requests.at(-1)).not.toBeNull();
    expect(nodes).toEqual([
      { name: expect.any(String), complete: false, answered: true, since: expect.any(String) },
    ]);
  });

  it('gets a status and a text if the query is wrong', async () => {
    for (const [query, status] of [
      ['app=none', 404],
      ['app=shop&version=none', 404],
      ['version=v1', 400],
      ['app=shop&route=x', 400],
      ['window=24h&step=7', 400],
      ['step=901', 400],
      ['step=0', 400],
      ['window=1h', 400],
      ['since=2026-02-30T00:00:00Z', 400],
    ] as const) {
      expect([query, (await gateway.api('GET', `/stats?${query}`)).status]).toEqual([query, status]);
    }
    for (const query of ['', 'by=nothing', 'by=app&app=shop', 'by=app&limit=101']) {
      expect([query, (await gateway.api('GET', `/stats/top?${query}`)).status]).toEqual([query, 400]);
    }
  });
});

it('an answer continues from an earlier one', async () => {
  const { points } = await stats('');
  const last = points.time.at(-1);
  const next = await stats(`since=${new Date(last * 1000).toISOString()}`);
  expect(next.points.time[0]).toBe(last);
  expect(next.points.time.length).toBeLessThan(60);
});

describe('the most used', () => {
  it('apps, routes, reasons and keys come first, with sparklines that add up', async () => {
    const apps = await top('by=app');
    expect(apps.rows.map(({ app, requests }: Json) => [app, requests])).toEqual([
      ['shop', SHOP_ITEMS + SHOP_OTHERS],
      ['dead', FAILED],
      ['keyed', DENIED],
      ['limited', LIMITED],
    ]);
    expect([apps.requests, apps.other_requests]).toEqual([ALL, UNROUTED]);
    for (const row of apps.rows) {
      expect([row.app, row.sparkline.length, sum(row.sparkline)]).toEqual([row.app, 60, row.requests]);
    }
    expect(apps.rows[1]).toMatchObject({ error_share: 1, errors: FAILED });
    const routes = await top('by=route&app=shop&limit=1');
    expect(routes.rows).toMatchObject([
      { route: 'GET /shop/v1/items/{id}', version: 'v1', requests: SHOP_ITEMS, p95_ms: expect.any(Number) },
    ]);
    expect([routes.rows_total, routes.other_requests]).toEqual([2, SHOP_OTHERS]);
    const reasons = await top('by=reason');
    expect(reasons.rows[0]).toMatchObject({ reason: 'no_route', requests: UNROUTED, p95_ms: null });
    expect((await top('by=key')).rows).toMatchObject([{ key_id: key.id, key: 'mobile', requests: 1 }]);
  });
});

it('a worker that dies takes nothing with it that it has reported, and a replaced one is counted', async () => {
  const before = (await stats('app=shop')).totals.requests;
  await crashWorkers(gateway, (title) => title.endsWith('proxy-1'));
  await until(
    async () => (await request(gateway, '/shop/v1/items/1').catch(() => undefined))?.status === 200,
  );
  let answered = 1;
  for (; answered < 5; answered++) await answers(200, '/shop/v1/items/1');
  const total = await until(async () => {
    const { requests } = (await stats('app=shop')).totals;
    return requests >= before + answered && requests;
  });
  expect(total).toBe(before + answered);
});

it('a configuration change neither loses nor doubles counts', async () => {
  const before = (await stats('app=limited')).totals.requests;
  await gateway.must('PATCH', '/apps/limited', { slug: 'renamed', default_policy: null });
  await request(gateway, '/limited/v1/x');
  await until(async () => (await stats('app=renamed')).totals.requests === before + 1);
  expect((await top('by=app')).rows.map(({ app }: Json) => app)).toContain('renamed');
});

it('a WebSocket and an event stream count with the time to the head of their answer', async () => {
  const held = await startRawOrigin((socket, text) => {
    socket.write(text.includes('/socket ') ? SWITCHED : EVENTS);
    setTimeout(() => socket.end(), HELD_MS);
  });
  try {
    await createService(gateway, 'held', held.port);
    const open = (path: string, more: string): Promise<void> =>
      connectRaw(gateway.proxyPort).then(async (client) => {
        client.write(`GET /held/v1${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
        await client.closed();
        client.end();
      });
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
    await Promise.all([
      open('/socket', `${upgrade}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`),
      open('/events', 'Connection: close\r\n'),
    ]);
    const totals = await until(async () => {
      const found = (await stats('app=held')).totals;
      return found.requests === 2 && found;
    });
    expect(totals.p99_ms).toBeLessThan(HELD_MS / 2);
    const page = String((await gateway.api('GET', '//metrics')).body);
    const sums = [...page.matchAll(/^headgate_request_duration_seconds_sum\{app="held".*\} (\S+)$/gm)];
    expect(sums.map(([, seconds]) => Number(seconds) * 1_000 < HELD_MS / 2)).toEqual([true, true]);
  } finally {
    await held.close();
  }
});
