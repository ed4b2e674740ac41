/**
 * `GET /api/v1/state` of the started program: figures of database, store of limits, counters, certificates and
 * breakers. What several gateways say of themselves is in nodes/stats-nodes.test.ts.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { startRedis, type TestRedis } from '../../support/programs/redis.ts';
import { createService } from '../../support/traffic.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely by tests
type Json = any;

const PASSWORD = 'a-password-of-the-store';
const tls = (name: string): string => resolve(import.meta.dirname, '../../support/tls', `${name}.pem`);

let folder: string;
let redis: TestRedis;
let origin: Origin;
let gateway: TestGateway;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-state-'));
  [redis, origin] = await Promise.all([startRedis(), startOrigin()]);
  gateway = await startGateway({
    env: {
      GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'state.db')}`,
      GATEWAY_REDIS_URL: `redis://default:${PASSWORD}@127.0.0.1:${redis.port}/3`,
      GATEWAY_CLUSTER__NODE_NAME: 'lone',
      GATEWAY_PROXY__TLS__CERT_FILE: [tls('site'), tls('expired')].join(),
      GATEWAY_PROXY__TLS__KEY_FILE: [tls('site-key'), tls('expired-key')].join(),
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await redis.close();
  await origin.close();
  rmSync(folder, { recursive: true, force: true });
});

const own = async (): Promise<Json> => {
  const states = (await gateway.must('GET', '/state')) as Json[];
  expect(states).toMatchObject([{ node: 'lone', is_self: true }]);
  return states[0].state;
};

it('has the address of each part without a password, and how long it took to answer', async () => {
  const {
    database,
    limit_store: store,
    workers,
  } = await until(async () => {
    const state = await own();
    return state.limit_store.memory !== null && state;
  });
  expect(database).toEqual({
    driver: 'sqlite',
    address: join(folder, 'state.db'),
    state: 'ok',
    detail: null,
    latency_ms: expect.any(Number),
    clock_ahead_ms: null,
  });
  expect(store).toEqual({
    kind: 'single',
    address: `redis://127.0.0.1:${redis.port}/3`,
    connected: true,
    latency_ms: expect.any(Number),
    nodes: 1,
    fallback: null,
    memory: { bytes: expect.any(Number), bytes_max: null, policy: 'noeviction' },
  });
  expect(workers).toEqual({ listening: 1, configured: 1 });
  expect(JSON.stringify(await own())).not.toContain(PASSWORD);
});

it('lists the certificates with the days that are left', async () => {
  const { certificates } = await own();
  expect(certificates).toMatchObject([
    { listener: 'traffic', names: ['site.test', 'www.site.test'], state: 'valid' },
    { listener: 'traffic', names: ['localhost', '127.0.0.1'], state: 'expired' },
  ]);
  for (const { days_left: days, expires_at: end } of certificates) {
    expect(days).toBe(Math.floor((Date.parse(end) - Date.now()) / 86_400_000));
  }
  expect(certificates[0].days_left).toBeGreaterThan(10_000);
  expect(certificates[1].days_left).toBeLessThan(-1_000);
});

it('calls the end of a certificate a problem', async () => {
  const problems = (await gateway.must('GET', '/problems')) as Json[];
  expect(problems).toContainEqual({
    severity: 'critical',
    code: 'certificate_expired',
    title: 'A certificate has expired',
    detail: expect.stringMatching(/^Certificate 2 of the traffic listener \(localhost\) expired at 2020-/),
    since: expect.stringMatching(/^2020-/),
    node: 'lone',
    link: { kind: 'certificates', setting: 'GATEWAY_PROXY__TLS__CERT_FILE' },
  });
});

/** The certificates are signed by themselves. */
async function statusOf(path: string): Promise<number | undefined> {
  const options = { host: '127.0.0.1', port: gateway.proxyPort, path, rejectUnauthorized: false };
  const [answer] = (await once(get({ ...options, agent: false }), 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

it('counts the breakers by their state', async () => {
  const limit = { rate_limit: { enabled: true, requests: 5, window_seconds: 3_600, per: 'ip' } };
  await createService(gateway, 'shop', origin.port, { app: { default_policy: limit } });
  await createService(gateway, 'broken', await freePort(), {
    revision: { circuit_breaker: { failures: 1, open_secs: 3_600 } },
  });
  expect(await statusOf('/shop/v1/x')).toBe(200);
  expect(await statusOf('/broken/v1/x')).toBe(502);
  const { breakers } = await until(async () => {
    const state = await own();
    return state.breakers.open === 1 && state;
  });
  expect(breakers).toEqual({ closed: 1, half_open: 0, open: 1 });
});

it('says that the store is gone, what limits go by, and that it is back', async () => {
  await redis.stop();
  const gone = await until(async () => {
    const { limit_store: store } = await own();
    return !store.connected && store;
  });
  await expect.poll(async () => (await own()).limit_store.memory, { timeout: 15_000 }).toBeNull();
  expect(gone.fallback).toMatch(/unreachable; on_store_failure applies, with this node as one of 1/);
  // The gateway counts in its own memory now.
  const before = (await own()).limit_counters;
  expect(before).toMatchObject({ counters: 0, bytes: 0, bytes_peak: 0, evictions: 0 });
  expect(before.bytes_max).toBeGreaterThan(1_000_000);
  expect(await statusOf('/shop/v1/x')).toBe(200);
  const counters = await until(async () => {
    const { limit_counters: found } = await own();
    return found.counters === 1 && found;
  });
  expect(counters.bytes).toBeGreaterThan(0);
  expect(counters.bytes_peak).toBeGreaterThanOrEqual(counters.bytes);
  await redis.start();
  await expect.poll(async () => (await own()).limit_store.connected, { timeout: 10_000 }).toBe(true);
  expect((await own()).limit_store.fallback).toBeNull();
});

it('needs a token', async () => {
  expect((await gateway.api('GET', '/state', undefined, { authorization: '' })).status).toBe(401);
});
