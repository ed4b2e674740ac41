/**
 * A browser loads a page through the gateway: style sheet, script, image, font and fifty small files over its
 * handful of connections, again with validators, and with an event stream and an upload beside them.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fontFile, sharedBrowser } from '../../support/clients/browser.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { SMALL_FILES, startWebsite, type Website } from '../../support/backends/website.ts';

const ASSETS = ['/', '/style.css', '/script.js', '/image.png', '/font.ttf'];
const files = Array.from({ length: SMALL_FILES }, (_, index) => `/files/${index}.json`);
const EVERYTHING = [...ASSETS, ...files].sort();
const UPLOAD_BYTES = 8 * 1024 * 1024;

let browser: Browser;
let website: Website;
let gateway: TestGateway;
let page: Page;
let problems: string[];
let site: string;

beforeAll(async () => {
  browser = await sharedBrowser();
  website = await startWebsite(fontFile());
  gateway = await startGateway();
  await gateway.must('POST', '/apps', { name: 'Site', slug: 'site', gateway_path: '/site' });
  await gateway.must('POST', '/apps/site/versions', { version: 'v1' });
  await gateway.must('POST', '/apps/site/versions/v1/revisions', {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: website.port,
    is_current: true,
  });
  site = `${gateway.proxy}/site/v1/`;
}, 180_000);

afterAll(async () => {
  await gateway?.stop();
  await website?.close();
});

beforeEach(async () => {
  page = await browser.newPage();
  problems = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('requestfailed', (request) => problems.push(`${request.url()} ${request.failure()?.errorText}`));
});

afterEach(async () => {
  await page.close();
});

/** Paths that the website has answered with a status since `from`, sorted. */
const answeredWith = (status: number, from = 0): string[] =>
  website.answered
    .slice(from)
    .filter((line) => line.endsWith(` ${status}`))
    .map((line) => line.split(' ')[1] ?? '')
    .sort();

describe('a browser', { timeout: 60_000 }, () => {
  it('loads a page with its assets and fifty small files, and again with validators', async () => {
    await page.goto(site);
    await expectWholePage();
    expect(answeredWith(200)).toEqual(EVERYTHING);

    const from = website.answered.length;
    await page.reload();
    await expectWholePage();
    const revalidated = answeredWith(304, from);
    expect(revalidated).toEqual(expect.arrayContaining(files));
    expect(problems).toEqual([]);
  });

  it('gets server-sent events one by one while the stream is open', async () => {
    await page.goto(`${site}empty`);
    const events = await page.evaluate(`new Promise((done, fail) => {
      const received = [];
      const source = new EventSource('events');
      source.onerror = () => fail(new Error('the stream broke after ' + received));
      source.onmessage = ({ data }) => {
        received.push(data);
        if (received.length === 1) return void fetch('events/next', { method: 'POST' });
        source.close();
        done(received);
      };
    })`);
    expect(events).toEqual(['first', 'second']);
    expect(problems).toEqual([]);
  });

  it('uploads 8 MiB', async () => {
    await page.goto(`${site}empty`);
    const answer = await page.evaluate(
      `fetch('echo', { method: 'POST', body: new Blob([new Uint8Array(${UPLOAD_BYTES})]) }).then((r) => r.json())`,
    );
    expect(answer).toMatchObject({ method: 'POST', bytes: UPLOAD_BYTES });
    expect(problems).toEqual([]);
  });

  it('shows the gateway’s problem document for a path that nothing is configured for', async () => {
    const response = await page.goto(`${gateway.proxy}/nothing/here`);
    expect(response?.status()).toBe(404);
    expect(await response?.json()).toMatchObject({ code: 'no_route', status: 404, data: null });
  });
});

async function expectWholePage(): Promise<void> {
  const indexes = files.map((_, index) => index).join(' ');
  const listed = page.locator('#files', { hasText: indexes });
  await listed.waitFor();
  expect(await page.title()).toBe('Through the gateway');
  expect(await page.evaluate(`document.querySelector('#image').naturalWidth`)).toBe(48);
  expect(await page.evaluate(`getComputedStyle(document.querySelector('h1')).color`)).toBe('rgb(1, 2, 3)');
  expect(
    await page.evaluate(`document.fonts.ready.then((set) => [...set].map((font) => font.status))`),
  ).toEqual(['loaded']);
}
