/**
 * The long lists of one app and its many endpoints, together: each endpoint with a policy of its own inherits them.
 * Their changes may not keep the workers from the requests of other apps.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { metric } from '../../support/policies.ts';
import { createService, request, revisionPath, type Fields, type Served } from '../../support/traffic.ts';

const ENDPOINTS = 200;
const IP_ACCESS = {
  deny: Array.from({ length: 10_000 }, (_, index) => `10.${index >> 8}.${index & 255}.0/24`),
};
/** Of all threads, for one change; a fifth of a second is usual. */
const CPU_SECONDS_MAX = 1.5;

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway({ env: { GATEWAY_WORKERS: '2' } }), startOrigin()]);
  await createService(gateway, 'other', origin.port);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const config = (app: Fields, revision: Fields, first: number): Fields => ({
  apps: {
    lists: {
      gateway_path: '/lists',
      ...app,
      versions: {
        v1: {
          revisions: {
            r1: {
              backend_scheme: 'http',
              backend_host: '127.0.0.1',
              backend_port: origin.port,
              is_current: true,
              ...revision,
              endpoints: Object.fromEntries(
                Array.from({ length: ENDPOINTS }, (_, index) => [
                  `GET /${index}`,
                  { policy_override: { max_body_bytes: first + index } },
                ]),
              ),
            },
          },
        },
      },
    },
  },
});

const cpuSeconds = async (): Promise<number> => (await metric(gateway, 'process_cpu_seconds_total')) ?? NaN;

/** Processor seconds of the change. */
async function costOf(change: () => Promise<unknown>): Promise<number> {
  const before = await cpuSeconds();
  await change();
  return (await cpuSeconds()) - before;
}

it('of the app and of a revision, with changes of endpoints by the whole and one by one', async () => {
  const apply = (app: Fields, revision: Fields, first: number): Promise<number> =>
    costOf(() => gateway.must('POST', '/config/apply', { config: config(app, revision, first) }));
  const policy = { default_policy: { ip_access: IP_ACCESS } };
  expect(await apply(policy, {}, 1)).toBeLessThan(CPU_SECONDS_MAX);
  expect(await costOf(() => gateway.must('PATCH', '/apps/lists', { description: 'x' }))).toBeLessThan(
    CPU_SECONDS_MAX,
  );
  expect(await apply({}, policy, 1_000)).toBeLessThan(CPU_SECONDS_MAX);
  // With more, the version is compiled as a whole.
  const endpoints: Served[] = await gateway.must('GET', `${revisionPath('lists')}/endpoints?limit=50`);
  const operations = endpoints.map(({ id }) => ({
    method: 'PATCH',
    path: `/api/v1${revisionPath('lists')}/endpoints/${id}`,
    body: { policy_override: { max_body_bytes: 9_999 } },
  }));
  const together = () => gateway.must('POST', '/transaction', { operations });
  expect(await costOf(together)).toBeLessThan(CPU_SECONDS_MAX);
  expect((await request(gateway, '/other/v1/x')).status).toBe(200);
  expect((await request(gateway, '/lists/v1/1')).status).toBe(200);
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
});
