/** Filters of lists over HTTP. That they agree with their plain meaning is in test/contract/repository-filters.ts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createBilling,
  REVISION,
  startManagement,
  verdict,
  VERSION,
  type Fixture,
  type Json,
} from '../management.fixture.ts';

let api: Fixture;
beforeAll(async () => {
  api = await startManagement();
  await createBilling(api);
  const shop = { name: '100% Shop', slug: 'shop', gateway_path: '/shop', description: 'Sells_things' };
  await api.post('/apps', { ...shop, labels: { team: 'sales', tier: 'a:b' } });
  await api.patch('/apps/billing', { labels: { team: 'billing' } });
  await api.post('/apps/billing/versions', { version: 'v0', status: 'retired' });
  await api.post(`${VERSION}/revisions`, { revision: 'r2', backend_host: 'other.test', is_current: true });
  await api.post(`${REVISION}/endpoints`, { method: 'GET', path: '/on' });
  await api.post(`${REVISION}/endpoints`, { method: 'GET', path: '/off', is_active: false });
  const soon = '2026-01-01T00:01:00Z';
  await api.post('/apps/billing/tokens', { name: 'good' });
  await api.post('/apps/billing/tokens', { name: 'revoked', is_active: false, expires_at: soon });
  await api.post('/apps/billing/tokens', { name: 'expired', expires_at: soon });
  api.clock.advance(120_000);
  await api.post('/apps/billing/versions', { version: 'v2', status: 'deprecated' });
});
afterAll(() => api[Symbol.asyncDispose]());

describe('a list', () => {
  it.each([
    ['/apps?label=team:billing', ['billing']],
    ['/apps?label=team:sales&label=tier:a:b', ['shop']],
    ['/apps?label=team:sales&label=tier:x', []],
    ['/apps?label=team:', []],
    ['/apps?q=SHOP', ['shop']],
    ['/apps?q=%25', ['shop']],
    ['/apps?q=_', ['shop']],
    ['/apps?q=s.op', []],
    ['/apps?q=/bill', ['billing']],
    ['/apps/billing/versions?status=retired', ['v0']],
    ['/apps/billing/versions?q=V', ['v1', 'v0', 'v2']],
    ['/apps/billing/versions?updated_since=2026-01-01T01:01:00%2B01:00', ['v2']],
    [`${VERSION}/revisions?status=current`, ['r2']],
    [`${VERSION}/revisions?status=not_current`, ['r1']],
    [`${VERSION}/revisions?q=other`, ['r2']],
    [`${REVISION}/endpoints?status=active`, ['/on']],
    [`${REVISION}/endpoints?status=inactive&q=f`, ['/off']],
    ['/apps/billing/tokens?status=active', ['good']],
    ['/apps/billing/tokens?status=revoked', ['revoked']],
    ['/apps/billing/tokens?status=expired', ['expired']],
  ])('%s has what matches, and its total', async (path, expected) => {
    const { body } = await api.get(path);
    const named = body.data.map(
      (item: Json) => item.slug ?? item.version ?? item.revision ?? item.path ?? item.name,
    );
    expect([named, body.page.total]).toEqual([expected, expected.length]);
  });

  it('continues after its cursor with the same filter', async () => {
    const first = await api.get('/apps/billing/versions?q=v&limit=2');
    const { next_cursor: cursor, total } = first.body.page;
    const rest = await api.get(`/apps/billing/versions?q=v&limit=2&cursor=${cursor}`);
    expect([total, rest.body.data.map(({ version }: Json) => version)]).toEqual([3, ['v2']]);
    expect(rest.body.page).toMatchObject({ total: 3, next_cursor: null });
  });

  it.each([
    '/apps?label=team',
    '/apps?label=:x',
    `/apps?${Array.from({ length: 11 }, (_, index) => `label=a:${index}`).join('&')}`,
    '/apps?q=',
    `/apps?q=${'x'.repeat(201)}`,
    '/apps?q=a&q=b',
    '/apps?q=%00',
    '/apps?status=active',
    '/apps/billing/versions?status=gone',
    '/apps/billing/versions?label=team:billing',
    '/apps?updated_since=yesterday',
    '/apps?updated_since=2026-02-30T00:00:00Z',
    '/admin/tokens?q=x',
  ])('refuses %s with 400', async (path) => {
    expect(verdict(await api.get(path))).toEqual([400, 'invalid_query', []]);
  });
});
