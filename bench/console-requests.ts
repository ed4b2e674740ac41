/**
 * What an open page of the console asks of its gateway, without the browser that draws it: noted from a real page for a
 * while, then asked again and again by a program of its own on the cores of the load, that reads and forgets.
 */
import { spawn } from 'node:child_process';
import type { BrowserContext, Page, Request } from 'playwright-core';
import { programPath } from './programs.ts';

/** Longer than the slowest repetition of a page. */
const NOTED_MS = 12_000;

export interface PageRequests {
  readonly base: string;
  readonly cookie: string;
  /** Held open. */
  readonly streams: readonly string[];
  /** Asked again each `periodMs`, so long after its beginning. */
  readonly repeated: readonly { readonly path: string; readonly atMs: number }[];
  readonly periodMs: number;
}

/** Notes what the page asks that `open` opens; first what it holds open, then what it repeats once it is settled. */
export async function notePageRequests(
  context: BrowserContext,
  base: string,
  open: () => Promise<Page>,
  settleMs: number,
): Promise<PageRequests> {
  const streams: string[] = [];
  const repeated: { path: string; atMs: number }[] = [];
  let settledMs = Infinity;
  const note = (request: Request): void => {
    const { pathname, search } = new URL(request.url());
    if (!pathname.startsWith('/api/')) return;
    const atMs = performance.now() - settledMs;
    if (request.resourceType() === 'eventsource') streams.push(pathname + search);
    else if (atMs >= 0) repeated.push({ path: pathname + search, atMs });
  };
  context.on('request', note);
  const page = await open();
  await page.waitForTimeout(settleMs);
  settledMs = performance.now();
  await page.waitForTimeout(NOTED_MS);
  context.off('request', note);
  const cookies = await context.cookies(base);
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  await page.close();
  if (streams.length + repeated.length === 0) throw new Error('The page asks nothing');
  return { base, cookie, streams, repeated, periodMs: NOTED_MS };
}

/** Asks until the function that it gives is called. */
export function askLikePage(requests: PageRequests, cores: string): () => void {
  const program = `(${ask.toString()})(${JSON.stringify(requests)})`;
  const child = spawn(programPath('taskset'), ['-c', cores, process.execPath, '-e', program], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let isOver = false;
  child.once('exit', (code) => {
    if (!isOver) throw new Error(`The program that asks like a page ended with ${code}`);
  });
  return () => {
    isOver = true;
    child.kill('SIGKILL');
  };
}

/** Runs in a process of its own: uses nothing from around it. A request that fails ends it. */
function ask({ base, cookie, streams, repeated, periodMs }: PageRequests): void {
  const read = async (path: string): Promise<void> => {
    const response = await fetch(base + path, { headers: { cookie } });
    if (!response.ok || response.body === null) throw new Error(`${path}: ${response.status}`);
    for await (const piece of response.body) void piece;
  };
  for (const path of streams) void read(path);
  const repeat = (): void => {
    for (const { path, atMs } of repeated) setTimeout(() => void read(path), atMs);
  };
  repeat();
  setInterval(repeat, periodMs);
}
