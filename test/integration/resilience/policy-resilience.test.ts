/**
 * `timeouts` and `retries` of a policy through the started program: which level applies, that a change is obeyed by
 * the next request, and what effective-policy, explain, dry_run, metrics and log say of them.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explain, stageOf } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { metric } from '../../support/policies.ts';
import { createEndpoint, createService, problem, request, revisionPath } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;
/** How often each path was asked for. */
const asked = new Map<string, number>();

beforeAll(async () => {
  const slowly = (milliseconds: number, answer: () => void): void => void setTimeout(answer, milliseconds);
  [gateway, origin] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: '2' } }),
    startOrigin(({ url = '' }, response) => {
      const count = (asked.get(url) ?? 0) + 1;
      asked.set(url, count);
      if (url.startsWith('/slow')) return slowly(600, () => response.end('slow'));
      if (url.startsWith('/reset') && count === 1) return void response.socket?.destroy();
      if (url.startsWith('/busy') && count === 1) response.statusCode = 503;
      return void response.end(`answer ${count}`);
    }),
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const STEADY = { revision: { circuit_breaker: { failures: 1_000 } } };
const status = async (target: string): Promise<number> => (await request(gateway, target)).status;

describe('timeouts', () => {
  it('endpoint over revision over app over settings, each whole and obeyed at once', async () => {
    await createService(gateway, 'times', origin.port, STEADY);
    const endpoint = await createEndpoint(gateway, 'times', 'GET', '/slow');
    const revision = revisionPath('times');
    expect(await status('/times/v1/slow')).toBe(200);
    await gateway.must('PATCH', '/apps/times', { default_policy: { timeouts: { first_byte_ms: 100 } } });
    expect(problem(await request(gateway, '/times/v1/slow'))).toMatchObject({
      status: 504,
      code: 'upstream_timeout',
    });
    await gateway.must('PATCH', revision, { default_policy: { timeouts: { connect_ms: 10_000 } } });
    expect(await status('/times/v1/slow')).toBe(200);
    const override = `${revision}/endpoints/${endpoint.id}`;
    await gateway.must('PATCH', override, { policy_override: { timeouts: { total_ms: 200 } } });
    expect(await status('/times/v1/slow')).toBe(504);
    expect(await status('/times/v1/slower')).toBe(200);
    await gateway.must('PATCH', override, { policy_override: { timeouts: { total_ms: null } } });
    expect(await status('/times/v1/slow')).toBe(200);
  });
});

describe('retries', () => {
  it('one by default, none where they are off, and after a status where it is listed', async () => {
    const paths = [
      ['/reset/default', undefined],
      ['/reset/off', { max: 0 }],
      ['/busy/default', undefined],
      ['/busy/listed', { on: ['503'] }],
    ] as const;
    await createService(gateway, 'again', origin.port, STEADY);
    for (const [path, retries] of paths) {
      await createEndpoint(gateway, 'again', 'GET', path, {
        policy_override: retries === undefined ? null : { retries },
      });
    }
    const statuses = await Promise.all(paths.map(([path]) => status(`/again/v1${path}`)));
    expect(statuses).toEqual([200, 502, 503, 200]);
    expect(paths.map(([path]) => asked.get(path))).toEqual([2, 1, 1, 2]);
    const retried = (reason: string): Promise<number> =>
      metric(gateway, 'headgate_upstream_retries_total', { reason });
    expect([await retried('reset'), await retried('503')]).toEqual([1, 1]);
    // The access log is written a little later.
    const lines = await until(() => {
      const found = gateway.logs().filter(({ msg, app }) => msg === 'access' && app === 'again');
      return found.length === paths.length ? found : undefined;
    });
    const byRoute = new Map(lines.map((line) => [line['route'], line['retries']]));
    expect(paths.map(([path]) => byRoute.get(`/again/v1${path}`))).toEqual([1, undefined, undefined, 1]);
  });

  it('that the budget refuses are counted', async () => {
    await createService(gateway, 'storm', 9, STEADY);
    const refused = (): Promise<number> =>
      metric(gateway, 'headgate_upstream_retries_refused_total', { reason: 'connect' });
    const statuses: number[] = [];
    for (let n = 0; n < 60; n++) statuses.push(await status('/storm/v1/x'));
    expect(new Set(statuses)).toEqual(new Set([502]));
    // Ten are free for each of two workers, and a fifth of sixty.
    expect(await refused()).toBeGreaterThan(60 - 2 * 10 - 60 / 5 - 1);
  });
});

describe('what is reported about them', () => {
  it('explain: what applies, and the level of each', async () => {
    await createService(gateway, 'told', origin.port, {
      app: { default_policy: { timeouts: { total_ms: 5_000 } } },
      revision: { default_policy: { retries: { max: 3, on: ['connect', '502'] } } },
    });
    const app = await gateway.must('GET', '/apps/told');
    const revision = await gateway.must('GET', revisionPath('told'));
    const explained = await explain(gateway, { method: 'GET', url: '/told/v1/x' });
    expect(stageOf(explained, 'forward')).toMatchObject({
      verdict: 'passed',
      value: {
        timeouts: {
          connect_ms: 5_000,
          first_byte_ms: 60_000,
          idle_ms: 60_000,
          total_ms: 5_000,
          level: 'app',
          source_id: app.id,
        },
        retries: { max: 3, on: ['connect', '502'], level: 'revision', source_id: revision.id },
      },
    });
    await gateway.must('PATCH', '/apps/told', { default_policy: null });
    await gateway.must('PATCH', revisionPath('told'), { default_policy: null });
    const plain = await explain(gateway, { method: 'GET', url: '/told/v1/x' });
    expect(stageOf(plain, 'forward').value).toMatchObject({
      timeouts: { total_ms: null, level: 'global', source_id: null },
      retries: { max: 1, on: ['connect', 'reset'], level: 'global', source_id: null },
    });
  });

  it('dry_run: which endpoints would differ, and how', async () => {
    await createService(gateway, 'tried', origin.port);
    const change = { default_policy: { timeouts: { total_ms: 700 }, retries: { max: 0 } } };
    const answer = await gateway.must('PATCH', '/apps/tried?dry_run=true', change);
    const parts = answer.endpoints.flatMap((endpoint: { parts: { part: string }[] }) => endpoint.parts);
    expect(parts.map(({ part }: { part: string }) => part)).toEqual(['timeouts', 'retries']);
    expect(parts[0]).toMatchObject({ before: null, after: { value: { total_ms: 700 } } });
  });
});
