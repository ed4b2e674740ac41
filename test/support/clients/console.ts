/**
 * The built console of a real gateway in a real browser. The signed-in role has an admin token made through
 * the API. All pages are watched: what a browser complains of, violations of the content security policy, requests to
 * other hosts, and calls that the API refused.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect, onTestFinished, vi } from 'vitest';
import { startGateway, type GatewayOptions, type TestGateway } from '../gateway.ts';
import { CONSOLE_VARIABLE } from '../programs/program.ts';
import { sharedBrowser } from './browser.ts';

export type ConsoleRole = 'admin' | 'editor' | 'viewer';

export interface TestConsole {
  readonly gateway: TestGateway;
  /**
   * A browser profile of its own, at an address of the console such as `/apps?q=shop`. It ends with the test: a page
   * that is left open goes on asking the gateway.
   * @param as 'visitor': not signed in
   */
  readonly open: (path: string, as?: ConsoleRole | 'visitor', options?: PageOptions) => Promise<ConsolePage>;
  /** The value of an admin token made for the test; one for each role. */
  readonly token: (role: ConsoleRole) => Promise<string>;
  readonly close: () => Promise<void>;
}

export interface PageOptions {
  /** CSS pixels; default 1280. */
  readonly width?: number;
  readonly scheme?: Scheme;
  /** Of the reader, such as `Asia/Tokyo`; default: that of this machine. */
  readonly timeZone?: string;
}

export interface ConsolePage {
  readonly page: Page;
  /** Calls that were answered with an error of the client, such as `401 GET /api/v1/session`, without their query. */
  readonly refused: readonly string[];
  /** Fails if there was an error in the browser, or a request to another host. Call it last. */
  readonly expectNoProblems: () => void;
}

export type Scheme = 'light' | 'dark';
const SCHEMES: readonly Scheme[] = ['light', 'dark'];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];
const WIDTHS = [360, 1280, 2560];
const HEIGHT = 900;
/** A browser, a gateway and the other tests share two processors. */
const STEP_TIMEOUT_MS = 60_000;
// For a file that runs alone; where all run they have a project with these timeouts (vitest.config.ts).
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });
const SCREENSHOTS_VARIABLE = 'HEADGATE_TEST_SCREENSHOTS';
/** Such as `dark-2560`: only pictures with this in their names. */
const SCREENSHOTS_OF_VARIABLE = 'HEADGATE_TEST_SCREENSHOTS_OF';

/** @param options of the gateway; the console is switched on */
export async function startConsole(options: GatewayOptions = {}): Promise<TestConsole> {
  const folder = process.env[CONSOLE_VARIABLE] ?? '';
  if (folder === '')
    throw new Error('Cannot open the console: it was not built; see the start of the output');
  const gateway = await startGateway({
    ...options,
    env: { GATEWAY_CONSOLE__FOLDER: folder, ...options.env },
  });
  const profiles = keptProfiles(await sharedBrowser(), gateway.base);
  const tokens = new Map<ConsoleRole, Promise<string>>();
  const token = (role: ConsoleRole): Promise<string> => {
    const made = tokens.get(role) ?? makeToken(gateway, role);
    tokens.set(role, made);
    return made;
  };
  return {
    gateway,
    token,
    open: async (path, as = 'admin', { width = 1280, scheme = 'light', timeZone } = {}) => {
      const profile = await profiles.take(timeZone);
      const { context, page } = profile;
      onTestFinished(async ({ task }) => {
        const failed = task.result?.state === 'fail';
        if (failed) for (const each of context.pages()) await describePage(each);
        await (failed ? closeContext(context) : profiles.giveBack(profile));
      });
      await page.setViewportSize({ width, height: HEIGHT });
      await page.emulateMedia({ colorScheme: scheme });
      if (as !== 'visitor') await signIn(context, await token(as));
      return openPage(profile, gateway.base, path);
    },
    close: async () => {
      await profiles.close();
      await gateway.stop();
    },
  };
}

/** What was on the page when a test failed: a step that times out says only what it waited for. */
async function describePage(page: Page): Promise<void> {
  const content = await page.locator('body').ariaSnapshot({ timeout: 5000 }).catch(String);
  process.stdout.write(`The page at ${page.url()} when the test failed:\n${content}\n`);
}

/** A context with one page that belongs to no test: nothing is stored there, and it is not signed in. */
interface Profile {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly timeZone: string | undefined;
}

interface KeptProfiles {
  readonly take: (timeZone: string | undefined) => Promise<Profile>;
  readonly giveBack: (profile: Profile) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The events that tests and `openPage` listen to. */
const LISTENED = ['request', 'response', 'weberror', 'console', 'dialog'] as const;
/** Of the same origin, so that the process goes on, and not a page of the console. */
const BETWEEN_TESTS = '/api/v1/nothing';

/**
 * A new profile costs some 0.4 seconds of a processor more than one that has been in use. So what a test
 * has used is cleared and given to another one that wants the same time zone; not so where the test has failed, has
 * opened further tabs, or left the gateway away.
 */
function keptProfiles(browser: Browser, base: string): KeptProfiles {
  const free: Profile[] = [];
  const make = async (timeZone: string | undefined): Promise<Profile> => {
    const context = await browser.newContext({
      baseURL: base,
      // Nothing is looked at while its colours change.
      reducedMotion: 'reduce',
      ...(timeZone !== undefined && { timezoneId: timeZone }),
    });
    await context.addInitScript(REPORT_CSP_VIOLATIONS);
    return { context, page: await context.newPage(), timeZone };
  };
  return {
    take: (timeZone) => {
      const index = free.findLastIndex((profile) => profile.timeZone === timeZone);
      return index < 0 ? make(timeZone) : Promise.resolve(free.splice(index, 1)[0]!);
    },
    giveBack: async (profile) => {
      if (await isCleared(profile, base)) free.push(profile);
      else await closeContext(profile.context);
    },
    close: async () => {
      await Promise.all(free.map(({ context }) => closeContext(context)));
    },
  };
}

/** @returns false: it is not to be used again */
async function isCleared({ context, page }: Profile, base: string): Promise<boolean> {
  if (context.pages().length !== 1 || page.isClosed() || !page.url().startsWith(`${base}/`)) return false;
  try {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    for (const event of LISTENED) {
      page.removeAllListeners(event);
      context.removeAllListeners(event);
    }
    await context.clearCookies();
    await page.goto(BETWEEN_TESTS, { timeout: 10_000 });
    // So that nothing of the next test is under the pointer.
    await page.mouse.move(0, 0);
    await page.evaluate('sessionStorage.clear()');
    const session = await context.newCDPSession(page);
    await session.send('Storage.clearDataForOrigin', { origin: base, storageTypes: 'all' });
    await session.send('Page.resetNavigationHistory');
    await session.detach();
    return true;
  } catch {
    return false;
  }
}

async function closeContext(context: BrowserContext): Promise<void> {
  // A request that the test answers ends with its page.
  await Promise.all(context.pages().map((page) => page.unrouteAll({ behavior: 'ignoreErrors' })));
  await context.close();
}

async function makeToken(gateway: TestGateway, role: ConsoleRole): Promise<string> {
  const created = (await gateway.must('POST', '/admin/tokens', { name: `test ${role}`, role })) as {
    readonly token: string;
  };
  return created.token;
}

/** As the form of the sign-in does; the browser has the cookie afterwards. */
async function signIn(context: BrowserContext, token: string): Promise<void> {
  const response = await context.request.post('/api/v1/session', { data: { token } });
  if (!response.ok()) throw new Error(`Cannot sign in: ${response.status()} ${await response.text()}`);
}

/** As errors of the console. */
const REPORT_CSP_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  console.error('content security policy:', event.violatedDirective, event.blockedURI));`;

async function openPage({ context, page }: Profile, base: string, path: string): Promise<ConsolePage> {
  const problems: string[] = [];
  const refused: string[] = [];
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (/^(https?|wss?):$/.test(url.protocol) && url.origin !== base) {
      problems.push(`request to another host: ${request.url()}`);
    }
  });
  context.on('response', (response) => {
    if (response.status() < 400) return;
    const line = `${response.status()} ${response.request().method()} ${new URL(response.url()).pathname}`;
    if (response.status() < 500) refused.push(line);
    else problems.push(`error of the server: ${line}`);
  });
  context.on('weberror', (error) => problems.push(`error of the page: ${String(error.error().stack)}`));
  context.on('console', (message) => {
    // The browser's own line for an answer with an error; `refused` has it.
    if (message.type() !== 'error' || message.text().startsWith('Failed to load resource: the server'))
      return;
    problems.push(`console: ${message.text()}`);
  });
  page.setDefaultTimeout(STEP_TIMEOUT_MS);
  await page.goto(path);
  return { page, refused, expectNoProblems: () => expect(problems).toEqual([]) };
}

const NO_SUCH_PAGE = '/no/such/page';

/** Goes on to another address as a link does, without loading the console again. */
export async function goWithin(page: Page, path: string): Promise<void> {
  // Nothing of the screen before is left when the next one comes.
  const between = page.getByRole('heading', { level: 1, name: 'There is no such page' });
  await page.evaluate(`history.pushState({}, '', ${JSON.stringify(NO_SUCH_PAGE)})`);
  await between.waitFor();
  await page.evaluate(`history.pushState({}, '', ${JSON.stringify(path)})`);
  await between.waitFor({ state: 'hidden' });
}

/**
 * What axe finds wrong with the page as it is, in both colour schemes: rule, element and advice; empty when all is
 * well. The page is in the other scheme afterwards.
 */
export async function axe(page: Page): Promise<string[]> {
  const found: string[] = [];
  // Each change of the colours styles and draws all of the page: it stays as it is at the end.
  const schemes = (await page.evaluate<boolean>(IS_DARK)) ? SCHEMES.toReversed() : SCHEMES;
  for (const scheme of schemes) {
    if (scheme !== schemes[0]) await page.emulateMedia({ colorScheme: scheme });
    await page.evaluate(SETTLED);
    if (!(await page.evaluate<boolean>(HAS_AXE))) await addAxe(page);
    // Of all rules only that of colours can find another thing in the second scheme.
    const rules = scheme === schemes[0] ? {} : { runOnly: { type: 'rule', values: COLOUR_RULES } };
    for (const line of await page.evaluate<string[]>(violationsBy(rules))) found.push(`${scheme} ${line}`);
  }
  return found;
}

const IS_DARK = "matchMedia('(prefers-color-scheme: dark)').matches";
const HAS_AXE = "typeof globalThis.axe === 'object'";

/**
 * Stays until the page loads another document. Past Playwright's own evaluation, which takes a second for so long a
 * text.
 */
async function addAxe(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { exceptionDetails } = await session.send('Runtime.evaluate', { expression: AXE });
  await session.detach();
  if (exceptionDetails !== undefined) throw new Error(`Cannot start axe: ${exceptionDetails.text}`);
}

/**
 * To be evaluated in the page, which has no frames. Nodes are worked out only of what is wrong, and style sheets are
 * not read again for a rule that is off.
 */
function violationsBy(rules: object): string {
  const options = JSON.stringify({ ...rules, resultTypes: ['violations'], preload: { assets: ['media'] } });
  return `axe.run(document, ${options}).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary, html }) => [id + ':', target.join(' '), failureSummary ?? '', html].join(' '))))`;
}

/** Pictures of the whole page in both schemes and three widths, where HEADGATE_TEST_SCREENSHOTS names a folder. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env[SCREENSHOTS_VARIABLE] ?? '';
  if (folder === '') return;
  mkdirSync(folder, { recursive: true });
  const before = page.viewportSize() ?? { width: 1280, height: HEIGHT };
  await inSchemes(page, async (scheme) => {
    for (const width of WIDTHS) {
      const file = `${name}-${scheme}-${width}.png`;
      if (!file.includes(process.env[SCREENSHOTS_OF_VARIABLE] ?? '')) continue;
      await page.setViewportSize({ width, height: HEIGHT });
      await page.screenshot({ path: join(folder, file), fullPage: true });
    }
  });
  await page.setViewportSize(before);
}

/** Resolves in the page when the colours that have just changed are those that are drawn. */
const SETTLED = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  .then(() => Promise.allSettled(document.getAnimations().map((animation) => animation.finished)))`;

async function inSchemes(page: Page, run: (scheme: Scheme) => Promise<void>): Promise<void> {
  for (const scheme of SCHEMES) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.evaluate(SETTLED);
    await run(scheme);
  }
  await page.emulateMedia({ colorScheme: SCHEMES[0]! });
}
