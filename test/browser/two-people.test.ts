/**
 * Two people, each in a browser of their own, change the same thing: the second one is shown both versions, chooses,
 * and loses nothing that was typed.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';

const APP = '/apps/shared';
const REVISION = `${APP}/versions/v1/revisions/r1`;
const EDIT = `${REVISION}?tab=edit`;

let console: TestConsole;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-two-people-'));
  writeFileSync(join(folder, 'found.yaml'), '- host: 127.0.0.1\n  port: 9\n');
  console = await startConsole({ env: { GATEWAY_DISCOVERY__FOLDER: folder } });
});
afterAll(async () => {
  await console.close();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  const { gateway } = console;
  await gateway.api('DELETE', `${APP}?cascade=true`);
  await gateway.must('POST', '/apps', { name: 'Shared', slug: 'shared', gateway_path: '/shared' });
  await gateway.must('POST', `${APP}/versions`, { version: 'v1' });
  await gateway.must('POST', `${APP}/versions/v1/revisions`, {
    revision: 'r1',
    backend_scheme: 'https',
    targets: [
      { host: 'a.test', port: 443 },
      { host: 'b.test', port: 443 },
    ],
  });
});

const press = (scope: Page | Locator, name: string): Promise<void> =>
  scope.getByRole('button', { name, exact: true }).first().click();
const formOf = (page: Page): Locator => page.getByRole('form', { name: 'Save r1' });

/** Whether it is on the screen as it is scrolled. */
async function isSeen(page: Page, place: Locator): Promise<boolean> {
  const { y = -1, height = 0 } = (await place.boundingBox()) ?? {};
  return y >= 0 && y + height <= (page.viewportSize()?.height ?? 0);
}

const take = (page: Page, field: string, side: string): Promise<void> =>
  page.getByRole('radio', { name: `${field}: take ${side}`, exact: true }).check();

async function save(page: Page): Promise<void> {
  await press(formOf(page), 'Save');
  const dialog = page.getByRole('dialog', { name: 'Save r1' });
  await press(dialog, 'Save');
  await dialog.waitFor({ state: 'hidden' });
}

it('who change targets both see the two lists, a target a line', async () => {
  const first = await console.open(EDIT, 'editor');
  const second = await console.open(EDIT, 'editor');
  const { page } = second;
  const targets = formOf(page).getByLabel('Targets', { exact: true });
  const mine = 'a.test:443 weight=10\nb.test:443\nc.test:443';
  await targets.fill(mine);
  const theirs = 'a.test:443\nd.test:8443 zone=eu-1a';
  await formOf(first.page).getByLabel('Targets', { exact: true }).fill(theirs);
  await formOf(first.page).getByLabel('Backend base path').fill('/theirs');
  await save(first.page);

  await press(formOf(page), 'Save');
  const conflict = page.getByRole('row', { name: /^Targets/ });
  await conflict.waitFor();
  // The form is longer than the screen, and its button at the end.
  await expect.poll(() => isSeen(page, conflict)).toBe(true);
  const texts = await conflict.getByRole('cell').allInnerTexts();
  expect(texts[0]).toContain('a.test:443\nb.test:443');
  expect(texts[1]).toContain(theirs);
  expect(texts[2]).toContain(mine);
  expect(await targets.inputValue()).toBe(mine);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'two-people-targets');
  expect(await formOf(page).getByRole('button', { name: 'Save' }).isEnabled()).toBe(false);
  await take(page, 'Targets', 'Yours');
  await press(page, 'Go on with this');
  await save(page);
  expect(await console.gateway.must('GET', REVISION)).toMatchObject({
    backend_base_path: '/theirs',
    targets: [
      { host: 'a.test', port: 443, weight: 10 },
      { host: 'b.test', port: 443 },
      { host: 'c.test', port: 443 },
    ],
  });
  first.expectNoProblems();
  second.expectNoProblems();
});

it('keeps targets that were typed while another person chose to look them up', async () => {
  const first = await console.open(EDIT, 'editor');
  const second = await console.open(EDIT, 'editor');
  const { page } = second;
  const targets = formOf(page).getByLabel('Targets', { exact: true });
  await targets.fill('a.test:443\ne.test:443');
  await formOf(first.page).getByLabel('Where the targets are').selectOption({ label: 'listed in a file' });
  await formOf(first.page).getByLabel('File', { exact: true }).fill('found.yaml');
  await save(first.page);

  await press(formOf(page), 'Save');
  const typed = page.getByRole('row', { name: /^Targets/ });
  await take(page, 'Where the targets are', 'Stored now');
  await typed.waitFor({ state: 'detached' });
  await take(page, 'Where the targets are', 'Yours');
  await typed.waitFor();
  await take(page, 'Targets', 'Yours');
  await press(page, 'Go on with this');
  expect(await targets.inputValue()).toBe('a.test:443\ne.test:443');
  await save(page);
  expect(await console.gateway.must('GET', REVISION)).toMatchObject({
    discovery: null,
    targets: [
      { host: 'a.test', port: 443 },
      { host: 'e.test', port: 443 },
    ],
  });
  first.expectNoProblems();
  second.expectNoProblems();
});

it('who change how a backend is trusted see both names of its certificates', async () => {
  const first = await console.open(EDIT, 'editor');
  const second = await console.open(EDIT, 'editor');
  const { page } = second;
  const nameOf = (of: Page): Locator => formOf(of).getByLabel('TLS server name');
  await nameOf(page).fill('mine.test');
  await formOf(page).getByLabel('Verify the backend').uncheck();
  await nameOf(first.page).fill('theirs.test');
  await save(first.page);

  await press(formOf(page), 'Save');
  const conflict = page.getByRole('row', { name: /mine\.test/ });
  await conflict.getByText('theirs.test').waitFor();
  await take(page, 'TLS server name', 'Stored now');
  await press(page, 'Go on with this');
  expect(await nameOf(page).inputValue()).toBe('theirs.test');
  await save(page);
  expect(await console.gateway.must('GET', REVISION)).toMatchObject({
    backend_tls: { server_name: 'theirs.test', verify: false },
  });
  second.expectNoProblems();
});

it('who change the certificates that callers have see both lists', async () => {
  const { gateway } = console;
  const policyOf = (value: string): object => ({
    auth: { auth_type: 'mtls', mtls: { ca: 'partners', callers: [{ from: 'san_dns', value }] } },
  });
  await gateway.must('PATCH', APP, { default_policy: policyOf('first.test') });
  const { page, expectNoProblems } = await console.open(`${APP}?tab=policy`, 'editor');
  const callers = page.getByLabel('Callers, as YAML');
  await callers.fill('- from: san_dns\n  value: mine.test\n');
  await gateway.must('PATCH', APP, { default_policy: policyOf('theirs.test') });
  await press(page, 'Save …');
  const dialog = page.getByRole('dialog', { name: 'Save the policy' });
  const row = dialog.getByRole('row', { name: /callers/ });
  await row.getByText('theirs.test').waitFor();
  await row.getByText('mine.test').waitFor();
  expect(await axe(page)).toEqual([]);
  await row.getByRole('radio', { name: /take Yours/ }).check();
  await press(dialog, 'Go on with this');
  await press(dialog, 'Save');
  await dialog.waitFor({ state: 'hidden' });
  expect((await gateway.must('GET', APP)).default_policy).toMatchObject(policyOf('mine.test'));
  expectNoProblems();
});

describe('a webhook', () => {
  let id: string;
  beforeEach(async () => {
    const { gateway } = console;
    for (const { id: old } of await gateway.must('GET', '/webhooks'))
      await gateway.must('DELETE', `/webhooks/${old}`);
    const hook = { name: 'pager', url: 'https://hooks.test/', events: ['key.*'], is_active: false };
    id = ((await gateway.must('POST', '/webhooks', hook)) as { readonly id: string }).id;
  });
  const formIn = (page: Page): Locator => page.getByRole('region', { name: /^Edit the webhook/ });

  const nameIn = (page: Page): Locator => formIn(page).getByRole('textbox', { name: 'Name' });

  it('is edited by two people: both versions, a choice for each field, and nothing that was typed is lost', async () => {
    const address = `/webhooks?open=${id}&tab=edit`;
    const first = await console.open(address, 'admin');
    const second = await console.open(address, 'admin');
    const { page } = second;
    await nameIn(page).fill('mine');
    await formIn(page).getByLabel('Address').fill('https://mine.test/');
    await nameIn(first.page).fill('theirs');
    await formIn(first.page).getByLabel('Circuit breakers').check();
    await press(formIn(first.page), 'Save');
    await formIn(first.page).waitFor({ state: 'detached' });

    await press(formIn(page), 'Save');
    const sides = page.getByRole('region', { name: 'Meanwhile this was changed by another write' });
    await sides.getByRole('row', { name: /^name/ }).getByText('theirs').waitFor();
    await sides.getByRole('row', { name: /^name/ }).getByText('mine').waitFor();
    await sides
      .getByRole('row', { name: /^events/ })
      .getByText('breaker.*')
      .waitFor();
    expect(await nameIn(page).inputValue()).toBe('mine');
    expect(await formIn(page).getByRole('button', { name: 'Save' }).isEnabled()).toBe(false);
    expect(await axe(page)).toEqual([]);
    await screenshot(page, 'two-people-webhook');
    expect(await sides.getByRole('button', { name: 'Go on with this' }).isEnabled()).toBe(false);
    await sides.getByRole('radio', { name: 'name: take Yours' }).check();
    await press(sides, 'Go on with this');
    expect(await formIn(page).getByLabel('Circuit breakers').isChecked()).toBe(true);
    await press(formIn(page), 'Save');
    await formIn(page).waitFor({ state: 'detached' });
    expect(await console.gateway.must('GET', `/webhooks/${id}`)).toMatchObject({
      name: 'mine',
      url: 'https://mine.test/',
      events: ['key.*', 'breaker.*'],
    });
    expect(second.refused).toEqual([`412 PATCH /api/v1/webhooks/${id}`]);
    first.expectNoProblems();
    second.expectNoProblems();
  });

  it('that is deleted while it is edited takes nothing away that was typed', async () => {
    const { page, expectNoProblems } = await console.open(`/webhooks?open=${id}&tab=edit`, 'admin');
    await nameIn(page).fill('typed');
    await console.gateway.must('DELETE', `/webhooks/${id}`);
    await page.getByText('There is no such webhook').waitFor();
    await press(formIn(page), 'Save');
    await formIn(page).getByRole('alert').waitFor();
    expect(await nameIn(page).inputValue()).toBe('typed');
    expectNoProblems();
  });

  it('is asked about as it was when the question was opened', async () => {
    const { page, expectNoProblems } = await console.open(`/webhooks?open=${id}`, 'admin');
    const details = page.getByRole('region', { name: 'Webhook pager' });
    await press(details, 'Switch on');
    const dialog = page.getByRole('dialog', { name: 'Switch on pager?' });
    await dialog.waitFor();
    await console.gateway.must('PATCH', `/webhooks/${id}`, { is_active: true });
    // The page below the question has been read again.
    await page.locator('main').getByText('Switch off', { exact: true }).waitFor();
    await press(dialog, 'Switch on');
    await dialog.waitFor({ state: 'hidden' });
    expect(await console.gateway.must('GET', `/webhooks/${id}`)).toMatchObject({ is_active: true });
    expectNoProblems();
  });

  it('asks before a form with something typed is left for another view', async () => {
    const { page, expectNoProblems } = await console.open('/webhooks', 'admin');
    await press(page, 'Details of pager');
    await press(page, 'Edit');
    expect(page.url()).toContain(`open=${id}&tab=edit`);
    await nameIn(page).fill('typed');
    const asked: string[] = [];
    page.on('dialog', (question) => {
      asked.push(question.message());
      void question.dismiss();
    });
    await press(page, 'Details of pager');
    await page.getByRole('link', { name: 'Overview' }).click();
    expect(await nameIn(page).inputValue()).toBe('typed');
    expect(asked).toEqual(Array(2).fill('What you typed on this page is not saved. Leave it?'));
    await press(formIn(page), 'Cancel');
    await formIn(page).waitFor({ state: 'detached' });
    expect(asked).toHaveLength(2);
    expectNoProblems();
  });
});
