/**
 * Calls that change something, made by others with the session of a browser: by forms and scripts of another site and
 * of another port, by a page of the console without the token of its session or with that of another, and by roles that
 * may not. Each is refused, and changes nothing. What answers is never shown in a frame of another site.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/backends/webhook-receiver.ts';
import { startConsole, type ConsoleRole, type TestConsole } from '../support/clients/console.ts';
import { until } from '../support/measure/until.ts';
import { createService, revisionPath } from '../support/traffic.ts';

const CERTIFICATE = 'shop.headgate.test';

let console: TestConsole;
let origin: Origin;
let receiver: WebhookReceiver;
let evil: Server;
let evilPage = '';
let calls: readonly Call[];

/** Method, path below /api/v1, body, and the lowest role that may. */
type Call = readonly [method: string, path: string, body: object | undefined, role: 'editor' | 'admin'];

beforeAll(async () => {
  evil = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(evilPage);
  });
  await new Promise<void>((done) => evil.listen(0, '127.0.0.1', done));
  [console, origin, receiver] = await Promise.all([
    startConsole({
      env: {
        GATEWAY_WEBHOOKS__MAX_TRIES: '1',
        // Where no directory answers.
        GATEWAY_ACME__DIRECTORY: 'https://127.0.0.1:9/directory',
        GATEWAY_ACME__ACCEPT_TERMS: 'true',
        GATEWAY_ACME__SELF_CHECK: 'false',
        GATEWAY_PROXY__TLS__PORT: '0',
        GATEWAY_SERVER__SWAGGER_ENABLED: 'true',
      },
    }),
    startOrigin(),
    startWebhookReceiver(() => 500),
  ]);
  const { gateway } = console;
  const hook = (await gateway.must('POST', '/webhooks', {
    name: 'pager',
    url: `http://127.0.0.1:${receiver.port}/`,
  })) as { readonly id: string };
  await createService(gateway, 'shop', origin.port);
  await gateway.must('PATCH', '/apps/shop', { hosts: [CERTIFICATE] });
  const webhook = `/webhooks/${hook.id}`;
  const letters = async (): Promise<readonly { readonly event: { readonly id: string } }[]> =>
    gateway.must('GET', `${webhook}/dead-letters`);
  const deliveries = async (): Promise<readonly { readonly waiting: number }[]> =>
    gateway.must('GET', '/webhook-deliveries');
  await until(async () => (await letters()).length > 1 && (await deliveries())[0]?.waiting === 0);
  const [letter] = await letters();
  const token = (await gateway.must('POST', '/explain/debug-tokens', { seconds: 600 })) as {
    readonly id: string;
  };
  const event = `${webhook}/dead-letters/${letter!.event.id}`;
  const description =
    'openapi: 3.1.0\ninfo: {title: Forged, version: v1}\npaths: {/x: {get: {responses: {}}}}\n';
  const callers = [{ from: 'san_dns', value: 'evil.test' }];
  calls = [
    ['PUT', '/explain/sampling', { rate: 1, seconds: 60 }, 'editor'],
    ['DELETE', '/explain/sampling', undefined, 'editor'],
    ['POST', '/explain/debug-tokens', { seconds: 60 }, 'admin'],
    ['DELETE', `/explain/debug-tokens/${token.id}`, undefined, 'admin'],
    ['POST', `${webhook}/resend`, {}, 'admin'],
    ['POST', `${event}/resend`, {}, 'admin'],
    ['DELETE', event, undefined, 'admin'],
    ['DELETE', `${webhook}/dead-letters`, undefined, 'admin'],
    ['POST', '/webhooks', { name: 'evil', url: 'http://evil.test/' }, 'admin'],
    ['PATCH', webhook, { url: 'http://evil.test/' }, 'admin'],
    ['POST', `${webhook}/test`, {}, 'admin'],
    ['POST', `${webhook}/rotate`, {}, 'admin'],
    ['DELETE', webhook, undefined, 'admin'],
    ['POST', `/certificates/${CERTIFICATE}/renew`, {}, 'editor'],
    ['POST', '/secrets/rekey', {}, 'admin'],
    ['POST', '/profiles', { kind: 'cpu', thread: 'main', seconds: 1 }, 'admin'],
    [
      'POST',
      '/import/openapi?dry_run=false',
      { document: description, backend: 'http://evil.test' },
      'editor',
    ],
    ['PATCH', revisionPath('shop'), { targets: [{ host: 'evil.test', port: 80 }] }, 'editor'],
    ['PATCH', revisionPath('shop'), { backend_tls: { verify: false } }, 'editor'],
    [
      'PATCH',
      '/apps/shop',
      { default_policy: { auth: { auth_type: 'mtls', mtls: { ca: 'evil', callers } } } },
      'editor',
    ],
    ['POST', '/try', { url: '/shop/v1/x' }, 'editor'],
    ['POST', '/admin/tokens', { name: 'evil', role: 'admin' }, 'admin'],
  ];
});
afterAll(async () => {
  await console.close();
  await Promise.all([origin.close(), receiver.close()]);
  evil.closeAllConnections();
  evil.close();
});

/** All that the calls would change. */
async function state(): Promise<unknown> {
  const { gateway } = console;
  const webhooks = (await gateway.must('GET', '/webhooks')) as readonly { readonly id: string }[];
  const [hook] = webhooks;
  return {
    audit: (await gateway.api('GET', '/audit?limit=1')).body.page.total,
    sampling: await gateway.must('GET', '/explain/sampling'),
    tokens: await gateway.must('GET', '/explain/debug-tokens'),
    webhooks,
    letters: await gateway.must('GET', `/webhooks/${hook?.id}/dead-letters`),
    revision: await gateway.must('GET', revisionPath('shop')),
    app: await gateway.must('GET', '/apps/shop'),
    requests: origin.seen.length,
  };
}

const urlOf = (path: string): string => `${console.gateway.base}/api/v1${path}`;

/** In the page, with what the page itself would send but the token. */
async function sent(page: Page, [method, path, body]: Call, token: string | undefined): Promise<string> {
  return await page.evaluate(
    async ([url, how, text, csrf]) => {
      const answer = await fetch(url, {
        method: how,
        headers: {
          ...(text !== undefined && {
            'Content-Type': how === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
          }),
          ...(csrf !== undefined && { 'X-CSRF-Token': csrf }),
        },
        ...(text !== undefined && { body: text }),
      });
      const said = (await answer.json()) as { readonly code?: string };
      return `${answer.status} ${said.code}`;
    },
    [urlOf(path), method, body && JSON.stringify(body), token] as const,
  );
}

/** Of the session of a page. */
const tokenOf = (page: Page): Promise<string> =>
  page.evaluate(async () => {
    const answer = await fetch('/api/v1/session');
    return ((await answer.json()) as { readonly data: { readonly csrf_token: string } }).data.csrf_token;
  });

describe('a call that changes something', () => {
  it('is refused without the token of the session, and with that of another', async () => {
    const { page } = await console.open('/settings', 'admin');
    const other = await console.open('/settings', 'admin');
    const foreign = await tokenOf(other.page);
    const before = await state();
    for (const call of calls) {
      for (const token of [undefined, '', foreign])
        expect([call[1], await sent(page, call, token)]).toEqual([call[1], '403 csrf_token_invalid']);
    }
    expect(await state()).toEqual(before);
  });

  it.each<ConsoleRole>(['viewer', 'editor'])(
    'is refused to a %s who may not, token and all',
    async (role) => {
      const { page } = await console.open('/settings', role);
      const token = await tokenOf(page);
      const before = await state();
      const refused = calls.filter(([, , , lowest]) => role === 'viewer' || lowest === 'admin');
      expect(refused.length).toBeGreaterThan(10);
      for (const call of refused)
        expect([call[0], call[1], await sent(page, call, token)]).toEqual([
          call[0],
          call[1],
          '403 forbidden',
        ]);
      expect(await state()).toEqual(before);
    },
  );

  it.each(['127.0.0.1', 'localhost'])('is refused to scripts and forms at %s', async (host) => {
    const { page } = await console.open('/settings', 'admin');
    const before = await state();
    const statuses: number[] = [];
    page.on('response', (response) => {
      if (response.url().includes('/api/v1/') && response.request().method() !== 'OPTIONS')
        statuses.push(response.status());
    });
    const at = `http://${host}:${(evil.address() as AddressInfo).port}/`;
    evilPage = '<!doctype html><p>bait</p>';
    await page.goto(at);
    statuses.length = 0;
    for (const [method, path, body] of calls) {
      const text = JSON.stringify(body ?? {});
      await page.evaluate(
        async ([url, how, content]) => {
          const options: readonly RequestInit[] = [
            { method: 'POST', mode: 'no-cors' },
            { method: how, headers: { 'Content-Type': 'application/json' } },
            { method: 'POST', mode: 'no-cors', headers: { 'Content-Type': 'text/plain' } },
          ];
          for (const one of options)
            await fetch(url, { credentials: 'include', body: content, ...one }).catch(() => undefined);
        },
        [urlOf(path), method, text] as const,
      );
    }
    // A form goes there with the page.
    const [first] = calls.filter(([method]) => method === 'POST');
    await page.setContent(
      `<form method="post" enctype="text/plain" action="${urlOf(first![1])}"><input name="a" value="b"></form>`,
    );
    await page.evaluate('document.forms[0].submit()');
    await page.waitForURL(urlOf(first![1]));
    expect(statuses.length).toBeGreaterThan(calls.length);
    expect(statuses.filter((status) => status < 400 || status >= 500)).toEqual([]);
    expect(await state()).toEqual(before);
  });
});

interface Asked {
  readonly accept?: string;
  readonly method?: string;
  readonly body?: string;
}

it('says of every answer that no other site may show it, errors and files too', async () => {
  const { base } = console.gateway;
  const page = await (await fetch(`${base}/`, { headers: { accept: 'text/html' } })).text();
  const [script = ''] = /\/assets\/[\w.-]+\.js/.exec(page) ?? [];
  const answers: readonly (readonly [path: string, status: number, options?: Asked])[] = [
    ['/', 200],
    ['/apps', 200],
    [script, 200],
    ['/assets/nothing.js', 404],
    ['/icon.svg', 200],
    ['/no/such/page', 200],
    ['/no/such/page', 404, { accept: 'application/json' }],
    ['/%ff', 400],
    ['/api/v1/apps', 401],
    ['/api/v1/nothing', 404],
    ['/api/v1/openapi.json', 200],
    ['/api/v1/session', 405, { method: 'PUT' }],
    ['/api/v1/session', 415, { method: 'POST', body: 'x' }],
    ['/api/v1/sign-in', 200],
    ['/swagger-ui/', 200],
    ['/healthz', 200],
    ['/readyz', 200],
  ];
  for (const [path, status, { accept = 'text/html', ...options } = {}] of answers) {
    const answer = await fetch(base + path, { ...options, headers: { accept } });
    const said = [path, answer.status, answer.headers.get('x-content-type-options')];
    expect(said).toEqual([path, status, 'nosniff']);
    expect([path, answer.headers.get('content-security-policy')]).toEqual([
      path,
      expect.stringContaining("frame-ancestors 'none'"),
    ]);
  }
});

describe('two tabs of one browser', () => {
  it('go on when the same person has signed in anew in the other', async () => {
    const { page, refused, expectNoProblems } = await console.open('/webhooks?open=create', 'admin');
    const form = page.getByRole('region', { name: 'Create webhook' });
    await form.getByLabel('Name').fill('typed');
    await form.getByLabel('Address').fill('https://hooks.test/');
    await page.context().request.post('/api/v1/session', { data: { token: await console.token('admin') } });
    await form.getByRole('button', { name: 'Create' }).click();
    const shown = page.getByRole('dialog', { name: 'The value of typed' });
    await shown.getByRole('button', { name: 'I have stored it' }).click();
    expect(refused).toEqual(['403 POST /api/v1/webhooks']);
    expectNoProblems();
  });

  it('tell that another person is signed in now, and offer what that person may', async () => {
    const { page, expectNoProblems } = await console.open('/explain', 'admin');
    const form = page.getByRole('form', { name: 'Sampling' });
    await form.getByLabel('Minutes').fill('3');
    await page.context().request.post('/api/v1/session', { data: { token: await console.token('editor') } });
    await form.getByRole('button', { name: 'Start sampling' }).click();
    await page.getByText('Another person has signed in, in another tab of this browser.').waitFor();
    await page.getByRole('button', { name: 'Account: test editor editor' }).waitFor();
    await page.getByRole('heading', { name: 'Debug tokens' }).waitFor({ state: 'detached' });
    expect(await form.getByLabel('Minutes').inputValue()).toBe('3');
    expect(await console.gateway.must('GET', '/explain/sampling')).toBeNull();
    await form.getByRole('button', { name: 'Start sampling' }).click();
    await page.getByText(/^Keeps 100 % of the requests of all apps/).waitFor();
    await console.gateway.must('DELETE', '/explain/sampling');
    expectNoProblems();
  });

  it('need one sign-in when the session has ended', async () => {
    const { page, expectNoProblems } = await console.open('/explain', 'editor');
    const form = page.getByRole('form', { name: 'Sampling' });
    await form.getByLabel('Minutes').fill('4');
    for (const { id } of await console.gateway.must('GET', '/sessions'))
      await console.gateway.must('DELETE', `/sessions/${id}`);
    const signIn = page.getByRole('dialog', { name: 'Sign in to Headgate' });
    await signIn.waitFor();
    await page.context().request.post('/api/v1/session', { data: { token: await console.token('editor') } });
    await page.evaluate("window.dispatchEvent(new Event('focus'))");
    await signIn.waitFor({ state: 'hidden' });
    expect(await form.getByLabel('Minutes').inputValue()).toBe('4');
    expectNoProblems();
  });
});
