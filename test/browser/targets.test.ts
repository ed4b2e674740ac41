/** Several targets of a revision in the console: typed one a line, refused at their field, shown with their states. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';

const REVISIONS = '/apps/spread/versions/v1/revisions';

let console: TestConsole;
let backends: readonly Server[];
let ports: readonly number[];
let folder: string;

beforeAll(async () => {
  backends = await Promise.all(
    ['one', 'two'].map(async (text) => {
      const backend = createServer((_request, response) => response.end(text));
      await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
      return backend;
    }),
  );
  ports = backends.map((backend) => (backend.address() as AddressInfo).port);
  folder = mkdtempSync(join(tmpdir(), 'headgate-targets-'));
  console = await startConsole({ env: { GATEWAY_DISCOVERY__FOLDER: folder } });
});
afterAll(async () => {
  await console.close();
  rmSync(folder, { recursive: true });
  for (const backend of backends) backend.closeAllConnections();
  await Promise.all(backends.map((backend) => new Promise((resolve) => backend.close(resolve))));
});
beforeEach(async () => {
  const { gateway } = console;
  await gateway.api('DELETE', '/apps/spread?cascade=true');
  await gateway.must('POST', '/apps', { name: 'spread', slug: 'spread', gateway_path: '/spread' });
  await gateway.must('POST', '/apps/spread/versions', { version: 'v1' });
  await gateway.must('POST', REVISIONS, {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: ports[0],
    is_current: true,
  });
});

const press = (scope: Page | Locator, name: string): Promise<void> =>
  scope.getByRole('button', { name, exact: true }).first().click();

async function confirm(page: Page, title: string, action: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: title });
  await press(dialog, action);
  await dialog.waitFor({ state: 'hidden' });
}

/** Timers of less than a second, as where a machine has much to do. */
const LATE_TIMERS = `{
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (run, ms, ...args) => setTimeout(run, ms < 1_000 ? 2 * ms + 300 : ms, ...args);
}`;

it('takes targets and how requests are spread, says what is wrong at the field, and shows their states', async () => {
  const { page, expectNoProblems } = await console.open(`${REVISIONS}/r1?tab=edit`, 'editor');
  const form = page.getByRole('form', { name: 'Save r1' });
  const targets = form.getByLabel('Targets', { exact: true });
  await targets.fill(`127.0.0.1:${ports[0]}\n127.0.0.1:${ports[0]}`);
  await page.evaluate(LATE_TIMERS);
  await press(form, 'Save');
  await form.getByText('is the same place as target 0').first().waitFor();
  // Who goes on elsewhere stays there, also when the page comes late to what was refused.
  const elsewhere = form.getByLabel('Most requests that wait for a connection');
  await elsewhere.focus();
  await page.evaluate(`new Promise((done) => setTimeout(done, 150))`);
  expect(await elsewhere.evaluate((field) => field.ownerDocument.activeElement === field)).toBe(true);
  await targets.fill(`127.0.0.1:${ports[0]} weight=10 zone=eu-1a\n127.0.0.1:${ports[1]}`);
  await form.getByLabel('Requests go').selectOption({ label: 'by a value of the request' });
  await form.getByLabel('Same target for the same').selectOption({ label: 'header' });
  await form.getByLabel('Name', { exact: true }).fill('X-User');
  expect(await form.getByLabel('Seconds that the cookie lasts').count()).toBe(0);
  await form.getByLabel('Failures that eject a target').fill('3');
  await form.getByLabel('More failures than the others').fill('40');
  await form.getByLabel('Requests before this applies').fill('50');
  await form.getByLabel('First ejection').fill('5');
  await form.getByLabel('Longest ejection').fill('60');
  await form.getByLabel('Count 5xx answers of targets as failures').uncheck();
  await form.getByLabel('Most requests that wait for a connection').fill('7');
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'revision-targets');
  await press(form, 'Save');
  await confirm(page, 'Save r1', 'Save');
  expect(await console.gateway.must('GET', `${REVISIONS}/r1`)).toMatchObject({
    backend_host: '127.0.0.1',
    backend_port: ports[0],
    targets: [
      { host: '127.0.0.1', port: ports[0], weight: 10, zone: 'eu-1a' },
      { host: '127.0.0.1', port: ports[1], weight: 100 },
    ],
    load_balancing: {
      algorithm: 'hash',
      hash: { by: 'header', name: 'X-User' },
      ejection: {
        consecutive_failures: 3,
        failure_percent: 40,
        min_requests: 50,
        base_secs: 5,
        max_secs: 60,
        count_5xx: false,
      },
      max_waiting: 7,
    },
  });
  // A cookie can last; what is switched off asks for no details.
  await form.getByLabel('Same target for the same').selectOption({ label: 'cookie' });
  await form.getByLabel('Name', { exact: true }).fill('lane');
  await form.getByLabel('Seconds that the cookie lasts').fill('3600');
  await form.getByLabel('Take out targets that fail').uncheck();
  expect(await form.getByLabel('First ejection').count()).toBe(0);
  await press(form, 'Save');
  await confirm(page, 'Save r1', 'Save');
  expect(await console.gateway.must('GET', `${REVISIONS}/r1`)).toMatchObject({
    load_balancing: { hash: { by: 'cookie', name: 'lane', ttl_secs: 3_600 }, ejection: { enabled: false } },
  });
  await page.goto(`${console.gateway.base}${REVISIONS}/r1`);
  const table = page.getByRole('table', { name: 'Targets' });
  await table.getByText(`127.0.0.1:${ports[1]}`).waitFor();
  expect(await table.getByText('in service').count()).toBe(2);
  await page.getByText(`http://127.0.0.1:${ports[0]} and 1 more`).first().waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'revision-target-health');
  await page.goto(`${console.gateway.base}/health`);
  await page.getByText('the first of 2 targets, all in service').waitFor();
  expectNoProblems();
});

it('makes a revision with one backend like one with several targets', async () => {
  await console.gateway.must('PATCH', `${REVISIONS}/r1`, {
    targets: ports.map((port) => ({ host: '127.0.0.1', port })),
  });
  const { page, expectNoProblems } = await console.open('/apps/spread/versions/v1', 'editor');
  await press(page, 'Create revision');
  const form = page.getByRole('form', { name: 'Create revision' });
  await form.getByLabel('Revision', { exact: true }).fill('r2');
  await form.getByLabel('Backend URL').fill(`http://127.0.0.1:${ports[1]}/new`);
  await press(form, 'Create revision');
  await confirm(page, 'Create revision', 'Create revision');
  await expect
    .poll(async () => (await console.gateway.api('GET', `${REVISIONS}/r2`)).body.data)
    .toMatchObject({ backend_port: ports[1], backend_base_path: '/new', targets: null });
  expectNoProblems();
});

it('looks targets up instead, says what is wrong at the field, and shows what was found', async () => {
  const lines = ports.map((port) => `- host: 127.0.0.1\n  port: ${port}\n`);
  writeFileSync(join(folder, 'found.yaml'), lines.join(''));
  const { page, expectNoProblems } = await console.open(`${REVISIONS}/r1?tab=edit`, 'editor');
  const form = page.getByRole('form', { name: 'Save r1' });
  const source = form.getByLabel('Where the targets are');
  await source.selectOption({ label: 'listed in a file' });
  expect(await form.getByLabel('Backend host').count()).toBe(0);
  expect(await form.getByLabel('Targets', { exact: true }).count()).toBe(0);
  await form.getByLabel('File', { exact: true }).fill('../found.yaml');
  await press(form, 'Save');
  await form.getByText('must be a path below GATEWAY_DISCOVERY__FOLDER').first().waitFor();
  await form.getByLabel('File', { exact: true }).fill('found.yaml');
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'revision-discovery');
  await press(form, 'Save');
  await confirm(page, 'Save r1', 'Save');
  expect(await console.gateway.must('GET', `${REVISIONS}/r1`)).toMatchObject({
    targets: null,
    discovery: { type: 'file', path: 'found.yaml' },
  });
  await page.goto(`${console.gateway.base}${REVISIONS}/r1`);
  await page.getByText('http by file found.yaml').first().waitFor();
  await page.getByText('2 targets', { exact: true }).waitFor({ timeout: 15_000 });
  const table = page.getByRole('table', { name: 'Targets' });
  expect(await table.getByText('in service').count()).toBe(2);
  writeFileSync(join(folder, 'found.yaml'), '[');
  await page.getByText('found.yaml:1:').waitFor({ timeout: 15_000 });
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'revision-discovery-health');
  await page.goto(`${console.gateway.base}/health`);
  await page.getByText('2 targets, all in service').waitFor();
  // An explanation names the target, why it, and where it comes from.
  await page.goto(`${console.gateway.base}/explain?url=/spread/v1/x`);
  await page.getByText('file found.yaml', { exact: true }).waitFor();
  const explained = page.getByRole('table', { name: 'Targets of the revision' });
  expect(await explained.getByText('in service').count()).toBe(2);
  expect(await explained.getByText('chosen').count()).toBe(1);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'explained-target');
  await page.goto(`${console.gateway.base}${REVISIONS}/r1?tab=edit`);
  await source.selectOption({ label: 'written here' });
  await form.getByLabel('Backend host').fill('127.0.0.1');
  await form.getByLabel('Backend port').fill(String(ports[0]));
  await press(form, 'Save');
  await confirm(page, 'Save r1', 'Save');
  expect(await console.gateway.must('GET', `${REVISIONS}/r1`)).toMatchObject({
    backend_host: '127.0.0.1',
    backend_port: ports[0],
    discovery: null,
  });
  expectNoProblems();
});
