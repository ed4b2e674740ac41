/**
 * Every address of the console's router, and what stands behind its tabs: it opens, says what it is, has nothing that
 * axe finds wrong in either colour scheme, does not scroll sideways on the narrowest and the widest screen, lays no
 * text over another there, cuts off no table that is a list of cards, and meets no error. A route that is added without
 * a visit here fails.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADDRESSES, type Address } from '../../console/src/app/addresses.ts';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { freePort } from '../support/backends/origin-process.ts';
import {
  axe,
  goWithin,
  screenshot,
  startConsole,
  type ConsolePage,
  type TestConsole,
} from '../support/clients/console.ts';
import { createEndpoint, createService, request, revisionPath } from '../support/traffic.ts';

const NARROW_PX = 360;
/** 4K, as it is without scaling. */
const WIDE_PX = 3_840;
/** As many as there are processors. */
const PAGES_AT_ONCE = 2;
/** Written by people, with no place to break at. */
const LONG_WORD = 'Verbraucherschutzbeauftragtenverwaltungsschnittstelle'.repeat(3);

let console: TestConsole;
let origin: Origin;
let made: {
  readonly endpoint: string;
  readonly key: string;
  readonly version: number;
  readonly webhook: string;
};

beforeAll(async () => {
  [console, origin] = await Promise.all([startConsole(), startOrigin()]);
  const { gateway } = console;
  const limit = { rate_limit: { enabled: true, requests: 3, window_seconds: 3_600 } };
  const key = { auth: { auth_type: 'api_key' }, shadow: ['auth'] };
  await createService(gateway, 'shop', origin.port, {
    app: {
      routing_mode: 'managed_endpoint',
      default_policy: key,
      labels: { team: 'orders' },
      description: LONG_WORD,
    },
  });
  const endpoint = await createEndpoint(gateway, 'shop', 'GET', '/items/{id}', { policy_override: limit });
  await gateway.must('POST', `${revisionPath('shop')}/endpoints`, { method: 'POST', path: '/items' });
  await createService(gateway, 'broken', await freePort(), { app: { name: LONG_WORD } });
  const token = await gateway.must('POST', '/apps/shop/tokens', {
    name: 'partner',
    scopes: ['items:read', 'x'.repeat(60)],
  });
  const nodes = (await gateway.must('GET', '/nodes')) as { readonly config_version: number };
  const hook = { name: LONG_WORD, url: `https://hooks.test/${LONG_WORD}`, is_active: false };
  const webhook = (await gateway.must('POST', '/webhooks', hook)) as { readonly id: string };
  made = {
    endpoint: endpoint.id,
    key: (token as { readonly id: string }).id,
    version: nodes.config_version,
    webhook: webhook.id,
  };
  for (let count = 0; count < 12; count++) {
    await request(gateway, `/shop/v1/items/${count}`);
    await request(gateway, '/broken/v1/x');
  }
});
afterAll(async () => {
  await console.close();
  await origin.close();
});

/** With the queries below. */
function visitsOf(address: Exclude<Address, '/live/$id'>): readonly string[] {
  const path = address
    .replace('$app', 'shop')
    .replace('$version', address.startsWith('/history') ? String(made.version) : 'v1')
    .replace('$revision', 'r1')
    .replace('$endpoint', made.endpoint)
    .replace('$key', made.key);
  return QUERIES[address].map((query) => path + query.replace('$webhook', made.webhook));
}

/** For each tab and panel that the page has. */
const QUERIES: Readonly<Record<Exclude<Address, '/live/$id'>, readonly string[]>> = {
  '/': ['', '?app=shop'],
  '/start': [''],
  '/apps': ['', '?q=items', '?create=app'],
  '/apps/$app': ['', '?tab=policy', '?tab=edit', '?create=version'],
  '/apps/$app/versions/$version': ['', '?tab=edit', '?create=revision'],
  '/apps/$app/versions/$version/revisions/$revision': [
    '?tab=endpoints',
    '?tab=policy',
    '?tab=edit',
    '?create=clone',
  ],
  '/apps/$app/versions/$version/revisions/$revision/endpoints/$endpoint': ['', '?tab=policy', '?tab=edit'],
  '/import': [''],
  '/edit': ['', '?app=shop'],
  '/keys': ['', '?open=create', '?open=whose'],
  '/apps/$app/keys/$key': ['', '?open=edit'],
  '/live': [''],
  '/explain': [''],
  '/shadow': ['', '?app=shop'],
  '/history': ['', '?tab=bisect'],
  '/history/$version': [''],
  '/audit': [''],
  '/events': [''],
  '/webhooks': ['', '?open=create', '?open=$webhook', '?open=$webhook&tab=edit', '?open=nothing'],
  '/health': [''],
  '/nodes': [''],
  '/access': ['', '?open=create'],
  // Each kind of setting is among them; all of them take axe most of a minute.
  '/settings': ['?q=admin'],
};

/** Each route is loaded from its address once; to its other tabs and panels one goes within the page. */
async function goTo(page: Page, address: string): Promise<void> {
  const isFirst = ADDRESSES.some((one) => one !== '/live/$id' && visitsOf(one)[0] === address);
  await (isFirst ? page.goto(address) : goWithin(page, address));
}

const isLoaded = async (page: Page): Promise<boolean> =>
  (await page.getByRole('heading', { level: 1 }).count()) === 1 &&
  (await page.getByText('Loading …').count()) === 0;

/**
 * Texts of the page that lie over each other by more than letters reach out of their lines: the boxes of the first
 * hundreds of texts, against each other. What the editor of YAML lays over its text is one text.
 */
const OVERLAPS = `{
  const boxes = [];
  // For screen readers alone.
  const isClipped = (element) => element !== null && (element.offsetWidth <= 1 || isClipped(element.parentElement));
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && boxes.length < 400) {
    const { parentElement: element, textContent } = walker.currentNode;
    if (textContent.trim() === '' || element.closest('svg, textarea, [contenteditable], .cm-editor')) continue;
    if (isClipped(element) || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    for (const box of range.getClientRects()) if (box.width > 2 && box.height > 2) boxes.push({ box, textContent });
  }
  boxes.flatMap(({ box: one, textContent: text }, index) => boxes.slice(index + 1)
    .filter(({ box: other, textContent }) => textContent !== text &&
      Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2 &&
      Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 6)
    .map(({ textContent }) => 'lies over another text: ' + text + ' | ' + textContent));
}`;

/** Tables that are lists of cards, as on narrow screens, and still do not fit. */
const CUT_OFF = `[...document.querySelectorAll('main table[data-cards]')]
  .filter((table) => getComputedStyle(table).display === 'block' && table.scrollWidth > table.parentElement.clientWidth)
  .map((table) => 'cuts off a table: ' + table.caption?.innerText + ', ' + table.scrollWidth + ' px')`;

/** What is wrong with the page as it is: nothing, where all is well. */
async function problemsOf(page: Page): Promise<string[]> {
  await expect.poll(() => isLoaded(page), { timeout: 30_000 }).toBe(true);
  const title = await page.getByRole('heading', { level: 1 }).innerText();
  const found = await axe(page);
  if (/no such page|has failed/.test(title)) found.push(title);
  const { width = 1_280, height = 900 } = page.viewportSize() ?? {};
  for (const wanted of [NARROW_PX, WIDE_PX]) {
    await page.setViewportSize({ width: wanted, height });
    const needed = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (needed > wanted) found.push(`needs ${needed} px of ${wanted}`);
    found.push(...(await page.evaluate<string[]>(CUT_OFF)));
  }
  found.push(...(await page.evaluate<string[]>(OVERLAPS)));
  await page.setViewportSize({ width, height });
  return found;
}

it('is looked at by one that finds what is wrong, in both colour schemes', async () => {
  const { page } = await console.open('/nodes');
  await expect.poll(() => isLoaded(page)).toBe(true);
  expect(await problemsOf(page)).toEqual([]);
  await page.evaluate(`{
    const over = document.createElement('span');
    over.textContent = 'laid over';
    over.id = 'over';
    const title = document.querySelector('h1');
    title.style.position = 'relative';
    Object.assign(over.style, { position: 'absolute', top: 0, left: 0 });
    title.append(over);
  }`);
  expect(await problemsOf(page)).toEqual([expect.stringMatching(/^lies over another text: .*laid over$/)]);
  await page.evaluate(`document.querySelector('#over').remove()`);
  await page.evaluate(`{
    const image = document.createElement('img');
    const text = document.createElement('p');
    text.textContent = 'hardly seen';
    Object.assign(text.style, { color: '#777', background: '#888' });
    document.querySelector('main').append(image, text);
  }`);
  const found = (await axe(page)).map((line) => line.split(':')[0]);
  expect(new Set(found)).toEqual(new Set(['dark color-contrast', 'light color-contrast', 'light image-alt']));
});

it('changes at once for readers who want no motion', async () => {
  const { page } = await console.open('/nodes');
  await expect.poll(() => isLoaded(page)).toBe(true);
  await page.emulateMedia({ colorScheme: 'dark' });
  const moving = `getComputedStyle(document.body).color && document.getAnimations().length`;
  expect(await page.evaluate(moving)).toBe(0);
});

it('has a visit for every route', () => {
  const visited = [...Object.keys(QUERIES), '/live/$id'];
  expect(visited.toSorted()).toEqual([...ADDRESSES].toSorted());
});

/** Links of one kind: the same address and the same names of search values, with what chooses a view. */
function kindOfLink(link: string): string {
  const { pathname, searchParams } = new URL(link, 'http://own.invalid');
  const parts = pathname.split('/');
  const address = ADDRESSES.find((known) => {
    const pattern = known.split('/');
    return (
      pattern.length === parts.length &&
      pattern.every((part, at) => part.startsWith('$') || part === parts[at])
    );
  });
  const values = [...searchParams].map(([name, value]) =>
    ['create', 'open', 'tab', 'window'].includes(name) ? `${name}=${value}` : name,
  );
  return `${address ?? pathname}?${values.toSorted().join('&')}`;
}

const LINKS = `[...document.querySelectorAll('a[href^="/"]')].map((link) => link.getAttribute('href'))`;

// Alone it takes most of a minute; beside much else several.
it('shows every screen without barriers, errors or sideways scrolling', { timeout: 600_000 }, async () => {
  const addresses = ADDRESSES.filter((address) => address !== '/live/$id').flatMap(visitsOf);
  // Its breaker has a history.
  addresses.push(revisionPath('broken'));
  const found: Record<string, readonly string[]> = {};
  const links = new Map<string, string>();
  const seen = new Set(addresses.map(kindOfLink));
  const visit = async ({ page }: ConsolePage): Promise<void> => {
    for (let address = addresses.shift(); address !== undefined; address = addresses.shift()) {
      await goTo(page, address);
      const problems = await problemsOf(page);
      if (problems.length > 0) found[address] = problems;
      await screenshot(page, `screen${address.replaceAll(/[^a-z\d]+/gi, '-')}`);
      for (const link of await page.evaluate<string[]>(LINKS)) {
        if (!seen.has(kindOfLink(link))) links.set(kindOfLink(link), link);
      }
    }
  };
  const follow = async ({ page, refused, expectNoProblems }: ConsolePage): Promise<void> => {
    for (const [kind, link] of links) {
      links.delete(kind);
      await page.goto(link);
      await expect.poll(() => isLoaded(page), { timeout: 30_000 }).toBe(true);
      const title = await page.getByRole('heading', { level: 1 }).innerText();
      if (/no such page|has failed/.test(title)) found[link] = [title];
    }
    expect(refused).toEqual([]);
    expectNoProblems();
  };
  const pages = await Promise.all(Array.from({ length: PAGES_AT_ONCE }, () => console.open('/nodes')));
  await Promise.all(pages.map(visit));
  // With what they say in their search values, as a reader who was sent them.
  expect(links.size).toBeGreaterThan(3);
  await Promise.all(pages.map(follow));
  expect(found).toEqual({});
});

it('shows a request, and the page for people without access', async () => {
  const { page, refused, expectNoProblems } = await console.open('/live');
  await page.getByText('Watching').waitFor();
  await request(console.gateway, '/shop/v1/items/1');
  await page.getByRole('log').getByRole('link').first().click();
  await page.getByRole('heading', { level: 1, name: 'GET /shop/v1/items/1' }).waitFor();
  expect(await problemsOf(page)).toEqual([]);

  await page.goto('/no/such/page');
  await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor();
  expect(await axe(page)).toEqual([]);
  expect(refused).toEqual([]);
  expectNoProblems();

  const visitor = await console.open('/settings', 'visitor');
  await visitor.page.getByLabel('Admin token').waitFor();
  expect(await problemsOf(visitor.page)).toEqual([]);
  visitor.expectNoProblems();
});

/** What begins with one of these changes something. */
const CHANGES =
  /^(Activate|Add|Apply|Clone|Create|Delete|Deprecate|Disable|Discard|Edit$|Enforce|Forget|Make|Move|Remove|Renew|Reset$|Retire|Revoke|Roll|Rotate|Save|Send|Set here|Start sampling|Stop|Switch|Take|Try and apply|Undo)/;

it('offers a viewer nothing that would be refused, at any address', { timeout: 600_000 }, async () => {
  const { page, refused, expectNoProblems } = await console.open('/', 'viewer');
  const changingOn = async (at: Page): Promise<readonly string[]> => {
    await expect.poll(() => isLoaded(at), { timeout: 30_000 }).toBe(true);
    const buttons = await at.getByRole('main').getByRole('button').all();
    const names = await Promise.all(
      buttons.map(async (button) => (await button.getAttribute('aria-label')) ?? (await button.innerText())),
    );
    return names.filter((name) => CHANGES.test(name.trim()));
  };
  const admin = await console.open('/apps/shop', 'admin');
  expect(await changingOn(admin.page)).toEqual(['Create version', 'Delete']);
  const offered: Record<string, readonly string[]> = {};
  for (const address of ADDRESSES.filter((one) => one !== '/live/$id').flatMap(visitsOf)) {
    await goWithin(page, address);
    const changing = await changingOn(page);
    if (changing.length > 0) offered[address] = changing;
  }
  expect(offered).toEqual({});
  expect(refused).toEqual([]);
  expectNoProblems();
});
