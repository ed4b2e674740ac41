import { afterAll, beforeAll, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';
import { createService } from '../support/traffic.ts';

let console: TestConsole;
let origin: Origin;

beforeAll(async () => {
  [console, origin] = await Promise.all([startConsole(), startOrigin()]);
  await createService(console.gateway, 'shop', origin.port);
});
afterAll(async () => {
  await console.close();
  await origin.close();
});

async function statusNow(): Promise<number> {
  const response = await fetch(`${console.gateway.proxy}/shop/v1/`);
  await response.arrayBuffer();
  return response.status;
}

/** Closes the route to clients without a key, as someone else does at the command line; returns the new version. */
async function closeRoute(): Promise<number> {
  const { gateway } = console;
  const patch = { default_policy: { auth: { auth_type: 'api_key' } }, description: 'x'.repeat(400) };
  const headers = {
    'content-type': 'application/merge-patch+json',
    'headgate-source': 'cli',
    'headgate-message': 'partners only',
  };
  expect((await gateway.api('PATCH', '/apps/shop', patch, headers)).status).toBe(200);
  expect(await statusNow()).toBe(401);
  const versions = (await gateway.must('GET', '/config/versions?limit=1')) as {
    readonly config_version: number;
  }[];
  return versions[0]!.config_version;
}

it('shows who changed what, compares two versions and goes back', async () => {
  expect(await statusNow()).toBe(200);
  const changed = await closeRoute();
  const { page, refused, expectNoProblems } = await console.open('/history', 'editor');
  const row = page.getByRole('row', { name: /partners only/ });
  await row.getByText('Changed the app shop').waitFor();
  expect(await row.textContent()).toContain('command line');
  await page.getByText(/the history begins with version 0/).waitFor();

  await page.getByRole('checkbox', { name: `Compare version ${changed}` }).check();
  await page.getByRole('checkbox', { name: 'Compare version 1' }).check();
  const difference = page.getByRole('region', { name: `From version 1 to ${changed}` });
  await difference.getByText('default_policy.auth.auth_type').waitFor();
  await difference.getByText('Long text (400 characters)').waitFor();
  await difference.getByText('As a difference of files').click();
  await difference.getByText(/\+\s+auth_type: api_key/).waitFor();
  expect(new URL(page.url()).search).toBe(`?compare=1-${changed}`);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'history-compare');

  await page.getByRole('link', { name: String(changed), exact: true }).click();
  await page.getByRole('heading', { level: 1, name: `Config version ${changed}` }).waitFor();
  await page.getByText('in force').waitFor();
  await page.getByText('default_policy.auth.auth_type').waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'history-version');

  await page.getByRole('link', { name: 'Older' }).click();
  await page.getByRole('button', { name: 'Roll back to this version' }).click();
  const dialog = page.getByRole('dialog', { name: `Roll back to version ${changed - 1}` });
  await dialog.getByText('default_policy.auth.auth_type').waitFor();
  // Of the two requests, the one without a key was refused; both were recorded.
  await dialog.getByRole('row', { name: /401 credentials_missing.*the backend.*anonymous/ }).waitFor();
  await dialog.getByText('The same change as curl, command or YAML').click();
  await dialog.getByText(`headgate config rollback ${changed - 1}`).waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'history-rollback');
  await dialog.getByLabel('Why (for the history)').fill('opened again');
  await dialog.getByRole('button', { name: 'Roll back' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await statusNow()).toBe(200);
  // There is nothing to go back to any more.
  await page.getByText(`the same is in force, as version ${changed + 1}`).waitFor();
  expect(await page.getByRole('button', { name: 'Roll back to this version' }).count()).toBe(0);

  await page.getByRole('link', { name: 'History' }).first().click();
  await page.getByRole('row', { name: /Rolled back the configuration.*opened again/ }).waitFor();
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('says before a rollback which keys stay as they are, and refuses what would delete them', async () => {
  const { gateway } = console;
  const before = (await gateway.must('GET', '/config/versions?limit=1')) as { config_version: number }[];
  const key = await gateway.must('POST', '/apps/shop/tokens', { name: 'rotated' });
  const then = before[0]!.config_version + 1;
  await gateway.must('POST', `/apps/shop/tokens/${key.id}/rotate`, { overlap_secs: 0 });
  const { page, refused, expectNoProblems } = await console.open(`/history/${then}?open=rollback`, 'editor');
  await page
    .getByRole('dialog')
    .getByRole('listitem')
    .filter({ hasText: 'shop / rotated' })
    .first()
    .waitFor();
  await page.getByText('was rotated and keeps its new value').waitFor();

  await page.goto('/history/0?open=rollback');
  const dialog = page.getByRole('dialog', { name: 'Roll back to version 0' });
  await dialog.getByRole('alert').waitFor();
  expect(await dialog.getByRole('button', { name: 'Roll back' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Also delete the keys that were made since').check();
  await dialog.getByText('deleted', { exact: true }).first().waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'history-rollback-keys');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await statusNow()).toBe(200);
  expect(refused.filter((line) => !line.startsWith('409 ') && !line.startsWith('410 '))).toEqual([]);
  expectNoProblems();
});

it('finds since when a request is answered differently', async () => {
  const changed = await closeRoute();
  const { page, refused, expectNoProblems } = await console.open('/history?tab=bisect', 'viewer');
  await page.getByLabel('Path or URL').fill('/shop/v1/');
  await page.getByRole('button', { name: 'Find the version' }).click();
  await page.getByRole('heading', { name: `Answered differently since version ${changed}` }).waitFor();
  await page.getByText('partners only').waitFor();
  await page.getByText('credentials_missing').waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'history-bisect');
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('shows a viewer versions and no way back', async () => {
  const { page, refused, expectNoProblems } = await console.open('/history/1?open=rollback', 'viewer');
  await page.getByRole('link', { name: 'Compare with now' }).waitFor();
  expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(refused).toEqual([]);
  expectNoProblems();
});
