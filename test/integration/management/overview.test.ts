/** What shows many records at once, of a started gateway: the tree of an app, and the search over everything. */
// oxlint-disable vitest/expect-expect -- expectProblem is an assertion
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { apiAs, expectPage, expectProblem } from '../../support/management.ts';

let gateway: TestGateway;
let viewer: string;
const ids: Record<string, string> = {};
const V1 = '/apps/billing/versions/v1';
const cli = (...args: string[]): ReturnType<typeof runToEnd> =>
  runToEnd({ HEADGATE_SERVER: gateway.base, HEADGATE_TOKEN: ADMIN_TOKEN }, args);

beforeAll(async () => {
  gateway = await startGateway();
  const make = async (name: string, path: string, body: object): Promise<void> => {
    ids[name] = (await gateway.must('POST', path, body)).id;
  };
  await make('app', '/apps', {
    name: 'Invoices & more',
    slug: 'billing',
    gateway_path: '/billing',
    labels: { team: 'payments' },
  });
  await make('v1', '/apps/billing/versions', { version: 'v1' });
  await make('v2', '/apps/billing/versions', { version: 'v2', status: 'deprecated', successor: 'v1' });
  const backend = { backend_scheme: 'http', backend_host: 'backend.test', backend_port: 80 };
  await make('r1', `${V1}/revisions`, { revision: 'r1', ...backend, is_current: true, traffic_weight: 90 });
  await make('r2', `${V1}/revisions`, { revision: 'r2', ...backend, is_current: true, traffic_weight: 30 });
  await make('old', `${V1}/revisions`, { revision: 'old', ...backend, default_policy: {} });
  for (const path of ['/invoices', '/invoices/{id}'])
    await make(`r1 ${path}`, `${V1}/revisions/r1/endpoints`, { method: 'GET', path });
  await make('old /legacy', `${V1}/revisions/old/endpoints`, { method: 'POST', path: '/legacy' });
  await make('key', '/apps/billing/tokens', { name: 'Invoice printer' });
  const token = await gateway.must('POST', '/admin/tokens', { name: 'invoice viewer', role: 'viewer' });
  [viewer, ids['token']] = [token.token, token.id];
});
afterAll(() => gateway.stop());

describe('GET /apps/{app_id}/tree', () => {
  it('has versions with revisions, states, shares and numbers of endpoints', async () => {
    const { data, page } = expectPage(await apiAs(gateway, viewer, 'GET', '/apps/billing/tree'));
    expect(page).toMatchObject({ total: 2, next_cursor: null });
    expect(data).toMatchObject([
      { id: ids['v1'], version: 'v1', gateway_path: '/billing/v1', endpoints: 3, revisions_total: 3 },
      { version: 'v2', status: 'deprecated', successor: 'v1', endpoints: 0, revisions: [] },
    ]);
    expect(data[0].revisions).toMatchObject([
      { revision: 'r1', is_current: true, traffic_share: 0.75, endpoints: 2, breaker: 'closed' },
      {
        revision: 'r2',
        is_current: true,
        traffic_share: 0.25,
        endpoints: 0,
        backend: 'http://backend.test:80',
      },
      { id: ids['old'], is_current: false, traffic_share: 0, endpoints: 1 },
    ]);
    const { probing, ...none } = data[0].revisions[0].health;
    expect([probing, none]).toEqual(['off', { consecutive_failures: 0, last_error: null, last_probe: null }]);
    expect(data[0].revisions[2].health).toBeNull();
  });

  it('comes in pages, and follows a write at once', async () => {
    const first = expectPage(await gateway.api('GET', `/apps/${ids['app']}/tree?limit=1`));
    expect(first.data).toMatchObject([{ version: 'v1' }]);
    const rest = await gateway.api('GET', `/apps/billing/tree?limit=1&cursor=${first.page.next_cursor}`);
    expect(rest.body).toMatchObject({ data: [{ version: 'v2' }], page: { next_cursor: null } });
    const { id } = await gateway.must('POST', `${V1}/revisions/r2/endpoints`, {
      method: 'PUT',
      path: '/new',
    });
    const after = await gateway.must('GET', '/apps/billing/tree');
    expect(after[0].revisions[1].endpoints).toBe(1);
    await gateway.must('DELETE', `${V1}/revisions/r2/endpoints/${id}`);
    expect((await gateway.must('GET', '/apps/billing/tree'))[0].endpoints).toBe(3);
    expectProblem(await gateway.api('GET', '/apps/none/tree'), 'not_found');
  });

  it('is `headgate tree`', async () => {
    const { code, output } = await cli('tree', 'billing');
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(/^v1 +active +\/billing\/v1 +3 +r1 75% \(2 endpoints\), r2 25% /m),
    ]);
  });
});

describe('GET /search', () => {
  const search = async (q: string, token = ADMIN_TOKEN): Promise<ReturnType<typeof JSON.parse>> =>
    (await apiAs(gateway, token, 'GET', `/search?q=${encodeURIComponent(q)}`)).body.data;

  it('finds records of every kind with their parents, the exact ones first', async () => {
    const { items, total, complete } = await search('INVOICE');
    const found = items.map((item: { kind: string; path: string }) => `${item.kind} ${item.path}`);
    expect(found).toEqual(
      [
        'app billing',
        'endpoint billing / v1 / r1 / GET /invoices',
        'endpoint billing / v1 / r1 / GET /invoices/{id}',
        'api_key billing / Invoice printer',
        'admin_token invoice viewer',
      ].toSorted((a, b) => rankOf(a) - rankOf(b)),
    );
    expect([total, complete]).toEqual([5, true]);
    expect((await search('get /invoices')).items).toMatchObject([
      {
        match: 'exact',
        id: ids['r1 /invoices'],
        app_id: ids['app'],
        version_id: ids['v1'],
        revision_id: ids['r1'],
      },
      { match: 'prefix' },
    ]);
    expect((await search('R1')).items[0]).toMatchObject({ kind: 'revision', id: ids['r1'], match: 'exact' });
  });

  /** Those that begin with the text come before those that only have it. */
  const rankOf = (line: string): number => (/^(?:app|api_key|admin_token)/.test(line) ? 0 : 1);

  it.each([
    ['a label of an app', 'team:payments', 'app'],
    ['an id', () => ids['old /legacy'] ?? '', 'old /legacy'],
    ['the host of a backend', 'backend.test', 'r1'],
    ['a revision without traffic', '/legacy', 'old /legacy'],
  ])('finds by %s', async (_what, q, name) => {
    const { items } = await search(typeof q === 'string' ? q : q());
    expect(items.map(({ id }: { id: string }) => id)).toContain(ids[name]);
  });

  it('finds admin tokens for admins only, and keys by what is shown of them only', async () => {
    expect((await search('invoice viewer')).items).toMatchObject([{ kind: 'admin_token', id: ids['token'] }]);
    expect(await search('invoice viewer', viewer)).toEqual({ items: [], total: 0, complete: true });
    const { token, token_prefix: prefix } = await gateway.must('POST', '/apps/billing/tokens', {
      name: 'k2',
    });
    expect((await search(prefix)).items).toMatchObject([{ kind: 'api_key', label: 'k2' }]);
    expect((await search(token)).items).toEqual([]);
  });

  it('refuses what is no search, and finds nothing for nothing', async () => {
    expectProblem(await gateway.api('GET', '/search?q='), 'invalid_query');
    expectProblem(await gateway.api('GET', '/search?q=x&limit=101'), 'invalid_query');
    expect((await gateway.api('GET', '/search')).body.data.items).toEqual([]);
  });

  it('is `headgate search`', async () => {
    const { code, output } = await cli('search', 'GET /invoices/');
    expect([code, output]).toEqual([
      0,
      expect.stringContaining(`${ids['r1 /invoices/{id}']}  billing / v1 / r1 / GET /invoices/{id}`),
    ]);
  });
});
