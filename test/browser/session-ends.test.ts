/** A session that ends in the middle of a form: the sign-in stands over the page, and what was typed stays. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { axe, startConsole, type TestConsole } from '../support/clients/console.ts';

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
  await console.gateway.must('POST', '/apps', { name: 'Shop', slug: 'shop', gateway_path: '/shop' });
});
afterAll(() => console.close());

async function endSessions(): Promise<void> {
  const sessions = (await console.gateway.must('GET', '/sessions')) as readonly { readonly id: string }[];
  for (const { id } of sessions) await console.gateway.must('DELETE', `/sessions/${id}`);
}

interface FormCase {
  readonly path: string;
  readonly typed: Readonly<Record<string, string>>;
  /** The button that sends it. */
  readonly button: string;
  /** What the page says once it was sent. */
  readonly done: RegExp;
}

it.each<FormCase>([
  {
    path: '/webhooks?open=create',
    typed: { Name: 'on call', Address: 'https://hooks.example.com/' },
    button: 'Create',
    done: /The value of on call/,
  },
  {
    path: '/access?open=create',
    typed: { Name: 'pipeline' },
    button: 'Create',
    done: /The value of pipeline/,
  },
  {
    path: '/explain',
    typed: { 'Share of the requests (percent)': '12.5' },
    button: 'Start sampling',
    done: /^Keeps 12.5 % of the requests of all apps/,
  },
  {
    path: '/nodes',
    typed: { Seconds: '1' },
    button: 'Make a CPU profile',
    done: /^Saved as headgate-.*\.cpuprofile$/,
  },
  {
    path: '/apps/shop?tab=edit',
    typed: { Hosts: 'shop.example.com', Description: 'All that is sold' },
    button: 'Save',
    done: /1 new route|changes no route/,
  },
])('$path', async ({ path, typed, button, done }) => {
  const { page, refused, expectNoProblems } = await console.open(path, 'admin');
  // Also below a dialog, where it has no role.
  const main = page.locator('main');
  for (const [label, text] of Object.entries(typed))
    await main.getByLabel(label, { exact: true }).first().fill(text);
  await endSessions();
  await main.getByRole('button', { name: button, exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Sign in to Headgate' });
  await dialog.waitFor();
  expect(await axe(page)).toEqual([]);
  await dialog.getByLabel('Admin token').fill(await console.token('admin'));
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  for (const [label, text] of Object.entries(typed))
    expect([label, await main.getByLabel(label, { exact: true }).first().inputValue()]).toEqual([
      label,
      text,
    ]);
  // A dialog that was open meanwhile asks again by itself.
  if ((await page.getByText(done).count()) === 0 && !(await page.getByRole('dialog').isVisible()))
    await main.getByRole('button', { name: button, exact: true }).click();
  await page.getByText(done).first().waitFor();
  expect(refused.filter((line) => !line.startsWith('401 '))).toEqual([]);
  expectNoProblems();
});
