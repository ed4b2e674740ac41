/**
 * Shadow mode, reported: `GET /apps/{app}/shadow-report` counts what parts in shadow mode would have denied, by
 * endpoint, part and caller, over all workers; the log says so without flooding.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { SECRET, signed, unixSecs } from '../../support/data/jwts.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import {
  bearer,
  createEndingKey,
  createKey,
  createPolicies,
  quietWindowSecs,
} from '../../support/policies.ts';
import { createService, request, type RequestParts, type Served } from '../../support/traffic.ts';
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

const call = (app: string, path: string, parts: RequestParts = {}) =>
  request(gateway, `/${app}/v1${path}`, parts);
const report = (app: string, query = ''): Promise<Served> =>
  gateway.must('GET', `/apps/${app}/shadow-report${query}`);

/** `route part: total` of every row. */
const totals = (served: Served): string[] =>
  served.rows.map((row: Served) => `${row.method} ${row.route} ${row.part}: ${row.total}`).sort();

async function times(count: number, send: () => Promise<{ readonly status: number }>): Promise<void> {
  for (let index = 0; index < count; index++) expect((await send()).status).toBe(200);
}

describe('the report', () => {
  it('counts by endpoint, part and caller what two workers let pass, up to the request before', async () => {
    const auth = { auth_type: 'api_key' };
    await createPolicies(gateway, 'dark', origin.port, [
      { path: '/auth', policy: { auth, shadow: ['auth'] } },
      { path: '/scopes', policy: { auth, required_scopes: ['a'], shadow: ['required_scopes'] } },
      { path: '/methods', method: 'PUT', policy: { allowed_methods: ['GET'], shadow: ['allowed_methods'] } },
    ]);
    expect(await report('dark')).toMatchObject({ total: 0, by_part: {}, rows_total: 0, rows: [] });
    const [key, other] = [await createKey(gateway, 'dark'), await createKey(gateway, 'dark')];
    await times(7, () => call('dark', '/auth'));
    await times(5, () => call('dark', '/scopes', { headers: bearer(key.token) }));
    await times(2, () => call('dark', '/scopes', { headers: bearer(other.token) }));
    await times(3, () => call('dark', '/methods', { method: 'PUT' }));

    const served = await report('dark');
    expect(totals(served)).toEqual([
      '* /dark/v1/auth auth: 7',
      '* /dark/v1/scopes required_scopes: 7',
      'PUT /dark/v1/methods allowed_methods: 3',
    ]);
    expect(served).toMatchObject({
      total: 17,
      by_part: { auth: 7, required_scopes: 7, allowed_methods: 3 },
      rows_total: 3,
    });
    const rowOf = (part: string): Served => served.rows.find((row: Served) => row.part === part);
    expect(rowOf('required_scopes').keys).toMatchObject([
      { kind: 'api_key', id: key.id, name: 'test', total: 5 },
      { kind: 'api_key', id: other.id, name: 'test', total: 2 },
    ]);
    expect(rowOf('auth').keys).toMatchObject([{ kind: 'anonymous', id: '', name: '', total: 7 }]);
    expect(rowOf('required_scopes').last.code).toBe('insufficient_scope');
    expect(rowOf('allowed_methods').last).toMatchObject({ code: 'method_not_allowed' });
    for (const row of served.rows) {
      expect(Date.parse(row.first_at)).toBeLessThanOrEqual(Date.parse(row.last.at));
      expect(Date.parse(row.first_at)).toBeGreaterThanOrEqual(Date.parse(served.since));
      expect(row.other_keys).toBe(0);
    }
    const endpoints = await gateway.must('GET', '/apps/dark/versions/v1/revisions/r1/endpoints');
    const { id } = endpoints.find(({ path }: Served) => path === '/scopes');
    expect(rowOf('required_scopes').endpoint_id).toBe(id);

    expect(totals(await report('dark', '?part=auth'))).toEqual(['* /dark/v1/auth auth: 7']);
    expect(totals(await report('dark', `?endpoint_id=${id}`))).toEqual([
      '* /dark/v1/scopes required_scopes: 7',
    ]);
    expect(await report('dark', '?endpoint_id=none')).toMatchObject({ total: 0 });
    expect(await report('dark', '?limit=1')).toMatchObject({ total: 17, rows_total: 3, rows: [{}] });
    const one = await report('dark', '?keys=1&part=required_scopes');
    expect(one.rows[0]).toMatchObject({ keys: [{ id: key.id }], other_keys: 2 });
  });

  it('auth: names the keys that would be refused; only requests without a known key are anonymous', async () => {
    const auth = { auth_type: 'api_key' };
    await createPolicies(gateway, 'locked', origin.port, [
      { path: '/auth', policy: { auth, shadow: ['auth'] } },
    ]);
    await createService(gateway, 'elsewhere', origin.port);
    const disabled = await createKey(gateway, 'locked', { name: 'till', is_active: false });
    const expired = await createEndingKey(gateway, 'locked', 1_000, { name: 'nightly' });
    const foreign = await createKey(gateway, 'elsewhere', { name: 'guest' });
    const good = await createKey(gateway, 'locked');
    await until(() => Date.now() > Date.parse(expired.expires_at));
    const ask = (count: number, token: string): Promise<void> =>
      times(count, () => call('locked', '/auth', { headers: bearer(token) }));
    await ask(4, disabled.token);
    await ask(3, expired.token);
    await ask(2, foreign.token);
    await ask(1, 'hgk_nonsense');
    await ask(5, good.token);

    const { rows } = await report('locked');
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ part: 'auth', total: 10, other_keys: 0 });
    expect(rows[0].keys).toMatchObject([
      { kind: 'api_key', id: disabled.id, name: 'till', total: 4 },
      { kind: 'api_key', id: expired.id, name: 'nightly', total: 3 },
      { kind: 'api_key', id: foreign.id, name: 'guest', total: 2 },
      { kind: 'anonymous', id: '', name: '', total: 1 },
    ]);
    expect(JSON.stringify(rows)).not.toContain('hgk_');
  });

  it('names the subject of a token, and counts an app policy on what no endpoint matches', async () => {
    const auth = { auth_type: 'jwt', jwt: { secret: SECRET } };
    const policy = { auth, required_scopes: ['pay'], shadow: ['required_scopes', 'auth'] };
    await createService(gateway, 'subjects', origin.port, { app: { default_policy: policy } });
    const token = await signed({ sub: 'alice', exp: unixSecs() + 60 });
    await times(2, () => call('subjects', '/anything', { headers: bearer(token) }));
    await times(1, () => call('subjects', '/else'));
    const served = await report('subjects', '?endpoint_id=none');
    expect(totals(served)).toEqual(['* /subjects/v1/* auth: 1', '* /subjects/v1/* required_scopes: 3']);
    const [scopes] = served.rows;
    expect(scopes).toMatchObject({ endpoint_id: null, version: 'v1', revision: 'r1' });
    expect(scopes.keys).toMatchObject([
      { kind: 'jwt', id: 'alice', total: 2 },
      { kind: 'anonymous', total: 1 },
    ]);
  });

  it('from: leaves out what was before, to the minute', async () => {
    const limit = { enabled: true, requests: 1, window_seconds: quietWindowSecs() };
    await createPolicies(gateway, 'since', origin.port, [
      { path: '/limit', policy: { rate_limit: limit, shadow: ['rate_limit'] } },
    ]);
    await times(4, () => call('since', '/limit'));
    const now = new Date();
    const served = await report('since', `?from=${now.toISOString()}`);
    // The present minute counts whole.
    expect(Date.parse(served.from)).toBeLessThanOrEqual(now.getTime());
    expect(served.by_part).toEqual({ rate_limit: 3 });
    const later = new Date(now.getTime() + 120_000).toISOString();
    expect(await report('since', `?from=${later}`)).toMatchObject({ total: 0 });
    const before = new Date(now.getTime() - 86_400_000).toISOString();
    const whole = await report('since', `?from=${before}`);
    expect(whole).toMatchObject({ total: 3, from: whole.since });
  });

  it('DELETE begins anew for this app alone, and the row of an app goes with it', async () => {
    const policy = { allowed_methods: ['PUT'], shadow: ['allowed_methods'] };
    for (const app of ['first', 'second']) {
      await createService(gateway, app, origin.port, { app: { default_policy: policy } });
      await times(2, () => call(app, '/'));
    }
    expect((await gateway.api('DELETE', '/apps/first/shadow-report')).status).toBe(204);
    const fresh = await report('first');
    expect(fresh).toMatchObject({ total: 0, rows: [] });
    expect(Date.parse(fresh.since)).toBeGreaterThan(Date.parse((await report('second')).since));
    expect(await report('second')).toMatchObject({ total: 2 });
    await times(1, () => call('first', '/'));
    expect(await report('first')).toMatchObject({ total: 1 });

    await gateway.must('DELETE', '/apps/second?cascade=true');
    expect((await gateway.api('GET', '/apps/second/shadow-report')).status).toBe(404);
    await createService(gateway, 'second', origin.port);
    expect(await report('second')).toMatchObject({ total: 0 });
  });

  it.each([
    '?from=yesterday',
    '?from=2026-02-30T00:00:00',
    '?part=colour',
    '?limit=0',
    '?limit=501',
    '?keys=51',
    '?until=2026-01-01T00:00:00Z',
  ])('%s is 400', async (query) => {
    const answer = await gateway.api('GET', `/apps/dark/shadow-report${query}`);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_query']);
  });

  it('an app that does not exist is 404; a viewer may read and not reset', async () => {
    expect((await gateway.api('GET', '/apps/nowhere/shadow-report')).status).toBe(404);
    expect((await gateway.api('DELETE', '/apps/nowhere/shadow-report')).status).toBe(404);
    const viewer = await gateway.must('POST', '/admin/tokens', { name: 'reader', role: 'viewer' });
    const asViewer = { authorization: `Bearer ${viewer.token}` };
    expect((await gateway.api('GET', '/apps/dark/shadow-report', undefined, asViewer)).status).toBe(200);
    expect((await gateway.api('DELETE', '/apps/dark/shadow-report', undefined, asViewer)).status).toBe(403);
  });
});

describe('the log', () => {
  it('says it at once, and then at most once in ten seconds with the number', async () => {
    const policy = { allowed_methods: ['PUT'], shadow: ['allowed_methods'] };
    await createService(gateway, 'noisy', origin.port, { app: { default_policy: policy } });
    const lines = (): Record<string, unknown>[] =>
      gateway.logs().filter((line) => line['msg'] === 'would deny' && line['app'] === 'noisy');
    const first = await call('noisy', '/');
    await until(() => lines().length > 0);
    const [line] = lines();
    expect(line).toMatchObject({
      part: 'allowed_methods',
      version: 'v1',
      revision: 'r1',
      method: '*',
      route: '/noisy/v1/*',
      code: 'method_not_allowed',
      requests: 1,
      request_id: first.headers['x-request-id'],
    });
    const loggedMs = (index: number): number => Date.parse(String(lines()[index]?.['time']));
    // At once, and not with the others.
    const calledMs = Date.parse(String(first.headers['date']));
    expect(loggedMs(0) - calledMs).toBeLessThan(5_000);
    await times(30, () => call('noisy', '/'));
    await until(() => lines().length > 1);
    expect(loggedMs(1) - loggedMs(0)).toBeGreaterThan(8_000);
    expect(lines()).toHaveLength(2);
    expect(lines()[1]).toMatchObject({ requests: 30 });
  });
});

describe('a worker that dies', () => {
  it('leaves what it had sent: only the last second is at risk', async () => {
    const mortal = await startGateway({ env: INSPECTABLE });
    try {
      const policy = { allowed_methods: ['PUT'], shadow: ['allowed_methods'] };
      await createService(mortal, 'mortal', origin.port, { app: { default_policy: policy } });
      await times(20, () => request(mortal, '/mortal/v1/'));
      const path = '/apps/mortal/shadow-report';
      // The report that asks has it all at once; the dead worker cannot be asked any more.
      expect(await mortal.must('GET', path)).toMatchObject({ total: 20 });
      await crashWorkers(mortal, (title) => title.endsWith('proxy-1'));
      expect(await mortal.must('GET', path)).toMatchObject({ total: 20 });
      await until(async () => (await mortal.api('GET', '//readyz')).status === 200);
      await times(2, () => request(mortal, '/mortal/v1/'));
      expect(await mortal.must('GET', path)).toMatchObject({ total: 22 });
    } finally {
      await mortal.stop();
    }
  });
});
