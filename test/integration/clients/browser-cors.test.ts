/**
 * Cross-origin requests as a browser makes them, from pages on other origins than the gateway's: what a policy
 * grants works, credentials included, what it does not grant stays unreadable, and the gateway's own errors can
 * be read by the page.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fontFile, sharedBrowser } from '../../support/clients/browser.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createService } from '../../support/traffic.ts';
import { startWebsite, type Website } from '../../support/backends/website.ts';

const REFUSED = { error: 'TypeError: Failed to fetch' };
const FIRST_BYTE_TIMEOUT_MS = 3_000;
/** Discard: nothing listens there. */
const CLOSED_PORT = 9;

let browser: Browser;
let backend: Website;
let welcome: Website;
let stranger: Website;
let gateway: TestGateway;
let page: Page;
let strangerPage: Page;
let authorization: string;

const originOf = (website: Website): string => `http://127.0.0.1:${website.port}`;

beforeAll(async () => {
  browser = await sharedBrowser();
  [backend, welcome, stranger] = await Promise.all([
    startWebsite(fontFile()),
    startWebsite(fontFile()),
    startWebsite(fontFile()),
  ]);
  gateway = await startGateway({
    env: { GATEWAY_PROXY__FIRST_BYTE_TIMEOUT_MS: String(FIRST_BYTE_TIMEOUT_MS) },
  });
  const cors = {
    allowed_origins: [originOf(welcome)],
    allowed_methods: ['GET', 'POST', 'PUT'],
    allowed_headers: ['Authorization', 'Content-Type', 'X-Custom'],
    expose_headers: ['X-Build', 'Retry-After', 'X-RateLimit-Limit', 'WWW-Authenticate'],
    allow_credentials: true,
    max_age_secs: 600,
  };
  const auth = { auth_type: 'api_key', required: true };
  await addApp('api', backend.port, { auth, cors });
  await addApp('down', CLOSED_PORT, { cors });
  await addApp('any', backend.port, { cors: { allowed_origins: ['*'] } });
  await addApp('none', backend.port, {});
  const limit = { enabled: true, requests: 1, window_seconds: 3600, algorithm: 'sliding_window' };
  await addEndpoint('/scoped', { required_scopes: ['write'] });
  await addEndpoint('/read-only', { allowed_methods: ['GET'] });
  await addEndpoint('/small', { max_body_bytes: 10 });
  await addEndpoint('/limited', { rate_limit: limit }, '/echo');
  const { token } = await gateway.must('POST', '/apps/api/tokens', { name: 'page', scopes: ['read'] });
  authorization = `Bearer ${token}`;
  page = await browser.newPage();
  await page.goto(`${originOf(welcome)}/empty`);
  strangerPage = await browser.newPage();
  await strangerPage.goto(`${originOf(stranger)}/empty`);
}, 180_000);

afterAll(async () => {
  await Promise.all([page, strangerPage].map((each) => each?.close()));
  await gateway?.stop();
  await Promise.all([backend, welcome, stranger].map((website) => website?.close()));
});

const addApp = (slug: string, port: number, policy: object): Promise<void> =>
  createService(gateway, slug, port, { app: { default_policy: policy } });

async function addEndpoint(path: string, policy: object, backendPath?: string): Promise<{ id: string }> {
  return await gateway.must('POST', '/apps/api/versions/v1/revisions/r1/endpoints', {
    method: '*',
    path,
    policy_override: policy,
    ...(backendPath !== undefined && { backend_path: backendPath }),
  });
}

interface PageRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly credentials?: 'include' | 'omit' | 'same-origin';
}

interface PageAnswer {
  readonly error?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- looked into freely
  readonly body?: any;
}

/** What a script of the page gets for a fetch of `path` on the gateway. */
function fetchFrom(from: Page, path: string, init: PageRequest = {}): Promise<PageAnswer> {
  return from.evaluate(
    async ([url, init]): Promise<PageAnswer> => {
      try {
        const response = await fetch(url, init);
        const text = await response.text();
        const body: unknown = text === '' ? undefined : JSON.parse(text);
        return { status: response.status, headers: Object.fromEntries(response.headers), body };
      } catch (error) {
        return { error: String(error) };
      }
    },
    [gateway.proxy + path, init] as const,
  );
}

const withKey = (headers: Record<string, string> = {}): PageRequest => ({
  headers: { authorization, ...headers },
});

/** Requests that have been answered at `path`, by the gateway's access log, which follows within 100 ms. */
const accessLog = (route: string): unknown[] =>
  gateway
    .logs()
    .filter((line) => line['msg'] === 'access' && line['route'] === route)
    .map((line) => line['method']);

describe('CORS in a browser', { timeout: 60_000 }, () => {
  it('grants what the policy grants, after a preflight, and shows the exposed headers alone', async () => {
    const init = {
      method: 'PUT',
      body: '{}',
      ...withKey({ 'content-type': 'application/json', 'x-custom': '1' }),
    };
    const answer = await fetchFrom(page, '/api/v1/echo', init);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ method: 'PUT', bytes: 2, headers: { 'x-custom': '1' } });
    expect(answer.headers).toMatchObject({ 'x-build': '42' });
    expect(answer.headers).not.toHaveProperty('x-internal');
    // The key is the gateway's own credential; the origin is told to the backend.
    expect(answer.body.headers).toMatchObject({ origin: originOf(welcome) });
    expect(answer.body.headers).not.toHaveProperty('authorization');
  });

  it('lets the browser keep the preflight for max_age_secs', async () => {
    await addEndpoint('/once', {}, '/echo');
    for (let count = 0; count < 3; count++) {
      expect(await fetchFrom(page, '/api/v1/once', withKey())).toMatchObject({ status: 200 });
    }
    await expect.poll(() => accessLog('/api/v1/once')).toEqual(['OPTIONS', 'GET', 'GET', 'GET']);
  });

  it('carries cookies with credentials, and none without', async () => {
    const fetchEcho = (credentials: 'include' | 'same-origin') =>
      fetchFrom(page, '/api/v1/echo', { ...withKey(), credentials });
    await fetchEcho('include');
    expect((await fetchEcho('include')).body.headers).toMatchObject({ cookie: 'visit=1' });
    expect((await fetchEcho('same-origin')).body.headers).not.toHaveProperty('cookie');
  });

  it('keeps methods and headers that are not granted from being sent', async () => {
    const from = backend.answered.length;
    expect(await fetchFrom(page, '/api/v1/echo', { method: 'DELETE', ...withKey() })).toEqual(REFUSED);
    expect(await fetchFrom(page, '/api/v1/echo', withKey({ 'x-other': '1' }))).toEqual(REFUSED);
    expect(backend.answered.slice(from)).toEqual([]);
  });

  it('keeps other origins out, and their preflighted requests from being sent', async () => {
    const from = backend.answered.length;
    expect(await fetchFrom(strangerPage, '/api/v1/echo', withKey())).toEqual(REFUSED);
    expect(await fetchFrom(strangerPage, '/api/v1/echo')).toEqual(REFUSED);
    expect(backend.answered.slice(from)).toEqual([]);
  });

  it('without a cors policy the gateway answers nothing for the backend', async () => {
    // The backend's own header names another origin: neither page may read the answer.
    expect(await fetchFrom(page, '/none/v1/echo')).toEqual(REFUSED);
    expect(await fetchFrom(page, '/none/v1/echo', { method: 'PUT' })).toEqual(REFUSED);
  });

  it('with ["*"] any origin may read, but not with credentials', async () => {
    for (const from of [page, strangerPage]) {
      expect(await fetchFrom(from, '/any/v1/echo')).toMatchObject({ status: 200, body: { method: 'GET' } });
      const preflighted = { method: 'DELETE', headers: { authorization: 'Basic eDp5', 'x-any': '1' } };
      expect(await fetchFrom(from, '/any/v1/echo', preflighted)).toMatchObject({
        status: 200,
        body: { method: 'DELETE', headers: { 'x-any': '1' } },
      });
      expect(await fetchFrom(from, '/any/v1/echo', { credentials: 'include' })).toEqual(REFUSED);
    }
  });
});

describe('errors that the page can read', { timeout: 60_000 }, () => {
  const cases: readonly (readonly [number, string, string, () => PageRequest])[] = [
    [401, 'credentials_missing', '/api/v1/echo', () => ({})],
    [401, 'credentials_invalid', '/api/v1/echo', () => ({ headers: { authorization: 'Bearer wrong' } })],
    [403, 'insufficient_scope', '/api/v1/scoped', () => withKey()],
    [405, 'method_not_allowed', '/api/v1/read-only', () => ({ method: 'PUT', ...withKey() })],
    [413, 'body_too_large', '/api/v1/small', () => ({ method: 'POST', body: 'x'.repeat(11), ...withKey() })],
    [502, 'upstream_connect_failed', '/down/v1/x', () => ({ method: 'PUT' })],
    [504, 'upstream_timeout', '/api/v1/silent', () => withKey()],
  ];

  it.each(cases)('%i %s', async (status, code, path, init) => {
    const answer = await fetchFrom(page, path, { credentials: 'include', ...init() });
    expect(answer).toMatchObject({ status, body: { status, code, data: null } });
    expect(answer.headers?.['content-type']).toBe('application/problem+json');
    if (status === 401) expect(answer.headers?.['www-authenticate']).toMatch(/^Bearer/);
    expect(await fetchFrom(strangerPage, path, init())).toEqual(REFUSED);
  });

  it('404 endpoint_disabled', async () => {
    const { id } = await addEndpoint('/disabled', {});
    const path = `/apps/api/versions/v1/revisions/r1/endpoints/${id}`;
    await gateway.must('PATCH', path, { is_active: false });
    const answer = await fetchFrom(page, '/api/v1/disabled');
    expect(answer).toMatchObject({ status: 404, body: { code: 'endpoint_disabled' } });
    // With a key there is a preflight, which must not hide the answer.
    const withPreflight = await fetchFrom(page, '/api/v1/disabled', withKey());
    expect(withPreflight).toMatchObject({ status: 404, body: { code: 'endpoint_disabled' } });
  });

  it('404 endpoint_not_found, of a path or method that is not registered', async () => {
    await gateway.must('PATCH', '/apps/any', { routing_mode: 'managed_endpoint' });
    for (const init of [{}, { method: 'DELETE', headers: { authorization: 'Bearer x' } }]) {
      const answer = await fetchFrom(page, '/any/v1/unknown', init);
      expect(answer).toMatchObject({ status: 404, body: { code: 'endpoint_not_found' } });
    }
  });

  it('429 concurrency_limited', async () => {
    await addEndpoint('/one-at-a-time', { concurrency: { max: 1 } }, '/silent');
    // The browser sends equal requests one after the other.
    const answers = [1, 2].map((n) => fetchFrom(page, `/api/v1/one-at-a-time?${n}`, withKey()));
    const [refused, late] = (await Promise.all(answers)).sort((a, b) => (a.status ?? 0) - (b.status ?? 0));
    expect(refused).toMatchObject({ status: 429, body: { code: 'concurrency_limited' } });
    expect(refused?.headers).toMatchObject({ 'retry-after': '1' });
    expect(late).toMatchObject({ status: 504, body: { code: 'upstream_timeout' } });
  });

  it('503 circuit_open, with Retry-After', async () => {
    const path = '/apps/down/versions/v1/revisions/r1';
    await gateway.must('PATCH', path, { circuit_breaker: { failures: 1, open_secs: 300 } });
    await fetchFrom(page, '/down/v1/x');
    const answer = await fetchFrom(page, '/down/v1/x');
    expect(answer).toMatchObject({ status: 503, body: { code: 'circuit_open' } });
    expect(Number(answer.headers?.['retry-after'])).toBeGreaterThan(0);
  });

  it('429 rate_limited, with Retry-After', async () => {
    const first = await fetchFrom(page, '/api/v1/limited', withKey());
    expect(first).toMatchObject({ status: 200, headers: { 'x-ratelimit-limit': '1' } });
    const second = await fetchFrom(page, '/api/v1/limited', withKey());
    expect(second).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    expect(Number(second.headers?.['retry-after'])).toBeGreaterThan(3_000);
  });
});

/** Origins of pages: names under `.test` and `.localhost` are this machine. */
const welcomeAt = (host: string): string => `http://${host}:${welcome.port}`;

/** Runs `work` in a page of the welcome website under another name. */
async function pageAt(host: string): Promise<Page> {
  const named = await browser.newPage();
  await named.goto(`${welcomeAt(host)}/empty`);
  return named;
}

describe('the table of the Fetch standard: "CORS protocol and credentials"', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    const own = originOf(welcome);
    await addApp('star', backend.port, { cors: { allowed_origins: ['*'] } });
    await addApp('named', backend.port, { cors: { allowed_origins: [own] } });
    await addApp('trusted', backend.port, { cors: { allowed_origins: [own], allow_credentials: true } });
    await addApp('upper', backend.port, { cors: { allowed_origins: [own.replace('http', 'HTTP')] } });
  }, 60_000);

  // Rows: credentials mode, Access-Control-Allow-Origin, -Allow-Credentials, whether the page may read the response.
  it.each([
    ['omit', 'star', '*', undefined, true],
    ['same-origin', 'star', '*', undefined, true],
    ['include', 'star', '*', undefined, false],
    ['omit', 'named', 'own', undefined, true],
    ['include', 'named', 'own', undefined, false],
    ['omit', 'trusted', 'own', 'true', true],
    ['include', 'trusted', 'own', 'true', true],
    ['omit', 'upper', 'own', undefined, true],
  ] as const)('%s with %s: %s, %s', async (credentials, slug, granted, credentialsField, shared) => {
    const own = originOf(welcome);
    const plain = await fetch(`${gateway.proxy}/${slug}/v1/echo`, { headers: { origin: own } });
    expect(plain.headers.get('access-control-allow-origin')).toBe(granted === 'own' ? own : granted);
    expect(plain.headers.get('access-control-allow-credentials') ?? undefined).toBe(credentialsField);
    await plain.text();
    for (const init of [{}, { method: 'DELETE', headers: { 'x-any': '1' } }]) {
      const answer = await fetchFrom(page, `/${slug}/v1/echo`, { credentials, ...init });
      if (shared) expect(answer).toMatchObject({ status: 200, body: { method: init.method ?? 'GET' } });
      else expect(answer).toEqual(REFUSED);
    }
  });

  it.each([
    ['* with credentials', { allowed_origins: ['*'], allow_credentials: true }],
    ['a serialised origin with a slash at its end', { allowed_origins: ['https://rabbit.invalid/'] }],
  ])('the rows that no browser accepts cannot be configured: %s', async (_name, cors) => {
    const { status } = await gateway.api('PATCH', '/apps/star', { default_policy: { cors } });
    expect(status).toBe(422);
  });
});

describe('origins as a browser sends them', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    const { port } = welcome;
    const below = { allowed_origins: [`http://*.app.localhost:${port}`, `HTTP://Page.Test:${port}`] };
    await addApp('below', backend.port, { cors: { ...below, allow_credentials: true } });
    await addApp('other-port', backend.port, {
      cors: { allowed_origins: [`http://127.0.0.1:${stranger.port}`] },
    });
    await addApp('default-port', backend.port, { cors: { allowed_origins: ['http://127.0.0.1'] } });
    await addApp('null', backend.port, { cors: { allowed_origins: ['null'] } });
  }, 60_000);

  it.each([
    ['a.app.localhost', true],
    ['a.b.app.localhost', true],
    ['A.App.LOCALHOST', true],
    ['page.test', true],
    ['app.localhost', false],
    ['evil-app.localhost', false],
    ['app.localhost.test', false],
    ['evil-page.test', false],
    ['a.page.test', false],
  ])('a page of %s: %s', async (host, shared) => {
    const named = await pageAt(host);
    try {
      const answer = await fetchFrom(named, '/below/v1/echo', { method: 'PUT', credentials: 'include' });
      if (shared) expect(answer).toMatchObject({ status: 200, body: { method: 'PUT' } });
      else expect(answer).toEqual(REFUSED);
    } finally {
      await named.close();
    }
  });

  it('a page on another port is another origin, and the default port is not every port', async () => {
    expect(await fetchFrom(page, '/other-port/v1/echo')).toEqual(REFUSED);
    expect(await fetchFrom(strangerPage, '/other-port/v1/echo')).toMatchObject({ status: 200 });
    expect(await fetchFrom(page, '/default-port/v1/echo')).toEqual(REFUSED);
  });

  it('a sandboxed frame sends null, which only a policy that lists it grants, and never with credentials', async () => {
    // Scripts are given as text: the types of a page's world are not those of the tests.
    const fromFrame = (path: string, credentials: string): Promise<unknown> => {
      const script = `fetch(${JSON.stringify(gateway.proxy + path)}, { credentials: '${credentials}' })
        .then((response) => response.json()).then((echo) => echo.headers.origin, String)
        .then((text) => parent.postMessage(text, '*'));`;
      return page.evaluate(`new Promise((done) => {
        const frame = document.createElement('iframe');
        frame.setAttribute('sandbox', 'allow-scripts');
        frame.srcdoc = '<script>' + ${JSON.stringify(script)} + '</scr' + 'ipt>';
        addEventListener('message', (event) => { frame.remove(); done(event.data); }, { once: true });
        document.body.append(frame);
      })`);
    };
    expect(await fromFrame('/null/v1/echo', 'same-origin')).toBe('null');
    expect(await fromFrame('/null/v1/echo', 'include')).toBe(REFUSED.error);
    expect(await fromFrame('/below/v1/echo', 'same-origin')).toBe(REFUSED.error);
    expect(await fetchFrom(page, '/null/v1/echo')).toEqual(REFUSED);
    const cors = { allowed_origins: ['null'], allow_credentials: true };
    expect((await gateway.api('PATCH', '/apps/null', { default_policy: { cors } })).status).toBe(422);
  });
});
