/**
 * Changes of many endpoints: requests of other apps are served while the workers prepare one, and the change is seen as
 * a whole. src/control/changes/ has the tests of how long a worker is held up.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, WITH_SPARE, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';

const ENDPOINTS = 3_000;

let origin: Origin;
let gateway: TestGateway;

beforeAll(async () => {
  origin = await startOrigin();
  gateway = await startGateway({ env: WITH_SPARE });
  const revision = { backend_host: '127.0.0.1', backend_port: origin.port, backend_scheme: 'http' };
  const endpoints: Record<string, object> = {};
  for (let index = 0; index < ENDPOINTS; index += 1) {
    endpoints[`GET /Items/${index}/{id}`] = {
      policy_override: { cors: { allowed_origins: [`https://app-${index}.example`] } },
    };
  }
  const versionOf = (own: object) => ({
    v1: { revisions: { r1: { ...revision, ...own, is_current: true } } },
  });
  const apps = {
    large: { gateway_path: '/large', versions: versionOf({ endpoints }) },
    small: { gateway_path: '/small', versions: versionOf({}) },
  };
  await gateway.must('POST', '/config/apply', { config: { apps } });
}, 120_000);
afterAll(async () => {
  await gateway?.stop();
  await origin?.close();
});

const statusOf = async (path: string): Promise<number> => {
  const response = await fetch(`${gateway.proxy}${path}`);
  await response.arrayBuffer();
  return response.status;
};

const configVersion = async (): Promise<number> =>
  (await gateway.must('GET', '/config/versions?limit=1'))[0].config_version;

it('is seen as a whole, and other requests are answered until then', { timeout: 60_000 }, async () => {
  let isDone = false;
  const patch = gateway
    .must('PATCH', '/apps/large', { default_policy: { ip_access: { deny: ['127.0.0.1'] } } })
    .finally(() => (isDone = true));
  let served = 0;
  const seen: string[] = [];
  while (!isDone) {
    expect(await statusOf('/small/v1/x')).toBe(200);
    if (!isDone) served += 1;
    const first = await statusOf('/large/v1/Items/0/x');
    const last = await statusOf(`/large/v1/Items/${ENDPOINTS - 1}/x`);
    seen.push(`${first} ${last}`);
  }
  await patch;
  expect(served).toBeGreaterThan(3);
  expect(await statusOf('/large/v1/Items/0/x')).toBe(403);
  expect(await statusOf(`/large/v1/Items/${ENDPOINTS - 1}/x`)).toBe(403);
  // The change may come between the two requests of one round, but never after the second of them.
  expect(seen.filter((each) => each === '403 200')).toEqual([]);
  expect(seen[0]).toBe('200 200');
});

it('a smaller change behind it is answered after it, and both are there', { timeout: 60_000 }, async () => {
  const before = await configVersion();
  const writes = [
    gateway.must('PATCH', '/apps/large', { default_policy: null }),
    gateway.must('PATCH', '/apps/small', { default_policy: { ip_access: { deny: ['127.0.0.1'] } } }),
  ];
  await Promise.all(
    writes.map(async (write, index) => {
      await write;
      expect(await statusOf(['/large/v1/Items/0/x', '/small/v1/x'][index] ?? '')).toBe([200, 403][index]);
    }),
  );
  expect(await configVersion()).toBe(before + 2);
});

it('a description makes a config version with its history, and nothing is compiled', async () => {
  const before = await configVersion();
  await gateway.must('PATCH', '/apps/large', { description: 'new' });
  expect(await configVersion()).toBe(before + 1);
  const [latest] = await gateway.must('GET', '/config/versions?limit=1');
  expect(latest).toMatchObject({ config_version: before + 1, action: 'app.update' });
  expect((await gateway.must('GET', '/apps/large')).description).toBe('new');
  expect(await statusOf('/large/v1/Items/0/x')).toBe(200);
});
