/**
 * What an attacker tries with a cookie, and what a session must not do by itself; in process, with a clock that moves.
 */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { makeSession } from '../../../test/contract/records.ts';
import { NOTHING_TOUCHED } from '../write/write.ts';
import { ADMIN_TOKEN, startManagement, START_MS, type Fixture, type Reply } from '../management.fixture.ts';

const HALF_IDLE_MS = 1_800_000;
const APP = { name: 'A', slug: 'a', gateway_path: '/a' };

let api: Fixture;
beforeEach(async () => {
  api ??= await startManagement();
  await api.reset();
});
afterAll(() => api[Symbol.asyncDispose]());

interface SignedIn {
  readonly id: string;
  readonly cookie: string;
  readonly csrf: string;
}

async function signIn(token: string = ADMIN_TOKEN, headers: Record<string, string> = {}): Promise<SignedIn> {
  const reply = await api.post('/session', { token }, { token: null, headers });
  expect(reply.status).toBe(201);
  expect(reply.headers.get('cache-control')).toBe('no-store');
  const cookie = (reply.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
  const current = await api.get('/session', { token: null, headers: { cookie } });
  expect(current.headers.get('cache-control')).toBe('no-store');
  return { id: current.body.data.id, cookie, csrf: reply.body.data.csrf_token };
}

const codeOf = ({ status, body }: Reply): string => `${status} ${body?.code}`;

describe('a forged call', () => {
  test('has no way around the token: not in the query, in a form, or by an override of the method', async () => {
    const { cookie, csrf } = await signIn();
    const call = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
      api.call(method, path, { token: null, headers: { cookie, ...headers }, body });
    expect(codeOf(await call('POST', `/apps?X-CSRF-Token=${csrf}&csrf_token=${csrf}`, {}, APP))).toBe(
      '403 csrf_token_invalid',
    );
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const form = { 'content-type': type };
      expect(codeOf(await call('POST', '/apps', form, JSON.stringify(APP)))).toBe('403 csrf_token_invalid');
      const known = { ...form, 'x-csrf-token': csrf };
      expect(codeOf(await call('POST', '/apps', known, JSON.stringify(APP)))).toBe(
        '415 unsupported_media_type',
      );
      const signing = { token: null, headers: form, body: JSON.stringify({ token: ADMIN_TOKEN }) };
      expect(codeOf(await api.call('POST', '/session', signing))).toBe('415 unsupported_media_type');
    }
    for (const name of ['x-http-method-override', 'x-method-override', 'x-http-method']) {
      expect((await call('GET', '/session?_method=DELETE', { [name]: 'DELETE' })).status).toBe(400);
      expect((await call('GET', '/session', { [name]: 'DELETE' })).status).toBe(200);
    }
    expect((await api.get('/apps')).body.data).toEqual([]);
  });

  test('is recognised by its Origin: another port, another host of the same name, or no Origin', async () => {
    const { cookie, csrf } = await signIn();
    const { port } = new URL(api.url);
    for (const origin of [
      `http://127.0.0.1:${Number(port) + 1}`,
      'http://127.0.0.1',
      `http://localhost:${port}`,
      `${api.url}, ${api.url}`,
      '',
    ]) {
      const headers = { cookie, origin, 'x-csrf-token': csrf };
      expect(codeOf(await api.post('/apps', APP, { token: null, headers }))).toBe('403 cross_site_request');
    }
    // A program: no browser leaves both fields out of a write, and other sites cannot make a browser do so.
    const program = { token: null, headers: { cookie } };
    expect(codeOf(await api.post('/apps', APP, program))).toBe('403 csrf_token_invalid');
    const told = { token: null, headers: { cookie, 'x-csrf-token': csrf } };
    expect((await api.post('/apps', APP, told)).status).toBe(201);
  });
});

test('reads change nothing, and leave no trace but that of a backup', async () => {
  const document = (await api.get('/openapi.json')).body;
  const reads = Object.entries(document.paths as Record<string, Record<string, object>>)
    .filter(([, operations]) => 'get' in operations)
    .map(([path]) => path.replaceAll(/\{\w+\}/g, 'none'));
  expect(reads.length).toBeGreaterThan(30);
  const entries = async (): Promise<number> => (await api.get('/audit?limit=1')).body.page.total;
  const before = await entries();
  for (const path of reads.filter((read) => !read.endsWith('/live'))) await api.call('GET', path);
  const { body } = await api.get('/audit?order=newest_first&limit=1');
  expect(body.data[0].action).toBe('config.backup');
  expect(await entries()).toBe(before + 1);
  expect(api.published).toEqual([]);
});

test('a gateway whose clock is ahead does not sign out the browsers of others', async () => {
  const { cookie } = await signIn();
  const deliveries = { ...api.repository.deliveries, nowMs: async () => api.clock.nowMs() };
  await using ahead = await startManagement({ repository: { ...api.repository, deliveries } });
  ahead.clock.advance(4 * HALF_IDLE_MS);
  const { status } = await ahead.post('/session', { token: ADMIN_TOKEN }, { token: null });
  expect(status).toBe(201);
  expect((await api.get('/session', { token: null, headers: { cookie } })).status).toBe(200);
});

test('a session of a time when the clock was ahead does not last until then', async () => {
  let aheadMs = 365 * 86_400_000;
  const clock = { nowMs: () => START_MS + aheadMs, monotonicMs: () => 0 };
  await using own = await startManagement({ clock });
  const reply = await own.post('/session', { token: ADMIN_TOKEN }, { token: null });
  const [cookie = ''] = (reply.headers.get('set-cookie') ?? '').split(';');
  const state = async (): Promise<number> =>
    (await own.get('/session', { token: null, headers: { cookie } })).status;
  expect(await state()).toBe(200);
  aheadMs = 0;
  expect(await state()).toBe(401);
});

test('a stream that stays open does not keep its session from going idle', { timeout: 40_000 }, async () => {
  const { id, cookie } = await signIn();
  const stream = await fetch(`${api.url}/api/v1/live`, { headers: { cookie } });
  expect(stream.status).toBe(200);
  let text = '';
  const ended = (async () => {
    for await (const part of stream.body ?? []) text += Buffer.from(part).toString();
  })();
  const statuses = (): number => text.split('event: status').length - 1;
  const untilMore = async (than: number): Promise<void> => {
    for (let tries = 0; tries < 150 && statuses() <= than; tries += 1) {
      await new Promise((done) => setTimeout(done, 100));
    }
    expect(statuses()).toBeGreaterThan(than);
  };
  api.clock.advance(HALF_IDLE_MS);
  await untilMore(statuses() + 1);
  const [listed] = (await api.get('/sessions')).body.data;
  expect(listed).toMatchObject({ id, last_used_at: new Date(START_MS).toISOString() });
  api.clock.advance(HALF_IDLE_MS);
  await ended;
  expect((await api.get('/session', { token: null, headers: { cookie } })).status).toBe(401);
});

test('a stream ends when its session is revoked', { timeout: 20_000 }, async () => {
  const { id, cookie } = await signIn();
  const stream = await fetch(`${api.url}/api/v1/live`, { headers: { cookie } });
  expect((await api.delete(`/sessions/${id}`)).status).toBe(204);
  expect(await stream.text()).toContain('event: status');
});

test('sessions of an earlier GATEWAY_ADMIN_TOKEN are listed as ended', async () => {
  const { id } = await signIn();
  expect((await api.get('/sessions')).body.data[0]).toMatchObject({ id, actor: { role: 'admin' } });
  for (const adminToken of ['another-admin-token', undefined]) {
    await using next = await startManagement({ repository: api.repository, adminToken });
    const token =
      adminToken ?? (await api.post('/admin/tokens', { name: 't', role: 'admin' })).body.data.token;
    const { body } = await next.get('/sessions', { token });
    expect(body.data[0]).toMatchObject({ id, actor: { id: 'environment', role: null } });
  }
  await using same = await startManagement({ repository: api.repository });
  expect((await same.get('/sessions')).body.data[0].actor.role).toBe('admin');
});

test('ten thousand sessions are the most: no more actors, and all others go on', async () => {
  const mine = await signIn();
  const used = new Date(START_MS).toISOString();
  const expires = new Date(START_MS + 3_600_000).toISOString();
  await api.repository.write(async (writer) => {
    for (let count = 1; count < 10_000; count += 1) {
      const actor_id = count < 100 ? 'environment' : `oidc:${count}`;
      const row = makeSession(null, { actor_id, last_used_at: used, created_at: used, expires_at: expires });
      await writer.insertSession(row);
    }
    return { value: undefined, touched: NOTHING_TOUCHED };
  });
  const { token } = (await api.post('/admin/tokens', { name: 'v', role: 'viewer' })).body.data;
  expect(codeOf(await api.post('/session', { token }, { token: null }))).toMatch(/^\d{3} too_many_sessions$/);
  expect((await api.get('/sessions?limit=1')).body.page.total).toBe(10_000);
  // An actor with a hundred gives up its own, so that it can always sign in.
  const again = await signIn();
  const work = { token: null, headers: { cookie: again.cookie } };
  expect((await api.get('/sessions?limit=1', work)).body.page.total).toBe(10_000);
  expect(again.id).not.toBe(mine.id);
});

test(
  'an account that signs in again and again fills no disk, and others go on',
  { timeout: 60_000 },
  async () => {
    const { token } = (await api.post('/admin/tokens', { name: 'v', role: 'viewer' })).body.data;
    const entries = async (): Promise<number> => (await api.get('/audit?limit=1')).body.page.total;
    const before = await entries();
    const statuses: number[] = [];
    for (let count = 0; count < 230; count += 1) {
      const reply = await api.post('/session', { token }, { token: null });
      statuses.push(reply.status);
      if (reply.status === 429) expect(reply.headers.get('retry-after')).toBe('1');
    }
    expect(statuses.filter((status) => status === 201)).toHaveLength(200);
    expect(statuses.at(-1)).toBe(429);
    expect((await entries()) - before).toBe(200);
    expect((await api.post('/session', { token: ADMIN_TOKEN }, { token: null })).status).toBe(201);
    api.clock.advance(2_000);
    expect((await api.post('/session', { token }, { token: null })).status).toBe(201);
  },
);

describe('guessing at the sign-in', () => {
  test.each([
    ['directly', {}],
    ['behind a trusted proxy', { 'x-forwarded-for': '198.51.100.7' }],
  ])('keeps sessions from the same address: %s', async (_how, headers) => {
    await using own = await startManagement({ authFailuresPerMinute: 5, isTrustedProxy: () => true });
    const enter = async (token: string, from: Record<string, string> = headers): Promise<number> =>
      (await own.post('/session', { token }, { token: null, headers: from })).status;
    expect(await enter(ADMIN_TOKEN)).toBe(201);
    const guesses: number[] = [];
    for (let count = 0; count < 12; count += 1) guesses.push(await enter(`wrong-${count}`));
    expect(guesses.slice(0, 5)).toEqual([401, 401, 401, 401, 401]);
    expect(guesses.at(-1)).toBe(429);
    expect(await enter(ADMIN_TOKEN)).toBe(201);
    // Clients behind one proxy are told apart.
    if ('x-forwarded-for' in headers) {
      expect(await enter('wrong', { 'x-forwarded-for': '198.51.100.8' })).toBe(401);
    }
    own.clock.advance(60_000);
    expect(await enter('wrong-again')).toBe(401);
  });
});

describe('guessing cookies', () => {
  const made = (count: number): string =>
    `headgate_session=${Buffer.from(String(count).padStart(32, 'x')).toString('base64url')}`;

  test('is slowed down, and keeps out no browser that is signed in or signs in', async () => {
    await using own = await startManagement({ authFailuresPerMinute: 5 });
    const status = async (cookie: string): Promise<number> =>
      (await own.get('/apps', { token: null, headers: { cookie } })).status;
    const signInHere = async (): Promise<string> => {
      const reply = await own.post('/session', { token: ADMIN_TOKEN }, { token: null });
      return (reply.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
    };
    const early = await signInHere();
    const guesses: number[] = [];
    for (let count = 0; count < 12; count += 1) guesses.push(await status(made(count)));
    expect(guesses).toEqual([401, 401, 401, 401, 401, 429, 429, 429, 429, 429, 429, 429]);
    const slowed = await own.get('/apps', { token: null, headers: { cookie: made(13) } });
    expect(slowed.body.code).toBe('too_many_auth_failures');
    expect(Number(slowed.headers.get('retry-after'))).toBeGreaterThan(0);
    // How to sign in is told all the same.
    const options = await own.get('/sign-in', { token: null, headers: { cookie: made(14) } });
    expect(options.body.data.signed_in).toBe(false);
    expect(await status(early)).toBe(200);
    expect(await status(await signInHere())).toBe(200);
    own.clock.advance(60_000);
    expect(await status(made(15))).toBe(401);
  });

  test('does not include a browser that continues after its session has ended', async () => {
    await using own = await startManagement({ authFailuresPerMinute: 5 });
    const asked: number[] = [];
    for (let count = 0; count < 30; count += 1) {
      asked.push((await own.get('/apps', { token: null, headers: { cookie: made(1) } })).status);
    }
    expect(new Set(asked)).toEqual(new Set([401]));
    // The others behind the same address have what is left.
    const next = await own.get('/apps', { token: null, headers: { cookie: made(2) } });
    expect(next.status).toBe(401);
  });
});
