/**
 * Opens the built site in a headless browser: home, a how-to and a reference page, in both colour schemes and on a
 * narrow screen, and a search. Keeps pictures in docs/site/screenshots. Serves the files on a free loopback port.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import type { Page } from 'playwright-core';
import { startBrowser } from '../../test/support/clients/browser.ts';

const PAGES = ['/', '/how-to/canary-and-rollback/', '/reference/settings/'];
const SCREENS = [
  { name: 'wide', viewport: { width: 1280, height: 900 } },
  { name: 'phone', viewport: { width: 390, height: 844 } },
] as const;
const SEARCHED = 'GATEWAY_PROXY__HALF_CLOSE';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

/** @returns problems, one a line */
export async function checkInBrowser(built: string): Promise<string[]> {
  const server = await serve(built);
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const started = await startBrowser();
  const { browser } = started;
  const problems: string[] = [];
  try {
    for (const colorScheme of ['light', 'dark'] as const)
      for (const { name, viewport } of SCREENS) {
        const page = await browser.newPage({ colorScheme, viewport });
        watch(page, origin, problems);
        for (const path of PAGES) {
          await page.goto(origin + path, { waitUntil: 'networkidle' });
          problems.push(
            ...(await problemsOf(page, colorScheme)).map(
              (what) => `${path} (${name}, ${colorScheme}): ${what}`,
            ),
          );
          const file = `${name}-${colorScheme}-${path.replaceAll('/', '-').replace(/^-|-$/g, '') || 'home'}.png`;
          await page.screenshot({ path: join(built, '../screenshots', file) });
        }
        await page.close();
      }
    const page = await browser.newPage();
    watch(page, origin, problems);
    problems.push(...(await search(page, origin)));
  } finally {
    await started.close();
    server.close();
  }
  return [...new Set(problems)];
}

function watch(page: Page, origin: string, problems: string[]): void {
  page.on('request', (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(`${origin}/`))
      problems.push(`${page.url()} requests ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.url()} is answered ${response.status()}`);
  });
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
}

async function problemsOf(page: Page, colorScheme: 'light' | 'dark'): Promise<string[]> {
  const { theme, overflow } = (await page.evaluate(
    `({ theme: document.documentElement.dataset.theme, overflow: document.documentElement.scrollWidth - innerWidth })`,
  )) as { readonly theme: string; readonly overflow: number };
  return [
    ...(theme === colorScheme ? [] : [`the colour scheme is ${theme}`]),
    ...(overflow > 0 ? [`the page is ${overflow} pixels wider than the screen`] : []),
  ];
}

async function search(page: Page, origin: string): Promise<string[]> {
  await page.goto(origin, { waitUntil: 'networkidle' });
  await page.click('site-search button');
  await page.fill('site-search input', SEARCHED);
  const found = page.locator('site-search a[href*="/reference/settings/"]').first();
  return found
    .waitFor({ timeout: 10_000 })
    .then(() => [])
    .catch(() => [`the search for ${SEARCHED} does not find /reference/settings/`]);
}

async function serve(folder: string): Promise<Server> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const path = normalize(pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    try {
      const body = readFileSync(join(folder, decodeURIComponent(path)));
      response
        .writeHead(200, { 'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream' })
        .end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return server;
}
