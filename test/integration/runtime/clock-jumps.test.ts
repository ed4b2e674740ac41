/** The wall clock jumps by hours, forwards and back, under a running gateway: nothing hangs, and nothing stays shut. */
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createService, request } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const PRELOAD = new URL('../../support/measure/shifted-clock.mjs', import.meta.url).pathname;
const HOUR_MS = 3_600_000;
const WORKERS = 2;
const TIMEOUT = { timeout: 60_000 };

let folder: string;
let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-clock-'));
  writeFileSync(join(folder, 'shift'), '0');
  [gateway, origin] = await Promise.all([
    startGateway({
      env: {
        GATEWAY_WORKERS: String(WORKERS),
        NODE_OPTIONS: `--import=${PRELOAD}`,
        HEADGATE_TEST_CLOCK: join(folder, 'shift'),
      },
    }),
    startOrigin(),
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Resolves when all threads of the gateway go by it. */
async function shift(hours: number): Promise<void> {
  const shiftMs = String(hours * HOUR_MS);
  writeFileSync(join(folder, 'new'), shiftMs);
  renameSync(join(folder, 'new'), join(folder, 'shift'));
  await until(() => {
    const threads = readdirSync(folder).filter((name) => name.startsWith('shift.of-'));
    return (
      threads.length > WORKERS &&
      threads.every((name) => readFileSync(join(folder, name), 'latin1') === shiftMs)
    );
  });
}

const status = async (path: string, key?: string): Promise<number> =>
  (await request(gateway, path, key === undefined ? {} : { headers: { Authorization: `Bearer ${key}` } }))
    .status;

it('keys end by the clock as it is now, and are good again when it was wrong', TIMEOUT, async () => {
  await createService(gateway, 'keys', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
  const expires_at = new Date(Date.now() + HOUR_MS).toISOString();
  const { token } = await gateway.must('POST', '/apps/keys/tokens', { name: 'k', expires_at });
  for (const [hours, expected] of [
    [0, 200],
    [2, 401],
    [-5, 200],
    [0, 200],
  ] as const) {
    await shift(hours);
    expect(await status('/keys/v1/x', token)).toBe(expected);
  }
});

it.each(['fixed_window', 'sliding_window', 'token_bucket'])(
  'limits (%s) go on: a jump lends no caller a limit twice at once, and locks no caller out for long',
  TIMEOUT,
  async (algorithm) => {
    const slug = algorithm.replaceAll('_', '-');
    const rate_limit = { enabled: true, requests: 4, window_seconds: 1, algorithm };
    await createService(gateway, slug, origin.port, { app: { default_policy: { rate_limit } } });
    for (const hours of [0, 3, -3]) {
      await shift(hours);
      const startedMs = performance.now();
      const answers = await Promise.all(Array.from({ length: 12 }, () => status(`/${slug}/v1/x`)));
      const windows = Math.floor((performance.now() - startedMs) / 1_000) + 2;
      const admitted = answers.filter((answer) => answer === 200).length;
      // A window of the clock may end in the middle of them, and tokens come back meanwhile.
      expect(admitted).toBeLessThanOrEqual(4 * windows);
      expect(new Set([...answers, 200, 429])).toEqual(new Set([200, 429]));
      await until(async () => (await status(`/${slug}/v1/x`)) === 200, 8_000);
    }
  },
);

it('a breaker that is open when the clock is set back lets its trial through in time', TIMEOUT, async () => {
  const port = await freePort();
  await createService(gateway, 'broken', port, {
    revision: { circuit_breaker: { failures: 1, open_secs: 1 } },
  });
  for (const hours of [2, -2, 0]) {
    await until(async () => (await status('/broken/v1/x')) === 503);
    await shift(hours);
    const late = await startOriginAt(port);
    const served = await until(async () => (await status('/broken/v1/x')) === 200, 8_000);
    expect(served).toBe(true);
    await late.close();
  }
});

it('management writes are served and obeyed, and no worker is taken for stuck', TIMEOUT, async () => {
  await createService(gateway, 'writes', origin.port);
  for (const hours of [48, -48, 0]) {
    await shift(hours);
    await gateway.must('PATCH', '/apps/writes/versions/v1/revisions/r1', {
      backend_base_path: `/at${hours}`,
    });
    expect(await status('/writes/v1/x')).toBe(200);
    expect(origin.seen.at(-1)?.url).toBe(`/at${hours}/x`);
    expect((await gateway.api('GET', '/health')).status).toBe(200);
  }
  const lost = gateway
    .logs()
    .filter(({ msg }) => /is stuck and is being stopped|died and is replaced/.test(String(msg)));
  expect(lost).toEqual([]);
});

it('lines of the access log soon have the time of the clock as it is now', TIMEOUT, async () => {
  await createService(gateway, 'lines', origin.port);
  for (const hours of [5, -5, 0]) {
    await shift(hours);
    const isOfNow = async (): Promise<boolean> => {
      const before = gateway.logs().length;
      await status('/lines/v1/x');
      const line = await until(() =>
        gateway
          .logs()
          .slice(before)
          .find(({ msg, app }) => msg === 'access' && app === 'lines'),
      );
      const offMs = Date.parse(String(line?.['time'])) - (Date.now() + hours * HOUR_MS);
      return Math.abs(offMs) < 5_000;
    };
    // A worker looks at the clock once a second.
    expect(await until(isOfNow, 5_000)).toBe(true);
  }
});

async function startOriginAt(port: number): Promise<{ close(): Promise<void> }> {
  const server = createServer((_request, response) => response.end('ok'));
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  return {
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}
