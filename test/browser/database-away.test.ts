/** The console of a gateway whose database goes away and comes back: what is shown stays, what is typed is not lost. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTcpRelay, type TcpRelay } from '../support/backends/tcp-relay.ts';
import { axe, startConsole, type TestConsole } from '../support/clients/console.ts';
import { SECRET_KEY } from '../support/nodes.ts';
import { startPostgres, type PostgresServer } from '../support/programs/postgres.ts';

let server: PostgresServer;
let relay: TcpRelay;
let console: TestConsole;
beforeAll(async () => {
  server = await startPostgres('fsync=off');
  relay = await startTcpRelay(server.port);
  const url = await server.createDatabase();
  console = await startConsole({
    env: {
      GATEWAY_DATABASE_URL: url.replace(`:${server.port}/`, `:${relay.port}/`),
      GATEWAY_AUTO_MIGRATE: 'true',
      GATEWAY_SECRET_KEY: SECRET_KEY,
    },
  });
  await console.gateway.must('POST', '/apps', { name: 'Billing', slug: 'billing', gateway_path: '/billing' });
});
afterAll(async () => {
  await console.close();
  relay.close();
  await server.stop();
});

it('shows the configuration in force without it, keeps a refused change, and saves it once it is back', async () => {
  const { page } = await console.open('/apps/billing?tab=edit');
  const form = page.getByRole('form');
  const description = form.getByRole('textbox', { name: 'Description' });
  await description.fill('Invoices and reminders');

  relay.refuse();
  const banner = page.getByText('The database is away');
  await banner.waitFor();
  expect(await description.inputValue()).toBe('Invoices and reminders');
  await form.getByRole('button', { name: 'Save' }).click();
  await page
    .getByText(/database (is|cannot be|does not)/i)
    .nth(1)
    .waitFor();
  const dialog = page.getByRole('dialog');
  if (await dialog.isVisible()) await page.keyboard.press('Escape');
  expect(await description.inputValue()).toBe('Invoices and reminders');
  expect(await axe(page)).toEqual([]);

  // A page that was not open before, from what the gateway has in memory; a new session cannot be stored.
  const tab = await page.context().newPage();
  await tab.goto('/apps');
  await tab.getByRole('link', { name: 'Billing' }).first().waitFor();
  const history = await page.context().newPage();
  await history.goto('/history');
  await history.getByRole('alert').filter({ hasText: 'The database does not answer' }).waitFor();
  const visitor = await console.open('/apps', 'visitor');
  await visitor.page.getByLabel('Admin token').fill(await console.token('admin'));
  await visitor.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await visitor.page.getByRole('alert').filter({ hasText: 'The database does not answer' }).waitFor();

  relay.heal();
  await banner.waitFor({ state: 'hidden' });
  // Without a press on a button.
  await history.getByText('Created the app billing').waitFor();
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect
    .poll(async () => (await console.gateway.must('GET', '/apps/billing')).description)
    .toBe('Invoices and reminders');
});

it('tries a change again that met the database away, though no banner has said that it was', async () => {
  const { page } = await console.open('/apps/billing?tab=edit');
  const form = page.getByRole('form');
  await form.getByRole('textbox', { name: 'Description' }).fill('Invoices, reminders and refunds');
  // The banner asks every ten seconds.
  await page.waitForResponse((response) => new URL(response.url()).search === '?limit=1');
  relay.refuse();
  await form.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('alert').waitFor();
  const save = dialog.getByRole('button', { name: 'Save' });
  expect(await save.isDisabled()).toBe(true);
  relay.heal();
  expect(await page.getByText('The database is away').count()).toBe(0);
  await save.click();
  await dialog.waitFor({ state: 'hidden' });
  expect((await console.gateway.must('GET', '/apps/billing')).description).toBe(
    'Invoices, reminders and refunds',
  );
});
