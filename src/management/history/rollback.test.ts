import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BILLING, createBilling, REVISION, startManagement, VERSION } from '../management.fixture.ts';
import type { Fixture, Json, Reply } from '../management.fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await startManagement();
});
afterEach(() => api[Symbol.asyncDispose]());

const current = async (): Promise<number> => (await api.get('/config')).body.data.config_version;
const dump = async (query = ''): Promise<Json> => (await api.get(`/config${query}`)).body.data.config;
const rollback = (to: number, body?: object): Promise<Reply> =>
  api.post(`/config/versions/${to}/rollback`, body);
const ok = async (reply: Promise<Reply>): Promise<Json> => {
  const { status, body, text } = await reply;
  expect(status, text).toBeLessThan(300);
  return body?.data;
};
const summary = ({ changes }: Json): string[] =>
  changes.map((change: Json) => `${change.change} ${change.type} ${change.path.join(' ')}`);

const app = (slug: string, path = `/${slug}`): object => ({ name: slug, slug, gateway_path: path });

describe('a rollback', () => {
  it('makes one new version, in which everything is as it was', async () => {
    await createBilling(api);
    await ok(api.post(`${REVISION}/endpoints`, { method: 'GET', path: '/invoices' }));
    const [at, before] = [await current(), await dump()];
    await ok(api.patch('/apps/billing', { description: 'x', routing_mode: 'managed_endpoint' }));
    await ok(api.patch(REVISION, { traffic_weight: 7 }));
    await ok(api.post(`${REVISION}/endpoints`, { method: 'POST', path: '/invoices' }));
    await ok(api.delete(`${VERSION}?cascade=true`));
    await ok(api.post('/apps', app('orders')));
    const moved = await current();
    expect(await dump()).not.toEqual(before);

    const done = await ok(rollback(at, { message: 'as on Friday' }));
    expect(summary(done)).toEqual([
      'delete app orders',
      'update app billing',
      'create version billing v1',
      'create revision billing v1 r1',
      'create endpoint billing v1 r1 GET /invoices',
    ]);
    expect(done).toMatchObject({ base_version: moved, rolled_back_to: at, not_restored: [] });
    expect(await current()).toBe(moved + 1);
    expect(await dump()).toEqual(before);
    const entry = await ok(api.get(`/config/versions/${moved + 1}`));
    expect(entry).toMatchObject({ action: 'config.rollback', message: 'as on Friday', source: 'api' });
    expect((await rollback(at)).body).toMatchObject({ message: 'Nothing to change', data: { changes: [] } });
    expect(await current()).toBe(moved + 1);
  });

  it('keeps the ids of what it restores, so that it can be rolled back, too', async () => {
    const { version, revision } = await createBilling(api);
    const at = await current();
    await ok(api.delete('/apps/billing?cascade=true'));
    const gone = await current();
    await ok(rollback(at));
    expect((await api.get(VERSION)).body.data.id).toBe(version.id);
    expect((await api.get(REVISION)).body.data).toMatchObject({
      id: revision.id,
      created_at: revision.created_at,
    });
    expect(await dump()).toEqual(await dump(`?version=${at}`));
    await ok(rollback(gone));
    expect(await dump()).toEqual({ apps: {} });
    await ok(rollback(at));
    expect(await dump()).toEqual(await dump(`?version=${at}`));
  });

  it('undoes swaps of hosts between apps of one path, also with an app without hosts', async () => {
    const two = (slug: string, hosts: readonly string[]) =>
      api.post('/apps', { ...app(slug), gateway_path: '/p', hosts });
    for (const [slug, hosts] of [
      ['a', ['a.test']],
      ['b', ['b.test']],
      ['c', []],
    ] as const) {
      await ok(two(slug, hosts));
      await ok(api.post(`/apps/${slug}/versions`, { version: 'v1' }));
    }
    const [at, before] = [await current(), await dump()];
    const set = async (slug: string, hosts: readonly string[]) => ok(api.patch(`/apps/${slug}`, { hosts }));
    await set('c', ['c.test']);
    await set('a', []);
    await set('b', ['a.test']);
    await set('c', ['b.test']);
    await ok(rollback(at));
    expect(await dump()).toEqual(before);
    const refused = await api.patch('/apps/b', { hosts: ['a.test'] });
    expect(refused.status).toBe(409);
  });

  it('undoes renames, and swaps of slugs, labels and paths, also between apps', async () => {
    await createBilling(api);
    await ok(api.post('/apps', app('orders')));
    await ok(api.post('/apps/orders/versions', { version: 'v1' }));
    await ok(api.post('/apps/billing/versions', { version: 'v2', gateway_path: '/two' }));
    await ok(api.post(`${VERSION}/revisions`, { revision: 'r2', backend_host: 'other.test' }));
    for (const path of ['/a', '/b']) await ok(api.post(`${REVISION}/endpoints`, { method: 'GET', path }));
    await ok(api.patch(VERSION, { successor: 'v2' }));
    const { id: keyId } = await ok(api.post('/apps/billing/tokens', { name: 'mobile' }));
    const [at, before] = [await current(), await dump()];
    const ids = async (): Promise<string[]> => [
      (await api.get('/apps/billing')).body.data.id,
      (await api.get('/apps/orders')).body.data.id,
    ];
    const [billing, orders] = await ids();

    await ok(api.patch('/apps/billing', { slug: 'x', gateway_path: '/x' }));
    await ok(api.patch('/apps/orders', { slug: 'billing', gateway_path: '/billing' }));
    await ok(api.patch('/apps/x', { slug: 'orders', gateway_path: '/orders' }));
    const moved = `/apps/${billing}/versions`;
    await ok(api.patch(`${moved}/v1`, { successor: null, version: 'v0' }));
    await ok(api.patch(`${moved}/v2`, { version: 'v1', gateway_path: '/orders/other' }));
    await ok(api.patch(`${moved}/v0`, { version: 'v2', gateway_path: '/two' }));
    const revisions = `${moved}/v2/revisions`;
    await ok(api.patch(`${revisions}/r1`, { revision: 'r0' }));
    await ok(api.patch(`${revisions}/r2`, { revision: 'r1' }));
    await ok(api.patch(`${revisions}/r0`, { revision: 'r2' }));
    const endpoints = (await api.get(`${revisions}/r2/endpoints`)).body.data as Json[];
    const [a, b] = endpoints.map(({ id }) => `${revisions}/r2/endpoints/${id}`);
    await ok(api.patch(a ?? '', { path: '/c' }));
    await ok(api.patch(b ?? '', { path: '/a' }));
    await ok(api.patch(a ?? '', { path: '/b' }));

    const done = await ok(rollback(at));
    expect(done.totals).toEqual({ create: 0, update: 8, delete: 0 });
    expect(done.changes[0]).toMatchObject({
      path: ['billing'],
      fields: { slug: { before: 'orders', after: 'billing' }, gateway_path: { before: '/orders' } },
    });
    expect(await dump()).toEqual(before);
    expect(await ids()).toEqual([billing, orders]);
    expect((await api.get(`/apps/billing/tokens/${keyId}`)).status).toBe(200);
    const { changes } = await ok(api.get(`/config/versions/${await current()}`));
    const places = changes.map(({ path }: Json) => path.join(' '));
    expect(places).not.toContainEqual(expect.stringMatching(/[0-9a-f]{8}-/));
  });

  it('shows a viewer what it would do, and does it for an editor', async () => {
    await createBilling(api);
    const at = await current();
    await ok(api.patch('/apps/billing', { description: 'x' }));
    const before = await dump();
    const tokenOf = async (role: string): Promise<string> =>
      (await ok(api.post('/admin/tokens', { name: role, role }))).token;
    const [viewer, editor] = [await tokenOf('viewer'), await tokenOf('editor')];
    const path = `/config/versions/${at}/rollback`;
    const planned = await api.post(path, { dry_run: true }, { token: viewer });
    expect(planned.body).toMatchObject({ message: 'Plan', data: { totals: { update: 1 } } });
    expect(await dump()).toEqual(before);
    expect((await api.post(path, {}, { token: viewer })).status).toBe(403);
    expect((await api.post(path, undefined, { token: viewer })).status).toBe(403);
    const { base_version } = planned.body.data;
    await ok(api.post('/apps', app('orders')));
    const refused = await api.post(path, { base_version }, { token: editor });
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      `The plan was made on config version ${base_version}, but ${base_version + 1} is in force`,
    ]);
    expect((await rollback(at, { base_version })).body.detail).toContain('since then: app.create orders');
    expect((await api.post(path, { base_version: base_version + 1 }, { token: editor })).status).toBe(200);
  });

  it('touches only one app when it is asked to', async () => {
    await createBilling(api);
    await ok(api.post('/apps', app('orders')));
    const at = await current();
    for (const slug of ['billing', 'orders']) await ok(api.patch(`/apps/${slug}`, { description: 'x' }));
    await ok(api.post('/apps', app('new')));
    expect(summary(await ok(rollback(at, { app: 'orders' })))).toEqual(['update app orders']);
    expect((await api.get('/apps/billing')).body.data.description).toBe('x');
    expect(summary(await ok(rollback(at, { app: 'new' })))).toEqual(['delete app new']);
    await ok(api.delete('/apps/billing?cascade=true'));
    await ok(api.post('/apps', { ...BILLING, description: 'another' }));
    expect(summary(await ok(rollback(at, { app: 'billing' })))).toEqual([
      'delete app billing',
      'create app billing',
      'create version billing v1',
      'create revision billing v1 r1',
    ]);
    expect((await rollback(at, { app: 'none' })).status).toBe(404);
    await ok(api.patch('/apps/orders', { gateway_path: '/elsewhere' }));
    await ok(api.post('/apps', app('taker', '/orders')));
    const taken = await rollback(at, { app: 'orders' });
    expect([taken.status, taken.body.errors]).toEqual([
      409,
      [
        {
          pointer: '/apps/orders/gateway_path',
          detail: '"/orders" is already taken by the app "taker"',
        },
      ],
    ]);
  });

  it('touches no second app where the name has gone to another one', async () => {
    const { id } = await ok(api.post('/apps', app('shop')));
    const at = await current();
    await ok(api.patch('/apps/shop', { slug: 'store', gateway_path: '/store' }));
    expect(summary(await ok(rollback(at, { app: 'shop', dry_run: true })))).toEqual(['update app shop']);
    const other = await ok(api.post('/apps', app('shop')));
    const before = await current();
    const refused = await rollback(at, { app: 'shop' });
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect(refused.body.detail).toContain(`is now "store" (${id})`);
    expect(await current()).toBe(before);
    expect(summary(await ok(rollback(at, { app: other.id })))).toEqual(['delete app shop']);
    expect(summary(await ok(rollback(at, { app: id })))).toEqual(['update app shop']);
  });

  it('answers 404 for a version that was never made, and 410 for one that is not kept', async () => {
    await createBilling(api);
    for (const name of ['99', 'x', '-1', '1e3', '01', '99999999999999999999']) {
      expect((await api.post(`/config/versions/${name}/rollback`, {})).status).toBe(404);
      expect((await api.get(`/config/versions/${name}`)).status).toBe(404);
    }
    expect((await api.get('/config?version=99')).status).toBe(404);
    expect((await api.get('/config/versions/diff?from=99')).status).toBe(404);
    expect((await api.get('/config/versions/diff')).status).toBe(400);
    expect((await rollback(0)).status).toBe(200);
    expect(await dump()).toEqual({ apps: {} });
  });

  it('refuses what today’s rules do not allow, with its place', async () => {
    await createBilling(api);
    const at = await current();
    await ok(api.patch(REVISION, { backend_host: 'allowed.test' }));
    const strict = await startManagement({
      repository: api.repository,
      egress: { hostDenial: (host) => (host === 'backend.test' ? 'it is denied' : undefined) },
    });
    try {
      const refused = await strict.post(`/config/versions/${at}/rollback`, {});
      expect([refused.status, refused.body.errors]).toEqual([
        422,
        [
          {
            pointer: '/apps/billing/versions/v1/revisions/r1/backend_host',
            detail: 'cannot be connected to: it is denied',
          },
        ],
      ]);
      expect((await api.get(REVISION)).body.data.backend_host).toBe('allowed.test');
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });
});

describe('keys in a rollback', () => {
  const key = (name: string, input: object = {}): Promise<Json> =>
    ok(api.post('/apps/billing/tokens', { name, ...input }));
  const keys = async (): Promise<Json[]> => (await api.get('/apps/billing/tokens')).body.data;

  it('do not come back when they were deleted or have expired', async () => {
    await createBilling(api);
    await key('stays');
    const gone = await key('gone');
    const until = new Date(api.clock.nowMs() + 60_000).toISOString();
    const ended = await key('ended', { expires_at: until });
    const at = await current();
    await ok(api.patch('/apps/billing', { description: 'x' }));
    await ok(api.delete(`/apps/billing/tokens/${gone.id}`));
    api.clock.advance(120_000);
    const done = await ok(rollback(at));
    expect(done.not_restored).toEqual([
      { app: 'billing', key: 'ended', id: ended.id, reasons: ['expired'] },
      { app: 'billing', key: 'gone', id: gone.id, reasons: ['deleted'] },
    ]);
    expect((await keys()).map(({ name }) => name)).toEqual(['stays', 'ended']);
    expect((await dump()).apps.billing.keys).toEqual({ stays: {} });
    expect((await api.post('/tokens/introspect', { token: gone.token })).body.data.active).toBe(false);
    expect((await api.post('/tokens/introspect', { token: ended.token })).body.data.active).toBe(false);
  });

  it('do not come back with their app', async () => {
    await createBilling(api);
    const lost = await key('mobile');
    const at = await current();
    await ok(api.delete('/apps/billing?cascade=true'));
    const done = await ok(rollback(at));
    expect(done.not_restored).toMatchObject([{ id: lost.id, reasons: ['deleted'] }]);
    expect(await keys()).toEqual([]);
    expect((await api.post('/tokens/introspect', { token: lost.token })).body.data.active).toBe(false);
  });

  it('keep a value that they got since then, and the old value stays invalid', async () => {
    await createBilling(api);
    const old = await key('mobile');
    const at = await current();
    const { token } = await ok(api.post(`/apps/billing/tokens/${old.id}/rotate`, {}));
    await ok(
      api.patch(`/apps/billing/tokens/${old.id}`, {
        name: 'renamed',
        rate_limit: { requests: 5, window_seconds: 1 },
      }),
    );
    const done = await ok(rollback(at));
    expect(done.not_restored).toMatchObject([{ id: old.id, reasons: ['value'] }]);
    expect(await keys()).toMatchObject([{ name: 'mobile', rate_limit: null }]);
    expect((await api.post('/tokens/introspect', { token })).body.data.active).toBe(true);
    expect((await api.post('/tokens/introspect', { token: old.token })).body.data.active).toBe(false);
  });

  it('open no more than they do, and may open fewer', async () => {
    await createBilling(api);
    const wide = await key('wide', { scopes: ['a', 'b'] });
    const narrow = await key('narrow', { scopes: ['a'] });
    const off = await key('off', { is_active: false });
    const at = await current();
    const change = (id: string, body: object): Promise<Json> =>
      ok(api.patch(`/apps/billing/tokens/${id}`, body));
    const soon = new Date(api.clock.nowMs() + 60_000).toISOString();
    await change(wide.id, { scopes: ['b'], is_active: false, expires_at: soon });
    await change(narrow.id, { scopes: ['a', 'b', 'c'] });
    await change(off.id, { is_active: true });
    const done = await ok(rollback(at));
    expect(done.not_restored).toEqual([
      { app: 'billing', key: 'wide', id: wide.id, reasons: ['inactive', 'scopes', 'expires_at'] },
    ]);
    expect(await keys()).toMatchObject([
      { name: 'wide', scopes: ['b'], is_active: false, expires_at: soon },
      { name: 'narrow', scopes: ['a'], is_active: true },
      { name: 'off', is_active: false },
    ]);
  });

  it('created since then stay, unless their app would be deleted: then it is refused, with the list', async () => {
    await createBilling(api);
    const at = await current();
    const fresh = await key('fresh');
    await ok(api.patch('/apps/billing', { description: 'x' }));
    await ok(rollback(at));
    expect((await keys()).map(({ name }) => name)).toEqual(['fresh']);

    await ok(api.post('/apps', app('orders')));
    await ok(api.post('/apps/orders/tokens', { name: 'till' }));
    const refused = await rollback(at);
    expect([refused.status, refused.body.detail, refused.body.errors]).toEqual([
      409,
      `Would delete 1 app created after config version ${at}, with 1 key in force: "orders". Set delete_keys to delete the keys, too`,
      [
        {
          pointer: '/apps/orders/keys/till',
          detail: `was created after config version ${at}, like its app "orders"; its clients would be refused`,
        },
      ],
    ]);
    expect((await api.get('/apps/orders')).status).toBe(200);
    const done = await ok(rollback(at, { delete_keys: true }));
    expect(summary(done)).toEqual(['delete key billing fresh', 'delete app orders']);
    expect(await dump()).toEqual(await dump(`?version=${at}`));
    expect((await api.post('/tokens/introspect', { token: fresh.token })).body.data.active).toBe(false);
    expect(api.published.at(-1)?.removedKeyIds).toHaveLength(2);
  });
});
