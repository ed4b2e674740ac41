import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_TOKEN } from '../support/gateway.ts';
import { axe, screenshot, startConsole, type TestConsole } from '../support/clients/console.ts';

let console: TestConsole;

beforeAll(async () => {
  console = await startConsole();
});
afterAll(() => console.close());

it('lets in with an admin token only, to the page that was asked for, and out again', async () => {
  const { page, refused, expectNoProblems } = await console.open('/history', 'visitor');
  const token = page.getByLabel('Admin token');
  await token.waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'sign-in');

  await token.fill('hga_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  expect(await token.inputValue()).toBe('hga_wrong');
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'sign-in-refused');

  await token.fill(ADMIN_TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'History' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/history');
  // What scripts of the page can reach is no way in.
  expect(
    await page.evaluate('document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })'),
  ).toBe('{}');

  await page.getByRole('button', { name: /Account/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await token.waitFor();
  await page.goto('/history');
  await token.waitFor();
  expect(await page.context().cookies()).toEqual([]);
  expect(new Set(refused)).toEqual(new Set(['401 POST /api/v1/session']));
  expectNoProblems();
});

it('asks again over the page when the session ends in the middle, and loses nothing that was typed', async () => {
  const { gateway } = console;
  await gateway.must('POST', '/apps', { name: 'Shop', slug: 'shop', gateway_path: '/shop' });
  const { page, refused, expectNoProblems } = await console.open('/keys?open=create', 'editor');
  const form = page.getByRole('region', { name: 'Create an API key' });
  await form.getByLabel('Name').fill('typed before');

  const sessions = (await gateway.must('GET', '/sessions')) as {
    readonly id: string;
    readonly actor: { readonly name: string };
  }[];
  const own = sessions.find((session) => session.actor.name === 'test editor');
  await gateway.must('DELETE', `/sessions/${own!.id}`);
  await form.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Sign in to Headgate' });
  await dialog.waitFor();
  expect(await axe(page)).toEqual([]);
  await screenshot(page, 'session-ended');
  await page.keyboard.press('Escape');

  await dialog.getByLabel('Admin token').fill(await console.token('editor'));
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.waitFor({ state: 'detached' });
  // The plan that was refused is there still, or was left: either way the form has what was typed.
  const plan = page.getByRole('dialog', { name: 'Create a key for shop' });
  await plan.getByText(/1 new API key/).waitFor();
  await plan.getByRole('button', { name: 'Cancel' }).click();
  expect(await form.getByLabel('Name').inputValue()).toBe('typed before');
  expect(refused.every((line) => line.startsWith('401 '))).toBe(true);
  expectNoProblems();
});

it.each(['admin', 'editor', 'viewer'] as const)('says who is signed in: %s', async (role) => {
  const { page, refused, expectNoProblems } = await console.open('/', role);
  await page.getByRole('button', { name: `Account: test ${role} ${role}` }).waitFor();
  expect(refused).toEqual([]);
  expectNoProblems();
});
