/**
 * Swagger UI in a browser, as an operator uses it: authorise with the admin token, create an app through
 * "Try it out", see it in the list. Off by default, and then a 404 like any other.
 */
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedBrowser } from '../../support/clients/browser.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';

/** When set, pictures of the page are written into this folder, for people to look at. */
const SCREENSHOT_FOLDER = process.env['HEADGATE_TEST_SCREENSHOTS'];
const NEW_APP = { name: 'From the browser', slug: 'from-the-browser', gateway_path: '/from-the-browser' };

/** As seen from another machine: a loopback address has privileges, and plain HTTP elsewhere has none. */
let base: string;
let gateway: TestGateway;
let page: Page;
const problems: string[] = [];
const foreign: string[] = [];

beforeAll(async () => {
  const browser = await sharedBrowser();
  gateway = await startGateway({ env: { GATEWAY_SERVER__SWAGGER_ENABLED: 'true' } });
  base = `http://gateway.test:${gateway.managementPort}`;
  page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(base)) {
      foreign.push(request.url());
    }
  });
}, 180_000);

afterAll(async () => {
  await page?.close();
  await gateway?.stop();
});

/** The block of one operation. */
const operation = (method: string, path: string): Locator =>
  page.locator(`.opblock-${method}`).filter({ has: page.locator(`[data-path="${path}"]`) });

/** Opens an operation, makes it editable, and gives its block. */
async function tryOut(method: string, path: string): Promise<Locator> {
  const block = operation(method, path);
  await block.locator('.opblock-summary-control').click();
  await block.getByRole('button', { name: 'Try it out' }).click();
  return block;
}

async function execute(block: Locator): Promise<{ readonly status: string; readonly body: string }> {
  await block.getByRole('button', { name: 'Execute' }).click();
  const live = block.locator('.live-responses-table .response');
  await live.waitFor();
  return {
    status: (await live.locator('.response-col_status').innerText()).trim(),
    body: await live.locator('.response-col_description .highlight-code code').first().innerText(),
  };
}

async function takePicture(name: string, block: Locator): Promise<void> {
  if (SCREENSHOT_FOLDER === undefined) return;
  await block.evaluate((element) => element.scrollIntoView());
  await page.screenshot({ path: join(SCREENSHOT_FOLDER, `swagger-ui-${name}.png`) });
}

// Each step works on what the one before has left.
describe('Swagger UI', { timeout: 60_000 }, () => {
  it('shows every operation of the OpenAPI document', async () => {
    await page.goto(`${base}/swagger-ui/`);
    await page.locator('.opblock').first().waitFor();
    const { body } = await gateway.api('GET', '/openapi.json');
    const documented = Object.entries(body.paths as Record<string, object>).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const shown = await page.locator('.opblock-summary').evaluateAll((blocks) =>
      blocks.map((block) => {
        const method = block.querySelector('.opblock-summary-method')?.textContent;
        return `${method} ${block.querySelector('[data-path]')?.getAttribute('data-path')}`;
      }),
    );
    expect(shown.sort()).toEqual(documented.sort());
  });

  it('is the page of this product: its title, and no mark of another project', async () => {
    expect(await page.title()).toBe('Headgate management API');
    expect(await page.locator('.topbar').isVisible()).toBe(false);
  });

  it('is refused before authorisation: the answer is shown as 401', async () => {
    const block = await tryOut('get', '/api/v1/apps');
    const { status, body } = await execute(block);
    expect(status).toContain('401');
    expect(JSON.parse(body)).toMatchObject({ code: 'unauthenticated' });
  });

  it('authorises with the admin token', async () => {
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    const dialog = page.locator('.dialog-ux');
    // The other way is the cookie of a browser's session.
    const token = dialog.locator('.auth-container').filter({ hasText: 'adminToken' });
    await token.locator('input').first().fill(ADMIN_TOKEN);
    await token.getByRole('button', { name: 'Apply credentials' }).click();
    await token.getByRole('button', { name: 'Remove authorization' }).waitFor();
    await token.locator('.btn-done').click();
    expect(await dialog.count()).toBe(0);
  });

  it('creates an app through "Try it out", and lists it', async () => {
    const creation = await tryOut('post', '/api/v1/apps');
    await creation.locator('textarea').fill(JSON.stringify(NEW_APP));
    const created = await execute(creation);
    expect(created.status).toContain('201');
    expect(JSON.parse(created.body)).toMatchObject({ status: 201, data: NEW_APP });

    const list = operation('get', '/api/v1/apps');
    await list.getByRole('button', { name: 'Execute' }).click();
    await list.locator('.live-responses-table').getByText(NEW_APP.slug).first().waitFor();
    const { data } = await gateway.api('GET', '/apps').then((answer) => answer.body);
    expect(data).toMatchObject([NEW_APP]);
    await takePicture('created', creation);
    await takePicture('listed', list);
  });

  it('keeps the token in the page alone', async () => {
    expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage])')).not.toContain(ADMIN_TOKEN);
    expect(await page.evaluate('document.cookie')).toBe('');
  });

  it('needs nothing from elsewhere and breaks no rule of its content security policy', () => {
    expect(foreign).toEqual([]);
    // The browser reports the refusal of the second step itself.
    expect(problems.filter((text) => !text.includes('401'))).toEqual([]);
  });

  it('is a 404 problem when it is not enabled', async () => {
    const plain = await startGateway();
    try {
      for (const path of ['//swagger-ui/', '//swagger-ui', '//swagger-ui/static/swagger-ui.css']) {
        const answer = await plain.api('GET', path);
        expect(answer.status).toBe(404);
        expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
        expect(answer.body).toMatchObject({ status: 404, data: null });
      }
    } finally {
      await plain.stop();
    }
  });
});
