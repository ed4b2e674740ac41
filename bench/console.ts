/**
 * What a browser has to do for each page of the console: bytes, requests, and the time until it can be used. Starts a
 * gateway of its own with an app, its traffic and 10,000 other routes, and opens each page in a profile with empty
 * caches, as for a first visit, then once more. Ends with an error where a page asks another host for something, breaks
 * the content security policy, or misses a target.
 *
 *   sh scripts/run.sh bench/console.ts [rounds]
 *   Default: 5 rounds; medians.
 *
 * Columns: `kB` and `requests` of a first visit, as transferred; `drawn` is the first contentful paint; `usable` is
 * when the page shows its records and the last task of more than 50 ms before that has ended; `again` is that for a
 * second visit. Milliseconds from the start of the navigation.
 */
import type { BrowserContext } from 'playwright-core';
import { median } from '../test/support/measure/stats.ts';
import { startConsoleBrowser, type ConsoleBrowser } from './console-page.ts';
import { coresFor } from './cores.ts';
import { runLoad } from './load.ts';
import { createService, startHeadgate } from './peers/headgate.ts';
import { startOrigin } from './peers/origin.ts';
import { assertPrograms } from './programs.ts';
import { APP, FILLER_ENDPOINTS, orderRequest, SCOPE } from './service.ts';
import { FULL_POLICY } from './workloads/full-policy.ts';

const DEFAULT_ROUNDS = 5;
const TRAFFIC_SECS = 3;
/** Targets: the first page of a first visit, and that any page can be used. */
const FIRST_SCREEN_BYTES_MAX = 150_000;
const USABLE_MS_MAX = 1_000;
const FIRST_SCREEN = '/';

const REVISION = `/apps/${APP}/versions/v1/revisions/r1`;

/**
 * Run in the page: notes tasks of more than 50 ms and violations of the content security policy, and when the page has
 * its heading and nothing in it says that it is loading.
 */
const WATCH = `
  globalThis.watched = { taskEndMs: 0, violations: [] };
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      watched.taskEndMs = Math.max(watched.taskEndMs, startTime + duration);
    }
  }).observe({ type: 'longtask', buffered: true });
  addEventListener('securitypolicyviolation', (event) => {
    watched.violations.push('policy: ' + event.violatedDirective + ' ' + event.blockedURI);
  });
  const isComplete = () => {
    const main = document.querySelector('main');
    const states = [...(main?.querySelectorAll('[role=status]') ?? [])];
    return main?.querySelector('h1') && !states.some((each) => each.textContent.startsWith('Loading'));
  };
  watched.complete = new Promise((done) => {
    const look = () => (isComplete() ? done(performance.now()) : requestAnimationFrame(look));
    requestAnimationFrame(look);
  });
`;
/** After a moment in which the tasks before are reported. */
const RESULT = `watched.complete.then((completeMs) => new Promise((done) => setTimeout(() => done({
  drawnMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
  usableMs: Math.max(completeMs, watched.taskEndMs),
  violations: watched.violations,
}), 60)))`;

interface Visit {
  readonly bytes: number;
  readonly scriptBytes: number;
  readonly requests: number;
  readonly drawnMs: number;
  readonly usableMs: number;
  readonly faults: readonly string[];
}

const [roundsText = String(DEFAULT_ROUNDS)] = process.argv.slice(2);
const rounds = Number(roundsText);
if (!Number.isInteger(rounds) || rounds < 1) {
  throw new Error(`Cannot measure ${roundsText} rounds: expected a whole number of at least 1`);
}
assertPrograms();
const cores = coresFor(1);
const origin = await startOrigin(cores);
const setup = {
  originPort: origin.port,
  cores: { ...cores, proxy: coresFor(Infinity).proxy },
  workers: 1,
  accessLog: true,
};
const gateway = await startHeadgate(setup, { filler: { endpoints: FILLER_ENDPOINTS, policy: FULL_POLICY } });
const token = await createService(gateway, {
  slug: APP,
  originPort: origin.port,
  policy: FULL_POLICY,
  endpoints: [['GET', '/orders/{id}']],
  keyScopes: [SCOPE],
});
await runLoad({ connections: 8, requests: [orderRequest(token)] }, gateway.port, TRAFFIC_SECS, cores.load);
const PATHS = [
  FIRST_SCREEN,
  '/start',
  '/apps',
  `/apps/${APP}`,
  `/apps/${APP}/versions/v1`,
  REVISION,
  `${REVISION}/endpoints/${await firstId(`${REVISION}/endpoints`)}`,
  '/edit',
  '/import',
  '/keys',
  `/apps/${APP}/keys/${await firstId(`/apps/${APP}/tokens`)}`,
  '/live',
  `/live/${await refusedRequest()}`,
  '/explain',
  '/shadow',
  '/history',
  '/history/1',
  '/audit',
  '/events',
  '/webhooks',
  '/health',
  '/nodes',
  '/access',
  '/settings',
];
const browser = await startConsoleBrowser();
try {
  const failures: string[] = [];
  print('page                                      kB  script kB  requests  drawn  usable  again\n');
  for (const path of PATHS) failures.push(...(await report(browser, path)));
  print(failures.length === 0 ? '\nAll targets met.\n' : `\nMISSED\n${failures.join('\n')}\n`);
  process.exitCode = failures.length === 0 ? 0 : 1;
} finally {
  await browser.close();
  await gateway.stop();
  await origin.stop();
}
process.exit();

/** Of the first record of a list of the management API. */
async function firstId(list: string): Promise<string> {
  const [first] = (await gateway.api('GET', `${list}?limit=1`)) as readonly { readonly id: string }[];
  if (first === undefined) throw new Error(`Cannot measure the page of a record: ${list} has none`);
  return first.id;
}

/** The id of an exchange that the gateway keeps: one without a key. */
async function refusedRequest(): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${gateway.port}${orderRequest(token).path}`);
  await response.arrayBuffer();
  const id = response.headers.get('x-request-id');
  if (response.status !== 401 || id === null)
    throw new Error(`Cannot measure the page of an exchange: ${response.status} in place of 401`);
  return id;
}

/** Measures a page and prints its line; gives what was missed. */
async function report(from: ConsoleBrowser, path: string): Promise<string[]> {
  const first: Visit[] = [];
  const again: Visit[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const context = await from.signIn(gateway.base);
    first.push(await visit(context, path));
    again.push(await visit(context, path));
    await context.close();
  }
  const of = (visits: readonly Visit[], value: (each: Visit) => number): number => median(visits.map(value));
  const scriptBytes = of(first, (each) => each.scriptBytes);
  const usableMs = of(first, (each) => each.usableMs);
  const cells = [
    (of(first, (each) => each.bytes) / 1000).toFixed(0).padStart(5),
    (scriptBytes / 1000).toFixed(0).padStart(9),
    String(of(first, (each) => each.requests)).padStart(8),
    of(first, (each) => each.drawnMs)
      .toFixed(0)
      .padStart(5),
    usableMs.toFixed(0).padStart(6),
    of(again, (each) => each.usableMs)
      .toFixed(0)
      .padStart(5),
  ];
  print(`${path.padEnd(39)}${cells.join('  ')}\n`);
  const missed = [...new Set([...first, ...again].flatMap(({ faults }) => faults))];
  if (usableMs > USABLE_MS_MAX) missed.push(`usable after ${usableMs.toFixed(0)} ms`);
  if (path === FIRST_SCREEN && scriptBytes > FIRST_SCREEN_BYTES_MAX)
    missed.push(`${scriptBytes} bytes of script`);
  return missed.map((each) => `${path}: ${each}`);
}

async function visit(context: BrowserContext, path: string): Promise<Visit> {
  const page = await context.newPage();
  const faults: string[] = [];
  const scripts = new Set<string>();
  let [bytes, scriptBytes, requests] = [0, 0, 0];
  const network = await context.newCDPSession(page);
  await network.send('Network.enable');
  network.on('Network.requestWillBeSent', ({ request, requestId, type }) => {
    const url = new URL(request.url);
    if (/^(https?|wss?):$/.test(url.protocol) && url.origin !== gateway.base) {
      faults.push(`asked ${url.origin}`);
    }
    if (type === 'Script') scripts.add(requestId);
    requests += 1;
  });
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    bytes += encodedDataLength;
    if (scripts.has(requestId)) scriptBytes += encodedDataLength;
  });
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  await page.addInitScript(WATCH);
  await page.goto(path, { waitUntil: 'commit' });
  const { drawnMs, usableMs, violations } = await page.evaluate<Watched>(RESULT);
  // What a page asks for a moment later, such as a stream, belongs to it too.
  await page.waitForTimeout(200);
  const seen = { bytes, scriptBytes, requests, drawnMs, usableMs, faults: [...faults, ...violations] };
  await page.close();
  return seen;
}

interface Watched {
  readonly drawnMs: number;
  readonly usableMs: number;
  readonly violations: readonly string[];
}

function print(text: string): void {
  process.stdout.write(text);
}
