/** Live traffic, explanations and shadow mode in a browser, with real requests through the gateway. */
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Page } from 'playwright-core';
import { startCollector, type TestCollector } from '../support/backends/collector.ts';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { startTcpRelay } from '../support/backends/tcp-relay.ts';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';
import { until } from '../support/measure/until.ts';
import { bearer, createKey } from '../support/policies.ts';
import { createService, request, type Served } from '../support/traffic.ts';

const MARKUP = '<img/src=x onerror=globalThis.isBroken=1>';

let console: TestConsole;
let origin: Origin;
let collector: TestCollector;
let key: Served;

beforeAll(async () => {
  [collector, origin] = await Promise.all([startCollector(), startOrigin()]);
  console = await startConsole({
    env: {
      GATEWAY_OTEL__TRACES_ENDPOINT: `${collector.url}/v1/traces`,
      GATEWAY_OTEL__TRACE_URL: 'https://tempo.example/trace/{trace_id}',
    },
  });
  const { gateway } = console;
  await createService(gateway, 'billing', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
  key = await createKey(gateway, 'billing', { name: 'Acme', scopes: ['read'] });
  await gateway.must('PATCH', '/apps/billing', { default_policy: { required_scopes: ['write'] } });
  await createService(gateway, 'trial', origin.port, {
    app: {
      default_policy: {
        rate_limit: {
          enabled: true,
          requests: 3,
          window_seconds: 3_600,
          algorithm: 'token_bucket',
          per: 'ip',
        },
        shadow: ['rate_limit'],
      },
    },
  });
});
afterAll(async () => {
  await console.close();
  await origin.close();
  await collector.close();
});

const ask = (target: string, headers: Record<string, string> = {}): Promise<{ readonly status: number }> =>
  request(console.gateway, target, { headers });
const row = (page: Page, text: string) =>
  page.getByRole('log', { name: 'Requests' }).getByRole('link').filter({ hasText: text });
const watching = (page: Page) => page.getByRole('status').filter({ hasText: 'Watching' }).waitFor();

/** Another filter is another stream: until that is open, the page says of the one before that it watches. */
async function filterByStatus(page: Page, text: string): Promise<void> {
  const opened = page.waitForResponse((answer) => {
    const { pathname, searchParams } = new URL(answer.url());
    return pathname.endsWith('/live') && searchParams.get('status') === text;
  });
  await page.getByLabel('Status').fill(text);
  await opened;
  await watching(page);
}

it('shows a denied request as it happens, and filters in the address hide and show it', async () => {
  const { page, expectNoProblems } = await console.open('/live');
  await watching(page);
  expect(await axe(page)).toEqual([]);
  await ask('/billing/v1/invoices', bearer(key.token));
  await ask('/billing/v1/<img/src=x%20onerror=globalThis.isBroken=1>', { 'User-Agent': MARKUP });
  const denied = row(page, '/billing/v1/invoices');
  await denied.waitFor();
  expect(await denied.innerText()).toContain('insufficient_scope');
  // What clients send is text, whatever it looks like.
  await row(page, 'onerror').click();
  await page.getByText('Header fields (').first().click();
  await page.getByText(MARKUP).waitFor();
  expect(await page.evaluate('globalThis.isBroken')).toBeUndefined();
  expect(await page.locator('main img').count()).toBe(0);

  await page.goBack();
  await row(page, '/billing/v1/invoices').waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'live');
  await filterByStatus(page, '>=500');
  await page.getByText('No request has passed the filter yet.').waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get('status')).toBe('>=500');
  await ask('/billing/v1/hidden', bearer(key.token));
  await filterByStatus(page, '403');
  await page.waitForURL(/status=403/);
  await ask('/billing/v1/shown', bearer(key.token));
  await row(page, '/billing/v1/shown').waitFor();
  expect(await row(page, '/billing/v1/hidden').count()).toBe(0);
  await page.getByLabel('Status').fill('many');
  await page.getByRole('alert').filter({ hasText: 'status' }).waitFor();
  expectNoProblems();
});

it('opens an exchange: stages, fix as a button, and how it went at other config versions', async () => {
  const { page, expectNoProblems } = await console.open('/live?app=billing');
  await watching(page);
  const denied = await request(console.gateway, '/billing/v1/orders', { headers: bearer(key.token) });
  expect(denied.status).toBe(403);
  await row(page, '/billing/v1/orders').click();
  await page.getByRole('heading', { level: 1, name: 'GET /billing/v1/orders' }).waitFor();
  const way = page.getByRole('list', { name: 'Its path through the gateway' });
  const scopes = way.getByRole('listitem').filter({ hasText: 'Scopes' });
  await scopes.getByText('denied', { exact: true }).waitFor();
  await scopes.getByRole('link', { name: 'set by the app' }).waitFor();
  await page.getByRole('img', { name: /Time spent: .*Policy/ }).waitFor();
  // The trace that the collector has.
  const { traceId } = await until(() =>
    collector.spans.find(
      ({ attributes }) => attributes['headgate.request_id'] === denied.headers['x-request-id'],
    ),
  );
  const toTrace = page.getByRole('link', { name: traceId, exact: true });
  expect(await toTrace.getAttribute('href')).toBe(`https://tempo.example/trace/${traceId}`);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'exchange');

  await page.getByRole('button', { name: 'Try and apply …' }).click();
  const dialog = page.getByRole('dialog', { name: 'Apply the fix' });
  await dialog.getByText(/API key changes/).waitFor();
  // Trying has changed nothing.
  expect((await ask('/billing/v1/orders', bearer(key.token))).status).toBe(403);
  await dialog.getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByText('The same request now: Forwarded to the backend').waitFor();
  expect((await ask('/billing/v1/orders', bearer(key.token))).status).toBe(200);

  const slider = page.getByRole('slider', { name: 'Config version' });
  await slider.waitFor();
  const said = (): Promise<string | null> => slider.getAttribute('aria-valuetext');
  await expect.poll(said).toMatch(/Forwarded/);
  await slider.focus();
  await page.keyboard.press('ArrowLeft');
  await expect.poll(said).toMatch(/Denied: insufficient_scope \(403\)/);
  await page.waitForURL(/at=\d+/);
  await page.getByText('(scopes)').or(page.getByText('(default_policy)')).first().waitFor();
  await page.getByRole('link', { name: /Version \d+ in the history/ }).waitFor();
  await page.getByRole('button', { name: /Show its path at version/ }).click();
  await page.getByRole('heading', { name: /Its path at config version/ }).waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'exchange-travel');
  expectNoProblems();
});

it('explains a typed request, keeps its key out of the address, and sends it for real', async () => {
  const { page, expectNoProblems } = await console.open('/explain');
  await page.getByLabel('Path or URL').fill('/billing/v1/typed?page=2');
  await page.getByLabel('Key or token').fill(key.token);
  await page.getByLabel('Headers').fill('X-Secret: of-the-header\nAccept: text/plain');
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  await page.getByText('Forwarded to the backend').first().waitFor();
  const kept = () => page.evaluate('location.href + JSON.stringify({ ...localStorage, ...sessionStorage })');
  await expect.poll(kept).toContain('Accept');
  expect(await kept()).not.toMatch(/hgk_|of-the-header|page=2/);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'explain');

  await page.getByRole('button', { name: 'Send it for real' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Send it for real' }).click();
  await page.getByRole('heading', { name: 'Answer to the real request' }).waitFor();
  await page.getByText('page=2').last().waitFor();

  await page.getByLabel('Headers').fill('no colon');
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  await page.getByText('Line 1 is not "Name: value"').waitFor();
  // A link opens with its answer; without the key it is another one.
  await page.reload();
  await page.getByText('Denied: credentials_missing').first().waitFor();
  expectNoProblems();
});

it('counts what a part in shadow mode would have denied of all requests, and enforces it', async () => {
  for (let count = 0; count < 5; count += 1) await ask('/trial/v1/x');
  const { page, expectNoProblems } = await console.open('/shadow');
  await page.getByRole('link', { name: 'trial' }).click();
  const card = page.getByRole('list', { name: 'Report' }).getByRole('listitem');
  await card.getByText('2 of 5').waitFor();
  await page.getByRole('row').filter({ hasText: '/trial/v1' }).getByText('anonymous: 2').waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'shadow');
  await page.getByRole('button', { name: 'Reset', exact: true }).click();
  await page
    .getByRole('dialog', { name: 'Start counting from 0 again?' })
    .getByRole('button', { name: 'Reset' })
    .click();
  await page.getByText('The counts start from 0 again').waitFor();
  // The bucket is still empty.
  await ask('/trial/v1/x');
  await page.reload();
  // Of how many is told by steps of some seconds, the first of which began before.
  await card.getByText(/^1 of [1-6]$/).waitFor();
  await page.getByRole('button', { name: 'Enforce: Rate limit' }).click();
  const dialog = page.getByRole('dialog', { name: /Enforce "Rate limit"/ });
  await dialog.getByText(/route changes|routes change/).waitFor();
  await dialog.getByRole('button', { name: 'Enforce', exact: true }).click();
  await page.getByText('"Rate limit" is in force').waitFor();
  expect((await ask('/trial/v1/x')).status).toBe(429);

  await page.goto('/shadow?app=billing');
  await page.getByText('Nothing is in shadow mode').waitFor();
  expect(await axe(page)).toEqual([]);
  expectNoProblems();
});

it('offers a viewer no button that would be refused', async () => {
  const { page, expectNoProblems } = await console.open('/live?app=billing', 'viewer');
  await watching(page);
  await ask('/billing/v1/viewer');
  await row(page, '/billing/v1/viewer').click();
  await page.getByRole('heading', { name: 'What would let it pass' }).waitFor();
  expect(await page.getByRole('button', { name: 'Try and apply …' }).count()).toBe(0);
  await page.goto('/explain?url=/trial/v1/x');
  await page.getByRole('heading', { name: 'Its path through the gateway' }).waitFor();
  expect(await page.getByRole('button', { name: 'Send it for real' }).count()).toBe(0);
  expectNoProblems();
});

it('samples served requests for a while, and makes debug tokens, which only admins see', async () => {
  const { gateway } = console;
  const viewer = await console.open('/explain', 'viewer');
  await viewer.page.getByText(/^Off: only the most recent served requests/).waitFor();
  expect(await viewer.page.getByRole('button', { name: 'Start sampling' }).count()).toBe(0);
  expect(await viewer.page.getByRole('heading', { name: 'Debug tokens' }).count()).toBe(0);
  expect(viewer.refused).toEqual([]);

  const { page, refused, expectNoProblems } = await console.open('/explain', 'admin');
  const sampling = page.getByRole('form', { name: 'Sampling' });
  await sampling.getByLabel('App').fill('nothing');
  await sampling.getByRole('button', { name: 'Start sampling' }).click();
  await sampling.getByText('"nothing" is not an app').waitFor();
  await sampling.getByLabel('App').fill('trial');
  await sampling.getByLabel('Minutes').fill('2');
  await sampling.getByLabel('Share of the requests').fill('50');
  await sampling.getByText('The same as curl or command').click();
  await sampling.getByText('headgate sampling start app=trial rate=0.5 seconds=120').waitFor();
  expect(await sampling.getByRole('group', { name: 'YAML' }).count()).toBe(0);
  await sampling.getByRole('button', { name: 'Start sampling' }).click();
  await page.getByText(/^Keeps 50.?% of the requests of trial, until/).waitFor();
  expect(await gateway.must('GET', '/explain/sampling')).toMatchObject({ rate: 0.5 });

  const making = page.getByRole('form', { name: 'Create debug token' });
  await making.getByLabel('App').fill('trial');
  await making.getByText('The same as curl or command').click();
  await making.getByText('headgate debug-tokens create app=trial seconds=600').waitFor();
  await making.getByRole('button', { name: 'Create debug token' }).click();
  const shown = page.getByRole('dialog', { name: 'The value of the debug token' });
  const token = await shown.getByLabel('Value').inputValue();
  await shown.getByRole('button', { name: 'I have stored it' }).click();
  const decision = async (): Promise<unknown> => {
    const headers = { 'x-headgate-debug': token };
    const { headers: answered } = await request(gateway, '/trial/v1/x', { headers });
    return answered['x-headgate-decision'];
  };
  await expect.poll(decision).toBeDefined();
  await page.getByRole('button', { name: 'Revoke the debug token for trial' }).waitFor();
  expect(await page.content()).not.toContain(token);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'explain-setup');

  await page.getByRole('button', { name: 'Revoke the debug token for trial' }).click();
  const revocation = page.getByRole('dialog', { name: 'Revoke the debug token for trial?' });
  await revocation.getByText('The same as curl or command').click();
  await revocation.getByText(/^headgate debug-tokens revoke [\da-f-]{36}$/).waitFor();
  expect(await axe(page)).toEqual([]);
  await revocation.getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('No debug token is in force.').waitFor();
  await expect.poll(decision).toBeUndefined();
  await page.getByRole('button', { name: 'Stop sampling' }).click();
  const stop = page.getByRole('dialog', { name: 'Stop sampling?' });
  await stop.getByText('The same as curl or command').click();
  await stop.getByText('headgate sampling stop').waitFor();
  await stop.getByRole('button', { name: 'Stop sampling' }).click();
  await page.getByText(/^Off: only the most recent served requests/).waitFor();
  expect(await gateway.must('GET', '/explain/sampling')).toBeNull();
  expect(refused).toEqual(['422 PUT /api/v1/explain/sampling']);
  expectNoProblems();
});

it('connects again when its connection has gone without a word', async () => {
  const relay = await startTcpRelay(console.gateway.managementPort);
  onTestFinished(() => relay.close());
  const { page } = await console.open('/');
  await page.goto(`http://127.0.0.1:${relay.port}/live`);
  await watching(page);
  await ask('/billing/v1/before');
  await row(page, '/billing/v1/before').waitFor();
  // Neither side is told, as when the address of a notebook changes.
  relay.swallow();
  await ask('/billing/v1/lost');
  // The gateway has sent it by then.
  await new Promise((done) => setTimeout(done, 2_000));
  expect(await row(page, '/billing/v1/lost').count()).toBe(0);
  relay.heal('silent');
  const isShown = async (): Promise<boolean> => {
    await ask('/billing/v1/after');
    return (await row(page, '/billing/v1/after').count()) > 0;
  };
  expect(await until(isShown, 60_000, 500)).toBe(true);
});
