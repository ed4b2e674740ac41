/**
 * Live traffic over a restart of the gateway, while it is paused, by keys, and in more tabs than a browser has
 * connections.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { startConsole, type TestConsole } from '../support/clients/console.ts';
import { startGateway, type GatewayOptions, type TestGateway } from '../support/gateway.ts';
import { CONSOLE_VARIABLE } from '../support/programs/program.ts';
import { createService, request } from '../support/traffic.ts';

/** One more than a browser has connections to a host. */
const TABS = 7;

let console: TestConsole;
let origin: Origin;
let options: GatewayOptions;
let gateway: TestGateway;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-live-'));
  const [management = 0, proxy = 0] = await freePorts(2);
  options = {
    folder,
    ports: { management, proxy },
    env: { GATEWAY_CONSOLE__FOLDER: process.env[CONSOLE_VARIABLE] ?? '' },
  };
  [console, origin] = await Promise.all([startConsole(options), startOrigin()]);
  ({ gateway } = console);
  await createService(gateway, 'shop', origin.port);
});
afterAll(async () => {
  await console.close();
  await gateway.stop();
  await origin.close();
  rmSync(folder, { recursive: true, force: true });
});

const ask = (path: string): Promise<unknown> => request(gateway, `/shop/v1/${path}`);
const row = (page: Page, text: string): Locator =>
  page.getByRole('log', { name: 'Requests' }).getByRole('link').filter({ hasText: text });
const status = (page: Page, text: string): Promise<void> =>
  page.getByRole('status').filter({ hasText: text }).waitFor();

it('waits with new requests while it is paused, and shows them then', async () => {
  const { page, expectNoProblems } = await console.open('/live');
  await status(page, 'Watching');
  await ask('before');
  await row(page, '/before').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await status(page, 'Paused');
  await ask('meanwhile');
  await page.getByRole('button', { name: 'Show 1 new' }).waitFor();
  expect(await row(page, '/meanwhile').count()).toBe(0);
  await page.getByRole('button', { name: 'Resume' }).click();
  await row(page, '/meanwhile').waitFor();
  expectNoProblems();
});

it('goes from row to row by the arrow keys', async () => {
  const { page, expectNoProblems } = await console.open('/live');
  await status(page, 'Watching');
  for (const path of ['one', 'two', 'three']) {
    await ask(path);
    await row(page, `/${path}`).waitFor();
  }
  const focused = (): Promise<string> => page.locator('a:focus').innerText();
  await row(page, '/three').focus();
  await page.keyboard.press('ArrowDown');
  await expect.poll(focused).toContain('/two');
  await page.keyboard.press('ArrowDown');
  await expect.poll(focused).toContain('/one');
  await page.keyboard.press('ArrowUp');
  await expect.poll(focused).toContain('/two');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'GET /shop/v1/two' }).waitFor();
  expectNoProblems();
});

/** As the browser says it of a tab that is behind another. */
const setSeen = (page: Page, isSeen: boolean): Promise<void> =>
  page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${isSeen ? 'visible' : 'hidden'}', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));`);

it(`leaves connections for other pages in ${TABS} tabs, and watches where one looks`, async () => {
  const { page: first, expectNoProblems } = await console.open('/live');
  const tabs = [first];
  await status(first, 'Watching');
  while (tabs.length < TABS) {
    await setSeen(tabs.at(-1)!, false);
    const tab = await first.context().newPage();
    tabs.push(tab);
    await tab.goto('/live');
    await status(tab, 'Watching');
  }
  const last = tabs.at(-1)!;
  await ask('seen-by-the-last');
  await row(last, '/seen-by-the-last').waitFor();
  await status(first, 'Not watching: other windows watch already');
  // A page of another tab that asks for much.
  const other = await first.context().newPage();
  await other.goto('/health');
  await other.getByRole('table', { name: 'Revisions of shop' }).waitFor();

  await setSeen(last, false);
  await setSeen(first, true);
  await status(first, 'Watching');
  await ask('seen-by-the-first');
  await row(first, '/seen-by-the-first').waitFor();
  await status(last, 'Not watching: other windows watch already');
  expect(await row(last, '/seen-by-the-first').count()).toBe(0);
  expectNoProblems();
});

it('leaves connections for other pages also when all windows are seen, and watches where one asks for it', async () => {
  const { page: first, expectNoProblems } = await console.open('/live');
  const windows = [first];
  await status(first, 'Watching');
  while (windows.length < 6) {
    const next = await first.context().newPage();
    windows.push(next);
    await next.goto('/live');
    await status(next, 'Watching');
  }
  await status(first, 'Not watching: other windows watch already');
  await status(windows[1]!, 'Not watching: other windows watch already');
  const other = await first.context().newPage();
  await other.goto('/health');
  await other.getByRole('table', { name: 'Revisions of shop' }).waitFor();

  await first.getByRole('button', { name: 'Watch here' }).click();
  await status(first, 'Watching');
  await status(windows[2]!, 'Not watching: other windows watch already');
  await ask('seen-again');
  await row(first, '/seen-again').waitFor();
  await row(windows[5]!, '/seen-again').waitFor();
  expect(await row(windows[2]!, '/seen-again').count()).toBe(0);
  expectNoProblems();
});

it('goes on by itself after the gateway was restarted', async () => {
  const { page } = await console.open('/live');
  await status(page, 'Watching');
  await ask('before-restart');
  await row(page, '/before-restart').waitFor();
  await gateway.stop();
  await status(page, 'Connection lost, trying again');
  gateway = await startGateway(options);
  await status(page, 'Watching');
  // What was shown stays.
  expect(await row(page, '/before-restart').count()).toBe(1);
  await ask('after-restart');
  await row(page, '/after-restart').waitFor();
});
