/** A store that is full of the counters of one app, which its clients make with the values of a header field. */
import { expect, it } from 'vitest';
import { startOrigin } from '../../support/backends/origin.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { startGateway } from '../../support/gateway.ts';
import { metric } from '../../support/policies.ts';
import { startRedis } from '../../support/programs/redis.ts';
import { until } from '../../support/measure/until.ts';
import { createService, request, requestText } from '../../support/traffic.ts';

const COUNTERS = 6_000;
/** At once; each waits for the store. */
const CLIENTS = 20;
const PIPELINED = 10;
const LIMIT = 100_000;
/** Of a store that makes room for others: it is full, and stays so. */
const EVICTED = 300;
/** For counters, beyond what an empty store uses. */
const ROOM_BYTES = 524_288;
const LESS_BYTES = 262_144;

const closers = closeAfterEach();

it.each([
  { policy: 'noeviction', isOut: true },
  { policy: 'volatile-lru', isOut: false },
])('with $policy', { timeout: 60_000 }, async ({ policy, isOut }) => {
  const redis = await startRedis(['--maxmemory-policy', policy]);
  closers.push(() => redis.close());
  const origin = await startOrigin();
  closers.push(() => origin.close());
  const gateway = await startGateway({
    // Only a full store is a failure, not a slow machine.
    env: {
      GATEWAY_REDIS_URL: redis.url,
      GATEWAY_LIMITS__TIMEOUT_MS: '5000',
      GATEWAY_LOG__ACCESS: 'false',
    },
  });
  closers.push(() => gateway.stop());
  const hourly = { enabled: true, window_seconds: 3_600 };
  await createService(gateway, 'flooded', origin.port, {
    app: { default_policy: { rate_limit: { ...hourly, requests: 2, per: 'header:x-device' } } },
  });
  const other = { ...hourly, requests: LIMIT, on_store_failure: 'deny' };
  await createService(gateway, 'other', origin.port, { app: { default_policy: { rate_limit: other } } });
  let last = await request(gateway, '/other/v1/x');
  let asked = 1;
  const flood = async (from: number): Promise<void> => {
    const client = await connectRaw(gateway.proxyPort);
    const devices = Array.from({ length: PIPELINED }, (_, at) => `${from + at}`);
    client.write(
      devices.map((device) => requestText('/flooded/v1/x', { headers: { 'X-Device': device } })).join(''),
    );
    await until(() => client.received().split('HTTP/1.1 ').length > PIPELINED);
    client.end();
  };
  const infoOf = async (section: string, name: string): Promise<number> =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await redis.command('INFO', section))?.[1]);
  const evicted = (): Promise<number> => infoOf('stats', 'evicted_keys');
  const emptyBytes = await infoOf('memory', 'used_memory');
  const bytes = emptyBytes + ROOM_BYTES;
  await redis.command('CONFIG', 'SET', 'maxmemory', String(bytes));
  const isFull = async (): Promise<boolean> => last.status !== 200 || (await evicted()) >= EVICTED;
  for (let sent = 0; sent < COUNTERS && !(await isFull()); sent += CLIENTS * PIPELINED) {
    await Promise.all(Array.from({ length: CLIENTS }, (_, at) => flood(sent + at * PIPELINED)));
    last = await request(gateway, '/other/v1/x');
    asked += 1;
  }
  const reasons = gateway.logs().filter(({ reason }) => String(reason).startsWith('OOM'));
  expect(reasons.length > 0).toBe(isOut);
  expect(last.status).toBe(isOut ? 429 : 200);
  expect((await evicted()) > 0).toBe(!isOut);
  // What its calls took is free after them, and a beat may just find room: it is full at all times with less memory.
  if (isOut) await redis.command('CONFIG', 'SET', 'maxmemory', String(bytes - LESS_BYTES));
  const found = async (): Promise<string[]> =>
    ((await gateway.must('GET', '/problems')) as { code: string; detail: string }[])
      .filter(({ code }) => code.startsWith('limit_store'))
      .map(({ code, detail }) => `${code}: ${detail}`);
  await expect
    .poll(async () => (await found()).join('\n'), { timeout: 15_000 })
    .toMatch(
      isOut
        ? /^limit_store_unavailable: The limit store is full, and refuses all calls; on_store_failure applies, with this node as one of 1\nlimit_store_full: \d\.\d of \d\.\d MiB are used \(noeviction\)/
        : /^$/,
    );
  const used = (): Promise<number> => metric(gateway, 'headgate_limit_store_memory_bytes');
  await expect.poll(used, { timeout: 15_000 }).toBeGreaterThan(emptyBytes);
  const max = (): Promise<number> => metric(gateway, 'headgate_limit_store_memory_bytes_max', { policy });
  await expect.poll(max, { timeout: 15_000 }).toBe(isOut ? bytes - LESS_BYTES : bytes);
  if (!isOut) expect(Number(last.headers['x-ratelimit-remaining'])).toBe(LIMIT - asked);
});
