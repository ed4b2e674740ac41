/** How a request would go at other config versions: described, and as recorded with its caller. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startGateway, type Answer, type TestGateway } from '../../support/gateway.ts';
import { apiAs } from '../../support/management.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey } from '../../support/policies.ts';
import { createService, request, type Served } from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
let key: Served;
/** The version that each step made. */
const made: Record<string, number> = {};

const version = async (): Promise<number> => (await gateway.must('GET', '/config')).config_version;
const explain = (body: object): Promise<Served> => gateway.must('POST', '/config/explain', body);

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  await createService(gateway, 'billing', origin.port);
  made['open'] = await version();
  await gateway.must('PATCH', '/apps/billing', { default_policy: { auth: { auth_type: 'api_key' } } });
  made['keyed'] = await version();
  key = await createKey(gateway, 'billing', { scopes: ['read'] });
  await gateway.must('PATCH', '/apps/billing', { default_policy: { required_scopes: ['write'] } });
  made['scoped'] = await version();
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

it('searches of a viewer keep no other caller out', async () => {
  const { token } = await gateway.must('POST', '/admin/tokens', { name: 'v', role: 'viewer' });
  const body = { request: { method: 'GET', url: '/billing/v1/x' } };
  const search = (as: string): Promise<Answer> => apiAs(gateway, as, 'POST', '/config/explain', body);
  const viewers = Array.from({ length: 10 }, () => search(token));
  const other = await search(ADMIN_TOKEN);
  expect(other.status).toBe(200);
  const statuses = (await Promise.all(viewers)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
  expect(statuses).toContain(503);
});

describe('a request at other config versions', () => {
  it('described: every segment, who made it, and whether it is as now', async () => {
    const answer = await explain({ request: { method: 'GET', url: '/billing/v1/x' } });
    expect(answer).toMatchObject({ complete: true, version: null, config_version: made['scoped'] });
    expect(answer.segments[0]).toMatchObject({
      outcome: { status: 404, code: 'no_route' },
      same_as_now: false,
    });
    expect(answer.segments.at(-2)).toMatchObject({
      to_version: (made['keyed'] ?? 0) - 1,
      outcome: { outcome: 'forwarded', status: null, backend: `http://127.0.0.1:${origin.port}/x` },
      same_as_now: false,
    });
    expect(answer.segments.at(-1)).toMatchObject({
      from_version: made['keyed'],
      to_version: made['scoped'],
      outcome: { status: 401, code: 'credentials_missing', stage: 'auth' },
      same_as_now: true,
      exact: true,
      actor: 'environment',
      action: 'app.update',
    });
    let next = answer.kept_from;
    for (const { from_version: from, to_version: to } of answer.segments) {
      expect(from).toBe(next);
      next = to + 1;
    }
    expect(next).toBe(answer.config_version + 1);
  });

  it('recorded: with the caller that it had, and nothing of the credential', async () => {
    const denied = await request(gateway, '/billing/v1/x', { headers: bearer(key.token) });
    expect(denied.status).toBe(403);
    const id = denied.headers['x-request-id'];
    const answer = await explain({ request_id: id });
    expect(answer.segments.at(-1)).toMatchObject({
      from_version: made['scoped'],
      outcome: { status: 403, guessed: false },
      same_as_now: true,
    });
    const before = await explain({ request_id: id, version: (made['scoped'] ?? 0) - 1 });
    expect(before).toMatchObject({
      segments: [],
      version: {
        same_as_now: false,
        outcome: { outcome: 'forwarded' },
        explanation: { outcome: 'forwarded', caller: { kind: 'api_key', id: key.id } },
      },
    });
    expect(JSON.stringify([answer, before])).not.toMatch(/hgk_|Bearer/);
  });

  it.each([
    [{}, ''],
    [{ request_id: 'a', live_id: '1-1' }, ''],
    [{ request: { method: 'GET', url: '/' }, version: 999_999 }, '/version'],
    [{ request: { method: 'GET', url: '/' }, from: 3, to: 2 }, '/from'],
    [{ request: { method: 'GET', url: '/' }, version: 2, to: 2 }, '/version'],
  ])('refuses %j', async (body, pointer) => {
    const { status, body: problem } = await gateway.api('POST', '/config/explain', body);
    expect([status, problem.errors?.[0]?.pointer]).toEqual([422, pointer]);
  });

  it('says that an exchange is gone', async () => {
    expect((await gateway.api('POST', '/config/explain', { live_id: '9-9' })).status).toBe(404);
  });
});
