/**
 * Jobs of the how-to pages, done with the console alone and seen by a client. Those that the other files show are not
 * repeated: first steps (start), canary, clone, life of a version and import (apps), keys (keys), history and bisect
 * (history), live, explain and shadow (live), limits and files (policies), tokens and sessions (access).
 */
import { createHash, X509Certificate } from 'node:crypto';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startHttp2Backend } from '../support/backends/http2-backend.ts';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';
import { CA, TLS_PAIR } from '../support/clients/http2-client.ts';
import { SECRET, signed, unixSecs } from '../support/data/jwts.ts';

/** A message with a way back is shown for longer. */
const COVERED_MAX_MS = 20_000;
const APP = 'demo';
const REVISION = `/apps/${APP}/versions/v1/revisions/r1`;
let console: TestConsole;
let origin: Origin;
beforeAll(async () => {
  [console, origin] = await Promise.all([startConsole(), startOrigin()]);
  const { gateway } = console;
  await gateway.must('POST', '/apps', { name: 'Demo', slug: APP, gateway_path: `/${APP}` });
  await gateway.must('POST', `/apps/${APP}/versions`, { version: 'v1' });
  await gateway.must('POST', `/apps/${APP}/versions/v1/revisions`, {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: origin.port,
    is_current: true,
  });
});
afterAll(async () => {
  await console.close();
  await origin.close();
});

const press = (scope: Page | Locator, name: string): Promise<void> =>
  scope.getByRole('button', { name, exact: true }).click();

async function savePolicy(page: Page): Promise<void> {
  await press(page, 'Save …');
  const dialog = page.getByRole('dialog', { name: 'Save the policy' });
  await press(dialog, 'Save');
  await dialog.waitFor({ state: 'hidden' });
}

/** What a client gets from the app. */
async function ask(headers: Record<string, string> = {}, method = 'GET', path = '/'): Promise<Response> {
  return await fetch(`${console.gateway.proxy}/${APP}/v1${path}`, { method, headers });
}

it('begins where the log says, and its menu leads to the configuration as YAML', async () => {
  expect(console.gateway.output()).toContain(`"console":"${console.gateway.base}/"`);
  const { page, expectNoProblems } = await console.open('/', 'editor');
  await page.getByRole('link', { name: 'Edit as YAML' }).click();
  await page.waitForURL('**/edit');
  await page.getByText('gateway_path').first().waitFor();
  expectNoProblems();
});

it('lets a web app call, then asks for JWTs, then limits what is under way at once; and takes the last change back', async () => {
  const { page, expectNoProblems } = await console.open(`/apps/${APP}?tab=policy`, 'editor');
  await press(page, 'Set here: CORS');
  await page.getByLabel('Allowed origins, one per line').fill('https://shop.example.com');
  await savePolicy(page);
  const preflight = await ask(
    { origin: 'https://shop.example.com', 'access-control-request-method': 'GET' },
    'OPTIONS',
  );
  expect(preflight.headers.get('access-control-allow-origin')).toBe('https://shop.example.com');

  await press(page, 'Set here: Authentication');
  await page.getByLabel('Credential', { exact: true }).selectOption('jwt');
  await page.getByLabel('Secret for HMAC').fill(SECRET);
  await savePolicy(page);
  expect((await ask()).status).toBe(401);
  const token = await signed({ sub: 'ann', exp: unixSecs() + 600 });
  expect((await ask({ authorization: `Bearer ${token}` })).status).toBe(200);

  await press(page, 'Set here: Concurrency');
  await page.getByLabel('Requests at once').fill('3');
  await savePolicy(page);
  expect(await console.gateway.must('GET', `/apps/${APP}`)).toMatchObject({
    default_policy: { concurrency: { max: 3 }, cors: { allowed_origins: ['https://shop.example.com'] } },
  });

  // What the record says can be read without the form, and what was done has words in the history.
  await page.getByRole('tab', { name: 'Overview' }).click();
  await page.getByText('max: 3').waitFor();
  expect(await axe(page)).toEqual([]);
  await page.getByRole('link', { name: 'History' }).click();
  const newest = page.getByRole('row', { name: /Save the policy/ }).first();
  await newest.getByRole('link').first().click();
  await press(page, 'Undo this change');
  const undo = page.getByRole('dialog', { name: /^Roll back to/ });
  await undo.getByText('default_policy.concurrency.max').waitFor();
  expect(await axe(page)).toEqual([]);
  await press(undo, 'Roll back');
  await undo.waitFor({ state: 'hidden' });
  const { default_policy: policy } = (await console.gateway.must('GET', `/apps/${APP}`)) as {
    readonly default_policy: Record<string, unknown>;
  };
  expect(Object.keys(policy).sort()).toEqual(['auth', 'cors']);
  await console.gateway.must('PATCH', `/apps/${APP}`, { default_policy: null });
  expectNoProblems();
});

it('takes a failing backend out by a health check, and says so', async () => {
  const { page, expectNoProblems } = await console.open(`${REVISION}?tab=edit`, 'editor');
  await page.getByLabel('Health check path').fill('/up');
  await page.getByLabel('Good statuses').fill('204');
  await page.getByLabel('Check every (ms)').fill('200');
  await page.getByLabel('Bad answers that open the breaker').fill('1');
  await press(page, 'Save');
  const dialog = page.getByRole('dialog', { name: 'Save r1' });
  await press(dialog, 'Save');
  await dialog.waitFor({ state: 'hidden' });
  await expect.poll(async () => (await ask()).status, { timeout: 20_000 }).toBe(503);
  await page.getByRole('link', { name: 'Health' }).click();
  await page.getByText('A backend is failing and gets no traffic').first().waitFor();
  await console.gateway.must('PATCH', REVISION, { health_check_path: null, circuit_breaker: null });
  await expect.poll(async () => (await ask()).status, { timeout: 20_000 }).toBe(200);
  expectNoProblems();
});

it('brings along the value of a key that a client has already; a request refused is found by its id', async () => {
  await console.gateway.must('PATCH', `/apps/${APP}`, {
    default_policy: { auth: { auth_type: 'api_key', in: 'X-API-Key' }, required_scopes: ['demo:read'] },
  });
  const brought = 'Zk3vQ9tLw7XcR2mNf8Yb4HsJ';
  const { page, expectNoProblems } = await console.open(`/keys?app=${APP}`, 'admin');
  await press(page, 'Create key');
  const form = page.getByRole('region', { name: 'Create an API key' });
  await form.getByLabel('Name', { exact: true }).fill('Globex');
  await form.getByLabel('Value (optional)').fill('too simple');
  await press(form, 'Create key');
  await expect.poll(() => form.getByLabel('Value (optional)').getAttribute('aria-invalid')).toBe('true');
  await form.getByLabel('Value (optional)').fill(brought);
  expect(await axe(page)).toEqual([]);
  await press(form, 'Create key');
  await press(page.getByRole('dialog', { name: `Create a key for ${APP}` }), 'Create key');
  const shown = page.getByRole('dialog', { name: 'The value of Globex' });
  expect(await shown.getByLabel('Value').inputValue()).toBe(brought);
  await press(shown, 'I have stored it');

  const refused = await ask({ 'x-api-key': brought });
  expect(refused.status).toBe(403);
  await page.getByRole('link', { name: 'Explain', exact: true }).click();
  await page.getByLabel('Request id').fill(refused.headers.get('x-request-id') ?? '');
  expect(await axe(page)).toEqual([]);
  await press(page, 'Explain this request');
  await page.getByText('Denied: insufficient_scope (403)').waitFor();
  await screenshot(page, 'explain-recorded');
  // The value that decided leads to where it is set.
  await page.getByRole('link', { name: 'set by the app' }).first().click();
  await page.getByRole('button', { name: 'Remove: Required scopes' }).waitFor();
  expectNoProblems();
});

it('has no field for an existing value for editors, who may not import one', async () => {
  const { page, expectNoProblems } = await console.open(`/keys?app=${APP}&open=create`, 'editor');
  await page.getByLabel('Name', { exact: true }).waitFor();
  expect(await page.getByLabel('Value (optional)').count()).toBe(0);
  expectNoProblems();
});

it('tries a request from the page of an app, with its key where the policy wants it', async () => {
  const { token } = (await console.gateway.must('POST', `/apps/${APP}/tokens`, {
    name: 'reader',
    scopes: ['demo:read'],
  })) as { readonly token: string };
  const { page, expectNoProblems } = await console.open(`/apps/${APP}`, 'editor');
  await page.getByRole('link', { name: 'Try a request' }).click();
  await page.getByText('Denied: credentials_missing (401)').waitFor();
  await page.getByLabel('Key or token').fill(token);
  await press(page, 'Explain');
  await page.getByText('Forwarded to the backend').first().waitFor();
  await press(page, 'Send it for real');
  await press(page.getByRole('dialog'), 'Send it for real');
  await page.getByText('Answer to the real request').waitFor();
  expect(origin.seen.at(-1)?.url).toBe('/');
  expect(page.url()).not.toContain(token);

  // Where only registered endpoints are served, the request is to one of them.
  await console.gateway.must('POST', `${REVISION}/endpoints`, { method: 'POST', path: '/orders' });
  await console.gateway.must('PATCH', `/apps/${APP}`, { routing_mode: 'managed_endpoint' });
  await page.goto(`/apps/${APP}/versions/v1`);
  const link = page.getByRole('link', { name: 'Try a request' });
  await expect.poll(() => link.getAttribute('href')).toContain('method=POST&url=%2Fdemo%2Fv1%2Forders');
  expectNoProblems();
});

/** A route of its own to a backend, whose revision is edited with the form alone. */
async function editedRevision(slug: string, backend: object): Promise<EditedRevision> {
  const { gateway } = console;
  await gateway.must('POST', '/apps', { name: slug, slug, gateway_path: `/${slug}` });
  await gateway.must('POST', `/apps/${slug}/versions`, { version: 'v1' });
  await gateway.must('POST', `/apps/${slug}/versions/v1/revisions`, {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    is_current: true,
    ...backend,
  });
  const opened = await console.open(`/apps/${slug}/versions/v1/revisions/r1?tab=edit`, 'editor');
  const form = opened.page.getByRole('form', { name: 'Save r1' });
  return {
    form,
    save: async () => {
      await press(form, 'Save');
      const dialog = opened.page.getByRole('dialog', { name: 'Save r1' });
      // Messages of the saves before, which stay for half a minute, must not cover the button.
      await dialog.getByRole('button', { name: 'Save', exact: true }).click({ timeout: COVERED_MAX_MS });
      await dialog.waitFor({ state: 'hidden' });
    },
    ask: (path) => fetch(`${gateway.proxy}/${slug}/v1${path}`),
    expectNoProblems: opened.expectNoProblems,
  };
}

interface EditedRevision {
  readonly form: Locator;
  readonly save: () => Promise<void>;
  readonly ask: (path: string) => Promise<Response>;
  readonly expectNoProblems: () => void;
}

it('sends requests to a backend over HTTP/2', async () => {
  const backend = await startHttp2Backend((stream, headers) => {
    stream.respond({ ':status': 200 });
    stream.end(`HTTP/2 ${headers[':path']}`);
  });
  onTestFinished(() => backend.close());
  const {
    form,
    save,
    ask: get,
    expectNoProblems,
  } = await editedRevision('h2', { backend_port: backend.port });
  expect((await get('/x')).status).toBe(502);
  await form.getByLabel('Protocol', { exact: true }).selectOption('h2');
  await save();
  expect(await (await get('/x')).text()).toBe('HTTP/2 /x');
  expectNoProblems();
});

it('trusts a backend by its authority, and by the key that is pinned', async () => {
  const backend = await startHttp2Backend(
    (stream) => {
      stream.respond({ ':status': 200 });
      stream.end('over TLS');
    },
    { tls: TLS_PAIR },
  );
  onTestFinished(() => backend.close());
  const {
    form,
    save,
    ask: get,
    expectNoProblems,
  } = await editedRevision('pinned', {
    backend_port: backend.port,
    backend_protocol: 'h2',
  });
  await form.getByLabel('Backend scheme').selectOption('https');
  await save();
  expect((await get('/')).status).toBe(502);
  await form.getByLabel('Certificates to trust (PEM)').fill(CA);
  await save();
  expect(await (await get('/')).text()).toBe('over TLS');
  await form.getByLabel('Pinned public keys').fill(`${'A'.repeat(43)}=`);
  await save();
  expect((await get('/')).status).toBe(502);
  const key = new X509Certificate(TLS_PAIR.cert).publicKey.export({ type: 'spki', format: 'der' });
  await form.getByLabel('Pinned public keys').fill(createHash('sha256').update(key).digest('base64'));
  await save();
  expect(await (await get('/')).text()).toBe('over TLS');
  expectNoProblems();
});

it('sends the whole path, a path before it, and the host of the client', async () => {
  const {
    form,
    save,
    ask: get,
    expectNoProblems,
  } = await editedRevision('paths', {
    backend_port: origin.port,
  });
  const seen = async (): Promise<string> => {
    const { url, headers } = (await (await get('/items/7?size=m')).json()) as {
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };
    return `${url} ${headers['host']}`;
  };
  expect(await seen()).toBe(`/items/7?size=m 127.0.0.1:${origin.port}`);
  await form.getByLabel('Remove the gateway path before forwarding').uncheck();
  await form.getByLabel('Backend base path').fill('/api');
  await form.getByLabel('Forward the client’s Host header').check();
  await save();
  expect(await seen()).toBe(`/api/paths/v1/items/7?size=m ${new URL(console.gateway.proxy).host}`);
  expectNoProblems();
});
