/**
 * Each dialog that asks before it writes, by keyboard alone: it opens with the focus inside, keeps it there, ends with
 * Escape, and gives it back to the button that opened it. A gateway that is away when the write is made takes neither
 * the dialog nor what was typed (tried with some), and after the write the reader is still at the place in the page.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { freePorts } from '../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/backends/webhook-receiver.ts';
import { startConsole, type TestConsole } from '../support/clients/console.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/measure/until.ts';
import { CONSOLE_VARIABLE } from '../support/programs/program.ts';
import { createService } from '../support/traffic.ts';

const CERTIFICATE = 'shop.headgate.test';
/** More than any of the dialogs has places to stop at. */
const STOPS_MAX = 20;

const folder = mkdtempSync(join(tmpdir(), 'headgate-keyboard-'));
let console: TestConsole;
let gateway: TestGateway;
let restart: () => Promise<TestGateway>;
let isAway = false;
let origin: Origin;
let receiver: WebhookReceiver;
let paths: { readonly webhook: string; readonly key: string };

beforeAll(async () => {
  const [management = 0, proxy = 0, tls = 0] = await freePorts(3);
  const options = {
    folder,
    ports: { management, proxy },
    env: {
      GATEWAY_CONSOLE__FOLDER: process.env[CONSOLE_VARIABLE] ?? '',
      GATEWAY_WEBHOOKS__MAX_TRIES: '1',
      // Where no directory answers.
      GATEWAY_ACME__DIRECTORY: 'https://127.0.0.1:9/directory',
      GATEWAY_ACME__ACCEPT_TERMS: 'true',
      GATEWAY_ACME__SELF_CHECK: 'false',
      GATEWAY_PROXY__TLS__PORT: String(tls),
    },
  };
  restart = () => startGateway(options);
  [console, origin, receiver] = await Promise.all([
    startConsole(options),
    startOrigin(),
    startWebhookReceiver(() => 500),
  ]);
  gateway = console.gateway;
  const hook = { name: 'pager', url: `http://127.0.0.1:${receiver.port}/` };
  const webhook = (await gateway.must('POST', '/webhooks', hook)) as { readonly id: string };
  await createService(gateway, 'shop', origin.port);
  await gateway.must('POST', `${VERSION}/revisions`, {
    revision: 'r2',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: origin.port,
  });
  await gateway.must('PATCH', '/apps/shop', { hosts: [CERTIFICATE] });
  const key = (await gateway.must('POST', '/apps/shop/tokens', { name: 'partner' })) as {
    readonly id: string;
  };
  paths = { webhook: `/webhooks?open=${webhook.id}`, key: `/apps/shop/keys/${key.id}` };
  await gateway.must('POST', '/admin/tokens', { name: 'pipeline', role: 'viewer' });
  await gateway.must('PATCH', '/apps/shop', { description: 'changed' });
  const letters = `/webhooks/${webhook.id}/dead-letters`;
  const countLetters = async (): Promise<number> => (await gateway.must('GET', letters)).length;
  await until(async () => (await countLetters()) > 2);
});
afterAll(async () => {
  await gateway.stop();
  await console.close();
  await Promise.all([origin.close(), receiver.close()]);
  rmSync(folder, { recursive: true, force: true });
});

async function beBack(): Promise<void> {
  if (isAway) gateway = await restart();
  isAway = false;
}
beforeEach(beBack);

interface Asked {
  readonly path: string | (() => string);
  /** Opens the dialog. */
  readonly button: RegExp;
  readonly title: RegExp;
  /** Does what the dialog asks about. */
  readonly action: RegExp;
  /** Has to be typed. */
  readonly name?: string;
  /** Makes what it is about. */
  readonly before?: () => Promise<unknown>;
  /** What is shown once, in a dialog that comes next. */
  readonly next?: RegExp;
  /** The gateway is away when it is pressed first. Not for all of them, as each time a gateway starts. */
  readonly outage?: true;
}

const webhook = (): string => paths.webhook;
const key = (): string => paths.key;
const VERSION = '/apps/shop/versions/v1';

// What deletes something stands last.
const ASKED: readonly Asked[] = [
  { path: webhook, button: /^Switch off$/, title: /^Switch off pager/, action: /^Switch off$/ },
  { path: webhook, button: /^Switch on$/, title: /^Switch on pager/, action: /^Switch on$/ },
  { path: webhook, button: /^Forget:/, title: /^Forget that pager/, action: /^Forget$/, outage: true },
  { path: webhook, button: /^Send again:/, title: /^Send it to pager/, action: /^Send again$/ },
  { path: webhook, button: /^Send all again$/, title: /^Send pager again/, action: /^Send all again$/ },
  { path: webhook, button: /^Forget all$/, title: /^Forget what pager/, action: /^Forget all$/ },
  {
    path: webhook,
    button: /^New secret$/,
    title: /^Give pager a new secret/,
    action: /^New secret$/,
    next: /^The value of pager/,
    outage: true,
  },
  {
    path: webhook,
    button: /^Delete$/,
    title: /^Delete the webhook pager/,
    action: /^Delete$/,
    name: 'pager',
  },
  {
    path: '/access',
    button: /^Sign out test viewer$/,
    title: /^Sign out test viewer/,
    action: /^Sign out$/,
    before: () => console.open('/', 'viewer'),
  },
  {
    path: '/access',
    button: /^Delete pipeline$/,
    title: /^Delete the admin token/,
    action: /^Delete$/,
    name: 'pipeline',
  },
  {
    path: '/explain',
    button: /^Stop sampling$/,
    title: /^Stop sampling/,
    action: /^Stop sampling$/,
    before: () => gateway.must('PUT', '/explain/sampling', { rate: 0.5, seconds: 600 }),
  },
  {
    path: '/explain',
    button: /^Revoke the debug token/,
    title: /^Revoke the debug token/,
    action: /^Revoke$/,
    before: () => gateway.must('POST', '/explain/debug-tokens', { seconds: 600 }),
  },
  { path: '/nodes', button: /^Renew the certificate/, title: /^Order a new certificate/, action: /^Renew$/ },
  {
    path: '/explain?url=/shop/v1/x&host=shop.headgate.test',
    button: /^Send it for real$/,
    title: /real/,
    action: /^Send it for real$/,
  },
  {
    path: VERSION,
    button: /^Send all traffic to r2$/,
    title: /^Send all traffic to r2/,
    outage: true,
    action: /^Send all traffic$/,
  },
  {
    path: `${VERSION}/revisions/r2`,
    button: /^Take out of traffic$/,
    title: /^Take r2 out/,
    action: /^Take out of traffic$/,
  },
  { path: key, button: /^Disable/, title: /^Disable/, action: /^Disable/ },
  { path: key, button: /^Rotate/, title: /^Rotate/, action: /^Rotate/, next: /^The value of partner/ },
  { path: key, button: /^Delete$/, title: /^Delete/, action: /^Delete$/, name: 'partner', outage: true },
  { path: '/apps/shop', button: /^Delete$/, title: /^Delete/, action: /^Delete$/, name: 'shop' },
];

const ACTIVE = `(() => {
  const { activeElement: element } = document;
  const dialog = element.closest('[role="dialog"]');
  const name = element.labels?.[0]?.innerText || element.getAttribute('aria-label') || element.innerText;
  return { tag: element.tagName, isInDialog: dialog !== null, isInPage: element.closest('main') !== null, name };
})()`;

/** From here on, what in the page behind the dialog gets the focus. */
const WATCH_STRAYS = `
  strays = [];
  strayed = ({ target }) => target.innerText !== '' && !target.closest('[role="dialog"]') && strays.push(target.innerText);
  document.addEventListener('focusin', strayed);
`;

interface Active {
  readonly tag: string;
  readonly isInDialog: boolean;
  readonly isInPage: boolean;
  readonly name: string;
}

const activeOf = (page: Page): Promise<Active> => page.evaluate<Active>(ACTIVE);

/** Tab from the first place to where it begins anew; what only hands the focus on has no name. */
async function stopsOf(page: Page): Promise<readonly string[]> {
  const stops: string[] = [];
  for (let count = 0; count < STOPS_MAX; count += 1) {
    const { tag, name, isInDialog } = await activeOf(page);
    if (name === '' || tag === 'BODY') {
      // An end of the dialog hands the focus on at the next frame.
      await page.evaluate('new Promise(requestAnimationFrame)');
    } else {
      expect([name, isInDialog]).toEqual([name, true]);
      if (stops.includes(name)) return stops;
      stops.push(name);
    }
    await page.keyboard.press('Tab');
  }
  throw new Error(`There is no end of ${stops.join(', ')}`);
}

it('a button that is disabled once it has saved leaves the reader in its part of the page', async () => {
  const { page } = await console.open(VERSION);
  const traffic = page.getByRole('region', { name: 'Traffic' });
  await traffic.getByRole('button', { name: 'Add r2' }).click();
  const save = traffic.getByRole('button', { name: 'Save the split' });
  await save.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button').last().and(page.locator(':enabled')).focus();
  await page.keyboard.press('Enter');
  await save.and(page.locator(':disabled')).waitFor();
  await dialog.waitFor({ state: 'hidden' });
  await expect.poll(() => traffic.evaluate((place) => place.matches(':focus-within'))).toBe(true);
});

it.each(ASKED)('$title', async ({ path, button, title, action, name, before, next, outage }) => {
  await before?.();
  const { page } = await console.open(typeof path === 'string' ? path : path(), 'admin');
  const opener = page.getByRole('button', { name: button }).first();
  const dialog = page.getByRole('dialog', { name: title });
  const deed = dialog.getByRole('button', { name: action }).last();
  await opener.focus();
  const openedBy = (await activeOf(page)).name;
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  // Those that try the write first have their button then.
  await dialog.getByText('Loading …').waitFor({ state: 'detached' });
  await expect.poll(async () => (await activeOf(page)).isInDialog).toBe(true);
  const typed = name === undefined ? undefined : dialog.getByLabel(`Type ${name} to confirm`);
  await typed?.fill(name ?? '');
  await deed.and(page.locator(':enabled')).waitFor();
  const stops = await stopsOf(page);
  const deedName = (await deed.innerText()).trim();
  // The way back stands before the way on.
  expect(stops[(stops.indexOf('Cancel') + 1) % stops.length]).toBe(deedName);
  expect(stops).toContain('Cancel');
  // A Tab key that is held down meets the ends of the dialog several times within a frame.
  await page.evaluate(WATCH_STRAYS);
  await Promise.all(Array.from({ length: STOPS_MAX }, () => page.keyboard.press('Tab')));
  await expect.poll(async () => (await activeOf(page)).isInDialog).toBe(true);
  expect(await page.evaluate('strays')).toEqual([]);
  await page.evaluate(`document.removeEventListener('focusin', strayed)`);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await expect.poll(async () => (await activeOf(page)).name).toBe(openedBy);

  await page.keyboard.press('Space');
  await dialog.waitFor();
  await dialog.getByText('Loading …').waitFor({ state: 'detached' });
  await typed?.focus();
  if (name !== undefined) await page.keyboard.type(name);
  await deed.and(page.locator(':enabled')).waitFor();
  await deed.focus();
  if (outage) {
    await gateway.kill();
    isAway = true;
    await page.keyboard.press('Enter');
    await dialog.getByText('Nothing that you typed is lost').waitFor();
    expect(await activeOf(page)).toMatchObject({ name: deedName, isInDialog: true });
    if (typed !== undefined) expect(await typed.inputValue()).toBe(name);
    await beBack();
  }
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'hidden' });
  if (next !== undefined) {
    const shown = page.getByRole('dialog', { name: next });
    await shown.waitFor();
    await page.keyboard.press('Escape');
    expect((await activeOf(page)).isInDialog).toBe(true);
    await shown.getByRole('button', { name: 'I have stored it' }).focus();
    await page.keyboard.press('Enter');
    await shown.waitFor({ state: 'hidden' });
  }
  await expect.poll(async () => (await activeOf(page)).isInPage).toBe(true);
});
