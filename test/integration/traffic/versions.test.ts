/** Contract part 3 "Version status" and part 9: active, deprecated and retired versions, and their header fields. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import {
  createEndpoint,
  createRevision,
  createService,
  createVersion,
  problem,
  request,
  versionPath,
} from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway({ env: { GATEWAY_WORKERS: '2' } }), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const setStatus = (slug: string, status: string, version = 'v1'): Promise<unknown> =>
  gateway.must('PATCH', versionPath(slug, version), { status });

const warningsOf = (slug: string): Record<string, unknown>[] =>
  gateway
    .logs()
    .filter((line) => line['level'] === 'warn' && line['version'] === `${slug}/v1` && 'requests' in line);

describe('status', () => {
  it('spec 2: the status of a new version is active, and traffic is accepted normally', async () => {
    await createService(gateway, 'plain', origin.port);
    expect((await gateway.must('GET', versionPath('plain'))).status).toBe('active');
    const response = await request(gateway, '/plain/v1/x');
    expect(response.status).toBe(200);
    expect(response.headers).not.toHaveProperty('deprecation');
    expect(response.headers).not.toHaveProperty('sunset');
    expect(warningsOf('plain')).toEqual([]);
  });

  it('spec 3: every request to a retired version returns 410, and nothing reaches the backend', async () => {
    await createService(gateway, 'retired', origin.port);
    await createEndpoint(gateway, 'retired', 'GET', '/x');
    await setStatus('retired', 'retired');
    const before = origin.seen.length;
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'HEAD']) {
      for (const target of ['/retired/v1', '/retired/v1/', '/retired/v1/x', '/retired/v1/none?a=b']) {
        expect((await request(gateway, target, { method })).status).toBe(410);
      }
    }
    const response = await request(gateway, '/retired/v1/x');
    expect(problem(response)).toMatchObject({ status: 410, code: 'version_retired', data: null });
    expect(origin.seen).toHaveLength(before);
  });

  it('a retired version answers 410 before its policy is looked at', async () => {
    await createService(gateway, 'locked', origin.port, {
      app: {
        default_policy: {
          auth: { auth_type: 'api_key' },
          allowed_methods: ['GET'],
          rate_limit: { enabled: true, requests: 1, window_seconds: 3600 },
        },
      },
      version: { status: 'retired' },
    });
    for (let time = 0; time < 3; time++) {
      expect((await request(gateway, '/locked/v1/x', { method: 'POST' })).status).toBe(410);
    }
    const preflight = await request(gateway, '/locked/v1/x', {
      method: 'OPTIONS',
      headers: { Origin: 'https://app.test', 'Access-Control-Request-Method': 'GET' },
    });
    expect(preflight.status).toBe(410);
  });

  it('spec 7: 410 also in managed mode and without any revision', async () => {
    await createService(gateway, 'nothing', origin.port, { app: { routing_mode: 'managed_endpoint' } });
    await createVersion(gateway, 'nothing', 'v0', { status: 'retired' });
    await setStatus('nothing', 'retired');
    expect((await request(gateway, '/nothing/v1/x')).status).toBe(410);
    expect((await request(gateway, '/nothing/v0/x')).status).toBe(410);
  });

  it('the status may go from any state to any other, and traffic follows at once', async () => {
    await createService(gateway, 'moves', origin.port);
    const answers = { active: 200, deprecated: 200, retired: 410 } as const;
    const states = Object.keys(answers) as (keyof typeof answers)[];
    for (const from of states) {
      for (const to of states) {
        await setStatus('moves', from);
        expect((await request(gateway, '/moves/v1/x')).status).toBe(answers[from]);
        await setStatus('moves', to);
        expect((await gateway.must('GET', versionPath('moves'))).status).toBe(to);
        expect((await request(gateway, '/moves/v1/x')).status).toBe(answers[to]);
      }
    }
    expect((await gateway.api('PATCH', versionPath('moves'), { status: 'gone' })).status).toBe(422);
  });

  it('spec 9: retiring one version leaves the others of the app alone', async () => {
    await createService(gateway, 'family', origin.port);
    await createVersion(gateway, 'family', 'v2');
    await createRevision(gateway, 'family', origin.port, {}, 'v2');
    await setStatus('family', 'retired');
    expect((await request(gateway, '/family/v1/x')).status).toBe(410);
    expect((await request(gateway, '/family/v2/x')).status).toBe(200);
  });
});

describe('deprecation', () => {
  it('responses of a deprecated version carry Deprecation (RFC 9745) and Sunset (RFC 8594)', async () => {
    await createService(gateway, 'fields', origin.port);
    const earliest = Math.floor(Date.now() / 1000);
    await setStatus('fields', 'deprecated');
    const latest = Math.ceil(Date.now() / 1000);
    const first = await request(gateway, '/fields/v1/x');
    expect(first.status).toBe(200);
    const since = /^@(\d+)$/.exec(first.headers['deprecation'] ?? '')?.[1];
    expect(Number(since)).toBeGreaterThanOrEqual(earliest);
    expect(Number(since)).toBeLessThanOrEqual(latest);
    expect(first.headers).not.toHaveProperty('sunset');
    await gateway.must('PATCH', versionPath('fields'), { sunset_at: '2031-05-06T07:08:09Z' });
    const second = await request(gateway, '/fields/v1/x');
    expect(second.headers['sunset']).toBe('Tue, 06 May 2031 07:08:09 GMT');
    expect(second.headers['deprecation']).toBe(`@${since}`);
    await setStatus('fields', 'active');
    const third = await request(gateway, '/fields/v1/x');
    expect(third.headers).not.toHaveProperty('deprecation');
    expect(third.headers).not.toHaveProperty('sunset');
  });

  it('the gateway’s Deprecation and Sunset replace those of the backend; else the backend’s pass', async () => {
    const speaking = await startOrigin((_request, response) => {
      response.writeHead(200, { Deprecation: '@1', Sunset: 'Thu, 01 Jan 1970 00:00:00 GMT' });
      response.end('ok');
    });
    await createService(gateway, 'speaking', speaking.port);
    expect((await request(gateway, '/speaking/v1/x')).headers).toMatchObject({
      deprecation: '@1',
      sunset: 'Thu, 01 Jan 1970 00:00:00 GMT',
    });
    await gateway.must('PATCH', versionPath('speaking'), {
      status: 'deprecated',
      sunset_at: '2031-05-06T07:08:09Z',
    });
    const { headers } = await request(gateway, '/speaking/v1/x');
    expect(headers['deprecation']).toMatch(/^@\d{10}$/);
    expect(headers['sunset']).toBe('Tue, 06 May 2031 07:08:09 GMT');
    await speaking.close();
  });

  it('answers that the gateway makes itself carry the fields, too', async () => {
    await createService(gateway, 'denied', origin.port, {
      app: { default_policy: { auth: { auth_type: 'api_key' } } },
      version: { status: 'deprecated' },
    });
    const response = await request(gateway, '/denied/v1/x');
    expect(response.status).toBe(401);
    expect(response.headers['deprecation']).toMatch(/^@\d+$/);
  });

  it('spec 3: a request to a deprecated version is answered and a warning is logged at once, with its request id', async () => {
    await createService(gateway, 'warned', origin.port, { version: { status: 'deprecated' } });
    expect(warningsOf('warned')).toEqual([]);
    const response = await request(gateway, '/warned/v1/x');
    expect(response.status).toBe(200);
    const warning = await until(() => warningsOf('warned')[0]);
    expect(warning).toMatchObject({
      level: 'warn',
      version: 'warned/v1',
      requests: 1,
      request_id: response.headers['x-request-id'],
    });
    expect(String(warning['msg'])).toContain('deprecated');
  });

  it(
    'then at most one warning per version and 10 s, with the number of requests since',
    { timeout: 60_000 },
    async () => {
      await createService(gateway, 'counted', origin.port, { version: { status: 'deprecated' } });
      // Many connections, so that both workers serve some of them.
      await Promise.all(Array.from({ length: 41 }, () => request(gateway, '/counted/v1/x')));
      const timeOf = (line: Record<string, unknown> | undefined): number =>
        Date.parse(String(line?.['time']));
      const [first, second] = await until(() => {
        const lines = warningsOf('counted');
        return lines.length >= 2 ? lines : undefined;
      }, 30_000);
      expect(first?.['requests']).toBe(1);
      expect(second?.['requests']).toBe(40);
      expect(timeOf(second) - timeOf(first)).toBeGreaterThanOrEqual(9_900);
      expect(warningsOf('counted')).toHaveLength(2);
    },
  );
});
