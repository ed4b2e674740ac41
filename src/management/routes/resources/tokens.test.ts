import { describe, expect, it } from 'vitest';
import { hasValidChecksum, tokenHash } from '../../../model/token.ts';
import {
  sharedManagement,
  ADMIN_TOKEN,
  BILLING,
  VERSION,
  createBilling,
  startManagement,
  verdict,
} from '../../management.fixture.ts';

const api = await sharedManagement(createBilling);

const TOKENS = '/apps/billing/tokens';
const create = (body: object) => api.post(TOKENS, body);

describe('creating a token', () => {
  it('shows its value once; only its hash is stored and published', async () => {
    const reply = await create({ name: 'mobile', scopes: ['invoices:read'] });
    expect(reply.status).toBe(201);
    const { token, ...record } = reply.body.data as { token: string; id: string };
    expect(token).toMatch(/^hgk_[A-Za-z0-9_-]{49}$/);
    expect(hasValidChecksum(token)).toBe(true);
    expect(record).toMatchObject({
      name: 'mobile',
      scopes: ['invoices:read'],
      token_prefix: token.slice(0, 12),
      is_active: true,
      expires_at: null,
      last_used_at: null,
      rate_limit: null,
    });
    const fetched = await api.get(`${TOKENS}/${record.id}`);
    expect(fetched.body.data).toEqual(record);
    expect(fetched.headers.get('etag')).toBe(reply.headers.get('etag'));
    for (const path of [TOKENS, '/audit']) {
      const { text } = await api.get(path);
      expect(text).not.toContain(token);
      expect(text).not.toContain(tokenHash(token));
    }
    const change = api.published.at(-1);
    expect(change?.keys[0]?.token_hash).toBe(tokenHash(token));
    expect([change?.apps.length, change?.versions.length]).toEqual([0, 0]);
  });

  it('is found under the id of the app, too, and not under another app', async () => {
    const { id } = (await api.get('/apps/billing')).body.data as { id: string };
    const key = await create({ name: 'k' });
    expect((await api.get(`/apps/${id}/tokens/${key.body.data.id}`)).status).toBe(200);
    await api.post('/apps', { name: 'Other', slug: 'other', gateway_path: '/other' });
    expect((await api.get(`/apps/other/tokens/${key.body.data.id}`)).status).toBe(404);
  });

  it.each<[string, object, string[]]>([
    ['nothing', {}, ['/name']],
    ['an empty name', { name: '' }, ['/name']],
    ['scopes that are no array', { name: 'k', scopes: 'a b' }, ['/scopes']],
    ['a scope with a control character', { name: 'k', scopes: ['a\u0000b'] }, ['/scopes/0']],
    ['a scope twice', { name: 'k', scopes: ['a', 'a'] }, ['/scopes/1']],
    ['a token of its own', { name: 'k', token: 'x' }, ['/token']],
    ['an expiry in the past', { name: 'k', expires_at: '2020-01-01T00:00:00Z' }, ['/expires_at']],
    ['an expiry right now', { name: 'k', expires_at: '2026-01-01T00:00:00Z' }, ['/expires_at']],
    ['an expiry without a zone', { name: 'k', expires_at: '2030-01-01T00:00:00' }, ['/expires_at']],
    [
      'an unfinished limit',
      { name: 'k', rate_limit: { enabled: true, requests: 1 } },
      ['/rate_limit/window_seconds'],
    ],
    [
      'an unfinished plan, which is on',
      { name: 'k', rate_limit: { requests: 1 } },
      ['/rate_limit/window_seconds'],
    ],
    ['an empty plan', { name: 'k', rate_limit: {} }, ['/rate_limit/requests', '/rate_limit/window_seconds']],
    [
      'a plan per claim, which no key has',
      { name: 'k', rate_limit: { requests: 1, window_seconds: 1, per: 'claim:sub' } },
      ['/rate_limit/per'],
    ],
    ['a mistyped limit', { name: 'k', rate_limit: { request: 1 } }, ['/rate_limit/request']],
  ])('refuses %s', async (_what, body, pointers) => {
    expect(verdict(await create(body))).toEqual([422, 'validation_failed', pointers]);
  });
});

describe('changing a token', () => {
  it('changes scopes, activity, expiry and plan, and never the value', async () => {
    const made = await create({ name: 'k', expires_at: '2026-01-02T00:00:00+00:00' });
    const path = `${TOKENS}/${made.body.data.id}`;
    const rate_limit = { enabled: true, requests: 1, window_seconds: 1 };
    const reply = await api.patch(path, { scopes: ['b'], is_active: false, rate_limit });
    expect(reply.body.data).toMatchObject({ scopes: ['b'], is_active: false, rate_limit, name: 'k' });
    expect(reply.body.data.token).toBeUndefined();
    expect(api.published.at(-1)?.keys[0]?.token_hash).toBe(tokenHash(String(made.body.data.token)));
    expect((await api.patch(path, { rate_limit: { requests: 2 } })).body.data.rate_limit.requests).toBe(2);
  });

  it('can still be changed when it has expired', async () => {
    const made = await create({ name: 'k', expires_at: '2026-01-02T00:00:00Z' });
    api.clock.advance(3 * 86_400_000);
    const path = `${TOKENS}/${made.body.data.id}`;
    expect((await api.patch(path, { name: 'expired' })).status).toBe(200);
    expect((await api.patch(path, { expires_at: null })).body.data.expires_at).toBeNull();
  });
});

describe('rotating a token', () => {
  it('gives a new value and keeps the old one for the overlap', async () => {
    const made = await create({ name: 'k', scopes: ['a'] });
    const path = `${TOKENS}/${made.body.data.id}`;
    const reply = await api.post(`${path}/rotate`, { overlap_secs: 60 });
    expect(reply.status).toBe(200);
    expect(reply.body.data.token).not.toBe(made.body.data.token);
    expect(reply.body.data).toMatchObject({ id: made.body.data.id as string, scopes: ['a'] });
    expect(api.published.at(-1)?.keys[0]).toMatchObject({
      token_hash: tokenHash(String(reply.body.data.token)),
      previous_token_hash: tokenHash(String(made.body.data.token)),
      previous_expires_at: '2026-01-01T00:01:00.000Z',
    });
    // Both work now; neither is told again.
    const values = [String(made.body.data.token), String(reply.body.data.token)];
    expect(reply.text).not.toContain(tokenHash(values[1] ?? ''));
    for (const place of [TOKENS, path, '/audit', '/apps', '/apps/billing']) {
      const { status, text } = await api.get(place);
      expect(status).toBe(200);
      for (const value of values) {
        expect(text, place).not.toContain(value);
        expect(text, place).not.toContain(tokenHash(value));
      }
    }
    const second = await api.post(`${path}/rotate`);
    expect(second.status).toBe(200);
    expect(api.published.at(-1)?.keys[0]).toMatchObject({
      previous_token_hash: null,
      previous_expires_at: null,
    });
    expect((await api.get(path)).headers.get('etag')).toBe(second.headers.get('etag'));
  });

  it('refuses bad overlaps, unknown tokens and stale tags', async () => {
    const made = await create({ name: 'k' });
    const path = `${TOKENS}/${made.body.data.id}`;
    for (const overlap_secs of [-1, 1.5, '60', 2_592_001]) {
      const reply = await api.post(`${path}/rotate`, { overlap_secs });
      expect(verdict(reply)).toEqual([422, 'validation_failed', ['/overlap_secs']]);
    }
    expect((await api.post(`${TOKENS}/none/rotate`)).status).toBe(404);
    expect((await api.post(`${path}/rotate`, {}, { headers: { 'if-match': '"x"' } })).status).toBe(412);
  });
});

describe('deleting a token', () => {
  it('tells the workers', async () => {
    const made = await create({ name: 'k' });
    expect((await api.delete(`${TOKENS}/${made.body.data.id}`)).status).toBe(204);
    expect(api.published.at(-1)?.removedKeyIds).toEqual([made.body.data.id]);
  });
});

describe('admin tokens', () => {
  const admin = (body: object, token = ADMIN_TOKEN) => api.post('/admin/tokens', body, { token });

  it('are made, listed, used and deleted', async () => {
    const made = await admin({ name: 'ci', role: 'editor', expires_at: '2026-01-02T00:00:00Z' });
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`/api/v1/admin/tokens/${made.body.data.id}`);
    const { token, ...record } = made.body.data as { token: string; id: string };
    expect(token).toMatch(/^hga_/);
    const listed = await api.get('/admin/tokens');
    expect(listed.body.data).toEqual([record]);
    expect(listed.text).not.toContain(tokenHash(token));
    expect((await api.get('/apps', { token })).status).toBe(200);
    expect((await api.get(`/admin/tokens/${record.id}`)).body.data.last_used_at).toBe(
      '2026-01-01T00:00:00.000Z',
    );
    expect((await api.delete(`/admin/tokens/${record.id}`)).status).toBe(204);
    expect((await api.get('/apps', { token })).status).toBe(401);
    expect((await api.get('/audit')).text).not.toContain(token);
  });

  it('stop working when they expire', async () => {
    const { token } = (await admin({ name: 'x', role: 'viewer', expires_at: '2026-01-01T00:01:00Z' })).body
      .data as {
      token: string;
    };
    expect((await api.get('/apps', { token })).status).toBe(200);
    api.clock.advance(60_000);
    const reply = await api.get('/apps', { token });
    expect([reply.status, reply.body.detail]).toEqual([401, 'The admin token has expired']);
  });

  it('note their last use at most once a minute', async () => {
    const { id, token } = (await admin({ name: 'x', role: 'viewer' })).body.data as {
      id: string;
      token: string;
    };
    const lastUse = async () => (await api.get(`/admin/tokens/${id}`)).body.data.last_used_at as string;
    await api.get('/apps', { token });
    api.clock.advance(59_000);
    await api.get('/apps', { token });
    expect(await lastUse()).toBe('2026-01-01T00:00:00.000Z');
    api.clock.advance(1_000);
    await api.get('/apps', { token });
    expect(await lastUse()).toBe('2026-01-01T00:01:00.000Z');
  });

  it('work while their last use cannot be written, which is not tried a second time meanwhile', async () => {
    const { token } = (await admin({ name: 'x', role: 'viewer' })).body.data as { token: string };
    let tries = 0;
    const recordAdminTokenUse = (): Promise<void> => {
      tries++;
      return new Promise(() => undefined);
    };
    await using stuck = await startManagement({ repository: { ...api.repository, recordAdminTokenUse } });
    expect((await stuck.get('/apps', { token })).status).toBe(200);
    expect((await stuck.get('/apps', { token })).status).toBe(200);
    expect(tries).toBe(1);
  });

  it.each<[object, string[]]>([
    [{}, ['/name', '/role']],
    [{ name: 'x', role: 'root' }, ['/role']],
    [{ name: 'x', role: 'admin', expires_at: '2020-01-01T00:00:00Z' }, ['/expires_at']],
    [{ name: 'x', role: 'admin', token: 'mine' }, ['/token']],
  ])('refuse %j', async (body, pointers) => {
    expect(verdict(await admin(body))).toEqual([422, 'validation_failed', pointers]);
  });

  it('cannot be changed', async () => {
    const { id } = (await admin({ name: 'x', role: 'viewer' })).body.data as { id: string };
    const reply = await api.patch(`/admin/tokens/${id}`, { role: 'admin' });
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD']);
  });

  it('keep the last one with the role admin, when there is no token in the environment', async () => {
    const first = (await admin({ name: 'first', role: 'admin' })).body.data as { id: string; token: string };
    const { repository } = api;
    await using alone = await startManagement({ adminToken: undefined, repository });
    const { token } = first;
    expect(verdict(await alone.delete(`/admin/tokens/${first.id}`, { token }))).toEqual([
      409,
      'conflict',
      [],
    ]);
    await alone.post(
      '/admin/tokens',
      { name: 'short', role: 'admin', expires_at: '2026-02-01T00:00:00Z' },
      { token },
    );
    expect((await alone.delete(`/admin/tokens/${first.id}`, { token })).status).toBe(409);
    await alone.post('/admin/tokens', { name: 'second', role: 'admin' }, { token });
    expect((await alone.delete(`/admin/tokens/${first.id}`, { token })).status).toBe(204);
    expect((await alone.get('/apps', { token: ADMIN_TOKEN })).status).toBe(401);
  });
});

describe('the audit log', () => {
  const CHAIN: [string, object][] = [
    ['/apps', BILLING],
    ['/apps/billing/versions', { version: 'v1' }],
    [`${VERSION}/revisions`, { revision: 'r1', backend_host: 'b' }],
  ];

  it('says who changed what, with the config version', async () => {
    await using api = await startManagement();
    for (const [path, body] of CHAIN) {
      await api.post(path, body);
      api.clock.advance(1);
    }
    const made = (await api.post('/admin/tokens', { name: 'ci', role: 'editor' })).body.data as {
      id: string;
      token: string;
    };
    api.clock.advance(1);
    await api.patch('/apps/billing', { name: 'Renamed' }, { token: made.token });
    await api.patch('/apps/billing', { name: 'Renamed' }, { token: made.token });
    await api.patch('/apps/billing', { name: '' }, { token: made.token });
    const entries = (await api.get('/audit')).body.data as Record<string, unknown>[];
    expect(entries.map((entry) => entry['action'])).toEqual([
      'app.create',
      'version.create',
      'revision.create',
      'admin_token.create',
      'app.update',
    ]);
    expect(entries.at(-1)).toMatchObject({
      actor: made.id,
      resource_type: 'app',
      change: { name: 'Renamed' },
      config_version: api.published.at(-1)?.configVersion,
    });
    expect(entries[0]).toMatchObject({ actor: 'environment', change: { slug: 'billing' } });
    const page = await api.get('/audit?limit=2');
    expect(page.body.page).toMatchObject({ limit: 2, total: 5 });
    const ids = entries.map((entry) => entry['id']);
    const newest = await api.get('/audit?order=newest_first&limit=3');
    const older = await api.get(`/audit?order=newest_first&cursor=${newest.body.page.next_cursor}`);
    const seen = [...newest.body.data, ...older.body.data] as Record<string, unknown>[];
    expect(seen.map((entry) => entry['id'])).toEqual(ids.toReversed());
    expect(verdict(await api.get('/audit?order=up'))).toEqual([400, 'invalid_query', []]);
  });
});
