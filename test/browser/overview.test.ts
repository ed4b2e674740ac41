/** The overview, health, gateways and settings, with real traffic: denials, a backend that fails, and routes. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { freePort } from '../support/backends/origin-process.ts';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';
import { createEndpoint, createService, request } from '../support/traffic.ts';

let console: TestConsole;
let origin: Origin;

beforeAll(async () => {
  [console, origin] = await Promise.all([
    startConsole({ env: { GATEWAY_CLUSTER__NODE_NAME: 'gateway-one' } }),
    startOrigin(),
  ]);
});
afterAll(async () => {
  await console.close();
  await origin.close();
});

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true });
const figure = (page: Page, name: string) =>
  page.getByRole('definition').filter({ has: page.locator(`xpath=../dt[normalize-space()="${name}"]`) });

it('links to the first steps when there is no app', async () => {
  const { page, expectNoProblems } = await console.open('/');
  await heading(page, 'Overview').waitFor();
  await page.getByRole('main').getByRole('link', { name: /app/i }).first().waitFor();
  await page.getByText('Nothing is known to be wrong').waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'overview-empty');
  expectNoProblems();
});

it('shows what is wrong first, figures of the traffic, and why requests were denied', async () => {
  const { gateway } = console;
  const limit = { rate_limit: { enabled: true, requests: 5, window_seconds: 3_600 } };
  await createService(gateway, 'shop', origin.port, { app: { routing_mode: 'managed_endpoint' } });
  await createEndpoint(gateway, 'shop', 'GET', '/items/{id}');
  await createEndpoint(gateway, 'shop', 'GET', '/offers', { policy_override: limit });
  await createService(gateway, 'broken', await freePort());
  const { page, refused, expectNoProblems } = await console.open('/', 'viewer');
  await heading(page, 'Overview').waitFor();

  for (let count = 0; count < 40; count++) {
    await request(gateway, `/shop/v1/items/${count}`);
    await request(gateway, '/broken/v1/x');
    if (count < 20) await request(gateway, '/shop/v1/offers');
  }
  const problems = page.getByRole('region', { name: 'What is wrong' });
  await problems.getByText('A backend is failing and gets no traffic').waitFor();
  await problems.getByText(/requests of broken in the last minutes ended in errors/).waitFor();
  const toRevision = problems.getByRole('link', { name: 'Open broken v1 r1' });
  expect(await toRevision.getAttribute('href')).toBe('/apps/broken/versions/v1/revisions/r1');
  await page.locator('figure').first().waitFor({ state: 'attached' });
  expect(
    await problems.evaluate((element) =>
      element.compareDocumentPosition(element.ownerDocument.querySelector('figure')),
    ),
  ).toBe(4);

  await expect.poll(() => figure(page, 'Errors').innerText()).toBe('40 %');
  await expect.poll(() => figure(page, 'Denied').innerText()).toBe('15 %');
  await page
    .getByRole('row', { name: /rate_limited/ })
    .first()
    .waitFor();
  const table = page.getByRole('table', { name: 'Denied requests per second by reason' });
  await expect.poll(() => table.getByRole('row', { name: /rate_limited/ }).count()).toBe(1);
  await expect.poll(() => page.locator('canvas').count()).toBe(5);
  const apps = page.getByRole('table', { name: 'Apps with most requests' });
  await apps.getByRole('row', { name: /shop.*60/ }).waitFor();
  await apps.getByRole('row', { name: /broken.*40.*100 %/ }).waitFor();
  const parts = page.getByRole('table', { name: 'What each gateway depends on' });
  await parts
    .getByRole('row', { name: /gateway-one 1 of 1 works.* none: each gateway.* 64 B of .*iB.* 1 counter/ })
    .waitFor();
  await parts.getByRole('row', { name: /1 working, 1 (cut off|tried again)/ }).waitFor();
  const telemetry = page.getByRole('table', { name: 'Telemetry to a collector' });
  await telemetry.getByRole('row', { name: 'gateway-one off off off' }).waitFor();
  const certificates = page.getByRole('table', { name: 'Certificates', exact: true });
  expect(await certificates.count()).toBe(0);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'overview');

  await apps.getByRole('link', { name: 'Show only shop' }).click();
  await expect.poll(() => figure(page, 'Errors').innerText()).toBe('0 %');
  await expect.poll(() => figure(page, 'Denied').innerText()).toBe('25 %');
  await expect.poll(() => new URL(page.url()).search).toBe('?app=shop');
  await page.getByRole('combobox', { name: 'Route' }).selectOption({ label: 'v1 GET /shop/v1/offers' });
  await expect.poll(() => figure(page, 'Denied').innerText()).toBe('75 %');
  await page.getByRole('combobox', { name: 'Time' }).selectOption('Last day');
  await page.getByRole('heading', { name: 'Last hour' }).waitFor();
  await expect.poll(() => figure(page, 'Denied').innerText()).toBe('75 %');
  await page.reload();
  await expect.poll(() => figure(page, 'Denied').innerText()).toBe('75 %');
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'overview-route-day');
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('asks for nothing while the page is hidden, and only for the last steps while it is seen', async () => {
  const { page, expectNoProblems } = await console.open('/');
  const asked: string[] = [];
  page.on('request', (each) => asked.push(new URL(each.url()).pathname + new URL(each.url()).search));
  await page.getByRole('heading', { name: 'Last minute' }).waitFor();
  const whole = () => asked.filter((path) => path === '/api/v1/stats?window=15m').length;
  const parts = () => asked.filter((path) => path.startsWith('/api/v1/stats?window=15m&since=')).length;
  await expect.poll(parts).toBeGreaterThanOrEqual(1);
  const before = { whole: whole(), parts: parts() };
  await expect.poll(parts).toBeGreaterThanOrEqual(before.parts + 3);
  expect(whole()).toBe(before.whole);

  await page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));`);
  // What was under way ends; two intervals of the fastest question pass without another.
  await expect
    .poll(
      async () => {
        const before = asked.length;
        await page.evaluate('new Promise((done) => setTimeout(done, 4_500))');
        return asked.length - before;
      },
      { timeout: 60_000 },
    )
    .toBe(0);
  expectNoProblems();
});

it('says of every revision with traffic how its backend does', async () => {
  const { page, expectNoProblems } = await console.open('/health', 'viewer');
  await heading(page, 'Health').waitFor();
  const broken = page.getByRole('table', { name: 'Revisions of broken' });
  await broken.getByRole('row', { name: /v1 r1.*(failing|on trial).*ECONNREFUSED/ }).waitFor();
  await page
    .getByRole('table', { name: 'Revisions of shop' })
    .getByRole('row', { name: /v1 r1.*in service/ })
    .waitFor();
  await screenshot(page, 'health');
  await page.getByLabel('Search apps').fill('brok');
  await page.getByRole('table', { name: 'Revisions of shop' }).waitFor({ state: 'detached' });
  await expect.poll(() => new URL(page.url()).search).toBe('?q=brok');
  await broken.getByRole('link', { name: 'v1 r1' }).click();
  await expect.poll(() => new URL(page.url()).pathname).toBe('/apps/broken/versions/v1/revisions/r1');
  expectNoProblems();
});

it('lists the gateways with the version of the configuration that each obeys', async () => {
  const { page, expectNoProblems } = await console.open('/nodes', 'viewer');
  await heading(page, 'Gateways').waitFor();
  const version = (await console.gateway.must('GET', '/nodes')) as { readonly config_version: number };
  const self = new RegExp(`gateway-one.*this one.*up to date.*${version.config_version}`);
  await expect.poll(() => page.getByRole('row', { name: self }).count()).toBe(1);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'nodes');
  expectNoProblems();
});

it('shows the settings in force, finds them, and masks secrets', async () => {
  const { page, expectNoProblems } = await console.open('/settings', 'viewer');
  await page.getByText('GATEWAY_PROXY__PORT', { exact: true }).first().waitFor();
  await screenshot(page, 'settings');
  await page.getByLabel('Search').fill('admin');
  await page.getByText('GATEWAY_PROXY__PORT', { exact: true }).first().waitFor({ state: 'detached' });
  await page.getByLabel('Search').fill('node name');
  const item = page
    .getByRole('listitem')
    .filter({ has: page.getByText('GATEWAY_CLUSTER__NODE_NAME', { exact: true }) });
  await item.first().getByText('gateway-one', { exact: true }).first().waitFor();
  await page.getByLabel('Search').fill('admin_token');
  await page.getByText('***').first().waitFor();
  expect(await page.content()).not.toContain('test-admin-token');
  await page.getByLabel('Search').fill('');
  await page.getByLabel('Only those that are set').check();
  await page.getByText('environment', { exact: true }).first().waitFor();
  expect(await page.getByText('default', { exact: true }).count()).toBe(0);
  await page.getByLabel('Search').fill('no such setting');
  await page.getByRole('button', { name: 'Show all settings' }).click();
  await page.getByText('GATEWAY_PROXY__PORT', { exact: true }).first().waitFor();
  expectNoProblems();
});

it('lists the certificates of the gateway, orders one anew, and saves a profile', async () => {
  const other = await startConsole({
    env: {
      // Where no directory answers.
      GATEWAY_ACME__DIRECTORY: 'https://127.0.0.1:9/directory',
      GATEWAY_ACME__ACCEPT_TERMS: 'true',
      GATEWAY_ACME__SELF_CHECK: 'false',
      GATEWAY_PROXY__TLS__PORT: '0',
    },
  });
  onTestFinished(other.close);
  const name = 'shop.headgate.test';
  const certificateOf = (page: Page) =>
    page.getByRole('region', { name: 'Certificates of this gateway' }).getByRole('row', { name });
  const app = { name: 'Shop', slug: 'shop', gateway_path: '/shop', hosts: [name] };
  await other.gateway.must('POST', '/apps', app);

  const viewer = await other.open('/nodes', 'viewer');
  await certificateOf(viewer.page).getByText('none yet').waitFor();
  expect(await certificateOf(viewer.page).getByRole('button').count()).toBe(0);
  expect(await viewer.page.getByRole('button', { name: 'Make a CPU profile' }).count()).toBe(0);
  expect(viewer.refused).toEqual([]);
  viewer.expectNoProblems();

  const editor = await other.open('/nodes', 'editor');
  await certificateOf(editor.page)
    .getByRole('button', { name: `Renew the certificate of ${name}` })
    .click();
  const renewal = editor.page.getByRole('dialog', { name: `Order a new certificate for ${name}?` });
  await renewal.getByText('The same as curl or command').click();
  await renewal.getByText(`headgate certificates renew ${name}`).waitFor();
  expect(await axe(editor.page)).toEqual([]);
  await renewal.getByRole('button', { name: 'Renew' }).click();
  await editor.page.getByText(`A new certificate is ordered for ${name}`).waitFor();
  expect(await other.gateway.must('GET', '/audit?action=certificate.renew')).toMatchObject([
    { resource_name: name },
  ]);
  expect(await axe(editor.page)).toEqual([]);
  await screenshot(editor.page, 'certificates');
  expect(editor.refused).toEqual([]);
  editor.expectNoProblems();

  const { page, refused, expectNoProblems } = await other.open('/nodes', 'admin');
  await page.getByLabel('Seconds', { exact: true }).fill('1');
  await page.getByText('The same as curl or command').click();
  await page.getByText('headgate profile --seconds 1').waitFor();
  await page.getByText('A heap snapshot of this thread, as curl or command').click();
  await page.getByText('headgate profile --heap --yes').waitFor();
  await page.getByText("-o 'headgate.heapsnapshot'").waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Make a CPU profile' }).click(),
  ]);
  expect(download.suggestedFilename()).toMatch(/^headgate-[\dT-]+\.cpuprofile$/);
  const profile = JSON.parse(readFileSync(await download.path(), 'utf8')) as { readonly nodes: unknown[] };
  expect(profile.nodes.length).toBeGreaterThan(1);
  expect(refused).toEqual([]);
  expectNoProblems();
});
