/**
 * A plan says which of the recent requests would be answered differently: real traffic of real clients through two
 * workers, and plans that change who may call what. A plan leaves no trace.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setTimeout as pause } from 'node:timers/promises';
import { LeanClient } from '../../support/clients/lean-client.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, metric } from '../../support/policies.ts';
import { request, type Fields, type Served } from '../../support/traffic.ts';

const API_KEY = { auth_type: 'api_key' };

let gateway: TestGateway;
let origin: Origin;
let keys: Record<string, string>;

/** The configuration that serves, with changes. */
function config(change: (billing: Served, orders: Served) => void = () => undefined): Served {
  const revision = (fields: Fields) => ({
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: origin.port,
    is_current: true,
    ...fields,
  });
  const billing = {
    gateway_path: '/billing',
    versions: {
      v1: {
        revisions: {
          r1: revision({
            default_policy: { auth: API_KEY },
            endpoints: {
              'GET /invoices': { policy_override: { required_scopes: ['read'] } },
              'GET /open': { policy_override: { auth: { auth_type: 'none' } } },
              'GET /limited': {
                policy_override: { rate_limit: { enabled: true, requests: 1_000, window_seconds: 86_400 } },
              },
            },
          }),
        },
      },
    },
    keys: { mobile: { scopes: ['read', 'write'] }, web: { scopes: [] } },
  };
  const orders = {
    gateway_path: '/orders',
    routing_mode: 'managed_endpoint',
    versions: { v1: { revisions: { r1: revision({ endpoints: { 'GET /list/{id}': {} } }) } } },
  };
  change(billing, orders);
  return { owner: 'team', apps: { billing, orders } };
}

const policyOf = (billing: Served, endpoint: string): Served => {
  const { endpoints } = billing.versions.v1.revisions.r1;
  return (endpoints[endpoint].policy_override ??= {});
};

const plan = (change: (billing: Served, orders: Served) => void, fields: Fields = {}): Promise<Served> =>
  gateway.must('POST', '/config/plan', { config: config(change), max_deletes: 100, ...fields });

async function send(count: number, target: string, parts: Parameters<typeof request>[2] = {}): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => request(gateway, target, parts)));
}

const group = (count: number, from: Fields, to: Fields, by: Fields, first: string): Fields => ({
  count,
  from: expect.objectContaining(from),
  to: expect.objectContaining(to),
  by: expect.objectContaining(by),
  first,
});

const MOBILE = { kind: 'api_key', name: 'mobile', app: 'billing' };
const ANONYMOUS = { kind: 'anonymous', id: '', name: '' };

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: '2', GATEWAY_TRAFFIC__RECORDS_PER_SEC: '100000' } }),
    startOrigin(),
  ]);
  const applied = await gateway.must('POST', '/config/apply', { config: config() });
  keys = Object.fromEntries(applied.created_keys.map(({ name, token }: Served) => [name, token]));
  const mobile = { headers: bearer(keys['mobile'] ?? '') };
  const web = { headers: bearer(keys['web'] ?? '') };
  await send(12, '/billing/v1/invoices?token=in-the-query', mobile);
  await send(5, '/billing/v1/invoices', web); // 403
  await send(4, '/billing/v1/invoices'); // 401
  await send(20, '/billing/v1/limited', mobile);
  await send(7, '/billing/v1/open');
  await send(3, '/billing/v1/open', mobile);
  await send(2, '/billing/v1/open', { headers: { 'X-Key': 'never-to-be-seen' } });
  await send(6, '/orders/v1/list/1');
  await send(1, '/nowhere');
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

describe('a plan by traffic', () => {
  it('says that nothing changes where the plan changes nothing for them', async () => {
    const { traffic } = await plan((billing) => (billing.description = 'the same'));
    expect(traffic).toMatchObject({
      requests: 60,
      recorded: 60,
      changed: 0,
      undecided: 0,
      groups: [],
      groups_total: 0,
      problem: null,
    });
    expect(Date.parse(traffic.since)).toBeGreaterThan(Date.now() - 600_000);
  });

  it('has no traffic without a change, or when it is not asked for', async () => {
    expect((await plan(() => undefined)).traffic).toBeNull();
    expect(await plan((billing) => (billing.description = 'x'), { traffic: false })).not.toHaveProperty(
      'traffic',
    );
  });

  it('says which callers would need a key, and recognises keys that were sent although none was required', async () => {
    const { traffic } = await plan((billing) => (policyOf(billing, 'GET /open').auth = API_KEY));
    const { groups } = traffic;
    expect(traffic).toMatchObject({ requests: 60, changed: 9, undecided: 0, groups_total: 1 });
    expect(groups).toEqual([
      group(
        9,
        { status: 200, code: null },
        { status: 401, code: 'credentials_missing' },
        { ...ANONYMOUS, app: 'billing' },
        'GET /billing/v1/open',
      ),
    ]);
  });

  it('says which callers use a host that the app would no longer serve', async () => {
    const { traffic } = await plan((_billing, orders) => (orders.hosts = ['Orders.test']));
    expect(traffic).toMatchObject({ changed: 6, undecided: 0, groups_total: 1 });
    expect(traffic.groups).toEqual([
      group(6, { status: 200 }, { status: 404, code: 'no_route' }, ANONYMOUS, 'GET /orders/v1/list/1'),
    ]);
    const kept = await plan((_billing, orders) => (orders.hosts = ['*.test']));
    expect(kept.traffic).toMatchObject({ requests: 60, changed: 0 });
  });

  it('does not guess what a field is worth that was never read as a credential', async () => {
    const auth = { ...API_KEY, in: 'X-Key' };
    const { traffic } = await plan((billing) => (policyOf(billing, 'GET /open').auth = auth));
    expect(traffic).toMatchObject({ changed: 10, undecided: 2 });
    expect(JSON.stringify(traffic)).not.toContain('never-to-be-seen');
  });

  it('says which calls of which key would be refused without a scope', async () => {
    const { traffic } = await plan((billing) => (billing.keys.mobile.scopes = ['write']));
    expect(traffic.groups).toEqual([
      group(
        12,
        { status: 200, code: null },
        { status: 403, code: 'insufficient_scope' },
        MOBILE,
        'GET /billing/v1/invoices',
      ),
    ]);
    const gained = await plan((billing) => (billing.keys.web.scopes = ['read']));
    expect(gained.traffic.groups).toEqual([
      group(
        5,
        { status: 403, code: 'insufficient_scope' },
        { status: null, code: null },
        { name: 'web' },
        'GET /billing/v1/invoices',
      ),
    ]);
  });

  it('says what a renamed path, a lower limit and another backend change for callers', async () => {
    const renamed = await plan((_billing, orders) => (orders.gateway_path = '/order'));
    expect(renamed.traffic.groups).toEqual([
      group(6, { status: 200 }, { status: 404, code: 'no_route' }, ANONYMOUS, 'GET /orders/v1/list/1'),
    ]);
    const limited = await plan((billing) => (policyOf(billing, 'GET /limited').rate_limit.requests = 10));
    expect(limited.traffic.groups).toEqual([
      group(20, { status: 200 }, { status: 429, code: 'rate_limited' }, MOBILE, 'GET /billing/v1/limited'),
    ]);
    const moved = await plan(
      (_billing, orders) => (orders.versions.v1.revisions.r1.backend_base_path = '/new'),
    );
    const url = (path: string) => [`http://127.0.0.1:${origin.port}${path}`];
    expect(moved.traffic.groups).toEqual([
      group(
        6,
        { status: 200, backends: url('/list/1') },
        { status: null, backends: url('/new/list/1') },
        ANONYMOUS,
        'GET /orders/v1/list/1',
      ),
    ]);
  });

  it('stores neither queries nor credentials, and changes nothing', async () => {
    const before = await traces();
    const { traffic } = await plan((billing) => {
      policyOf(billing, 'GET /limited').rate_limit.requests = 10;
      policyOf(billing, 'GET /open').auth = API_KEY;
      billing.versions.v1.revisions.r1.default_policy.shadow = ['auth'];
    });
    expect(traffic.changed).toBeGreaterThan(0);
    const text = JSON.stringify(traffic);
    for (const secret of ['in-the-query', ...Object.values(keys)]) expect(text).not.toContain(secret);
    expect(await traces()).toEqual(before);
  });

  it('is for viewers, as the plan is', async () => {
    const { token } = await gateway.must('POST', '/admin/tokens', { name: 'v', role: 'viewer' });
    const body = { config: config((billing) => (billing.keys.mobile.scopes = [])), max_deletes: 100 };
    const answer = await gateway.api('POST', '/config/plan', body, { authorization: `Bearer ${token}` });
    expect(answer.status).toBe(200);
    expect(answer.body.data.traffic.changed).toBe(12);
  });
});

/** What a request would leave behind. */
async function traces(): Promise<unknown> {
  const target = { method: 'GET', url: '/billing/v1/limited', token: keys['mobile'] };
  const { limits } = await gateway.must('POST', '/explain', target);
  const { config_version: version } = await gateway.must('GET', '/config');
  const report = await gateway.must('GET', '/apps/billing/shadow-report');
  const requests = await metric(gateway, 'headgate_requests_total');
  return { seen: origin.seen.length, limit: limits[0].remaining, version, shadow: report.total, requests };
}

it('a flood of requests to one app leaves some of the others', async () => {
  const flooded = await startGateway({
    env: { GATEWAY_TRAFFIC__RECORDS: '200', GATEWAY_TRAFFIC__RECORDS_PER_SEC: '5' },
  });
  try {
    await flooded.must('POST', '/config/apply', { config: config() });
    const client = await LeanClient.connect(flooded.proxyPort);
    const ask = (path: string) => client.ask(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    // In several seconds, with far more requests of one app in each.
    for (let round = 0; round < 20; round++) {
      for (let count = 0; count < 200; count++) expect((await ask('/billing/v1/flood')).status).toBe(401);
      expect((await ask('/orders/v1/none')).status).toBe(404);
      await pause(100);
    }
    const change = config(
      (_billing, orders) => (orders.versions.v1.revisions.r1.endpoints['GET /none'] = {}),
    );
    const { traffic } = await flooded.must('POST', '/config/plan', { config: change });
    expect(traffic.changed).toBeGreaterThan(3);
  } finally {
    await flooded.stop();
  }
});
