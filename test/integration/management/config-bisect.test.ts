/** Since which config version a request is answered differently: searched in a real history, through the API. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headgate } from '../../../src/cli/cli.fixture.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createKey } from '../../support/policies.ts';
import { createEndpoint, createService, request, revisionPath, type Served } from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
let key: Served;
let endpoint: Served;
/** The version that each step made. */
const made: Record<string, number> = {};

const version = async (): Promise<number> => (await gateway.must('GET', '/config')).config_version;

/** Versions that have nothing to do with the request. */
async function others(count: number): Promise<void> {
  for (let index = 0; index < count; index++)
    await gateway.must('PATCH', '/apps/orders', { description: `${Math.random()}` });
}

const ASKED = { method: 'GET', url: '/billing/v1/invoices' };
const bisect = (body: object): Promise<Served> => gateway.must('POST', '/config/bisect', body);

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway({ env: { GATEWAY_WORKERS: '1' } }), startOrigin()]);
  await createService(gateway, 'orders', origin.port);
  await createService(gateway, 'billing', origin.port, {
    revision: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
  endpoint = await createEndpoint(gateway, 'billing', 'GET', '/invoices');
  key = await createKey(gateway, 'billing', { name: 'mobile', scopes: ['read'] });
  made['start'] = await version();
  await others(9);
  await gateway.must('PATCH', `${revisionPath('billing')}/endpoints/${endpoint.id}`, {
    policy_override: { required_scopes: ['read', 'write'] },
  });
  made['scopes'] = await version();
  await others(12);
  await gateway.must('PATCH', '/apps/billing', { gateway_path: '/bills' });
  made['moved'] = await version();
  await others(7);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

describe('a search for the version since which a request is answered differently', () => {
  it('finds one of thirty, with what it changed, in a few steps and without a trace', async () => {
    const found = await bisect({ request: ASKED });
    expect(found).toMatchObject({
      config_version: made['moved'],
      before: {
        config_version: (made['moved'] ?? 0) - 1,
        outcome: 'denied',
        status: 401,
        code: 'credentials_missing',
        stage: 'auth',
      },
      after: {
        config_version: made['moved'],
        outcome: 'denied',
        status: 404,
        code: 'no_route',
        stage: 'route',
      },
      actor: 'environment',
      action: 'app.update',
      changes: [
        { change: 'update', type: 'app', name: 'billing', fields: ['gateway_path'] },
        { change: 'update', type: 'version', name: 'v1', parents: { app: 'billing' } },
      ],
    });
    expect(Date.parse(found.at)).not.toBeNaN();
    expect(found.tried).toBeLessThanOrEqual(12);
    expect(await version()).toBe((made['moved'] ?? 0) + 7);
    expect(origin.seen).toEqual([]);
    expect((await request(gateway, '/bills/v1/invoices')).status).toBe(401);
  });

  it('takes the credential of the request, and older versions as the bad one', async () => {
    const asked = { ...ASKED, token: key.token };
    const found = await bisect({ request: asked, bad: (made['moved'] ?? 0) - 1 });
    expect(found).toMatchObject({
      config_version: made['scopes'],
      before: { outcome: 'forwarded', status: null, code: null, detail: null },
      after: { status: 403, code: 'insufficient_scope', stage: 'required_scopes' },
      changes: [{ change: 'update', type: 'endpoint', id: endpoint.id, fields: ['policy_override'] }],
    });
    expect(found.before.upstream_url).toMatch(/^http:.*\/invoices$/);
    expect(JSON.stringify(found)).not.toContain(key.token);
  });

  it('finds since when a request is not answered as it should be', async () => {
    const asked = { ...ASKED, token: key.token };
    const found = await bisect({ request: asked, good: made['start'], expect: { outcome: 'forwarded' } });
    expect(found).toMatchObject({ config_version: made['scopes'], after: { code: 'insufficient_scope' } });
  });

  it('finds the version that caused the given answer, and says so when there is none', async () => {
    const created = await bisect({ request: { method: 'GET', url: '/orders/v1/x' } });
    expect(created).toMatchObject({ before: { status: 503 }, after: { outcome: 'forwarded' } });
    const never = await bisect({ request: { method: 'GET', url: '/never' } });
    expect(never).toMatchObject({
      config_version: null,
      before: null,
      after: { code: 'no_route' },
      actor: null,
      changes: [],
    });
  });

  it('is a command, whose text says what changed', async () => {
    const target = ['GET', '/billing/v1/invoices', '--bad', String((made['moved'] ?? 0) - 1)];
    const { code, out, err } = await headgate(
      { url: gateway.base },
      ['config', 'bisect', ...target, '--key', key.token, '--expect', 'forwarded'],
      { HEADGATE_TOKEN: ADMIN_TOKEN },
    );
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(
      `Answered differently since config version ${made['scopes']}\n  before  forwarded to http`,
    );
    expect(out).toContain('  since   403 insufficient_scope: ');
    expect(out).toContain('  ~ endpoint  billing  v1  r1  GET /invoices: policy_override\n');
    const never = await headgate({ url: gateway.base }, ['config', 'bisect', 'GET', '/never'], {
      HEADGATE_TOKEN: ADMIN_TOKEN,
    });
    expect(never.out).toMatch(
      /^No stored version that was tried gives another answer \(\d+ tried\): 404 no_route/,
    );
  });

  it.each([
    [{ good: 1_000_000 }, '/good'],
    [{ bad: 1_000_000 }, '/bad'],
    [{ good: 5, bad: 5 }, '/good'],
    [{ expect: { code: 'no_route' } }, '/expect'],
    [{ request: { ...ASKED, token: 'x', headers: { Authorization: 'y' } } }, '/request/token'],
  ])('refuses %j', async (fields, pointer) => {
    const { status, body } = await gateway.api('POST', '/config/bisect', { request: ASKED, ...fields });
    expect([status, body.errors?.[0]?.pointer]).toEqual([422, pointer]);
  });

  it('refuses a good version that answers no otherwise', async () => {
    const { status, body } = await gateway.api('POST', '/config/bisect', {
      request: ASKED,
      good: (made['moved'] ?? 0) + 1,
    });
    expect(status).toBe(422);
    expect(body.errors[0]).toMatchObject({
      pointer: '/good',
      detail: expect.stringContaining('gives the same answer as'),
    });
  });
});
