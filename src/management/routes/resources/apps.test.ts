import { beforeEach, describe, expect, it } from 'vitest';
import {
  sharedManagement,
  BILLING,
  createBilling,
  startManagement,
  verdict,
  VERSION,
} from '../../management.fixture.ts';

const api = await sharedManagement();

const CREATED = {
  ...BILLING,
  routing_mode: 'pass_through',
  default_policy: null,
  description: null,
  labels: {},
  hosts: [],
  allow_encoded_slashes: false,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
};

describe('creating an app', () => {
  it('answers 201 with the whole record, its place and its ETag', async () => {
    const reply = await api.post('/apps', BILLING);
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      status: 201,
      message: 'App created',
      data: { ...CREATED, id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string },
    });
    const location = reply.headers.get('location') ?? '';
    expect(location).toBe(`/api/v1/apps/${reply.body.data.id}`);
    const fetched = await api.get(location);
    expect(fetched.body.data).toEqual(reply.body.data);
    expect(fetched.headers.get('etag')).toBe(reply.headers.get('etag'));
  });

  it('publishes the change before it answers', async () => {
    const reply = await api.post('/apps', BILLING);
    expect(api.published).toHaveLength(1);
    expect(api.published[0]?.apps[0]?.app).toEqual(reply.body.data);
  });

  const policy = (default_policy: object) => ({ ...BILLING, default_policy });
  it.each<[string, object, number, string[]]>([
    ['nothing', {}, 422, ['/name', '/slug', '/gateway_path']],
    ['an unknown field', { ...BILLING, nmae: 'x' }, 422, ['/nmae']],
    ['an id of its own', { ...BILLING, id: 'x' }, 422, ['/id']],
    ['an empty name', { ...BILLING, name: '' }, 422, ['/name']],
    ['a name with a line break', { ...BILLING, name: 'a\nb' }, 422, ['/name']],
    ['a name that turns the direction of text', { ...BILLING, name: 'a\u202egnilliB' }, 422, ['/name']],
    ['a long name', { ...BILLING, name: 'a'.repeat(201) }, 422, ['/name']],
    ['a name of the wrong type', { ...BILLING, name: 1 }, 422, ['/name']],
    ['null for a required field', { ...BILLING, name: null }, 422, ['/name']],
    ['an upper-case slug', { ...BILLING, slug: 'Billing' }, 422, ['/slug']],
    ['a slug with a slash', { ...BILLING, slug: 'a/b' }, 422, ['/slug']],
    ['a slug that ends with a dash', { ...BILLING, slug: 'a-' }, 422, ['/slug']],
    ['a long slug', { ...BILLING, slug: 'a'.repeat(64) }, 422, ['/slug']],
    ['a slug like a UUID', { ...BILLING, slug: '019b2c3d-4e5f-7a6b-8c7d-9e8f7a6b5c4d' }, 422, ['/slug']],
    ['a relative path', { ...BILLING, gateway_path: 'billing' }, 422, ['/gateway_path']],
    ['a path with a trailing slash', { ...BILLING, gateway_path: '/billing/' }, 422, ['/gateway_path']],
    ['a path with an empty segment', { ...BILLING, gateway_path: '/a//b' }, 422, ['/gateway_path']],
    ['a path with a dot segment', { ...BILLING, gateway_path: '/a/../b' }, 422, ['/gateway_path']],
    ['a path that is not canonical', { ...BILLING, gateway_path: '/%61' }, 422, ['/gateway_path']],
    ['a path with a parameter', { ...BILLING, gateway_path: '/{a}' }, 422, ['/gateway_path']],
    ['a path with a query', { ...BILLING, gateway_path: '/a?b' }, 422, ['/gateway_path']],
    ['an unknown routing mode', { ...BILLING, routing_mode: 'fast' }, 422, ['/routing_mode']],
    ['labels of the wrong type', { ...BILLING, labels: { a: 1 } }, 422, ['/labels/a']],
    ['a bad label key', { ...BILLING, labels: { ' ': 'x' } }, 422, ['/labels/ ']],
    ['a description with NUL', { ...BILLING, description: 'a\0' }, 422, ['/description']],
    ['a policy that is an array', { ...BILLING, default_policy: [] }, 422, ['/default_policy']],
    ['a mistyped policy part', policy({ rate_limits: {} }), 422, ['/default_policy/rate_limits']],
    [
      'an unknown auth type',
      policy({ auth: { auth_type: 'basic' } }),
      422,
      ['/default_policy/auth/auth_type'],
    ],
    [
      'no requests',
      policy({ rate_limit: { enabled: true, requests: 0, window_seconds: 1 } }),
      422,
      ['/default_policy/rate_limit/requests'],
    ],
    [
      'a limit that nothing fills',
      policy({ rate_limit: { enabled: true } }),
      422,
      ['/default_policy/rate_limit/requests', '/default_policy/rate_limit/window_seconds'],
    ],
    ['cors without origins', policy({ cors: {} }), 422, ['/default_policy/cors/allowed_origins']],
    [
      '* with credentials',
      policy({ cors: { allowed_origins: ['*'], allow_credentials: true } }),
      422,
      ['/default_policy/cors/allow_credentials'],
    ],
    ['several at once', { ...BILLING, name: 1, slug: '!', x: 1 }, 422, ['/name', '/slug', '/x']],
  ])('refuses %s', async (_what, body, status, pointers) => {
    const reply = await api.post('/apps', body);
    expect(reply.status).toBe(status);
    expect(verdict(reply)[2].sort()).toEqual(pointers.sort());
    expect((await api.get('/apps')).body.page.total).toBe(0);
    expect(api.published).toHaveLength(0);
  });

  it('says that a refused text ends in a line break, in the detail and at the field', async () => {
    const { body } = await api.post('/apps', { ...BILLING, gateway_path: '/billing\n' });
    const told = expect.stringMatching(/percent-encoded; the value ends in a line break$/);
    expect(body).toMatchObject({ detail: told, errors: [{ pointer: '/gateway_path', detail: told }] });
  });

  it('fills a limit from the global settings where they are set', async () => {
    await using other = await startManagement({ policyGlobals: { requests: 10, windowSeconds: 60 } });
    const reply = await other.post('/apps', policy({ rate_limit: { enabled: true } }));
    expect(reply.status).toBe(201);
  });

  it('refuses a slug or path that is taken', async () => {
    await createBilling(api);
    const other = { name: 'Other', slug: 'other', gateway_path: '/other' };
    expect(verdict(await api.post('/apps', { ...other, slug: 'billing' }))).toEqual([
      409,
      'conflict',
      ['/slug'],
    ]);
    for (const gateway_path of ['/billing', '/billing/v1']) {
      const reply = await api.post('/apps', { ...other, gateway_path });
      expect(verdict(reply)).toEqual([409, 'conflict', ['/gateway_path']]);
    }
    expect((await api.post('/apps', { ...other, gateway_path: '/billing/v2' })).status).toBe(201);
  });

  it('lets one of several equal requests win, and answers the others with 409', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => api.post('/apps', BILLING)));
    expect(replies.filter((reply) => reply.status === 201)).toHaveLength(1);
    expect(replies.filter((reply) => verdict(reply)[1] === 'conflict')).toHaveLength(19);
    expect(api.published).toHaveLength(1);
  });
});

describe('fetching and listing apps', () => {
  it('finds an app by id and by slug', async () => {
    const { app } = await createBilling(api);
    expect((await api.get('/apps/billing')).body.data).toEqual(app);
    expect((await api.get(`/apps/${app.id}`)).body.data).toEqual(app);
    expect(verdict(await api.get('/apps/019b2c3d-4e5f-7a6b-8c7d-9e8f7a6b5c4d'))[0]).toBe(404);
  });

  it('pages through all apps, each once, oldest first', async () => {
    for (let index = 0; index < 7; index++) {
      await api.post('/apps', { name: 'x', slug: `app-${index}`, gateway_path: `/app-${index}` });
      api.clock.advance(1);
    }
    const slugs: string[] = [];
    let cursor: string | null = null;
    do {
      const reply = await api.get(`/apps?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`);
      expect(reply.body).toMatchObject({ status: 200, message: 'Apps listed', page: { limit: 3, total: 7 } });
      slugs.push(...(reply.body.data as { slug: string }[]).map((app) => app.slug));
      cursor = reply.body.page.next_cursor as string | null;
    } while (cursor !== null);
    expect(slugs).toEqual(['app-0', 'app-1', 'app-2', 'app-3', 'app-4', 'app-5', 'app-6']);
  });

  it('takes 50 items for a page unless told otherwise', async () => {
    expect((await api.get('/apps')).body).toEqual({
      status: 200,
      message: 'Apps listed',
      data: [],
      page: { limit: 50, next_cursor: null, total: 0 },
    });
  });

  it('answers 304 to a client that has the current record', async () => {
    await createBilling(api);
    const etag = (await api.get('/apps/billing')).headers.get('etag') ?? '';
    const same = await api.get('/apps/billing', { headers: { 'if-none-match': etag } });
    expect([same.status, same.text, same.headers.get('etag')]).toEqual([304, '', etag]);
    await api.patch('/apps/billing', { name: 'New' });
    expect((await api.get('/apps/billing', { headers: { 'if-none-match': etag } })).status).toBe(200);
  });
});

describe('changing an app', () => {
  beforeEach(() => createBilling(api));

  it('changes what is given and keeps the rest', async () => {
    api.clock.advance(1000);
    const reply = await api.patch('/apps/billing', { description: 'd', labels: { team: 'a' } });
    expect(reply.body).toMatchObject({ status: 200, message: 'App updated' });
    expect(reply.body.data).toEqual({
      ...CREATED,
      id: reply.body.data.id as string,
      description: 'd',
      labels: { team: 'a' },
      updated_at: '2026-01-01T00:00:01.000Z',
    });
    const again = await api.patch('/apps/billing', { description: null, labels: { team: null, on: 'b' } });
    expect(again.body.data).toMatchObject({ description: null, labels: { on: 'b' } });
  });

  it('takes application/merge-patch+json, too', async () => {
    const headers = { 'content-type': 'application/merge-patch+json' };
    expect((await api.patch('/apps/billing', { name: 'B' }, { headers })).body.data.name).toBe('B');
  });

  it('merges a policy at every depth', async () => {
    const set = (default_policy: object | null) => api.patch('/apps/billing', { default_policy });
    const rate_limit = { enabled: true, requests: 5, window_seconds: 1 };
    await set({ rate_limit, required_scopes: ['a'] });
    expect(
      (await set({ required_scopes: null, cors: { allowed_origins: ['*'] } })).body.data.default_policy,
    ).toEqual({
      rate_limit,
      cors: { allowed_origins: ['*'] },
    });
    expect((await set({ rate_limit: { enabled: false } })).body.data.default_policy.rate_limit).toEqual({
      ...rate_limit,
      enabled: false,
    });
    expect((await set(null)).body.data.default_policy).toBeNull();
  });

  it('puts a field back to its default with null', async () => {
    await api.patch('/apps/billing', { routing_mode: 'managed_endpoint' });
    const reply = await api.patch('/apps/billing', { routing_mode: null });
    expect(reply.body.data.routing_mode).toBe('pass_through');
  });

  it.each<[object, string[]]>([
    [{ name: null }, ['/name']],
    [{ x: null }, ['/x']],
    [{ id: 'x' }, ['/id']],
    [{ created_at: null }, ['/created_at']],
    [{ slug: 'A' }, ['/slug']],
    [
      { default_policy: { auth: { auth_type: 'jwt', jwt: { secret: '********' } } } },
      ['/default_policy/auth/jwt/secret'],
    ],
    [{ default_policy: { cors: { allowed_origins: ['x'] } } }, ['/default_policy/cors/allowed_origins/0']],
  ])('refuses %j', async (body, pointers) => {
    const reply = await api.patch('/apps/billing', body);
    expect(verdict(reply)).toEqual([422, 'validation_failed', pointers]);
  });

  it('checks the result as a whole', async () => {
    await api.patch('/apps/billing', { default_policy: { cors: { allowed_origins: ['*'] } } });
    const cors = { allowed_origins: ['*'], allow_credentials: true };
    const reply = await api.patch('/apps/billing', { default_policy: { cors } });
    expect(verdict(reply)).toEqual([422, 'validation_failed', ['/default_policy/cors/allow_credentials']]);
  });

  it('does nothing when nothing changes', async () => {
    const before = await api.get('/apps/billing');
    const published = api.published.length;
    const reply = await api.patch('/apps/billing', { name: 'Billing' });
    expect(reply.body.message).toBe('App unchanged');
    expect(reply.body.data).toEqual(before.body.data);
    expect(reply.headers.get('etag')).toBe(before.headers.get('etag'));
    expect(api.published).toHaveLength(published);
  });

  it('moves the versions whose path is the default, and only these', async () => {
    api.clock.advance(1);
    await api.post('/apps/billing/versions', { version: 'v2', gateway_path: '/billing/v2' });
    api.clock.advance(1);
    await api.post('/apps/billing/versions', { version: 'v3', gateway_path: '/elsewhere' });
    await api.patch('/apps/billing', { gateway_path: '/invoicing' });
    const versions = (await api.get('/apps/billing/versions')).body.data as { gateway_path: string }[];
    expect(versions.map((version) => version.gateway_path)).toEqual([
      '/invoicing/v1',
      '/billing/v2',
      '/elsewhere',
    ]);
    const tree = api.published.at(-1)?.apps[0];
    expect(tree?.versions.map(({ version }) => version.gateway_path)).toContain('/invoicing/v1');
  });

  it('refuses a move that would take the path of another version', async () => {
    await api.post('/apps', { name: 'Other', slug: 'other', gateway_path: '/other' });
    await api.post('/apps/other/versions', { version: 'x', gateway_path: '/invoicing/v1' });
    const reply = await api.patch('/apps/billing', { gateway_path: '/invoicing' });
    expect(verdict(reply)).toEqual([409, 'conflict', ['/gateway_path']]);
    expect((await api.get(VERSION)).body.data.gateway_path).toBe('/billing/v1');
    expect((await api.get('/apps/billing')).body.data.gateway_path).toBe('/billing');
  });

  it('can move to the root and back', async () => {
    await api.patch('/apps/billing', { gateway_path: '/' });
    expect((await api.get(VERSION)).body.data.gateway_path).toBe('/v1');
    await api.patch('/apps/billing', { gateway_path: '/billing' });
    expect((await api.get(VERSION)).body.data.gateway_path).toBe('/billing/v1');
  });

  it('honours If-Match, with one winner among parallel writers', async () => {
    const etag = (await api.get('/apps/billing')).headers.get('etag') ?? '';
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        api.patch('/apps/billing', { name: `Writer ${index}` }, { headers: { 'if-match': etag } }),
      ),
    );
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
    expect(replies.filter((reply) => verdict(reply)[1] === 'precondition_failed')).toHaveLength(9);
    const wild = await api.patch('/apps/billing', { name: 'Any' }, { headers: { 'if-match': '*' } });
    expect(wild.status).toBe(200);
  });

  it('gives every change an ETag of its own, even within a millisecond', async () => {
    const tags = new Set<string | null>();
    for (const name of ['a', 'b', 'a', 'b'])
      tags.add((await api.patch('/apps/billing', { name })).headers.get('etag'));
    expect(tags.size).toBe(4);
  });
});

describe('secrets of a policy', () => {
  const secret = 's'.repeat(40);
  const auth = { auth_type: 'jwt', jwt: { secret, algorithms: ['HS256'] } };

  it('are never served or audited, and survive being sent back masked', async () => {
    await using api = await startManagement();
    const created = await api.post('/apps', { ...BILLING, default_policy: { auth } });
    expect(created.body.data.default_policy.auth.jwt.secret).toBe('********');
    const sentBack = { default_policy: created.body.data.default_policy as object, name: 'New' };
    const patched = await api.patch('/apps/billing', sentBack);
    expect(patched.status).toBe(200);
    expect(api.published.at(-1)?.apps[0]?.app.default_policy).toEqual({ auth });
    api.clock.advance(1);
    const renewed = { auth: { ...auth, jwt: { ...auth.jwt, secret: 't'.repeat(40) } } };
    await api.patch('/apps/billing', { default_policy: renewed });
    expect(api.published.at(-1)?.apps[0]?.app.default_policy).toEqual(renewed);
    for (const path of ['/apps', '/apps/billing', '/audit']) {
      const { text } = await api.get(path);
      expect(text).not.toContain('ssss');
      expect(text).not.toContain('tttt');
    }
    expect((await api.get('/audit')).body.data.at(-1).change.default_policy.auth.jwt.secret).toBe('********');
  });
});

describe('deleting an app', () => {
  it('is refused while it has children, and takes them along with cascade', async () => {
    const { app, version } = await createBilling(api);
    const key = await api.post('/apps/billing/tokens', { name: 'k' });
    const refused = await api.delete('/apps/billing');
    expect(verdict(refused)).toEqual([409, 'has_children', []]);
    expect(refused.body.detail).toBe(
      'The app still has 1 version and 1 token; delete them first or pass cascade=true',
    );
    expect(verdict(await api.delete('/apps/billing?cascade=false'))[0]).toBe(409);
    const gone = await api.delete('/apps/billing?cascade=true');
    expect([gone.status, gone.text]).toEqual([204, '']);
    expect(api.published.at(-1)).toMatchObject({
      removedAppIds: [app.id],
      removedKeyIds: [key.body.data.id],
    });
    expect(verdict(await api.get(VERSION))[0]).toBe(404);
    expect(verdict(await api.delete('/apps/billing'))[0]).toBe(404);
    expect(version.app_id).toBe(app.id);
  });

  it('honours If-Match', async () => {
    await api.post('/apps', BILLING);
    expect((await api.delete('/apps/billing', { headers: { 'if-match': '"x"' } })).status).toBe(412);
    expect((await api.delete('/apps/billing', { headers: { 'if-match': '*' } })).status).toBe(204);
  });
});
