import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { createService } from '../support/traffic.ts';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';

let console: TestConsole;
let origin: Origin;

beforeAll(async () => {
  [console, origin] = await Promise.all([startConsole(), startOrigin()]);
  await createService(console.gateway, 'shop', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' }, required_scopes: ['items:read'] } },
  });
});
afterAll(async () => {
  await console.close();
  await origin.close();
});

/** The status that a client with this value gets. */
async function statusWith(value: string): Promise<number> {
  const response = await fetch(`${console.gateway.proxy}/shop/v1/`, {
    headers: { authorization: `Bearer ${value}` },
  });
  await response.arrayBuffer();
  return response.status;
}

/** Reads the value that is shown once, and says that it is stored. */
async function storedValue(page: Page, name: string): Promise<string> {
  const dialog = page.getByRole('dialog', { name: `The value of ${name}` });
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  const value = await dialog.getByLabel('Value').inputValue();
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  await dialog.waitFor({ state: 'detached' });
  return value;
}

it('makes a key, and rotates it so that both values work for a time', async () => {
  const { page, refused, expectNoProblems } = await console.open('/keys', 'editor');
  await page.getByRole('heading', { name: 'No key yet' }).waitFor();
  expect(await axe(page)).toEqual([]);

  // A refused field is shown at the field, and nothing typed is lost.
  await page.getByRole('button', { name: 'Create key' }).click();
  const form = page.getByRole('region', { name: 'Create an API key' });
  await form.getByLabel('Name').fill('mobile app');
  await form.getByLabel('Scopes').fill('items:read');
  await form.getByLabel('Rate limit').selectOption('own');
  await form.getByLabel('Requests', { exact: true }).fill('many');
  await form.getByRole('button', { name: 'Create key' }).click();
  await form.getByRole('alert').waitFor();
  expect(await form.getByLabel('Name').inputValue()).toBe('mobile app');
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'keys-refused');
  expect(refused).toEqual(['422 POST /api/v1/apps/shop/tokens']);

  await form.getByLabel('Requests', { exact: true }).fill('1000');
  await form.getByRole('button', { name: 'Create key' }).click();
  const plan = page.getByRole('dialog', { name: 'Create a key for shop' });
  await plan.getByText(/1 new API key/).waitFor();
  await plan.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('dialog', { name: 'The value of mobile app' }).waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'keys-value');
  const value = await storedValue(page, 'mobile app');
  expect(await statusWith(value)).toBe(200);

  await page.getByRole('link', { name: 'mobile app' }).click();
  await page.getByRole('heading', { level: 1, name: 'mobile app' }).waitFor();
  expect(await page.content()).not.toContain(value);
  await page.getByRole('img', { name: /^1 request in 30 days/ }).waitFor({ timeout: 30_000 });
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'keys-key');

  await page.getByRole('button', { name: 'Rotate' }).click();
  const rotation = page.getByRole('dialog', { name: 'Rotate mobile app' });
  await rotation.getByLabel('The old value works').selectOption('For another hour');
  await screenshot(page, 'keys-rotate');
  await rotation.getByRole('button', { name: 'Rotate' }).click();
  const fresh = await storedValue(page, 'mobile app');
  expect(fresh).not.toBe(value);
  expect([await statusWith(value), await statusWith(fresh)]).toEqual([200, 200]);
  await page.getByText('Value before the rotation works until').waitFor();

  expectNoProblems();
});

it('finds whose a value is, disables the key and deletes it', async () => {
  const made = { name: 'leaked', scopes: ['items:read'] };
  const key = await console.gateway.must('POST', '/apps/shop/tokens', made);
  const value = String(key.token);
  expect(await statusWith(value)).toBe(200);
  await console.gateway.must('POST', `/apps/shop/tokens/${key.id}/rotate`, { overlap_secs: 3600 });

  const { page, refused, expectNoProblems } = await console.open('/keys?open=whose', 'editor');
  await page.getByLabel('Value of the key').fill(value);
  await page.keyboard.press('Enter');
  await page.getByText('This is the value from before the last rotation.').waitFor();
  expect(page.url()).not.toContain(value);
  const stored = await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })');
  expect(stored).not.toContain(value);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'keys-whose');
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
  await page.getByText('The key is disabled.').waitFor();
  expect(await statusWith(value)).toBe(401);
  expect(console.gateway.output()).not.toContain(value);

  await page
    .getByRole('region', { name: 'Whose key is this?' })
    .getByRole('link', { name: 'leaked' })
    .click();
  await page.getByRole('button', { name: 'Delete' }).click();
  const deletion = page.getByRole('dialog', { name: 'Delete leaked' });
  const confirm = deletion.getByRole('button', { name: 'Delete' });
  await deletion.getByText(/1 API key changes/).waitFor();
  expect(await confirm.isDisabled()).toBe(true);
  await deletion.getByLabel('Type leaked to confirm').fill('leaked');
  await confirm.click();
  await page.getByRole('link', { name: 'mobile app' }).waitFor();
  // The list may be shown as it was known before it is read again.
  await page.getByRole('link', { name: 'leaked' }).waitFor({ state: 'detached' });
  await expect.poll(() => new URL(page.url()).pathname).toBe('/keys');
  // The page that was left does not ask for what is gone.
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('changes a key; of two writers the later one chooses', async () => {
  const { gateway } = console;
  const key = (await gateway.must('POST', '/apps/shop/tokens', { name: 'partner' })) as {
    readonly id: string;
  };
  const { page, refused, expectNoProblems } = await console.open(
    `/apps/shop/keys/${key.id}?open=edit`,
    'editor',
  );
  await page.getByLabel('Scopes').fill('items:read');
  await page.getByLabel('Name').fill('partner one');
  await gateway.must('PATCH', `/apps/shop/tokens/${key.id}`, { name: 'partner two' });
  await page.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('alert').getByText('Meanwhile this was changed by another write').waitFor();
  await dialog.getByRole('cell', { name: 'partner two' }).waitFor();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('partner one');
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'keys-conflict');
  await dialog.getByRole('radio', { name: 'name: take Yours' }).check();
  await dialog.getByRole('button', { name: 'Go on with this' }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'partner one' }).waitFor();
  expect(await gateway.must('GET', `/apps/shop/tokens/${key.id}`)).toMatchObject({
    name: 'partner one',
    scopes: ['items:read'],
  });
  expect(refused).toEqual([`412 PATCH /api/v1/apps/shop/tokens/${key.id}`]);
  expectNoProblems();
});

it('shows a viewer keys and their use, and no button', async () => {
  const { page, refused, expectNoProblems } = await console.open('/keys?app=shop&open=create', 'viewer');
  await page.getByRole('link', { name: 'partner one' }).click();
  await page.getByRole('heading', { level: 1, name: 'partner one' }).waitFor();
  await page.getByText('No request with this key in these days.').waitFor();
  const main = page.getByRole('main');
  expect(await main.getByRole('button').count()).toBe(0);
  await page.goto('/keys?open=whose');
  await page.getByRole('link', { name: 'partner one' }).waitFor();
  expect(await main.getByRole('button').count()).toBe(0);
  await screenshot(page, 'keys-list');
  expect(refused).toEqual([]);
  expectNoProblems();
});
