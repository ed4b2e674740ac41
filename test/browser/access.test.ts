import { afterAll, beforeAll, expect, it } from 'vitest';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';

let console: TestConsole;

beforeAll(async () => {
  console = await startConsole();
});
afterAll(() => console.close());

/** The status that a caller with this admin token gets. */
async function statusOf(token: string): Promise<number> {
  const { gateway } = console;
  return (await gateway.api('GET', '/apps', undefined, { authorization: `Bearer ${token}` })).status;
}

it('makes an admin token, which works until it is deleted; the audit log has both', async () => {
  const { page, refused, expectNoProblems } = await console.open('/access', 'admin');
  await page.getByText('this browser').waitFor();
  await page.getByRole('button', { name: 'Create admin token' }).click();
  const form = page.getByRole('region', { name: 'Create admin token' });
  await form.getByLabel('Name').fill('pipeline');
  await form.getByLabel('Role').selectOption('editor');
  await form.getByLabel('Expires').selectOption('In 30 days');
  await form.getByText('The same as curl or command').click();
  await form.getByText(/^headgate admin-tokens create pipeline role=editor expires_at=\d{4}-/).waitFor();
  await form.getByRole('button', { name: 'Create' }).click();
  const shown = page.getByRole('dialog', { name: 'The value of pipeline' });
  const token = await shown.getByLabel('Value').inputValue();
  expect(await statusOf(token)).toBe(200);
  await shown.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('row', { name: /pipeline .* editor/ }).waitFor();
  expect(await page.content()).not.toContain(token);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'access');

  await page.getByRole('button', { name: 'Delete pipeline' }).click();
  const deletion = page.getByRole('dialog', { name: 'Delete the admin token pipeline?' });
  await deletion.getByText('The same as curl or command').click();
  await deletion.getByText(/^headgate admin-tokens delete [\da-f-]{36}$/).waitFor();
  await screenshot(page, 'access-delete');
  await deletion.getByLabel('Type pipeline to confirm').fill('pipeline');
  await deletion.getByRole('button', { name: 'Delete' }).click();
  // Behind the dialog the button cannot be found either.
  await page.getByText('Admin token pipeline deleted').waitFor();
  await page.getByRole('button', { name: 'Delete pipeline' }).waitFor({ state: 'detached' });
  expect(await statusOf(token)).toBe(401);

  await page.goto('/audit?name=pipeline');
  await page.getByRole('rowheader', { name: 'Deleted the admin token pipeline' }).waitFor();
  await page.getByRole('button', { name: 'Details: Created the admin token pipeline' }).click();
  await page.getByRole('dialog').getByText('"role": "editor"').waitFor();
  expect(await axe(page)).toEqual([]);
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('signs out another browser', async () => {
  const other = await console.open('/access', 'viewer');
  await other.page.getByText('this browser').waitFor();
  await other.page.getByText('Admin tokens are seen and made by admins.').waitFor();
  const { page, refused, expectNoProblems } = await console.open('/access', 'admin');
  await page.getByRole('button', { name: 'Sign out test viewer' }).click();
  const dialog = page.getByRole('dialog', { name: 'Sign out test viewer?' });
  await dialog.getByText('The same as curl or command').click();
  await dialog.getByText(/^headgate sessions revoke [\da-f-]{36}$/).waitFor();
  await dialog.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign out test viewer' }).waitFor({ state: 'detached' });
  await other.page.reload();
  await other.page.getByLabel('Admin token').waitFor();
  expect(refused).toEqual([]);
  expectNoProblems();
  other.expectNoProblems();
});

it('shows in the audit log what stood there before, and leads to the version', async () => {
  const { gateway } = console;
  await gateway.must('POST', '/apps', { name: 'Shop', slug: 'shop', gateway_path: '/shop' });
  const type = { 'content-type': 'application/merge-patch+json' };
  await gateway.api('PATCH', '/apps/shop', { name: 'Store' }, type);
  const { page, refused, expectNoProblems } = await console.open('/audit?type=app', 'admin');
  expect(await page.getByRole('rowheader', { name: 'Created the admin token pipeline' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Details: Changed the app shop' }).click();
  const details = page.getByRole('dialog', { name: 'Changed the app shop' });
  await details.getByText('app.update').waitFor();
  await details.getByText('Store').waitFor();
  await details.getByText('Shop', { exact: true }).waitFor();
  await screenshot(page, 'audit-details');
  await page.keyboard.press('Escape');
  await details.waitFor({ state: 'detached' });
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'audit');
  await page
    .getByRole('row', { name: /Changed the app shop/ })
    .getByRole('link')
    .click();
  await page.getByRole('heading', { level: 1, name: /^Config version / }).waitFor();
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('says where the history is to a person who may not read the audit log', async () => {
  const { page, refused, expectNoProblems } = await console.open('/audit', 'editor');
  await page.getByRole('link', { name: 'Open the history' }).waitFor();
  expect(refused).toEqual([]);
  expectNoProblems();
});
