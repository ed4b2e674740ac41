/** Requests of each API key are counted per UTC day, by what policy made of them; nothing but kill -9 loses any. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startAsking } from '../../support/clients/asking-clients.ts';
import { startOrigin, type Handler, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, createPolicies, quietWindowSecs, roomInWindow } from '../../support/policies.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { createService, request, requestText, type Served } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const KEY_AUTH = { auth: { auth_type: 'api_key' } };
const DAY_MS = 86_400_000;
const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

let gateway: TestGateway;
let origin: Origin;
const folder = mkdtempSync(join(tmpdir(), 'headgate-keys-'));
const env = { GATEWAY_WORKERS: '2' };

/** At once, or after half a second where the query asks for it. */
const answerLater: Handler = ({ url = '' }, response) => {
  setTimeout(() => response.end('counted'), url.endsWith('?slow') ? 500 : 0);
};

beforeAll(async () => {
  // They speak of today.
  await roomInWindow(DAY_MS, 40_000);
  [gateway, origin] = await Promise.all([startGateway({ env, folder }), startOrigin(answerLater)]);
  const limit = { enabled: true, requests: 2, window_seconds: quietWindowSecs(), per: 'api_key' };
  await createPolicies(gateway, 'shop', origin.port, [
    { path: '/free', policy: KEY_AUTH },
    { path: '/limited', policy: { ...KEY_AUTH, rate_limit: limit } },
    { path: '/scoped', policy: { ...KEY_AUTH, required_scopes: ['gold'] } },
    { path: '/reading', policy: { ...KEY_AUTH, allowed_methods: ['GET'] } },
    { path: '/one', policy: { ...KEY_AUTH, concurrency: { max: 1 } } },
    { path: '/small', policy: { ...KEY_AUTH, max_body_bytes: 1 } },
    { path: '/optional', policy: { auth: { auth_type: 'api_key', required: false } } },
    { path: '/open', policy: {} },
  ]);
  await createService(gateway, 'bank', origin.port, { app: { default_policy: KEY_AUTH } });
  await createService(gateway, 'down', 1, { app: { default_policy: KEY_AUTH } });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
  rmSync(folder, { recursive: true, force: true });
});

const usagePath = (key: Served, query = '', slug = 'shop'): string =>
  `/apps/${slug}/tokens/${key.id}/usage${query}`;
const usage = (key: Served, query = '', slug = 'shop'): Promise<Served> =>
  gateway.must('GET', usagePath(key, query, slug));
async function call(key: Served, path: string, times = 1, method = 'GET'): Promise<number[]> {
  const statuses: number[] = [];
  for (let time = 0; time < times; time++) {
    statuses.push((await request(gateway, path, { method, headers: bearer(key.token) })).status);
  }
  return statuses;
}
/** Counts come within seconds: what is expected must be reached, and must then be all. */
async function totalsAre(
  key: Served,
  counts: Readonly<Record<string, number>>,
  slug = 'shop',
): Promise<void> {
  const wanted = { allowed: 0, limited: 0, denied: 0, ...counts };
  const sum = Object.values(wanted).reduce((all, count) => all + count, 0);
  const reached = await until(async () => {
    const { totals } = await usage(key, '', slug);
    return totals.allowed + totals.limited + totals.denied >= sum ? totals : undefined;
  });
  expect(reached).toEqual(wanted);
}

describe('counts', () => {
  it('tell allowed, limited and denied requests apart, over all workers', async () => {
    const key = await createKey(gateway, 'shop', { name: 'till' });
    const statuses = [
      ...(await call(key, '/shop/v1/free', 5)),
      ...(await call(key, '/shop/v1/limited', 5)),
      ...(await call(key, '/shop/v1/scoped', 3)),
      ...(await call(key, '/shop/v1/reading', 1, 'POST')),
      ...(await call(key, '/bank/v1/x', 2)),
    ];
    expect(statuses).toEqual([...Array(7).fill(200), 429, 429, 429, 403, 403, 403, 405, 401, 401]);
    await totalsAre(key, { allowed: 7, limited: 3, denied: 6 });
    const today = await usage(key);
    expect(today).toMatchObject({ token_id: key.id, from: dateOf(Date.now() - 29 * DAY_MS) });
    expect(today.days.reduce((sum: number, day: Served) => sum + day.allowed, 0)).toBe(7);
  });

  it('over a cap is limited, a body that is announced too large is denied', async () => {
    const key = await createKey(gateway, 'shop');
    const authorization = `Authorization: Bearer ${key.token}`;
    const held = await connectRaw(gateway.proxyPort);
    held.write(
      `POST /shop/v1/one HTTP/1.1\r\nHost: a\r\n${authorization}\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n`,
    );
    // It is let in from here on, and holds the one place until its body comes.
    await until(() => held.received().startsWith('HTTP/1.1 100 '));
    expect(await call(key, '/shop/v1/one', 2)).toEqual([429, 429]);
    held.write('x');
    expect((await held.response()).status).toBe(200);
    held.end();
    const large = { method: 'POST', headers: bearer(key.token), body: 'xx' };
    expect((await request(gateway, '/shop/v1/small', large)).status).toBe(413);
    await totalsAre(key, { allowed: 1, limited: 2, denied: 1 });
  });

  it('go on after the key is disabled, or has been rotated out: its refusals are denied', async () => {
    const key = await createKey(gateway, 'shop');
    const rotated = { ...key, ...(await gateway.must('POST', `/apps/shop/tokens/${key.id}/rotate`)) };
    await call(rotated, '/shop/v1/free');
    await gateway.must('PATCH', `/apps/shop/tokens/${key.id}`, { is_active: false });
    expect(await call(rotated, '/shop/v1/free', 2)).toEqual([401, 401]);
    // The value before a rotation without overlap is no value of the key any more.
    expect(await call(key, '/shop/v1/free')).toEqual([401]);
    await totalsAre(rotated, { allowed: 1, denied: 2 });
  });

  it('a key that was ignored, or that no policy asked about, counts nothing', async () => {
    const key = await createKey(gateway, 'shop', { is_active: false });
    expect(await call(key, '/shop/v1/optional')).toEqual([200]);
    expect(await call(key, '/shop/v1/open')).toEqual([200]);
    expect(await call(key, '/shop/v1/free')).toEqual([401]);
    await totalsAre(key, { denied: 1 });
  });

  it('what policy let pass is allowed, also when the backend fails', async () => {
    const key = await createKey(gateway, 'down');
    expect(await call(key, '/down/v1/x')).toEqual([502]);
    await totalsAre(key, { allowed: 1 }, 'down');
  });

  it('are exact under concurrency', async () => {
    const key = await createKey(gateway, 'shop');
    const lanes = await Promise.all(Array.from({ length: 20 }, () => call(key, '/shop/v1/free', 20)));
    expect(lanes.flat().every((status) => status === 200)).toBe(true);
    await totalsAre(key, { allowed: 400 });
  });
});

describe('GET …/usage', () => {
  it('takes a range of days, both ends included; days without requests are left out', async () => {
    const key = await createKey(gateway, 'shop');
    await call(key, '/shop/v1/free');
    await totalsAre(key, { allowed: 1 });
    const [yesterday, tomorrow] = [dateOf(Date.now() - DAY_MS), dateOf(Date.now() + DAY_MS)];
    const around = await usage(key, `?from=${yesterday}&to=${tomorrow}`);
    expect(around).toMatchObject({ from: yesterday, to: tomorrow, totals: { allowed: 1 } });
    expect(around.days).toHaveLength(1);
    expect(await usage(key, '?from=2020-02-29&to=2020-02-29')).toMatchObject({
      totals: { allowed: 0, limited: 0, denied: 0 },
      days: [],
    });
  });

  it.each([
    ['a day that the calendar does not have', '?from=2026-02-30'],
    ['a leap day of another year', '?to=2025-02-29'],
    ['a time', '?from=2026-01-01T00:00:00Z'],
    ['from after to', '?from=2026-01-02&to=2026-01-01'],
    ['more than a year', '?from=2024-01-01&to=2026-01-01'],
    ['an unknown parameter', '?since=2026-01-01'],
  ])('%s is 400', async (_name, query) => {
    const key = await createKey(gateway, 'shop');
    const answer = await gateway.api('GET', usagePath(key, query));
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_query']);
  });

  it('the earliest day that can be asked for has a range, too', async () => {
    const key = await createKey(gateway, 'shop');
    expect((await gateway.api('GET', usagePath(key, '?to=0001-01-02'))).status).toBe(200);
  });

  it('of a key that is gone, or under another app, is 404', async () => {
    const key = await createKey(gateway, 'shop');
    expect((await gateway.api('GET', usagePath(key, '', 'bank'))).status).toBe(404);
    await gateway.must('DELETE', `/apps/shop/tokens/${key.id}`);
    expect((await gateway.api('GET', usagePath(key))).status).toBe(404);
  });
});

describe('a restart', () => {
  it('SIGTERM loses no count, not even those of the last moment', async () => {
    const key = await createKey(gateway, 'shop');
    await call(key, '/shop/v1/free', 24);
    const beforeMs = Date.now();
    await call(key, '/shop/v1/free');
    const afterMs = Date.now();
    expect(await gateway.stop()).toBe(0);
    gateway = await startGateway({ env, folder });
    expect((await usage(key)).totals).toEqual({ allowed: 25, limited: 0, denied: 0 });
    const { last_used_at } = await gateway.must('GET', `/apps/shop/tokens/${key.id}`);
    expect(Date.parse(last_used_at)).toBeGreaterThanOrEqual(beforeMs);
    expect(Date.parse(last_used_at)).toBeLessThanOrEqual(afterMs);
    await call(key, '/shop/v1/free', 5);
    await totalsAre(key, { allowed: 30 });
  });

  it('SIGTERM in the middle of traffic counts every request that was answered, also those of the drain', async () => {
    const key = await createKey(gateway, 'shop');
    const clients = startAsking({
      port: gateway.proxyPort,
      connections: 8,
      everyMs: 2,
      request: requestText('/shop/v1/free', { headers: bearer(key.token) }),
      body: 'counted',
    });
    // One request is under way when the drain begins, and is answered during it.
    const slow = request(gateway, '/shop/v1/free?slow', { headers: bearer(key.token) });
    await until(async () => clients.asked.length > 200);
    expect(await gateway.stop()).toBe(0);
    await clients.stop();
    expect((await slow).status).toBe(200);
    gateway = await startGateway({ env, folder });
    const answered = clients.asked.filter(({ outcome }) => outcome === '200').length + 1;
    expect(answered).toBeGreaterThan(200);
    expect((await usage(key)).totals).toEqual({ allowed: answered, limited: 0, denied: 0 });
  });

  it('kill -9 loses what came since the last write, and nothing before it', async () => {
    const key = await createKey(gateway, 'shop');
    await call(key, '/shop/v1/free', 10);
    await totalsAre(key, { allowed: 10 });
    await call(key, '/shop/v1/free', 10);
    await gateway.kill();
    gateway = await startGateway({ env, folder });
    const { allowed } = (await usage(key)).totals;
    expect(allowed).toBeGreaterThanOrEqual(10);
    expect(allowed).toBeLessThanOrEqual(20);
  });
});
