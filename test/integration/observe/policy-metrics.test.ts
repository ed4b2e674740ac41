/** `GET /metrics` on the management port: what authentication and the limiters decided, over all workers. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { SECRET, signed } from '../../support/data/jwts.ts';
import { bearer, createKey, createPolicies, metric, quietWindowSecs } from '../../support/policies.ts';
import { request } from '../../support/traffic.ts';

/** Of configuration files, of a store of limits, and of TLS. */
const ONLY_WHERE_SET = [
  'headgate_acme_certificate_expiry_seconds',
  'headgate_acme_certificates',
  'headgate_acme_orders_total',
  'headgate_clock_ahead_seconds',
  'headgate_config_file_loaded_timestamp_seconds',
  'headgate_config_file_loads_total',
  'headgate_config_file_ok',
  'headgate_limit_store_connected',
  'headgate_limit_store_memory_bytes',
  'headgate_limit_store_memory_bytes_max',
  'headgate_limit_nodes',
  'headgate_otel_log_records_total',
  'headgate_otel_metric_points_total',
  'headgate_otel_queue_bytes',
  'headgate_otel_spans_total',
  'headgate_tls_certificate_expiry_seconds',
];

let gateway: TestGateway;
let origin: Origin;
let key: Record<string, string>;

beforeAll(async () => {
  const once = { enabled: true, requests: 1, window_seconds: quietWindowSecs() };
  [gateway, origin] = await Promise.all([
    startGateway({
      env: {
        GATEWAY_WORKERS: '2',
        GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
        GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '1000',
        GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: '3600',
      },
    }),
    startOrigin(),
  ]);
  await createPolicies(gateway, 'shop', origin.port, [
    { path: '/key', policy: { auth: { auth_type: 'api_key' } } },
    { path: '/optional', policy: { auth: { auth_type: 'api_key', required: false } } },
    { path: '/scoped', policy: { auth: { auth_type: 'api_key' }, required_scopes: ['never-held'] } },
    {
      path: '/jwt',
      policy: { auth: { auth_type: 'jwt', jwt: { secret: SECRET }, required_claims: ['email'] } },
    },
    { path: '/once', policy: { rate_limit: once } },
    { path: '/open', policy: {} },
  ]);
  key = bearer((await createKey(gateway, 'shop')).token);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const call = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
  (await request(gateway, `/shop/v1${path}`, { headers })).status;
const auth = (outcome: string): Promise<number> =>
  metric(gateway, 'headgate_auth_decisions_total', { outcome });
const limits = (kind: string, decision: string): Promise<number> =>
  metric(gateway, 'headgate_rate_limit_decisions_total', { kind, decision });

describe('headgate_auth_decisions_total', () => {
  it.each([
    ['api_key', 200, () => call('/key', key)],
    ['missing', 401, () => call('/key')],
    ['rejected', 401, () => call('/key', bearer('hgk_wrong'))],
    ['anonymous', 200, () => call('/optional')],
    ['ignored', 200, () => call('/optional', bearer('hgk_wrong'))],
    ['jwt', 200, async () => call('/jwt', bearer(await signed({ sub: 'ann', email: 'a@b.test' })))],
    ['forbidden', 403, async () => call('/jwt', bearer(await signed({ sub: 'ann' })))],
    ['forbidden', 403, () => call('/scoped', key)],
  ] as const)('counts %s (%i)', async (outcome, status, ask) => {
    const before = await auth(outcome);
    for (let count = 1; count <= 3; count++) expect(await ask()).toBe(status);
    expect(await auth(outcome)).toBe(before + 3);
  });

  it('a route without authentication counts nothing', async () => {
    const before = await metric(gateway, 'headgate_auth_decisions_total');
    expect(await call('/open', key)).toBe(200);
    expect(await metric(gateway, 'headgate_auth_decisions_total')).toBe(before);
  });
});

describe('headgate_rate_limit_decisions_total', () => {
  it('counts what each kind of limit admitted and refused', async () => {
    const before = await Promise.all([
      limits('policy', 'admitted'),
      limits('policy', 'refused'),
      limits('ip', 'admitted'),
    ]);
    expect([await call('/once'), await call('/once'), await call('/once')]).toEqual([200, 429, 429]);
    const after = await Promise.all([
      limits('policy', 'admitted'),
      limits('policy', 'refused'),
      limits('ip', 'admitted'),
    ]);
    expect(after.map((value, index) => value - before[index]!)).toEqual([1, 2, 1]);
  });

  it('counts the plan of a key by itself', async () => {
    const plan = { enabled: true, requests: 1, window_seconds: quietWindowSecs() };
    const planned = bearer((await createKey(gateway, 'shop', { rate_limit: plan })).token);
    expect([await call('/key', planned), await call('/key', planned)]).toEqual([200, 429]);
    expect([await limits('key', 'admitted'), await limits('key', 'refused')]).toEqual([1, 1]);
  });
});

describe('headgate_requests_total', () => {
  it('has refusals under the route that refused', async () => {
    const labels = { app: 'shop', version: 'v1', revision: 'r1', route: '/shop/v1/scoped', status: '403' };
    const before = await metric(gateway, 'headgate_requests_total', { app: 'shop', status: '403' });
    expect(await call('/scoped', key)).toBe(403);
    expect(await metric(gateway, 'headgate_requests_total', { app: 'shop', status: '403' })).toBe(before + 1);
    const { body } = await gateway.api('GET', '//metrics');
    const line = String(body)
      .split('\n')
      .find(
        (text) =>
          text.startsWith('headgate_requests_total{') && text.includes('scoped') && text.includes('403'),
      );
    for (const [name, value] of Object.entries(labels)) {
      if (name !== 'route') expect(line).toContain(`${name}="${value}"`);
    }
  });
});

describe('headgate_build_info', () => {
  it('shows the version of the program and of its Node.js', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const { body } = await gateway.api('GET', '//metrics');
    expect(String(body)).toContain(
      `\nheadgate_build_info{version="${version}",node="${process.version}"} 1\n`,
    );
  });
});

describe('docs/reference/metrics.md', () => {
  it('has a row for every metric of its own, and for no other', async () => {
    const { body } = await gateway.api('GET', '//metrics');
    const served = [...String(body).matchAll(/^# TYPE (headgate_\w+) /gm)].map(([, name = '']) => name);
    const page = readFileSync('docs/reference/metrics.md', 'utf8');
    const written = [...page.matchAll(/^\| `(headgate_\w+)`/gm)].map(([, name = '']) => name);
    expect(written.toSorted()).toEqual([...new Set([...served, ...ONLY_WHERE_SET])].toSorted());
  });
});
