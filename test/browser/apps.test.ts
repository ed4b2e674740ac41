import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axe, goWithin, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';

/** For a machine that does much else. */
const LONG_MS = 180_000;

let console: TestConsole;
let backend: Server;
let port: number;

beforeAll(async () => {
  backend = createServer((request, response) => response.end(`${request.method} ${request.url}`));
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  ({ port } = backend.address() as AddressInfo);
  console = await startConsole();
});
afterAll(async () => {
  await console.close();
  backend.closeAllConnections();
  await new Promise((resolve) => backend.close(resolve));
});

const heading = (page: Page, name: string): Locator =>
  page.getByRole('heading', { level: 1, name, exact: true });
const press = (scope: Page | Locator, name: string): Promise<void> =>
  scope.getByRole('button', { name, exact: true }).first().click();

/** Looks at what the change would do, and makes it. */
async function confirm(page: Page, title: string, action: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: title });
  await dialog
    .getByText(/routes? change|new routes?|keys? change|changes no route/)
    .first()
    .waitFor()
    .catch(async (error: unknown) => {
      const shown = await page.getByRole('dialog').allInnerTexts();
      const behind = shown.length > 0 ? '' : await page.locator('main').innerText();
      throw new Error(`No effects in ${JSON.stringify(shown)}, ${JSON.stringify(behind)}`, { cause: error });
    });
  await press(dialog, action);
  await dialog.waitFor({ state: 'hidden' });
}

/** A version with a revision `r1` that has all traffic, made by the API. */
async function makeApp(slug: string, revisions: readonly string[] = ['r1']): Promise<void> {
  const { gateway } = console;
  await gateway.must('POST', '/apps', { name: slug, slug, gateway_path: `/${slug}` });
  await gateway.must('POST', `/apps/${slug}/versions`, { version: 'v1' });
  for (const [index, revision] of revisions.entries()) {
    await gateway.must('POST', `/apps/${slug}/versions/v1/revisions`, {
      revision,
      backend_scheme: 'http',
      backend_host: '127.0.0.1',
      backend_port: port,
      is_current: index === 0,
    });
  }
}

/** So that there are recent requests to try a change on. */
async function callThrice(path: string): Promise<void> {
  for (let call = 0; call < 3; call += 1) {
    const response = await fetch(console.gateway.proxy + path);
    await response.arrayBuffer();
    expect(response.status).toBe(200);
  }
}

it(
  'makes an app with version, revision and endpoint, which then serves',
  async () => {
    const { page, expectNoProblems } = await console.open('/apps', 'editor');
    await page.getByRole('heading', { name: 'No apps yet' }).waitFor();
    expect(await axe(page)).toEqual([]);
    await press(page, 'Create an empty app');
    const form = page.getByRole('form', { name: 'Create app' });
    await form.getByLabel('Name', { exact: true }).fill('Billing');
    await form.getByLabel('Slug').fill('Not A Slug');
    await form.getByLabel('Gateway path').fill('/billing');
    await press(form, 'Create app');
    // What the API refuses stands at its field, and what was typed stays.
    const slug = form.getByRole('textbox', { name: 'Slug' });
    await expect.poll(() => slug.getAttribute('aria-invalid')).toBe('true');
    expect(await form.getByLabel('Name', { exact: true }).inputValue()).toBe('Billing');
    expect(await axe(page)).toEqual([]);
    await slug.fill('billing');
    await form.getByLabel('Labels').fill('team=payments\ntier=1');
    await press(form, 'Create app');
    await confirm(page, 'Create app', 'Create app');

    await heading(page, 'Billing').waitFor();
    await press(page, 'Create version');
    await page.getByRole('form').getByLabel('Version', { exact: true }).fill('v1');
    await press(page.getByRole('form'), 'Create version');
    await confirm(page, 'Create version', 'Create version');

    // A version alone serves nothing: its first revision is asked for at once.
    await heading(page, 'billing v1').waitFor();
    const revision = page.getByRole('form', { name: 'Create revision' });
    await revision.getByLabel('Revision', { exact: true }).fill('r1');
    const backend = revision.getByLabel('Backend URL');
    await backend.fill('http://-bad-:1');
    await press(revision, 'Create revision');
    // What is refused is brought into view, with the keyboard on it.
    await expect.poll(() => revision.locator('input:focus[aria-invalid="true"]').count()).toBe(1);
    expect(await backend.getAttribute('aria-invalid')).toBe('true');
    await backend.fill(`127.0.0.1:${port}`);
    await revision.getByText('It gets 100 % of the requests at once.').waitFor();
    expect(await axe(page)).toEqual([]);
    await press(revision, 'Create revision');
    await confirm(page, 'Create revision', 'Create revision');

    await heading(page, 'billing v1 r1').waitFor();
    await page.getByText('gets traffic').first().waitFor();
    await page.getByRole('tab', { name: 'Endpoints' }).click();
    await press(page, 'Add endpoint');
    const endpoint = page.getByRole('form', { name: 'Add endpoint' });
    await endpoint.getByLabel('Path', { exact: true }).fill('/invoices');
    await endpoint.getByLabel('Backend path').fill('/v1/invoices');
    await press(endpoint, 'Add endpoint');
    await confirm(page, 'Add endpoint', 'Add endpoint');
    await heading(page, 'GET /invoices').waitFor();
    expect(await axe(page)).toEqual([]);
    await screenshot(page, 'endpoint');

    const served = await fetch(`${console.gateway.proxy}/billing/v1/invoices`);
    expect(await served.text()).toBe('GET /v1/invoices');
    expect(await console.gateway.must('GET', '/apps/billing')).toMatchObject({
      labels: { team: 'payments', tier: '1' },
    });
    expectNoProblems();
  },
  LONG_MS,
);

it('gives an app hosts, and asks for one', async () => {
  const { page, expectNoProblems } = await console.open('/apps/billing?tab=edit', 'editor');
  const form = page.getByRole('form', { name: 'Save Billing' });
  const hosts = form.getByLabel('Hosts');
  await hosts.fill('Api.billing.test, billing.test:80');
  await press(form, 'Save');
  await expect.poll(() => hosts.getAttribute('aria-invalid')).toBe('true');
  await form.getByText('must not have a port').first().waitFor();
  await hosts.fill('Api.billing.test,\n*.billing.test');
  await press(form, 'Save');
  await confirm(page, 'Save Billing', 'Save');
  await expect.poll(() => hosts.inputValue()).toBe('api.billing.test, *.billing.test');
  await page.goto('/apps');
  await page.getByRole('tree').getByText('api.billing.test and 1 more /billing').waitFor();
  await page.goto('/explain?method=GET&url=/billing/v1/invoices&host=eu.billing.test');
  expect(await page.getByLabel('Host', { exact: true }).inputValue()).toBe('eu.billing.test');
  await press(page, 'Explain');
  await page.getByText('The host is "*.billing.test" of the app billing').waitFor();
  expect(await axe(page)).toEqual([]);
  await console.gateway.must('PATCH', '/apps/billing', { hosts: [] });
  expectNoProblems();
});

describe('a version', () => {
  beforeAll(() => makeApp('canary', ['r1', 'r2', 'r3']));

  it('is split by keys, by dragging and by typing, and rolled back', async () => {
    const { page, expectNoProblems } = await console.open('/apps/canary/versions/v1', 'editor');
    const traffic = page.getByRole('region', { name: 'Traffic' });
    await traffic.getByLabel('Weight of r1').fill('9');
    await press(traffic, 'Add r2');
    expect(await traffic.getByLabel('Weight of r1').inputValue(), 'as it was typed').toBe('9');
    const saveSplit = traffic.getByRole('button', { name: 'Save the split' });
    for (const text of ['-1', '1.5', '1e3', '']) {
      await traffic.getByLabel('Weight of r2').fill(text);
      await traffic.getByText('Give a whole number from 0 to 1,000,000').waitFor();
      expect(await traffic.getByLabel('Weight of r2').inputValue(), 'as it was typed').toBe(text);
      expect(await saveSplit.isEnabled()).toBe(false);
    }
    await traffic.getByLabel('Weight of r2').fill(' 0 ');
    const border = traffic.getByRole('slider', { name: 'Border between r1 and r2' });
    await border.focus();
    await page.keyboard.press('PageDown');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => border.getAttribute('aria-valuetext')).toBe('r1 89 %, r2 11 %');
    expect(await axe(page)).toEqual([]);
    await screenshot(page, 'version');
    await press(traffic, 'Save the split');
    await confirm(page, 'Split the traffic of v1', 'Save');
    const split = (): Promise<unknown> => console.gateway.must('GET', '/apps/canary/versions/v1/traffic');
    expect(await split()).toEqual({ r1: 89, r2: 11 });
    // On a telephone the narrow share has no room for its label: no part of it is shown rather than a piece.
    const wide = page.viewportSize();
    await page.setViewportSize({ width: 400, height: 900 });
    const share = traffic.getByTitle('r2 11 %');
    expect(await share.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
    const clip = `getComputedStyle(document.querySelector('[title^="r2 "] span')).clipPath`;
    expect(await page.evaluate<string>(clip)).toBe('inset(50%)');
    await screenshot(page, 'split-narrow');
    await page.setViewportSize(wide!);

    const bar = await traffic.getByRole('group', { name: 'Shares of the traffic' }).boundingBox();
    const knob = await border.boundingBox();
    await page.mouse.move(knob!.x + knob!.width / 2, knob!.y + knob!.height / 2);
    await page.mouse.down();
    await page.mouse.move(bar!.x + bar!.width * 0.4, knob!.y + 5, { steps: 5 });
    await page.mouse.up();
    await expect.poll(() => border.getAttribute('aria-valuenow')).toBe('40');
    await press(traffic, 'Add r3');
    await traffic.getByLabel('Weight of r3').fill('25');
    await press(traffic, 'Save the split');
    await confirm(page, 'Split the traffic of v1', 'Save');
    expect(await split()).toEqual({ r1: 40, r2: 60, r3: 25 });

    await callThrice('/canary/v1/');
    await press(page, 'Roll back to r1');
    const dialog = page.getByRole('dialog', { name: 'Send all traffic to r1' });
    // Every revision has the same backend.
    await dialog.getByText(/None of the last \d+ requests would be answered differently/).waitFor();
    await dialog.getByText('The same change as curl, command or YAML').click();
    await dialog.getByText('headgate traffic set canary v1 r1=100').waitFor();
    await dialog.getByText(/r2:\s+is_current: false/).waitFor();
    await confirm(page, 'Send all traffic to r1', 'Roll back to r1');
    await traffic.getByText('All traffic goes to r1.').waitFor();
    expect(await split()).toEqual({ r1: 100 });
    // The way back of the way back.
    await press(page, 'Undo');
    await expect.poll(split).toEqual({ r1: 40, r2: 60, r3: 25 });
    expectNoProblems();
  });

  it('keeps a split that another write has changed meanwhile', async () => {
    const { page, expectNoProblems } = await console.open('/apps/canary/versions/v1', 'editor');
    const traffic = page.getByRole('region', { name: 'Traffic' });
    await traffic.getByLabel('Weight of r1').fill('90');
    await console.gateway.must('PUT', '/apps/canary/versions/v1/traffic', { r1: 1, r2: 1 });
    await press(traffic, 'Save the split');
    await traffic.getByRole('alert').waitFor();
    expect(await traffic.getByLabel('Weight of r1').inputValue()).toBe('90');
    expect(await console.gateway.must('GET', '/apps/canary/versions/v1/traffic')).toEqual({ r1: 1, r2: 1 });
    const save = traffic.getByRole('button', { name: 'Save the split' });
    expect(await save.isEnabled()).toBe(false);
    await traffic.getByRole('radio', { name: 'r1: take Yours' }).check();
    expect(await axe(page)).toEqual([]);
    await screenshot(page, 'traffic-conflict');
    await press(traffic, 'Go on with this');
    await press(traffic, 'Save the split');
    await press(page.getByRole('dialog', { name: 'Split the traffic of v1' }), 'Save');
    const split = () => console.gateway.must('GET', '/apps/canary/versions/v1/traffic');
    await expect.poll(split).toEqual({ r1: 90, r2: 1 });
    expectNoProblems();
  });

  it('is deprecated with sunset and successor, retired, and brought back', async () => {
    await console.gateway.must('POST', '/apps/canary/versions', { version: 'v2' });
    const { page, expectNoProblems } = await console.open('/apps/canary/versions/v1', 'editor');
    const panel = page.getByRole('region', { name: 'Lifecycle' });
    await press(panel, 'Deprecate');
    await panel.getByLabel('Sunset').fill('2031-02-03T04:05');
    await panel.getByLabel('Successor').selectOption('v2');
    await press(panel, 'Deprecate');
    await confirm(page, 'Deprecate v1', 'Deprecate');
    await panel.getByText('Clients are still served').waitFor();
    expect(await console.gateway.must('GET', '/apps/canary/versions/v1')).toMatchObject({
      status: 'deprecated',
      sunset_at: new Date('2031-02-03T04:05').toISOString(),
      successor: 'v2',
    });
    await press(panel, 'Retire');
    await confirm(page, 'Retire v1', 'Retire');
    await panel.getByText('410 Gone').waitFor();
    await press(panel, 'Make active again');
    await confirm(page, 'Make v1 active again', 'Make active again');
    await panel.getByText('Clients may use this version').waitFor();
    expectNoProblems();
  });
});

it('changes only what was typed, and shows both sides when two have changed it', async () => {
  await makeApp('shared');
  const { page, expectNoProblems } = await console.open(
    '/apps/shared/versions/v1/revisions/r1?tab=edit',
    'editor',
  );
  const form = page.getByRole('form', { name: 'Save r1' });
  await form.getByLabel('Health check path').fill('/mine');
  await form.getByLabel('Failures that open the breaker').fill('7');
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'revision-edit');
  const revision = '/apps/shared/versions/v1/revisions/r1';
  await console.gateway.must('PATCH', revision, {
    health_check_path: '/theirs',
    circuit_breaker: { open_secs: 3 },
  });
  await press(form, 'Save');
  await form.getByRole('radio', { name: 'Health check path: take Yours' }).check();
  await press(form, 'Go on with this');
  await press(form, 'Save');
  await confirm(page, 'Save r1', 'Save');
  expect(await console.gateway.must('GET', revision)).toMatchObject({
    health_check_path: '/mine',
    circuit_breaker: { failures: 7, open_secs: 3 },
    backend_port: port,
  });
  expectNoProblems();
});

it('changes again what it has just saved, also before the page has read it', async () => {
  await makeApp('again');
  const revision = '/apps/again/versions/v1/revisions/r1';
  const { page, refused, expectNoProblems } = await console.open(`${revision}?tab=edit`, 'editor');
  const form = page.getByRole('form', { name: 'Save r1' });
  await form.getByLabel('Backend base path').fill('/one');
  await press(form, 'Save');
  // As slow as a gateway that is busy.
  let release = (): void => undefined;
  const released = new Promise<void>((done) => (release = done));
  await page.route(`**/api/v1${revision}`, async (route) => {
    if (route.request().method() === 'GET') await released;
    await route.continue();
  });
  await confirm(page, 'Save r1', 'Save');
  await expect.poll(() => form.getByLabel('Backend base path').inputValue()).toBe('/one');
  await form.getByLabel('Failures that open the breaker').fill('7');
  await press(form, 'Save');
  await confirm(page, 'Save r1', 'Save');
  release();
  expect(await console.gateway.must('GET', revision)).toMatchObject({
    backend_base_path: '/one',
    circuit_breaker: { failures: 7 },
  });
  await expect.poll(() => form.getByLabel('Failures that open the breaker').inputValue()).toBe('7');
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('reads from a gateway on its own machine though the browser has no network', async () => {
  await makeApp('offline');
  const { page, expectNoProblems } = await console.open('/apps', 'viewer');
  await heading(page, 'Apps').waitFor();
  await page.evaluate("dispatchEvent(new Event('offline'))");
  await page.getByRole('tree').getByRole('link', { name: 'offline' }).click();
  await heading(page, 'offline').waitFor();
  const facts = page.getByRole('region', { name: 'App' });
  await expect.poll(() => facts.getByText('/offline', { exact: true }).count()).toBe(1);
  expectNoProblems();
});

it('clones a revision with its endpoints', async () => {
  await makeApp('cloned');
  const revisions = '/apps/cloned/versions/v1/revisions';
  await console.gateway.must('POST', `${revisions}/r1/endpoints`, { method: 'GET', path: '/a' });
  const { page, expectNoProblems } = await console.open('/apps/cloned/versions/v1/revisions/r1', 'editor');
  await page.getByRole('region', { name: 'Health' }).getByText('closed: requests pass').waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'revision');
  await press(page, 'Clone');
  await page.getByRole('form').getByLabel('Revision', { exact: true }).fill('r2');
  await press(page.getByRole('form'), 'Clone');
  await confirm(page, 'Clone r1', 'Clone r1');
  await heading(page, 'cloned v1 r2').waitFor();
  await page.getByRole('tab', { name: 'Endpoints' }).click();
  await page.getByRole('link', { name: 'GET /a' }).waitFor();
  expect(await console.gateway.must('GET', `${revisions}/r2`)).toMatchObject({
    backend_port: port,
    is_current: false,
  });
  expectNoProblems();
});

it('makes a second revision like the first, with another backend and a share', async () => {
  await makeApp('second');
  const revisions = '/apps/second/versions/v1/revisions';
  await console.gateway.must('POST', `${revisions}/r1/endpoints`, { method: 'GET', path: '/a' });
  const policy = { required_scopes: ['second:read'] };
  await console.gateway.must('PATCH', `${revisions}/r1`, {
    default_policy: policy,
    health_check_path: '/up',
  });
  const { page, expectNoProblems } = await console.open('/apps/second/versions/v1', 'editor');
  await press(page, 'Create revision');
  const form = page.getByRole('form', { name: 'Create revision' });
  await form.getByLabel('Revision', { exact: true }).fill('r2');
  await form.getByLabel('Backend URL').fill(`http://127.0.0.1:${port}/new`);
  await form.getByText('It gets no requests yet').waitFor();
  await form.getByLabel('Gets traffic').check();
  await form.getByLabel('Traffic weight').fill('25');
  await form.getByText('It gets 20 % of the requests at once.').waitFor();
  await form.getByText('Paths, targets, TLS, health check and circuit breaker').click();
  await form.getByLabel('Health check path').fill('');
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'second-revision');
  await press(form, 'Create revision');
  await confirm(page, 'Create revision', 'Create revision');
  await heading(page, 'second v1 r2').waitFor();
  expect(await console.gateway.must('GET', `${revisions}/r2`)).toMatchObject({
    backend_port: port,
    backend_base_path: '/new',
    default_policy: policy,
    health_check_path: null,
    is_current: true,
    traffic_weight: 25,
  });
  await page.getByRole('tab', { name: 'Endpoints' }).click();
  await page.getByRole('link', { name: 'GET /a' }).waitFor();
  await page.getByRole('link', { name: 'Split the traffic' }).click();
  await heading(page, 'second v1').waitFor();
  expectNoProblems();
});

it('says what is not there, on a page with its title', async () => {
  const { page, expectNoProblems } = await console.open('/apps/nothing/versions/v1/revisions/r1', 'viewer');
  await heading(page, 'nothing v1 r1').waitFor();
  await page.getByRole('alert').waitFor();
  expect(await axe(page)).toEqual([]);
  expectNoProblems();
});

it('deletes by name, with everything below', async () => {
  await makeApp('gone');
  await callThrice('/gone/v1/');
  const { page, refused, expectNoProblems } = await console.open('/apps/gone', 'editor');
  await press(page, 'Delete');
  const dialog = page.getByRole('dialog', { name: 'Delete gone' });
  const button = dialog.getByRole('button', { name: 'Delete' });
  await dialog
    .getByText(/routes? change|new routes?|keys? change|changes no route/)
    .first()
    .waitFor();
  expect(await button.isDisabled()).toBe(true);
  await dialog.getByText(/Of the last \d+ requests, 3 would be answered differently/).waitFor();
  // By the configuration in force, not when they came.
  await dialog.getByRole('columnheader', { name: 'Now answered' }).waitFor();
  await dialog.getByRole('row', { name: /3.*404 no_route.*anonymous.*\/gone\/v1/ }).waitFor();
  await dialog.getByText('The same change as curl, command or YAML').click();
  await dialog.getByText('headgate apps delete gone --cascade').waitFor();
  await dialog.getByText(/remove this entry.*--prune/).waitFor();
  await screenshot(page, 'delete-app');
  await dialog.getByLabel('Type gone to confirm').fill('gone');
  await button.click();
  await heading(page, 'Apps').waitFor();
  expect(await console.gateway.api('GET', '/apps/gone')).toMatchObject({ status: 404 });
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('offers a viewer nothing that would be refused', async () => {
  await makeApp('seen');
  const { page, refused, expectNoProblems } = await console.open('/apps', 'viewer');
  const offers = page.getByRole('button', {
    name: /^(Create|Delete|Send all|Save|Clone|Deprecate|Retire|Roll back|Add|Take)/,
  });
  const addresses = [
    ['/apps', 'Apps'],
    ['/apps?create=app', 'Apps'],
    ['/apps/seen?tab=edit', 'seen'],
    ['/apps/seen/versions/v1?create=revision', 'seen v1'],
    ['/apps/seen/versions/v1/revisions/r1?tab=endpoints', 'seen v1 r1'],
    ['/import', 'Import OpenAPI'],
  ] as const;
  for (const [address, title] of addresses) {
    await goWithin(page, address);
    await heading(page, title).waitFor();
    await expect.poll(() => page.getByText('Loading …').count()).toBe(0);
    expect({ address, offers: await offers.count() }).toEqual({ address, offers: 0 });
    expect(await page.getByRole('tab', { name: 'Edit' }).count()).toBe(0);
    expect(await page.getByRole('form').count()).toBe(0);
  }
  expect(refused).toEqual([]);
  expectNoProblems();
});

const DESCRIPTION = `openapi: 3.1.0
info: {title: Shop, version: 2.4.1}
servers: [{url: "http://127.0.0.1:9001"}]
paths:
  /orders: {get: {}, post: {}}
  /reports/{name}.csv: {get: {}}
`;

it('imports an OpenAPI description: dropped, planned, applied', async () => {
  const { page, expectNoProblems } = await console.open('/import', 'editor');
  const text = page.getByRole('textbox', { name: 'Description' });
  const large = { name: 'large.json', mimeType: 'application/json', buffer: Buffer.alloc(4 * 1024 * 1024) };
  await page.getByLabel('Choose a file').setInputFiles(large);
  await page.getByText('headgate import openapi').waitFor();
  const dataTransfer = await page.evaluateHandle(`(() => {
    const dropped = new DataTransfer();
    dropped.items.add(new File([${JSON.stringify(DESCRIPTION)}], 'shop.yaml'));
    return dropped;
  })()`);
  await text.dispatchEvent('drop', { dataTransfer });
  await expect.poll(() => text.inputValue()).toBe(DESCRIPTION);
  await page.getByLabel('App', { exact: true }).fill('shop');
  await page.getByLabel('Backend').fill('no url');
  await press(page, 'Show the plan');
  await page.getByRole('alert').first().waitFor();
  await page.getByLabel('Backend').fill('');
  await press(page, 'Show the plan');
  await page.getByText('GET /reports/{name}.csv').first().waitFor();
  await page.getByText('5 to create, 0 to update, 0 to delete.').waitFor();
  expect(await console.gateway.api('GET', '/apps/shop')).toMatchObject({ status: 404 });
  expect(await axe(page)).toEqual([]);
  await page.getByText('The same change as curl, command or YAML').click();
  expect(await page.getByRole('group', { name: 'Command line' }).textContent()).toBe(
    'headgate import openapi openapi.yaml --app shop --security --apply',
  );
  expect(await page.getByRole('group', { name: 'YAML' }).textContent()).toContain('GET /orders: {}');
  await screenshot(page, 'import-plan');
  await press(page, 'Apply the plan');
  await heading(page, 'Shop').waitFor();
  const endpoints = await console.gateway.api('GET', '/apps/shop/versions/v2/revisions/r1/endpoints');
  expect(endpoints.body.page.total).toBe(2);
  expectNoProblems();
});
