import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK } from 'jose';
import { Provider } from 'oidc-provider';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startManagement, type Fixture, type Json } from '../../management.fixture.ts';
import type { OidcSettings } from './oidc-client.ts';
import { onwardPage, returnPath } from './return-path.ts';

const START = '/api/v1/session/oidc/start';
const CALLBACK = '/api/v1/session/oidc/callback';
const SECRET = 'a-client-secret-of-some-length-for-the-tests';
const GROUPS: Readonly<Record<string, readonly string[]>> = { ada: ['ops', 'staff'], bob: ['guests'] };

let server: Server;
let handler: RequestListener;
let provider: RequestListener;
let issuer: string;
let api: Fixture;

const settingsOf = (fields: Partial<OidcSettings> = {}): OidcSettings => ({
  issuer,
  clientId: 'headgate',
  clientSecret: SECRET,
  name: 'Test',
  redirectUrl: undefined,
  scopes: ['openid', 'profile'],
  groupsClaim: 'groups',
  roles: [
    { group: 'staff', role: 'viewer' },
    { group: 'ops', role: 'editor' },
  ],
  ...fields,
});

beforeAll(async () => {
  server = createServer((request, response) => handler(request, response)).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  api = await startManagement({ oidc: settingsOf() });
  provider = await newProvider('one');
  handler = provider;
});

/** With a key of its own. */
async function newProvider(kid: string): Promise<RequestListener> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
  return new Provider(issuer, {
    jwks: { keys: [key] },
    clients: [{ client_id: 'headgate', client_secret: SECRET, redirect_uris: [api.url + CALLBACK] }],
    cookies: { keys: ['a key for the cookies of the tests'] },
    claims: { openid: ['sub'], profile: ['name', 'groups'] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, name: `${id} Example`, groups: GROUPS[id] ?? [] }),
    }),
    features: { devInteractions: { enabled: true } },
  }).callback();
}
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

/** Cookies by origin, as one browser keeps them. */
type Jar = Map<string, Map<string, string>>;

async function visit(jar: Jar, url: string, form?: URLSearchParams): Promise<Response> {
  const { origin } = new URL(url);
  const cookies = jar.get(origin) ?? new Map<string, string>();
  jar.set(origin, cookies);
  const response = await fetch(url, {
    redirect: 'manual',
    headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    ...(form === undefined ? {} : { method: 'POST', body: form }),
  });
  for (const line of response.headers.getSetCookie()) {
    const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split(/=(.*)/s);
    cookies.set(name, value);
  }
  return response;
}

/** Up to where the provider sends the browser back. */
async function atProvider(jar: Jar, login: string, start: string): Promise<string> {
  let url = start;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 12; step += 1) {
    if (url.startsWith(api.url + CALLBACK)) return url;
    const response = await visit(jar, url, form);
    const page = await response.text();
    const location = response.headers.get('location');
    form = undefined;
    if (location !== null) {
      url = new URL(location, url).href;
      continue;
    }
    const prompt = /name="prompt" value="(login|consent)"/.exec(page)?.[1];
    if (prompt === undefined) throw new Error(`The provider shows ${response.status} ${page}`);
    form = new URLSearchParams({ prompt, login, password: 'any' });
  }
  throw new Error('The provider never came to an end');
}

const signInAs = async (jar: Jar, login: string, returnTo = '/apps'): Promise<Response> => {
  const start = `${api.url}${START}?return_to=${encodeURIComponent(returnTo)}`;
  return visit(jar, await atProvider(jar, login, start));
};

describe('signing in with a provider', () => {
  test('works when the provider has replaced its keys since the sign-in before', async () => {
    try {
      for (const kid of ['two', 'three']) {
        handler = await newProvider(kid);
        expect((await signInAs(new Map(), 'ada')).status).toBe(200);
      }
    } finally {
      handler = provider;
    }
  });

  test('gives a session with the highest role of the groups, and leads back without a redirect', async () => {
    const jar: Jar = new Map();
    const page = await signInAs(jar, 'ada', '/apps?search=a&b=%22');
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('content="0; url=/apps?search=a&#38;b=%22"');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.headers.getSetCookie().join('\n')).toMatch(
      /headgate_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\//,
    );
    const current: Json = await (await visit(jar, `${api.url}/api/v1/session`)).json();
    expect(current.data).toMatchObject({
      via: 'session',
      actor: { id: 'oidc:ada', name: 'ada Example', role: 'editor' },
    });
    const ways = await api.get('/sign-in', { token: null });
    expect(ways.body.data.oidc).toEqual({ name: 'Test', start_url: START });
    const headers = { cookie: `headgate_session=${jar.get(api.url)?.get('headgate_session')}` };
    await using changed = await startManagement({
      repository: api.repository,
      oidc: settingsOf({ roles: [{ group: 'staff', role: 'viewer' }] }),
    });
    expect((await changed.get('/session', { token: null, headers })).body.data.actor.role).toBe('viewer');
    for (const oidc of [undefined, settingsOf({ issuer: 'http://127.0.0.1:1' }), settingsOf({ roles: [] })]) {
      await using other = await startManagement({ repository: api.repository, oidc });
      expect((await other.get('/session', { token: null, headers })).status).toBe(401);
    }
  });

  test('is refused for people who are in no group with a role', async () => {
    const jar: Jar = new Map();
    const page = await signInAs(jar, 'bob');
    const problem: Json = await page.json();
    expect([page.status, problem.code]).toEqual([403, 'sign_in_forbidden']);
    expect(jar.get(api.url)?.has('headgate_session')).toBe(false);
    const entry: Json = await vi.waitFor(async () => {
      const { body } = await api.get('/audit?action=login.refused');
      expect(body.data).toHaveLength(1);
      return body.data[0];
    });
    expect(entry).toMatchObject({ resource_id: '127.0.0.1', change: { attempts: 1, subject: 'bob' } });
    expect(entry.change.reason).toBe(
      'The account is not in a group that has a role here (GATEWAY_OIDC__ROLES): the claim "groups" names "guests"',
    );
    expect(problem.detail, 'not for the person').not.toContain('guests');
    expect(entry.request_id).toBe(problem.request_id);
  });

  test('needs the browser that began it, once and with its own answer', async () => {
    const jar: Jar = new Map();
    const back = await atProvider(jar, 'ada', `${api.url}${START}`);
    const refused = async (browser: Jar, url: string): Promise<unknown> => {
      const problem: Json = await (await visit(browser, url)).json();
      return problem.code;
    };
    expect(await refused(new Map(), back)).toBe('sign_in_failed');
    const other: Jar = new Map();
    await visit(other, `${api.url}${START}`);
    expect(await refused(other, back)).toBe('sign_in_failed');
    expect((await visit(jar, back)).status).toBe(200);
    expect(await refused(jar, back)).toBe('sign_in_failed');
    const denied: Jar = new Map();
    const state = new URL(
      (await visit(denied, `${api.url}${START}`)).headers.get('location') ?? '',
    ).searchParams.get('state');
    expect(await refused(denied, `${api.url}${CALLBACK}?error=access_denied&state=${state}`)).toBe(
      'sign_in_failed',
    );
  });

  test('leads a person whose sign-in fails back to the form', async () => {
    const answer = await fetch(`${api.url}${CALLBACK}?error=access_denied`, {
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
      redirect: 'manual',
    });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/?sign_in=sign_in_failed']);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('in two tabs at once leads the first one back to the form, and the second one in', async () => {
    const jar: Jar = new Map();
    const first = await atProvider(jar, 'ada', `${api.url}${START}`);
    const second = await atProvider(jar, 'ada', `${api.url}${START}`);
    const cookie = [...(jar.get(api.url) ?? [])].map((pair) => pair.join('=')).join('; ');
    const headers = { cookie, accept: 'text/html' };
    const refused = await fetch(first, { headers, redirect: 'manual' });
    expect([refused.status, refused.headers.get('location')]).toEqual([303, '/?sign_in=sign_in_failed']);
    expect(refused.headers.getSetCookie()).toEqual([]);
    expect((await visit(jar, second)).status).toBe(200);
  });

  test('leads nowhere else', async () => {
    for (const path of [
      '//evil.example',
      'https://evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      'apps',
      '',
      '/a\nb',
      '/ü',
    ]) {
      const reply = await api.call('GET', `${START}?return_to=${encodeURIComponent(path)}`, { token: null });
      expect([reply.status, reply.body.code]).toEqual([400, 'invalid_query']);
    }
    expect(returnPath('/apps?x=//evil.example#y')).toBe('/apps?x=//evil.example#y');
    expect(onwardPage('/"><script>alert(1)</script>')).not.toContain('<script>');
  });
});

test('a browser that speaks TLS with a trusted proxy is led back over TLS, with cookies for TLS alone', async () => {
  await using behind = await startManagement({ oidc: settingsOf(), isTrustedProxy: () => true });
  const begin = (headers: Record<string, string>): Promise<Response> =>
    fetch(behind.url + START, { redirect: 'manual', headers });
  for (const [headers, scheme] of [
    [{ 'x-forwarded-proto': 'https' }, 'https:'],
    [{}, 'http:'],
  ] as const) {
    const start = await begin(headers);
    const back = new URL(start.headers.get('location') ?? '').searchParams.get('redirect_uri') ?? '';
    expect(new URL(back).protocol).toBe(scheme);
    expect(start.headers.get('set-cookie')?.endsWith('; Secure')).toBe(scheme === 'https:');
  }
});

describe('a provider that', () => {
  const failing = async (listener: RequestListener): Promise<unknown> => {
    await using own = await startManagement({ oidc: settingsOf() });
    handler = listener;
    try {
      const reply = await own.call('GET', START, { token: null });
      return [reply.status, reply.body.code];
    } finally {
      handler = provider;
    }
  };
  const refused = [502, 'identity_provider_failed'];

  test('answers with an error, nonsense or another issuer is a clear error', async () => {
    expect(await failing((_request, response) => void response.writeHead(503).end())).toEqual(refused);
    expect(await failing((_request, response) => void response.end('x'))).toEqual(refused);
    const other = JSON.stringify({ issuer: 'http://other.example', authorization_endpoint: 'http://x/' });
    expect(
      await failing((_request, response) => {
        response.setHeader('content-type', 'application/json');
        response.end(other);
      }),
    ).toEqual(refused);
    expect(await failing((request) => void request.socket.destroy())).toEqual(refused);
  });

  test('does not answer holds nothing up for long', async () => {
    const startedMs = performance.now();
    expect(await failing(() => undefined)).toEqual(refused);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});
