/**
 * `GET /metrics` of the started program: what it tells of routes, backends, breakers and the database, that Prometheus'
 * own check has nothing to say about it, and that what is deleted goes away. Decisions of policies are in
 * observe/policy-metrics.test.ts.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { installedProgram } from '../../support/programs/install-program.ts';
import { startOrigin, startRawOrigin, type Origin, type RawOrigin } from '../../support/backends/origin.ts';
import { metric } from '../../support/policies.ts';
import { createService, request } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;
let broken: RawOrigin;

beforeAll(async () => {
  [gateway, origin, broken] = await Promise.all([
    startGateway({
      env: {
        ...INSPECTABLE,
        GATEWAY_WORKERS: '2',
        GATEWAY_PROXY__MAX_CONNECTIONS: '1234',
        GATEWAY_PROXY__MAX_CONCURRENT_EXCHANGES: '567',
      },
    }),
    startOrigin((_request, response) => void setTimeout(() => response.end('0123456789'), 20)),
    startRawOrigin((socket) => socket.destroy()),
  ]);
  await createService(gateway, 'shop', origin.port);
  await createService(gateway, 'doomed', origin.port);
  await createService(gateway, 'broken', broken.port, {
    revision: { circuit_breaker: { failures: 2, open_secs: 60 } },
  });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([origin.close(), broken.close()]);
});

const page = async (): Promise<string> => String((await gateway.api('GET', '//metrics')).body);
const of = (app: string): Record<string, string> => ({ app, version: 'v1', revision: 'r1' });

describe('a request', () => {
  it('is counted with its method, and what has no name there is `other`', async () => {
    for (const method of ['GET', 'POST', 'POST', 'PURGE', 'PROPFIND', 'LOCK'])
      expect((await request(gateway, '/shop/v1/x', { method })).status).toBe(200);
    const counted = (method: string): Promise<number> =>
      metric(gateway, 'headgate_requests_total', { ...of('shop'), method, status: '200' });
    expect(await Promise.all(['GET', 'POST', 'other'].map(counted))).toEqual([1, 2, 3]);
    expect(await page()).not.toMatch(/PURGE|PROPFIND|LOCK/);
  });

  it('has its bytes counted, in and out', async () => {
    const bytes = (direction: string): Promise<number> =>
      metric(gateway, `headgate_${direction}_body_bytes_total`, of('shop'));
    const [before, sentBefore] = [await bytes('request'), await bytes('response')];
    await request(gateway, '/shop/v1/x', { method: 'POST', body: 'x'.repeat(1_234) });
    expect([(await bytes('request')) - before, (await bytes('response')) - sentBefore]).toEqual([1_234, 10]);
  });

  it('has the time at its backend in a histogram of its revision', async () => {
    const read = (part: string): Promise<number> =>
      metric(gateway, `headgate_upstream_duration_seconds_${part}`, of('shop'));
    const [countBefore, sumBefore] = [await read('count'), await read('sum')];
    await request(gateway, '/shop/v1/x');
    expect((await read('count')) - countBefore).toBe(1);
    // A timer of Node.js may fire a millisecond early.
    expect((await read('sum')) - sumBefore).toBeGreaterThan(0.018);
    expect(
      await metric(gateway, 'headgate_upstream_duration_seconds_bucket', { ...of('shop'), le: '0.001' }),
    ).toBe(0);
  });
});

describe('a backend that fails', () => {
  it('is counted by app, version, revision and cause, and its breaker shows', async () => {
    const state = (app: string): Promise<number> => metric(gateway, 'headgate_breaker_state', of(app));
    expect(await state('broken')).toBe(0);
    for (const expected of [502, 502, 503])
      expect((await request(gateway, '/broken/v1/x', { method: 'POST' })).status).toBe(expected);
    expect(await metric(gateway, 'headgate_upstream_errors_total', { ...of('broken'), cause: 'reset' })).toBe(
      2,
    );
    expect(await metric(gateway, 'headgate_upstream_errors_total')).toBe(2);
    expect([await state('broken'), await state('shop')]).toEqual([2, 0]);
    expect(await page()).toContain('headgate_breaker_state{app="broken",version="v1",revision="r1"} 2\n');
  });
});

describe('a worker', () => {
  it('shows its limits together with what it uses', async () => {
    const read = (name: string): Promise<number> => metric(gateway, `headgate_${name}`);
    expect(await read('workers_configured')).toBe(2);
    expect(await read('downstream_connections_max')).toBe(1_234);
    expect(await read('exchanges_max')).toBe(567);
    expect((await read('worker_heap_bytes_max')) * 2).toBeGreaterThan(await read('worker_heap_bytes'));
  });
});

describe('the page', () => {
  it('gives promtool check metrics nothing to say', async () => {
    const promtool = installedProgram('promtool', 'prometheus');
    const { status, stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], { input: await page() });
    expect([String(stdout), String(stderr), status]).toEqual(['', '', 0]);
  }, 120_000);

  it('forgets the labels of an app that is deleted, also what a dead worker has counted', async () => {
    expect((await request(gateway, '/doomed/v1/x')).status).toBe(200);
    // Dead, it cannot be asked any more: what it had told is the main thread's.
    expect(await metric(gateway, 'headgate_requests_total', of('doomed'))).toBe(1);
    await crashWorkers(gateway, () => true);
    await until(async () => (await metric(gateway, 'headgate_workers')) === 2 || undefined);
    expect(await metric(gateway, 'headgate_requests_total', of('doomed'))).toBe(1);
    expect((await request(gateway, '/doomed/v1/x')).status).toBe(200);
    expect(await metric(gateway, 'headgate_requests_total', of('doomed'))).toBe(2);
    const before = await metric(gateway, 'headgate_requests_total', of('shop'));
    expect(before).toBeGreaterThan(0);
    await gateway.must('DELETE', '/apps/doomed?cascade=true');
    expect(await page()).not.toContain('doomed');
    expect(await metric(gateway, 'headgate_deleted_requests_total', { status: '200' })).toBe(2);
    expect(await metric(gateway, 'headgate_requests_total', of('shop'))).toBe(before);
  });
});

describe('the database', () => {
  it('shows whether it answers', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-metrics-'));
    const path = join(folder, 'headgate.db');
    const own = await startGateway({ folder, env: { GATEWAY_DATABASE_URL: `sqlite://${path}` } });
    try {
      expect(await metric(own, 'headgate_database_up', { driver: 'sqlite' })).toBe(1);
      renameSync(path, `${path}.away`);
      const { body } = await own.api('GET', '//metrics');
      expect(body).toContain('\nheadgate_database_up{driver="sqlite"} 0\n');
      renameSync(`${path}.away`, path);
      expect(await metric(own, 'headgate_database_up')).toBe(1);
    } finally {
      await own.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
