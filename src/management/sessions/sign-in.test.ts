import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { ADMIN_TOKEN, startManagement, type Fixture, type Reply } from '../management.fixture.ts';

const COOKIE = /^headgate_session=([A-Za-z0-9_-]{43}); HttpOnly; SameSite=Strict; Path=\/$/;
const IDLE_MS = 3_600_000;
const MAX_MS = 43_200_000;

let api: Fixture;

interface Browser {
  readonly value: string;
  readonly csrf: string;
  readonly reply: Reply;
  readonly call: (
    method: string,
    path: string,
    headers?: Record<string, string>,
    body?: unknown,
  ) => Promise<Reply>;
}

async function signIn(token: string = ADMIN_TOKEN, headers: Record<string, string> = {}): Promise<Browser> {
  const reply = await api.post('/session', { token }, { token: null, headers });
  expect(reply.text).toMatch(/"Signed in"/);
  expect(reply.status).toBe(201);
  const value = COOKIE.exec(reply.headers.get('set-cookie') ?? '')?.[1];
  if (value === undefined) throw new Error(`no session in ${reply.headers.get('set-cookie')}`);
  const csrf: string = reply.body.data.csrf_token;
  return {
    value,
    csrf,
    reply,
    call: (method, path, more = {}, body) =>
      api.call(method, path, {
        token: null,
        headers: { cookie: `headgate_session=${value}`, 'x-csrf-token': csrf, ...more },
        body,
      }),
  };
}

async function tokenOf(role: string, more: object = {}): Promise<{ id: string; token: string }> {
  const made = await api.post('/admin/tokens', { name: `a ${role}`, role, ...more });
  expect(made.status).toBe(201);
  return made.body.data;
}

const codeOf = ({ status, body }: Reply): string => `${status} ${body?.code}`;

beforeEach(async () => {
  api ??= await startManagement();
  await api.reset();
});
afterAll(() => api[Symbol.asyncDispose]());

describe('a sign-in', () => {
  test('gives a session that acts as its token does', async () => {
    const { id, token } = await tokenOf('editor');
    const { reply, csrf, call } = await signIn(token);
    expect(reply.body.data).toEqual({
      actor: { id, name: 'a editor', role: 'editor' },
      csrf_token: csrf,
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2026-01-01T12:00:00.000Z',
      idle_expires_at: '2026-01-01T01:00:00.000Z',
    });
    const current = await call('GET', '/session');
    expect(current.body.data).toMatchObject({ ...reply.body.data, via: 'session' });
    const app = { name: 'A', slug: 'a', gateway_path: '/a' };
    expect((await call('POST', '/apps', {}, app)).status).toBe(201);
    expect(codeOf(await call('GET', '/admin/tokens'))).toBe('403 forbidden');
    const audit = await api.get('/audit?order=newest_first&action=app.create');
    expect(audit.body.data[0].actor).toBe(id);
  });

  test('with a wrong token is refused as a call with it would be', async () => {
    const wrong = await api.post('/session', { token: 'x'.repeat(20) }, { token: null });
    expect(codeOf(wrong)).toBe('401 unauthenticated');
    expect(wrong.headers.get('set-cookie')).toBeNull();
    for (const token of ['', 'with space', 'ü', 'x'.repeat(513), 7]) {
      expect(codeOf(await api.post('/session', { token }, { token: null }))).toBe('422 validation_failed');
    }
    const long = await api.post('/session', { token: 'x'.repeat(10_000) }, { token: null });
    expect(codeOf(long)).toBe('413 payload_too_large');
  });

  test('always makes a new value, and ends the session that the browser had', async () => {
    const chosen = 'A'.repeat(43);
    const first = await signIn(ADMIN_TOKEN, { cookie: `headgate_session=${chosen}` });
    expect(first.value).not.toBe(chosen);
    const second = await signIn(ADMIN_TOKEN, { cookie: `headgate_session=${first.value}` });
    expect(codeOf(await first.call('GET', '/session'))).toBe('401 unauthenticated');
    expect((await second.call('GET', '/session')).status).toBe(200);
  });

  test('is not taken from another site', async () => {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]) {
      const reply = await api.post('/session', { token: ADMIN_TOKEN }, { token: null, headers });
      expect(codeOf(reply)).toBe('403 cross_site_request');
    }
  });

  test('behind a proxy that changes Host says so', async () => {
    const headers = { 'sec-fetch-site': 'same-origin', origin: 'https://gateway.example' };
    const reply = await api.post('/session', { token: ADMIN_TOKEN }, { token: null, headers });
    expect(reply.body?.detail).toContain(
      `Origin is "https://gateway.example" and Host is "${new URL(api.url).host}": `,
    );
    expect(reply.body?.detail).toContain('a proxy in front must not change Host');
  });
});

describe('a call with the cookie', () => {
  test('that may change something needs the CSRF token of the same session', async () => {
    const mine = await signIn();
    const other = await signIn();
    const app = { name: 'A', slug: 'a', gateway_path: '/a' };
    for (const csrf of ['', 'x', other.csrf, `${mine.csrf}, ${mine.csrf}`]) {
      const reply = await mine.call('POST', '/apps', { 'x-csrf-token': csrf }, app);
      expect(codeOf(reply)).toBe('403 csrf_token_invalid');
    }
    const without = { token: null, headers: { cookie: `headgate_session=${mine.value}` } };
    expect(codeOf(await api.delete('/session', without))).toBe('403 csrf_token_invalid');
    expect((await api.get('/apps', without)).body.data).toEqual([]);
  });

  test('is refused from other sites, reads too', async () => {
    const { call } = await signIn();
    const foreign = ['cross-site', 'same-site', 'same-origin, cross-site', 'SAME-ORIGIN', ''];
    for (const site of foreign) {
      expect(codeOf(await call('GET', '/apps', { 'sec-fetch-site': site }))).toBe('403 cross_site_request');
    }
    const origins = [
      'null',
      'https://evil.example',
      `${api.url}.evil.example`,
      `${api.url}/`,
      'file://',
      'http://',
    ];
    for (const origin of origins) {
      expect(codeOf(await call('GET', '/apps', { origin }))).toBe('403 cross_site_request');
    }
    for (const headers of [
      { 'sec-fetch-site': 'same-origin', origin: api.url },
      { 'sec-fetch-site': 'none' },
    ]) {
      expect((await call('GET', '/apps', headers)).status).toBe(200);
    }
  });

  test('takes one cookie, by its exact name and value', async () => {
    const { value } = await signIn();
    const withCookie = async (cookie: string) =>
      (await api.get('/session', { token: null, headers: { cookie } })).status;
    expect(await withCookie(`theme=dark; headgate_session=${value}; x`)).toBe(200);
    expect(await withCookie(`headgate_session=${value}; headgate_session=${value}`)).toBe(401);
    expect(await withCookie(`headgate_session="${value}"`)).toBe(401);
    expect(await withCookie(`Headgate_Session=${value}`)).toBe(401);
    expect(await withCookie(`__Host-headgate_session=${value}`)).toBe(401);
    expect(await withCookie(`headgate_session=${value}x`)).toBe(401);
    expect(await withCookie(`headgate_session=`)).toBe(401);
    // Another case is another cookie, which does not matter here.
    expect(await withCookie(`Headgate_Session=x; headgate_session=${value}`)).toBe(200);
  });

  test('has lower precedence than a bearer token', async () => {
    const { token } = await tokenOf('viewer');
    const { call } = await signIn();
    const both = await call('GET', '/session', { authorization: `Bearer ${token}` });
    expect(both.body.data).toMatchObject({
      via: 'token',
      id: null,
      csrf_token: null,
      actor: { role: 'viewer' },
    });
    expect(codeOf(await call('GET', '/session', { authorization: 'Bearer wrong' }))).toBe(
      '401 unauthenticated',
    );
    const foreign = { authorization: `Bearer ${token}`, 'sec-fetch-site': 'cross-site' };
    expect((await call('GET', '/apps', foreign)).status).toBe(200);
    expect(codeOf(await call('DELETE', '/session', { authorization: `Bearer ${token}` }))).toBe(
      '404 not_found',
    );
  });
});

describe('a session ends', () => {
  test('when its browser signs out', async () => {
    const { call } = await signIn();
    const out = await call('DELETE', '/session');
    expect(out.status).toBe(204);
    expect(out.headers.get('set-cookie')).toBe(
      'headgate_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0',
    );
    expect(codeOf(await call('GET', '/session'))).toBe('401 unauthenticated');
  });

  test('when it was not used for the idle time, and at last at its end', async () => {
    const idle = await signIn();
    const used = await signIn();
    api.clock.advance(IDLE_MS - 1);
    expect((await used.call('GET', '/apps')).status).toBe(200);
    api.clock.advance(1);
    expect(codeOf(await idle.call('GET', '/apps'))).toBe('401 unauthenticated');
    for (let passed = IDLE_MS; passed < MAX_MS; passed += IDLE_MS / 2) {
      expect((await used.call('GET', '/apps')).status).toBe(200);
      api.clock.advance(IDLE_MS / 2);
    }
    expect(codeOf(await used.call('GET', '/apps'))).toBe('401 unauthenticated');
  });

  test('with its token: deleted, or expired', async () => {
    const { id, token } = await tokenOf('admin');
    const { call } = await signIn(token);
    expect((await api.delete(`/admin/tokens/${id}`)).status).toBe(204);
    expect(codeOf(await call('GET', '/apps'))).toBe('401 unauthenticated');
    const short = await tokenOf('admin', { expires_at: '2026-01-01T00:10:00Z' });
    const brief = await signIn(short.token);
    expect(brief.reply.body.data.expires_at).toBe('2026-01-01T00:10:00.000Z');
    api.clock.advance(600_000);
    expect(codeOf(await brief.call('GET', '/apps'))).toBe('401 unauthenticated');
  });

  test('with GATEWAY_ADMIN_TOKEN, when that is another one', async () => {
    const { value } = await signIn();
    const headers = { cookie: `headgate_session=${value}` };
    for (const [adminToken, status] of [
      ['another-admin-token', 401],
      [undefined, 401],
      [ADMIN_TOKEN, 200],
    ] as const) {
      await using next = await startManagement({ repository: api.repository, adminToken });
      expect((await next.get('/session', { token: null, headers })).status).toBe(status);
    }
  });

  test('when it is revoked, on another gateway too', async () => {
    const { call, reply } = await signIn();
    await using other = await startManagement({ repository: api.repository });
    const id = (await call('GET', '/session')).body.data.id;
    expect(reply.status).toBe(201);
    expect((await other.delete(`/sessions/${id}`)).status).toBe(204);
    expect(codeOf(await call('GET', '/session'))).toBe('401 unauthenticated');
    expect(codeOf(await other.delete(`/sessions/${id}`))).toBe('404 not_found');
  });
});

describe('the list of sessions', () => {
  test('lists all sessions for admins, and only their own for others', async () => {
    const viewer = await tokenOf('viewer');
    const admin = await signIn(ADMIN_TOKEN, { 'user-agent': `Firefox ${'x'.repeat(600)}` });
    const mine = await signIn(viewer.token);
    const all = await admin.call('GET', '/sessions');
    expect(all.body.page.total).toBe(2);
    expect(all.body.data[0]).toMatchObject({
      actor: { id: 'environment', name: 'environment', role: 'admin' },
      address: '127.0.0.1',
      current: true,
    });
    expect(all.body.data[0].user_agent).toHaveLength(256);
    expect(all.text).not.toContain(admin.value);
    const own = await mine.call('GET', '/sessions');
    expect(own.body.data.map((session: { current: boolean }) => session.current)).toEqual([true]);
    const others = all.body.data[0].id;
    expect(codeOf(await mine.call('DELETE', `/sessions/${others}`))).toBe('404 not_found');
    expect((await mine.call('DELETE', `/sessions/${own.body.data[0].id}`)).status).toBe(204);
    expect((await admin.call('GET', '/sessions?limit=1')).body.page.total).toBe(1);
  });

  test('leaves out what has expired', async () => {
    await signIn();
    api.clock.advance(IDLE_MS);
    expect((await api.get('/sessions')).body.data).toEqual([]);
  });
});

test('the audit log tells of sign-ins, sign-outs and revocations, without the value', async () => {
  const browser = await signIn();
  const other = await signIn();
  const id = (await other.call('GET', '/session')).body.data.id;
  await browser.call('DELETE', `/sessions/${id}`);
  await browser.call('DELETE', '/session');
  const audit = await api.get('/audit?order=newest_first&limit=4&resource_type=session');
  expect(audit.body.data.map(({ action, actor }: Record<string, string>) => [action, actor])).toEqual([
    ['session.sign_out', 'environment'],
    ['session.revoke', 'environment'],
    ['session.sign_in', 'environment'],
    ['session.sign_in', 'environment'],
  ]);
  expect(audit.text).not.toContain(browser.value);
  expect(audit.text).not.toContain(browser.csrf);
});

test('no sign-in signs out another actor, however many there are', async () => {
  const { token } = await tokenOf('viewer');
  const admin = await signIn();
  const first = await signIn(token);
  for (let count = 0; count < 100; count += 1) await signIn(token);
  expect(codeOf(await first.call('GET', '/apps'))).toBe('401 unauthenticated');
  expect((await admin.call('GET', '/apps')).status).toBe(200);
  expect((await api.get('/sessions')).body.page.total).toBe(101);
});

test('ways to sign in are public', async () => {
  const ways = await api.get('/sign-in', { token: null });
  expect(ways.body.data).toEqual({ signed_in: false, token: true, oidc: null });
});

test('ways to sign in tell of the session of the cookie, until it ends', async () => {
  const { value, call } = await signIn();
  const isSignedIn = async (cookie: string): Promise<boolean> => {
    const ways = await api.get('/sign-in', { token: null, headers: { cookie } });
    return ways.body.data.signed_in;
  };
  expect(await isSignedIn(`headgate_session=${value}`)).toBe(true);
  expect(await isSignedIn('headgate_session=x')).toBe(false);
  expect(await isSignedIn(`headgate_session=${'x'.repeat(43)}`)).toBe(false);
  expect(await isSignedIn(`headgate_session=${value}; headgate_session=${value}`)).toBe(false);
  expect((await call('DELETE', '/session')).status).toBe(204);
  expect(await isSignedIn(`headgate_session=${value}`)).toBe(false);
});

test('cookies are for TLS alone when a trusted proxy in front has spoken TLS with the browser', async () => {
  await using behind = await startManagement({ isTrustedProxy: (address) => address.startsWith('127.') });
  const cookieOf = async (at: Fixture, headers: Record<string, string>): Promise<string | null> => {
    const reply = await at.post('/session', { token: ADMIN_TOKEN }, { token: null, headers });
    expect(reply.status).toBe(201);
    return reply.headers.get('set-cookie');
  };
  const https = { 'x-forwarded-proto': 'https' };
  const made = (await cookieOf(behind, https)) ?? '';
  expect(made).toMatch(/^headgate_session=[A-Za-z0-9_-]{43}; HttpOnly; SameSite=Strict; Path=\/; Secure$/);
  expect(await cookieOf(behind, { ...https, 'x-forwarded-for': '192.0.2.1' })).toMatch(/; Secure$/);
  // Without TLS, a browser would not take such a cookie.
  expect(await cookieOf(behind, {})).toMatch(COOKIE);
  expect(await cookieOf(behind, { 'x-forwarded-proto': 'http' })).toMatch(COOKIE);
  // The client has written the first member itself.
  const forged = { 'x-forwarded-proto': 'https, http', 'x-forwarded-for': '127.0.0.9, 192.0.2.1' };
  expect(await cookieOf(behind, forged)).toMatch(COOKIE);
  // The proxy is not trusted.
  expect(await cookieOf(api, https)).toMatch(COOKIE);

  const cookie = made.split(';', 1)[0] ?? '';
  const session = await behind.get('/session', { token: null, headers: { cookie } });
  const headers = { ...https, cookie, 'x-csrf-token': String(session.body.data.csrf_token) };
  const out = await behind.delete('/session', { token: null, headers });
  expect(out.status).toBe(204);
  expect(out.headers.get('set-cookie')).toBe(
    'headgate_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0; Secure',
  );
});
