/** `GET /api/v1/problems` of the started program: empty when all is well, and in words what is wrong when it is. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { createService, request, revisionPath } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;

// oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely by tests
const problems = (of: TestGateway = gateway): Promise<any[]> => of.must('GET', '/problems');
const problem = async (code: string): Promise<unknown> =>
  until(async () => (await problems()).find((each) => each.code === code));

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway({ env: INSPECTABLE }), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

describe('a gateway', () => {
  it('without trouble has no problems', async () => {
    await createService(gateway, 'shop', origin.port);
    expect((await request(gateway, '/shop/v1/x')).status).toBe(200);
    expect(await problems()).toEqual([]);
  });

  it('names the backend that fails and the app that suffers, most severe first', async () => {
    await createService(gateway, 'dead', await freePort());
    for (let count = 0; count < 40; count++) await request(gateway, '/dead/v1/x');
    expect(await problem('breaker_open')).toMatchObject({
      severity: 'critical',
      detail: expect.stringMatching(/revision \S+ of dead v1 is open/),
      since: expect.any(String),
      link: { kind: 'revision', app: 'dead', version: 'v1' },
    });
    // The last of them may lie in a second that is not closed yet.
    await until(async () =>
      (await problems()).some(({ detail }) => detail.includes('of 40 requests of dead')),
    );
    expect(await problem('high_error_share')).toMatchObject({
      severity: 'critical',
      detail: expect.stringContaining('100 % of 40 requests of dead'),
      link: { kind: 'app', app: 'dead' },
    });
    const ranks = (await problems()).map(({ severity }) => ['critical', 'warning', 'info'].indexOf(severity));
    expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
  });

  it('forgets an open breaker once the backend works', async () => {
    await gateway.must('PATCH', revisionPath('dead'), { backend_port: origin.port });
    expect((await request(gateway, '/dead/v1/x')).status).toBe(200);
    await expect.poll(async () => (await problems()).map(({ code }) => code)).not.toContain('breaker_open');
  });

  it('says that a worker died', async () => {
    await crashWorkers(gateway, (title) => title.endsWith('proxy-1'));
    expect(await problem('worker_lost')).toMatchObject({
      severity: 'warning',
      detail: expect.stringMatching(/^1 worker died or got stuck/),
      link: { kind: 'workers' },
    });
  });
});

it('a health check that fails is a problem before it opens the breaker, and ends with a check that passes', async () => {
  let works = false;
  const site = createServer((message, response) => {
    response.statusCode = message.url === '/healthz' && !works ? 500 : 200;
    response.end();
  });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  const { port } = site.address() as AddressInfo;
  try {
    const probe = { interval_ms: 200, unhealthy_threshold: 10 };
    const breaker = { failures: 1_000, open_secs: 1, probe };
    const revision = { health_check_path: '/healthz', circuit_breaker: breaker };
    await createService(gateway, 'checked', port, { revision });
    const own = async (): Promise<unknown> =>
      (await problems()).find(({ link }) => link.app === 'checked' && link.kind === 'revision');
    expect(await until(async () => await own())).toMatchObject({
      code: 'health_check_failing',
      severity: 'warning',
      detail: expect.stringMatching(/^The last health check of revision \S+ of checked v1 failed: .*500/),
    });
    works = true;
    await expect.poll(own, { timeout: 10_000 }).toBeUndefined();
  } finally {
    site.close();
    site.closeAllConnections();
  }
});

it('a backend that fails its health checks is a problem until it passes one', async () => {
  let works = false;
  const moody = createServer((message, response) => {
    if (works) response.end();
    else message.socket.destroy();
  });
  moody.listen(0, '127.0.0.1');
  await once(moody, 'listening');
  const { port } = moody.address() as AddressInfo;
  const codes = async (): Promise<string[]> => (await problems()).map(({ code }) => code);
  try {
    const revision = { health_check_path: '/healthz', circuit_breaker: { failures: 1, open_secs: 1 } };
    await createService(gateway, 'moody', port, { revision });
    for (let count = 0; count < 3; count++) await request(gateway, '/moody/v1/x');
    await until(async () => (await codes()).includes('breaker_open'));
    works = true;
    await expect.poll(codes).not.toContain('breaker_open');
  } finally {
    moody.close();
    moody.closeAllConnections();
  }
});

it('a store of limits that cannot be reached is a problem', async () => {
  const lone = await startGateway({
    env: { GATEWAY_REDIS_URL: `redis://127.0.0.1:${await freePort()}` },
  });
  try {
    const details = async (): Promise<string[]> =>
      (await problems(lone))
        .filter(({ code }) => code === 'limit_store_unavailable')
        .map(({ detail }) => detail);
    await expect
      .poll(details)
      .toEqual([expect.stringMatching(/ as one of 1: there is no connection: connect ECONNREFUSED /)]);
    const [found] = (await problems(lone)).filter(({ code }) => code === 'limit_store_unavailable');
    expect(Date.parse(found?.since ?? ''), 'since it began to ask').toBeLessThan(Date.now());
    const ready = await lone.api('GET', '//readyz');
    expect(ready.body?.data.reason, 'without the address').toMatch(/ as one of 1$/);
  } finally {
    await lone.stop();
  }
});

it('a management API without TLS off loopback is a problem', async () => {
  const open = await startGateway({ env: { GATEWAY_SERVER__HOST: '0.0.0.0' } });
  try {
    expect(await problems(open)).toMatchObject([
      { code: 'management_without_tls', severity: 'warning', link: { kind: 'settings' } },
    ]);
  } finally {
    await open.stop();
  }
});
