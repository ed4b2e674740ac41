/**
 * The policy part `ip_access` on a running gateway. Clients come from loopback addresses of their own; 127.0.0.1 is a
 * trusted proxy, and reports others in X-Forwarded-For.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explain, applyFix, stageOf } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createPolicies, metric, send, type PlainResponse } from '../../support/policies.ts';
import {
  createApp,
  createEndpoint,
  createRevision,
  createVersion,
  revisionPath,
} from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const LISTS = { allow: ['203.0.113.0/24', '::ffff:127.0.0.0/104', '2001:db8::/32'], deny: ['203.0.113.7'] };
const ORIGIN = { Origin: 'https://page.test' };
let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({ env: { GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1' } }),
    startOrigin(),
  ]);
  await createPolicies(gateway, 'net', origin.port, [
    { path: '/lists', policy: { ip_access: LISTS } },
    { path: '/deny', policy: { ip_access: { deny: ['127.0.0.2', '2001:db8::/32', '::ffff:203.0.113.9'] } } },
    { path: '/keyed', policy: { ip_access: LISTS, auth: { auth_type: 'api_key' } } },
    { path: '/dark', policy: { ip_access: LISTS, shadow: ['ip_access'] } },
    { path: '/page', policy: { ip_access: LISTS, cors: { allowed_origins: [ORIGIN.Origin] } } },
  ]);
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const reported = (address: string, path: string, headers = {}, method = 'GET'): Promise<PlainResponse> =>
  send(gateway, path, { method, headers: { 'X-Forwarded-For': address, ...headers } });
const statusOf = async (address: string, path: string): Promise<number> =>
  (await reported(address, path)).status;
const codeOf = ({ body }: PlainResponse): string => JSON.parse(body).code;

describe('the address of the client', () => {
  it.each([
    ['203.0.113.8', 200],
    ['203.0.113.7', 403],
    ['::ffff:203.0.113.8', 200],
    ['::FFFF:cb00:7107', 403],
    ['198.51.100.1', 403],
    ['2001:DB8:0:0::1', 200],
    ['2001:db9::1', 403],
  ])('as a trusted proxy reports it: %s is %i', async (address, status) => {
    expect(await statusOf(address, '/net/v1/lists')).toBe(status);
  });

  it('without an allow list, all that is not denied may call', async () => {
    const addresses = ['198.51.100.1', '2001:db8::1', '2001:db9::1', '203.0.113.9', '203.0.113.8'];
    const statuses: number[] = [];
    for (const address of addresses) statuses.push(await statusOf(address, '/net/v1/deny'));
    expect(statuses).toEqual([200, 403, 200, 403, 200]);
  });

  it('as the connection has it: what another client writes into X-Forwarded-For does not count', async () => {
    for (const [localAddress, headers, status] of [
      ['127.0.0.2', {}, 403],
      ['127.0.0.2', { 'X-Forwarded-For': '203.0.113.8' }, 403],
      ['127.0.0.3', { 'X-Forwarded-For': '127.0.0.2' }, 200],
    ] as const) {
      expect((await send(gateway, '/net/v1/deny', { headers }, { localAddress })).status).toBe(status);
    }
  });
});

describe('the answer', () => {
  it('is 403 ip_denied before the backend, and the same for both lists', async () => {
    const before = origin.seen.length;
    const [denied, notAllowed] = [
      await reported('203.0.113.7', '/net/v1/lists'),
      await reported('198.51.100.1', '/net/v1/lists'),
    ];
    expect([denied.status, codeOf(denied), codeOf(notAllowed)]).toEqual([403, 'ip_denied', 'ip_denied']);
    const told = ({ body }: PlainResponse) => ({ ...JSON.parse(body), request_id: '' });
    expect(told(denied)).toEqual(told(notAllowed));
    expect(denied.body).not.toMatch(/203\.0\.113|allow list|deny\b/);
    expect(origin.seen).toHaveLength(before);
  });

  it('comes before authentication, and after a preflight', async () => {
    expect(codeOf(await reported('198.51.100.1', '/net/v1/keyed'))).toBe('ip_denied');
    expect(codeOf(await reported('203.0.113.8', '/net/v1/keyed'))).toBe('credentials_missing');
    const preflight = { ...ORIGIN, 'Access-Control-Request-Method': 'GET' };
    const answered = await reported('198.51.100.1', '/net/v1/page', preflight, 'OPTIONS');
    expect([answered.status, answered.headers['access-control-allow-origin']]).toEqual([204, ORIGIN.Origin]);
    const refused = await reported('198.51.100.1', '/net/v1/page', ORIGIN);
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([403, ORIGIN.Origin]);
  });
});

it('in shadow lets the request pass, and the report names the entry', async () => {
  const before = await metric(gateway, 'headgate_shadow_denials_total', { part: 'ip_access' });
  expect(await statusOf('203.0.113.8', '/net/v1/dark')).toBe(200);
  const response = await reported('203.0.113.7', '/net/v1/dark');
  expect(response.status).toBe(200);
  expect(await metric(gateway, 'headgate_shadow_denials_total', { part: 'ip_access' })).toBe(before + 1);
  const report = await gateway.must('GET', '/apps/net/shadow-report?part=ip_access');
  expect(report.rows).toMatchObject([
    { total: 1, last: { code: 'ip_denied', detail: 'The entry 203.0.113.7 of deny contains 203.0.113.7' } },
  ]);
  const line = await until(() =>
    gateway
      .logs()
      .find((each) => each['msg'] === 'access' && each['request_id'] === response.headers['x-request-id']),
  );
  expect(line['would_deny']).toEqual(['ip_access']);
});

describe('levels', () => {
  it('the most specific wins whole, explain names it and the entry, and the fix opens it', async () => {
    await createApp(gateway, 'levels', { default_policy: { ip_access: { allow: ['10.0.0.0/8'] } } });
    await createVersion(gateway, 'levels');
    await createRevision(gateway, 'levels', origin.port);
    const narrow = { allow: ['192.0.2.0/24'], deny: ['10.0.0.0/8', '10.1.0.0/16'] };
    await createEndpoint(gateway, 'levels', '*', '/narrow', { policy_override: { ip_access: narrow } });
    await createEndpoint(gateway, 'levels', '*', '/open', { policy_override: { ip_access: {} } });
    const paths = ['/levels/v1/other', '/levels/v1/narrow', '/levels/v1/open'];
    const seen = async (address: string) => {
      const statuses: number[] = [];
      for (const path of paths) statuses.push(await statusOf(address, path));
      return statuses;
    };
    const described = (path: string) =>
      explain(gateway, { method: 'GET', url: path, headers: { 'X-Forwarded-For': '10.1.2.3' } });
    const stages = [];
    for (const path of paths) stages.push(stageOf(await described(path), 'ip_access'));
    expect(await seen('10.1.2.3')).toEqual([200, 403, 200]);
    expect(stages).toMatchObject([
      { verdict: 'passed', level: 'app', value: { allow: '10.0.0.0/8' } },
      {
        verdict: 'denied',
        code: 'ip_denied',
        level: 'endpoint',
        value: { deny: '10.0.0.0/8' },
        detail: 'The entry 10.0.0.0/8 of deny contains 10.1.2.3',
      },
      { verdict: 'not_applicable', level: null },
    ]);

    const { fix } = await described('/levels/v1/narrow');
    expect(fix).toMatchObject({
      detail:
        'Remove 10.0.0.0/8, 10.1.0.0/16 from ip_access.deny and add 10.1.2.3 to ip_access.allow of endpoint * /levels/v1/narrow',
      value: { ip_access: { allow: ['192.0.2.0/24', '10.1.2.3'], deny: [] } },
    });
    await applyFix(gateway, 'levels', fix);
    expect(await seen('10.1.2.3')).toEqual([200, 200, 200]);
    expect(await seen('192.0.2.1')).toEqual([403, 200, 200]);
  });

  it('a canary with its own lists refuses only its own share', async () => {
    await createApp(gateway, 'canary');
    await createVersion(gateway, 'canary');
    await createRevision(gateway, 'canary', origin.port, { traffic_weight: 50 });
    await createRevision(gateway, 'canary', origin.port, {
      revision: 'r2',
      traffic_weight: 50,
      default_policy: { ip_access: { deny: ['198.51.100.0/24'] } },
    });
    const statuses = async (address: string) => {
      const found: number[] = [];
      for (let count = 0; count < 10; count++) found.push(await statusOf(address, '/canary/v1/x'));
      return found.sort((a, b) => a - b);
    };
    const even = [...Array<number>(5).fill(200), ...Array<number>(5).fill(403)];
    expect(await statuses('198.51.100.1')).toEqual(even);
    expect(await statuses('203.0.113.1')).toEqual(Array(10).fill(200));
    const { stages, revision } = await explain(gateway, { method: 'GET', url: '/canary/v1/x' });
    expect(stages.find(({ stage }) => stage === 'ip_access')).toMatchObject(
      revision?.revision === 'r2'
        ? { verdict: 'passed', level: 'revision', value: { deny: null } }
        : { verdict: 'not_applicable' },
    );
  });
});

describe('what is written', () => {
  const put = (ip_access: unknown) =>
    gateway.api('PATCH', revisionPath('net'), { default_policy: { ip_access } });

  it('is 422 with a pointer to each bad entry, and says which network was meant', async () => {
    const { status, body } = await put({ allow: ['10.1.2.3/8', '::1', 'a'], deny: ['::1', '0:0::1/128'] });
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([
      { pointer: '/default_policy/ip_access/allow/0', detail: expect.stringContaining('10.0.0.0/8') },
      { pointer: '/default_policy/ip_access/allow/2' },
      { pointer: '/default_policy/ip_access/deny/1', detail: expect.stringContaining('entry 0') },
    ]);
  });

  it('may have 10,000 entries in each list, and no more', async () => {
    const entries = Array.from({ length: 10_001 }, (_, index) => `10.${index >> 8}.${index & 255}.0/24`);
    expect((await put({ deny: entries })).status).toBe(422);
    const half = entries.slice(1);
    const { status, body } = await put({ allow: half, deny: half });
    expect(status).toBe(200);
    expect(body.warnings).toMatchObject([
      { code: 'ip_access_denies_all', pointer: '/default_policy/ip_access/deny' },
    ]);
    await put(null);
  });
});
