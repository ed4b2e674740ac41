import type { Locator, Request } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startWebhookReceiver, type WebhookReceiver } from '../support/backends/webhook-receiver.ts';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';

let console: TestConsole;
let receiver: WebhookReceiver;
let status = 204;
const url = (): string => `http://127.0.0.1:${receiver.port}/`;

beforeAll(async () => {
  [console, receiver] = await Promise.all([
    startConsole({ env: { GATEWAY_WEBHOOKS__MAX_TRIES: '1' } }),
    startWebhookReceiver(() => status),
  ]);
});
afterAll(async () => {
  await console.close();
  await receiver.close();
});

async function expectCommand(scope: Locator, command: RegExp): Promise<void> {
  await scope.getByText(/^The same (change )?as curl/).click();
  await scope.getByRole('group', { name: 'Command line' }).getByText(command).waitFor();
}

it('shows times in the zone of the reader, and UTC under the pointer', async () => {
  const { gateway } = console;
  const { id } = await gateway.must('POST', '/apps', {
    name: 'Zones',
    slug: 'zones',
    gateway_path: '/zones',
  });
  const { created_at: at } = await gateway.must('GET', `/apps/${id}`);
  // Half an hour and a quarter from UTC, where no other zone is.
  const timeZone = 'Asia/Kathmandu';
  const { page, expectNoProblems } = await console.open('/events?app=zones', 'viewer', { timeZone });
  const time = page.getByRole('row', { name: /App zones/ }).locator('time');
  const utc = (await time.getAttribute('datetime')) ?? '';
  expect(Math.abs(Date.parse(utc) - Date.parse(at))).toBeLessThan(10_000);
  expect(await time.getAttribute('title')).toBe(`${utc} (UTC)`);
  const [, hour = '', minute = '', second = '', half = ''] =
    /(\d+):(\d\d):(\d\d)\s([AP]M)$/.exec(await time.innerText()) ?? [];
  const shown =
    ((Number(hour) % 12) + (half === 'PM' ? 12 : 0)) * 3_600 + Number(minute) * 60 + Number(second);
  const there = Math.floor(Date.parse(utc) / 1_000) + 5 * 3_600 + 45 * 60;
  expect(shown).toBe(there % 86_400);
  expectNoProblems();
});

it('shows events as they happen, by what they are about, each with the way there', async () => {
  const { gateway } = console;
  const { page, refused, expectNoProblems } = await console.open('/events', 'viewer');
  await page.getByText('Live', { exact: true }).waitFor();
  await gateway.must('POST', '/apps', { name: 'Shop', slug: 'shop', gateway_path: '/shop' });
  const row = page.getByRole('row', { name: /App shop .*Created the app/ });
  await row.waitFor();
  // A second one comes without a look at the list.
  await gateway.must('POST', '/apps', { name: 'Store', slug: 'store', gateway_path: '/store' });
  await page.getByRole('row', { name: /App store/ }).waitFor();
  await page.getByRole('combobox', { name: 'App' }).fill('store');
  await row.waitFor({ state: 'detached' });
  expect(page.url()).toContain('app=store');
  await page.getByLabel('About').selectOption('Circuit breakers');
  await page.getByText('No event matches the filters.').waitFor();
  await page.goto('/events?app=shop');
  await screenshot(page, 'events');
  await page.getByRole('link', { name: 'shop' }).click();
  await page.waitForURL(/\/history\/\d+$/);
  expect(await axe(page)).toEqual([]);
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('opens one stream anew when the session is renewed while it looks for the reason of a refusal', async () => {
  const { gateway } = console;
  const { page, expectNoProblems } = await console.open('/events', 'viewer');
  await page.getByText('Live', { exact: true }).waitFor();
  const isSource = (request: Request): boolean => request.resourceType() === 'eventsource';
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let streams = 0;
  await page.route('**/api/v1/events*', async (route) => {
    const request = route.request();
    if (isSource(request)) {
      streams += 1;
      return streams === 1 ? route.fulfill({ status: 401 }) : route.continue();
    }
    if (request.headers()['accept'] === 'text/event-stream') {
      asked.resolve();
      await answered.promise;
    }
    return route.continue();
  });
  await page.reload();
  await asked.promise;
  for (const { id } of await gateway.must('GET', '/sessions'))
    await gateway.must('DELETE', `/sessions/${id}`);
  const signIn = page.getByRole('dialog', { name: 'Sign in to Headgate' });
  await signIn.waitFor();
  await page.context().request.post('/api/v1/session', { data: { token: await console.token('viewer') } });
  await page.evaluate("window.dispatchEvent(new Event('focus'))");
  await signIn.waitFor({ state: 'hidden' });
  await page.getByText('Live', { exact: true }).waitFor();
  answered.resolve();
  // Longer than it waits before it tries again.
  await expect(page.waitForRequest(isSource, { timeout: 5_000 })).rejects.toThrow('Timeout');
  expect(streams).toBe(2);
  expectNoProblems();
});

it('makes a webhook, tests it, sends again what did not arrive, and deletes it', async () => {
  const { gateway } = console;
  const { page, refused, expectNoProblems } = await console.open('/webhooks', 'admin');
  await page.getByRole('button', { name: 'Create webhook' }).click();
  const form = page.getByRole('region', { name: 'Create webhook' });
  await form.getByLabel('Name').fill('on call');
  await form.getByLabel('Address').fill(url());
  await form.getByLabel('Configuration').check();
  await expectCommand(
    form,
    /^headgate webhooks create 'on call' url=.* 'events=\["config\.\*"\]' 'app_ids=\[\]'$/,
  );
  await screenshot(page, 'webhook-form');
  await form.getByRole('button', { name: 'Create' }).click();
  const shown = page.getByRole('dialog', { name: 'The value of on call' });
  expect(await shown.getByLabel('Value').inputValue()).toMatch(/^whsec_/);
  await shown.getByRole('button', { name: 'I have stored it' }).click();

  const details = page.getByRole('region', { name: 'Webhook on call' });
  await details.getByRole('button', { name: 'Send a test' }).click();
  await details.getByText(/^The test arrived: 204 in \d+ ms$/).waitFor();
  status = 500;
  await gateway.must('PATCH', '/apps/shop', { description: 'changed' });
  const letters = page.getByRole('region', { name: 'Not delivered' });
  await letters.getByRole('row', { name: /shop/ }).waitFor();
  await details.getByText('failing').waitFor();
  await screenshot(page, 'webhook');
  expect(await axe(page)).toEqual([]);
  const overview = await console.open('/', 'admin');
  const problems = overview.page.getByRole('region', { name: 'What is wrong' });
  await problems.getByRole('link', { name: 'See the webhooks' }).first().click();
  await overview.page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  overview.expectNoProblems();
  // One of two is forgotten, the other one is sent again.
  await gateway.must('PATCH', '/apps/store', { description: 'changed' });
  await letters
    .getByRole('row', { name: /store/ })
    .getByRole('button', { name: /^Send again:/ })
    .click();
  const again = page.getByRole('dialog', { name: 'Send it to on call again?' });
  await again.getByText('Changed the app (store)').waitFor();
  await expectCommand(again, /^headgate webhooks resend-event [\da-f-]{36} [\da-f-]{36}$/);
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'dead-letter-resend');
  await page.keyboard.press('Escape');
  await letters
    .getByRole('row', { name: /store/ })
    .getByRole('button', { name: /^Forget:/ })
    .click();
  const forget = page.getByRole('dialog', { name: 'Forget that on call did not get it?' });
  await expectCommand(forget, /^headgate webhooks forget-event [\da-f-]{36} [\da-f-]{36}$/);
  await forget.getByRole('button', { name: 'Forget' }).click();
  await letters.getByRole('row', { name: /store/ }).waitFor({ state: 'detached' });
  status = 204;
  await letters.getByRole('button', { name: 'Send all again' }).click();
  const all = page.getByRole('dialog', { name: 'Send on call again what it did not get?' });
  await expectCommand(all, /^headgate webhooks resend [\da-f-]{36}$/);
  await all.getByRole('button', { name: 'Send all again' }).click();
  await page.getByText('1 event is sent again').waitFor();
  await page.getByText('Every event has arrived or waits.').waitFor();

  await details.getByRole('button', { name: 'Edit' }).click();
  const edit = page.getByRole('region', { name: 'Edit the webhook on call' });
  expect(await edit.getByLabel('Configuration').isChecked()).toBe(true);
  await edit.getByLabel('Address').fill('ftp://127.0.0.1/');
  await edit.getByRole('button', { name: 'Save' }).click();
  await edit.getByText('must be an absolute URL with https:// or http://').waitFor();
  await edit.getByLabel('Address').fill(`${url()}other`);
  await edit.getByLabel('API keys').check();
  await edit.getByLabel('Only of these apps').fill('shop');
  await expectCommand(
    edit,
    /^headgate webhooks edit [\da-f-]{36} url=\S+other 'events=\[.*\]' 'app_ids=\["shop"\]'$/,
  );
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'webhook-edit');
  await edit.getByRole('button', { name: 'Save' }).click();
  await edit.waitFor({ state: 'detached' });
  const { id } = (await gateway.must('GET', '/apps/shop')) as { readonly id: string };
  expect(await gateway.must('GET', '/webhooks')).toMatchObject([
    { url: `${url()}other`, events: ['config.*', 'key.*'], app_ids: [id] },
  ]);
  await details.getByText(`${url()}other`).waitFor();

  await details.getByRole('button', { name: 'Switch off' }).click();
  const off = page.getByRole('dialog', { name: 'Switch off on call?' });
  await expectCommand(off, /^headgate webhooks pause [\da-f-]{36}$/);
  expect(await axe(page)).toEqual([]);
  await off.getByRole('button', { name: 'Switch off' }).click();
  await details.getByText('switched off', { exact: true }).waitFor();
  await details.getByRole('button', { name: 'Switch on' }).click();
  const on = page.getByRole('dialog', { name: 'Switch on on call?' });
  await expectCommand(on, /^headgate webhooks resume [\da-f-]{36}$/);
  await on.getByRole('button', { name: 'Switch on' }).click();
  await details.getByText('working', { exact: true }).waitFor();
  await details.getByRole('button', { name: 'New secret' }).click();
  const rotation = page.getByRole('dialog', { name: 'Give on call a new secret?' });
  await expectCommand(rotation, /^headgate webhooks rotate [\da-f-]{36}$/);
  await rotation.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await details.getByRole('button', { name: 'Delete' }).click();
  const deletion = page.getByRole('dialog', { name: 'Delete the webhook on call?' });
  await expectCommand(deletion, /^headgate webhooks delete [\da-f-]{36}$/);
  await deletion.getByLabel('Type on call to confirm').fill('on call');
  await deletion.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No webhook yet').waitFor();
  expect(refused.map((line) => line.replace(/\/[^/]+$/, ''))).toEqual(['422 PATCH /api/v1/webhooks']);
  expectNoProblems();
});

it('does not overwrite what another person has changed of a webhook meanwhile', async () => {
  const { gateway } = console;
  const { id } = (await gateway.must('POST', '/webhooks', { name: 'pager', url: url() })) as {
    readonly id: string;
  };
  const { page, refused, expectNoProblems } = await console.open('/webhooks', 'admin');
  await page.getByRole('button', { name: 'Details of pager' }).click();
  await page.getByRole('region', { name: 'Webhook pager' }).getByRole('button', { name: 'Edit' }).click();
  const edit = page.getByRole('region', { name: 'Edit the webhook pager' });
  await edit.getByLabel('Name').fill('pager two');
  await gateway.must('PATCH', `/webhooks/${id}`, { events: ['breaker.*'] });
  await edit.getByRole('button', { name: 'Save' }).click();
  await edit.getByRole('alert').waitFor();
  expect(await gateway.must('GET', `/webhooks/${id}`)).toMatchObject({
    name: 'pager',
    events: ['breaker.*'],
  });
  expect(refused).toEqual([`412 PATCH /api/v1/webhooks/${id}`]);
  await gateway.api('DELETE', `/webhooks/${id}`);
  expectNoProblems();
});

it('shows hostile names of webhooks and of what they did not get as the texts that they are', async () => {
  const { gateway } = console;
  const hostile = `<img src=x onerror="window.attacked=1">'$(id)`;
  status = 500;
  onTestFinished(() => void (status = 204));
  const { id } = (await gateway.must('POST', '/webhooks', { name: hostile, url: url() })) as {
    readonly id: string;
  };
  await gateway.must('POST', '/apps', { name: hostile, slug: 'hostile', gateway_path: '/hostile' });
  const { page, refused, expectNoProblems } = await console.open(`/webhooks?open=${id}`, 'admin');
  const letters = page.getByRole('region', { name: 'Not delivered' });
  const row = letters.getByRole('row', { name: /hostile/ }).first();
  const buttons = [
    [row, /^Send again:/],
    [row, /^Forget:/],
    [letters, 'Send all again'],
    [letters, 'Forget all'],
  ] as const;
  for (const [scope, name] of buttons) {
    await scope.getByRole('button', { name }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(hostile).first().waitFor();
    await expectCommand(dialog, /^headgate webhooks (resend|forget)/);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
  }
  expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
  await gateway.api('DELETE', `/webhooks/${id}`);
  expect(refused).toEqual([]);
  expectNoProblems();
});

it('leaves webhooks to admins', async () => {
  await console.gateway.must('POST', '/webhooks', { name: 'chat', url: url() });
  const { page, refused, expectNoProblems } = await console.open('/webhooks', 'editor');
  await page.getByRole('button', { name: 'Details of chat' }).click();
  await page.getByRole('region', { name: 'Webhook chat' }).waitFor();
  for (const name of ['Create webhook', 'Send a test', 'Edit', 'Delete'])
    expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
  expect(refused).toEqual([]);
  expectNoProblems();
});
