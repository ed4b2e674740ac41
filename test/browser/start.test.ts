/** The first app of a person who has read nothing: four fields, a key, a limit, and the request that shows it. */
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { freePort } from '../support/backends/origin-process.ts';
import { awakeMs } from '../support/measure/steady.ts';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';
import { roomInWindow } from '../support/policies.ts';

let console: TestConsole;
let origin: Origin;
beforeAll(async () => {
  [console, origin] = await Promise.all([
    startConsole(),
    startOrigin((_request, response) => response.end('Hello from the backend\n')),
  ]);
});
afterAll(async () => {
  await console.close();
  await origin.close();
});

it('goes from the first page to a route with key and limit in under a minute', async () => {
  const { page, refused, expectNoProblems } = await console.open('/start', 'editor');
  let startMs = awakeMs();
  await page.getByLabel('Name', { exact: true }).fill('Orders & Co');
  await page.getByLabel('Backend URL').fill(`http://127.0.0.1:${origin.port}`);
  await page.getByLabel(/^Requests per minute/).fill('3');
  await page.getByText('Clients will call /orders-co/v1/').waitFor();
  const filledMs = awakeMs();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'start-form');
  // No reader waits for that.
  startMs += awakeMs() - filledMs;
  await page.getByLabel(/^Requests per minute/).press('Enter');

  const preview = page.getByRole('dialog', { name: 'Create Orders & Co' });
  await preview.waitFor();
  // Pressed twice, it neither closes nor confirms what it has opened.
  await page.keyboard.press('Enter');
  await preview.getByText('1 new route and 1 new API key.').waitFor();
  await preview.getByText('enabled: true, requests: 3, window_seconds: 60, per: api_key').waitFor();

  await preview.getByRole('button', { name: 'Create the app' }).click();
  await page.getByRole('heading', { level: 1, name: 'Orders & Co takes requests' }).waitFor();
  const key = await page.getByText(/^hgk_/).innerText();
  await page.getByRole('button', { name: 'Send without a key' }).click();
  await page.getByText('That is what should happen: this API asks for a key.').waitFor();
  await page.getByRole('button', { name: 'Send with the key' }).click();
  await page.getByText('It works: the backend has answered through the gateway.').waitFor();
  await page.getByText('Hello from the backend').waitFor();
  expect(awakeMs() - startMs).toBeLessThan(60_000);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'start-made');

  // It is so for clients too, as the page says with curl.
  const curl = await page
    .getByText(/^curl -i/)
    .first()
    .innerText();
  const url = /'(http[^']+)'/.exec(curl)?.[1] ?? '';
  expect(url).toBe(`${console.gateway.proxy}/orders-co/v1/`);
  const authorization = `Bearer ${key}`;
  const statuses: number[] = [];
  // All of them, and the next one from the page, in the same minute of the clock.
  await roomInWindow(60_000, 15_000);
  for (let call = 0; call < 4; call++) {
    statuses.push((await fetch(url, { headers: { authorization } })).status);
  }
  expect(statuses).toContain(200);
  expect(statuses).toContain(429);
  expect((await fetch(url)).status).toBe(401);

  await page.getByRole('button', { name: 'Send with the key' }).click();
  await page.getByText('The gateway refused it').waitFor();
  await page.getByText('3 requests per minute, for each key').waitFor();

  // Why it was refused, and back: the value of the key is still there.
  await page.getByRole('link', { name: 'Why, step by step' }).first().click();
  await page.getByText('Denied: rate_limited (429)').waitFor();
  await page.getByText('Decided by: Rate limit').waitFor();
  await page.goBack();
  await page.getByText(key, { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Ask why a request is refused' }).click();
  await page.getByText('Denied: credentials_missing (401)').waitFor();
  await page.goBack();

  // The value of the key is gone with the page; what was made is not.
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Orders & Co takes requests' }).waitFor();
  expect(await page.content()).not.toContain(key);
  await page.getByRole('link', { name: 'Open the app' }).click();
  await page.waitForURL('**/apps/orders-co');
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('leads on to a second backend, to a canary, to hosts and to HTTPS', async () => {
  const { gateway } = console;
  await gateway.must('POST', '/apps', { name: 'Two', slug: 'two', gateway_path: '/two' });
  await gateway.must('POST', '/apps/two/versions', { version: 'v1' });
  const place = { host: '127.0.0.1', port: origin.port };
  const backend = { backend_scheme: 'http', backend_host: place.host, backend_port: place.port };
  await gateway.must('POST', '/apps/two/versions/v1/revisions', {
    revision: 'r1',
    ...backend,
    is_current: true,
  });
  const other = await startOrigin((_request, response) => response.end('The other one\n'));
  onTestFinished(() => other.close());

  const { page, refused, expectNoProblems } = await console.open('/start?app=two', 'editor');
  await page.getByRole('link', { name: 'Add a second backend' }).click();
  const revision = page.getByRole('form', { name: 'Save r1' });
  await revision
    .getByLabel('Targets', { exact: true })
    .fill(`127.0.0.1:${origin.port}\n127.0.0.1:${other.port}`);
  const save = async (form: Locator): Promise<void> => {
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  };
  await save(revision);
  const answers = new Set<string>();
  for (let sent = 0; sent < 20; sent++) answers.add(await (await fetch(`${gateway.proxy}/two/v1/`)).text());
  expect(answers).toEqual(new Set(['Hello from the backend\n', 'The other one\n']));

  await page.goto('/start?app=two');
  await page.getByRole('link', { name: 'Roll out a new release' }).click();
  await page.getByRole('button', { name: 'Create revision' }).waitFor();

  await page.goto('/start?app=two');
  await page.getByRole('link', { name: 'Serve it at a host of its own' }).click();
  const app = page.getByRole('form', { name: 'Save Two' });
  await app.getByLabel('Hosts').fill('two.example.com');
  await save(app);
  expect((await fetch(`${gateway.proxy}/two/v1/`)).status).toBe(404);

  await page.goto('/start?app=two');
  await page.getByRole('link', { name: 'Find the settings of HTTPS' }).click();
  for (const name of ['GATEWAY_PROXY__TLS__CERT_FILE', 'GATEWAY_PROXY__HTTPS_REDIRECT_PORT'])
    await page.getByText(name, { exact: true }).first().waitFor();
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('says at the field what is wrong, before and after asking the gateway, and keeps what was typed', async () => {
  await console.gateway.must('POST', '/apps', { name: 'Taken', slug: 'taken', gateway_path: '/taken' });
  const { page, expectNoProblems } = await console.open('/start', 'editor');
  const name = page.getByLabel('Name', { exact: true });
  const backend = page.getByLabel('Backend URL');
  await backend.fill('ftp://files.example.com');
  await page.getByRole('button', { name: 'Create the app' }).click();
  await page.getByText('Give the app a name').waitFor();
  await page.getByText('The scheme is "ftp". The gateway calls backends by http:// or https://').waitFor();
  expect(await name.getAttribute('aria-invalid')).toBe('true');
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'start-problems');

  await name.fill('Taken');
  await backend.fill('localhost:3000');
  await page.getByRole('button', { name: 'Create the app' }).click();
  await page
    .getByText(/already taken by the app/)
    .first()
    .waitFor();
  expect(await page.getByLabel('Short name').getAttribute('aria-invalid')).toBe('true');
  expect(await backend.inputValue()).toBe('localhost:3000');
  expect(await axe(page)).toEqual([]);
  expectNoProblems();
});

it('says that a backend is down, and what to do', async () => {
  const free = await freePort();
  const { page, expectNoProblems } = await console.open('/start', 'editor');
  await page.getByLabel('Name', { exact: true }).fill('Away');
  await page.getByLabel('Backend URL').fill(`http://127.0.0.1:${free}`);
  await page.getByLabel('Who may call it').selectOption('none');
  await page.getByRole('button', { name: 'Create the app' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Create the app' }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('The gateway got no answer from the backend').waitFor();
  await page.getByText(`cannot connect (ECONNREFUSED)`).waitFor();
  await page.getByText(/If it does not run, start it/).waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'start-backend-down');
  expectNoProblems();
});

it('offers nothing to a viewer', async () => {
  const { page, refused, expectNoProblems } = await console.open('/start', 'viewer');
  await page.getByText(/Ask for one with the role editor/).waitFor();
  expect(await page.getByRole('textbox').count()).toBe(0);
  expect(await axe(page)).toEqual([]);
  expect(refused).toEqual([]);
  expectNoProblems();
});
