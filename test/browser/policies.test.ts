/**
 * Policies in the console: a form and YAML of one edit, what a save would do, two people, and a gateway that restarts.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { freePorts } from '../support/backends/origin-process.ts';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { createService } from '../support/traffic.ts';
import { CONSOLE_VARIABLE } from '../support/programs/program.ts';

let console: TestConsole;
let gateway: TestGateway;
let origin: Origin;
let restart: () => Promise<void>;
const folder = mkdtempSync(join(tmpdir(), 'headgate-policies-'));
const trusted = join(folder, 'trusted');
mkdirSync(trusted);
copyFileSync(resolve(import.meta.dirname, '../support/tls/ca.pem'), join(trusted, 'banks.crt'));

beforeAll(async () => {
  const [management = 0, proxy = 0] = await freePorts(2);
  const options = { folder, ports: { management, proxy } };
  const ports = {
    GATEWAY_SERVER__PORT: String(management),
    GATEWAY_PROXY__PORT: String(proxy),
    GATEWAY_CONSOLE__FOLDER: process.env[CONSOLE_VARIABLE] ?? '',
    GATEWAY_PROXY__CLIENT_CAS: trusted,
  };
  [console, origin] = await Promise.all([startConsole({ ...options, env: ports }), startOrigin()]);
  gateway = console.gateway;
  restart = async () => {
    await gateway.stop();
    gateway = await startGateway({ ...options, env: ports });
  };
});
afterAll(async () => {
  await gateway.stop();
  await console.close();
  await origin.close();
  rmSync(folder, { recursive: true, force: true });
});

const APP = '/apps/billing';
const REVISION = `${APP}/versions/v1/revisions/r1`;

beforeEach(async () => {
  await gateway.api('DELETE', `${APP}?cascade=true`);
  await gateway.must('POST', '/apps', { name: 'Billing', slug: 'billing', gateway_path: '/billing' });
  await gateway.must('POST', `${APP}/versions`, { version: 'v1' });
  await gateway.must('POST', `${APP}/versions/v1/revisions`, {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: origin.port,
    is_current: true,
  });
});

const statuses = async (count: number): Promise<number[]> => {
  const found: number[] = [];
  for (let index = 0; index < count; index += 1)
    found.push((await fetch(`${gateway.proxy}/billing/v1/items`)).status);
  return found;
};
const policy = async (): Promise<unknown> => (await gateway.must('GET', APP)).default_policy;
const yamlOf = (page: Page) => page.getByRole('textbox', { name: 'Policy as YAML' });
const part = (page: Page, title: string) => page.getByRole('region', { name: title });
const press = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' }).click();
const dialog = (page: Page) => page.getByRole('dialog', { name: 'Save the policy' });
const saveNow = async (page: Page): Promise<void> => {
  await dialog(page).getByRole('button', { name: 'Save', exact: true }).click();
  await dialog(page).waitFor({ state: 'hidden' });
};

it('sets a limit in the form, shows it as YAML and what a save would do, and the proxy obeys', async () => {
  expect(await statuses(3)).toEqual([200, 200, 200]);
  const { page, expectNoProblems } = await console.open(`${APP}?tab=policy`, 'editor');
  await press(page, 'Set here: Rate limit');
  await page.getByLabel('Requests', { exact: true }).fill('2');
  await page.getByLabel('Window in seconds').fill('3600');
  await yamlOf(page).getByText('requests: 2').waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'policy-edited');

  await press(page, 'Save …');
  await dialog(page).getByText('1 route changes.').waitFor();
  await dialog(page).getByText('enabled: true, requests: 2, window_seconds: 3600').first().waitFor();
  // All three were let through without a limit.
  await dialog(page)
    .getByText(/of the last 3 requests|Of the last 3 requests/)
    .waitFor();
  await dialog(page).getByText('The same change as curl, command or YAML').click();
  await dialog(page)
    .getByText(/headgate apps edit \S+ policy\.rate_limit\.enabled=true/)
    .waitFor();
  await dialog(page).getByText('At this place of the configuration files:').waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'policy-save');
  expect(await policy()).toBeNull();
  await saveNow(page);
  expect(await policy()).toEqual({ rate_limit: { enabled: true, requests: 2, window_seconds: 3600 } });
  expect(await statuses(3)).toEqual([200, 200, 429]);

  // The same from the other side: the text changes the form.
  await yamlOf(page).getByText('requests: 2').click();
  await page.keyboard.press('End');
  await page.keyboard.type('0');
  await expect.poll(() => page.getByLabel('Requests', { exact: true }).inputValue()).toBe('20');
  // A text that is not yet YAML is kept, and the form waits.
  await page.keyboard.type(': [');
  await page.getByText('The YAML has an error', { exact: false }).first().waitFor();
  await expect.poll(() => page.getByLabel('Requests', { exact: true }).isDisabled()).toBe(true);
  for (let typed = 0; typed < 3; typed += 1) await page.keyboard.press('Backspace');

  // What is taken away is sent as null, and can be taken back.
  await press(page, 'Remove: Rate limit');
  await press(page, 'Save …');
  await saveNow(page);
  expect(await policy()).toEqual({});
  expect(await statuses(3)).toEqual([200, 200, 200]);
  // The newest message comes first.
  await page.getByRole('button', { name: 'Undo' }).first().click();
  await page.getByText('Undone').waitFor();
  expect(await policy()).toMatchObject({ rate_limit: { requests: 2 } });
  expectNoProblems();
});

it('keeps the buttons where they are while what a save would do is still being found out', async () => {
  expect(await statuses(3)).toEqual([200, 200, 200]);
  const { page, expectNoProblems } = await console.open(`${APP}?tab=policy`, 'editor');
  let release = (): void => undefined;
  const released = new Promise<void>((done) => (release = done));
  await page.route('**/api/v1/config/plan', async (route) => {
    await released;
    await route.continue();
  });
  await press(page, 'Set here: Rate limit');
  await page.getByLabel('Requests', { exact: true }).fill('2');
  await press(page, 'Save …');
  await dialog(page).getByText('1 route changes.').waitFor();
  const button = dialog(page).getByRole('button', { name: 'Save', exact: true });
  const box = await button.boundingBox();
  const [x, y] = [(box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0) / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  // Between press and release: a button that moves away is not pressed.
  release();
  await dialog(page)
    .getByText(/of the last \d+ requests/i)
    .first()
    .waitFor();
  expect(await button.boundingBox()).toEqual(box);
  await page.mouse.up();
  await dialog(page).waitFor({ state: 'hidden' });
  expect(await policy()).toMatchObject({ rate_limit: { requests: 2 } });
  expectNoProblems();
});

it('shows where an inherited value comes from, sets it here, inherits it again, and only tries it', async () => {
  await gateway.must('PATCH', APP, {
    default_policy: { rate_limit: { enabled: true, requests: 1, window_seconds: 3600 } },
  });
  const { page, expectNoProblems } = await console.open(`${REVISION}?tab=policy`, 'editor');
  const limit = part(page, 'Rate limit');
  await limit.getByText('from the app').waitFor();
  await limit.getByText('requests: 1').waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'policy-inherited');
  await press(page, 'Set here: Rate limit');
  await page.getByLabel('Requests', { exact: true }).fill('5');
  await limit.getByText('set here', { exact: true }).waitFor();
  await press(page, 'Inherit again: Rate limit');
  await limit.getByText('from the app').waitFor();
  expect(await page.getByRole('button', { name: 'Save …' }).count()).toBe(0);

  expect(await statuses(2)).toEqual([200, 429]);
  await page.getByLabel('Only try: Rate limit').check();
  await yamlOf(page).getByText('- rate_limit').waitFor();
  await press(page, 'Save …');
  await saveNow(page);
  expect((await gateway.must('GET', REVISION)).default_policy).toEqual({ shadow: ['rate_limit'] });
  expect(await statuses(3)).toEqual([200, 200, 200]);
  await page.getByLabel('Only try: Rate limit').uncheck();
  await press(page, 'Save …');
  await saveNow(page);
  expect(await statuses(1)).toEqual([429]);
  expectNoProblems();
});

it('shows what the settings give as inherited from them, at each level', async () => {
  const limits = {
    GATEWAY_RATE_LIMIT_REQUESTS: '700',
    GATEWAY_RATE_LIMIT_WINDOW_SECS: '60',
    GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
    GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '90',
    GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: '1',
  };
  const limited = await startConsole({ env: limits });
  try {
    await createService(limited.gateway, 'billing', origin.port);
    const { page, expectNoProblems } = await limited.open(`${APP}?tab=policy`, 'editor');
    for (const address of [APP, REVISION]) {
      if (address !== APP) await page.goto(`${address}?tab=policy`);
      const part = page.getByRole('region', { name: 'Rate limit rate_limit' });
      await part.getByText('from the settings').waitFor();
      await part
        .getByRole('region', { name: 'Value that applies: Rate limit' })
        .getByText('requests: 700')
        .waitFor();
      await part
        .getByText('In addition, the settings allow each client address 90 requests in 1 s.')
        .waitFor();
    }
    expect(await axe(page)).toEqual([]);
    await screenshot(page, 'policy-of-settings');
    // What is set here begins with it.
    await press(page, 'Set here: Rate limit');
    expect(await page.getByLabel('Requests', { exact: true }).inputValue()).toBe('700');
    await page.getByText('set here', { exact: true }).waitFor();
    expectNoProblems();
  } finally {
    await limited.close();
  }
});

it('shows what the gateway refuses at the field and at the line, and keeps what was typed', async () => {
  const { page, expectNoProblems } = await console.open(`${APP}?tab=policy`, 'editor');
  await press(page, 'Set here: Client addresses');
  const denied = page.getByLabel('Denied, one per line');
  await denied.fill('10.0.0.0/8\n10.1.2.3/8');
  await press(page, 'Save …');
  await part(page, 'Client addresses').getByRole('alert').filter({ hasText: 'Entry 2' }).waitFor();
  expect(await denied.inputValue()).toBe('10.0.0.0/8\n10.1.2.3/8');
  expect(await dialog(page).count()).toBe(0);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'policy-refused');
  await denied.fill('10.0.0.0/8');
  await press(page, 'Save …');
  await saveNow(page);
  expect(await policy()).toEqual({ ip_access: { deny: ['10.0.0.0/8'] } });
  expectNoProblems();
});

it('puts the changes of two people together, and asks where both changed the same field', async () => {
  const before = { rate_limit: { enabled: true, requests: 10, window_seconds: 60 }, retries: { max: 1 } };
  await gateway.must('PATCH', APP, { default_policy: before });
  const { page, expectNoProblems } = await console.open(`${APP}?tab=policy`, 'editor');
  await page.getByLabel('Requests', { exact: true }).fill('20');
  await page.getByLabel('Attempts beyond the first').fill('3');
  await gateway.must('PATCH', APP, {
    default_policy: { rate_limit: { requests: 15, window_seconds: 30 }, timeouts: { total_ms: 5000 } },
  });
  await press(page, 'Save …');
  const both = dialog(page).getByRole('table');
  await both.getByRole('row', { name: /rate_limit\.requests/ }).waitFor();
  expect(await dialog(page).getByRole('button', { name: 'Go on with this' }).isDisabled()).toBe(true);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'policy-conflict');
  await page.getByLabel('default_policy.rate_limit.requests: take Yours').check();
  await press(page, 'Go on with this');
  await dialog(page).getByText('1 route changes.').waitFor();
  await saveNow(page);
  expect(await policy()).toEqual({
    rate_limit: { enabled: true, requests: 20, window_seconds: 30 },
    retries: { max: 3 },
    timeouts: { total_ms: 5000 },
  });
  await page.getByLabel('Whole exchange, in ms').waitFor();
  expectNoProblems();
});

it('shows parts and fields of a newer gateway as YAML, and never sends them back changed', async () => {
  await gateway.must('PATCH', APP, {
    default_policy: { rate_limit: { enabled: true, requests: 10, window_seconds: 60 } },
  });
  const { page, expectNoProblems } = await console.open('/', 'editor');
  // What this gateway answers, with what a newer one would have besides.
  await page.route('**/api/v1/apps/*', async (route) => {
    if (route.request().method() !== 'GET') return route.continue();
    const response = await route.fetch();
    const body = (await response.json()) as { data: { default_policy: Record<string, object> } };
    body.data.default_policy ??= {};
    body.data.default_policy['geo'] = { countries: ['CH'] };
    body.data.default_policy['rate_limit'] = { ...body.data.default_policy['rate_limit'], cost: { by: 'x' } };
    return route.fulfill({ response, json: body });
  });
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') sent.push(request.postData() ?? '');
  });
  await page.goto(`${APP}?tab=policy`);
  expect(await page.getByRole('textbox', { name: 'geo' }).inputValue()).toBe('countries:\n  - CH\n');
  expect(await page.getByLabel('Other fields, as YAML').inputValue()).toBe('cost:\n  by: x\n');
  await page.getByLabel('Requests', { exact: true }).fill('11');
  await yamlOf(page).getByText('countries:').waitFor();
  await press(page, 'Save …');
  await saveNow(page);
  expect(new Set(sent)).toEqual(new Set(['{"default_policy":{"rate_limit":{"requests":11}}}']));
  expectNoProblems();
});

it('loses nothing that was typed when the gateway restarts, the session ends or the page is loaded again', async () => {
  const { page } = await console.open(`${APP}?tab=policy`, 'editor');
  await press(page, 'Set here: Rate limit');
  await page.getByLabel('Requests', { exact: true }).fill('7');
  // The dialogs have come with the first press.
  await page.waitForLoadState('networkidle');
  await gateway.stop();
  await press(page, 'Save …');
  await dialog(page).getByText('Nothing that you typed is lost', { exact: false }).waitFor();
  await screenshot(page, 'policy-unreachable');
  await restart();
  // The page notices by itself that the gateway is back, and tries again too.
  const tryAgain = page.getByRole('button', { name: 'Try again', exact: true });
  await tryAgain.click({ timeout: 2_000 }).catch(() => undefined);
  await dialog(page).getByText('1 route changes.').waitFor();
  await press(page, 'Cancel');
  expect(await page.getByLabel('Requests', { exact: true }).inputValue()).toBe('7');

  for (const { id } of await gateway.must('GET', '/sessions'))
    await gateway.must('DELETE', `/sessions/${id}`);
  // Where the page has noticed that by itself, the button can be pressed after the sign-in only.
  const pressed = press(page, 'Save …');
  const signIn = page.getByRole('dialog', { name: 'Sign in to Headgate' });
  await signIn.getByLabel('Admin token').fill(await console.token('editor'));
  await signIn.getByRole('button', { name: 'Sign in' }).click();
  await signIn.waitFor({ state: 'hidden' });
  await pressed;
  // The dialog may have asked again by itself.
  await tryAgain.click({ timeout: 2_000 }).catch(() => undefined);
  await dialog(page).getByText('1 route changes.').waitFor();
  await press(page, 'Cancel');

  await page.reload();
  await page.getByText('These are changes that you have not saved yet.').waitFor();
  expect(await page.getByLabel('Requests', { exact: true }).inputValue()).toBe('7');
  await press(page, 'Save …');
  await saveNow(page);
  expect(await policy()).toMatchObject({ rate_limit: { requests: 7 } });
});

it('gives a viewer the policy to look at, without a way to change it', async () => {
  await gateway.must('PATCH', APP, { default_policy: { retries: { max: 2 } } });
  const { page, expectNoProblems } = await console.open(`${REVISION}?tab=policy`, 'viewer');
  await part(page, 'Retries').getByText('from the app').waitFor();
  expect(await page.getByRole('button', { name: /Set here/ }).count()).toBe(0);
  expectNoProblems();
});

it('edits the declared configuration, plans it with recent requests and applies it; a plan that is out of date is made again', async () => {
  await statuses(2);
  const { page, expectNoProblems } = await console.open('/edit?app=billing', 'editor');
  const text = page.getByRole('textbox', { name: 'Configuration as YAML' });
  await text.getByText('gateway_path: /billing').click();
  await page.keyboard.press('End');
  const forgotten = 'rate_limit: {requests: 1000, window_seconds: 60}';
  await page.keyboard.type(`\ndefault_policy: {allowed_methods: [POST], ${forgotten}}`);
  expect(await axe(page)).toEqual([]);
  await press(page, 'Plan');
  await page.getByText('1 record to change.').waitFor();
  // Valid, and surely not meant.
  await page.getByText('/config/apps/billing/default_policy/rate_limit/enabled').waitFor();
  await page.getByText('Of the last', { exact: false }).waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'edit-plan');
  await gateway.must('PATCH', APP, { description: 'by another' });
  await press(page, 'Apply');
  await page.getByText('What has changed since').waitFor();
  await screenshot(page, 'edit-overtaken');
  await press(page, 'Look at both');
  await press(page, 'Go on with this');
  await press(page, 'Plan');
  await page.getByText('1 record to change.').waitFor();
  await press(page, 'Apply');
  await page.getByText('Configuration applied').waitFor();
  expect(await gateway.must('GET', APP)).toMatchObject({
    description: 'by another',
    default_policy: { allowed_methods: ['POST'] },
  });
  expect(await statuses(1)).toEqual([405]);
  expectNoProblems();
});

it('takes callers by their certificate: the form, the YAML, and the answer of the proxy', async () => {
  const { page, expectNoProblems } = await console.open(`${APP}?tab=policy`, 'editor');
  await press(page, 'Set here: Authentication');
  await page.getByLabel('Credential', { exact: true }).selectOption('mtls');
  const trustedField = page.getByLabel('Trusted certificates');
  const offered = await trustedField.getAttribute('list');
  await page.locator(`[id="${offered}"] option[value="banks"]`).waitFor({ state: 'attached' });
  await trustedField.fill('partners');
  await page.getByLabel('Callers, as YAML').fill('- from: san_uri\n  value: spiffe://acme.example/*\n');
  await yamlOf(page).getByText('spiffe://acme.example/*').waitFor();
  expect(await axe(page)).toEqual([]);
  await press(page, 'Save …');
  // This gateway has neither TLS nor the file.
  await dialog(page).getByText('There are no trusted certificates "partners" here').first().waitFor();
  await saveNow(page);
  const callers = [{ from: 'san_uri', value: 'spiffe://acme.example/*' }];
  expect(await policy()).toEqual({ auth: { auth_type: 'mtls', mtls: { ca: 'partners', callers } } });
  expect(await statuses(1)).toEqual([401]);
  expectNoProblems();
});
