/** The console of a gateway that is measured, in a headless Chromium whose user has signed in. */
import { execFileSync } from 'node:child_process';
import type { BrowserContext } from 'playwright-core';
import { startBrowser } from '../test/support/clients/browser.ts';
import { descendants } from './measure.ts';
import { ADMIN_TOKEN } from './peers/headgate.ts';
import { programPath } from './programs.ts';

const VIEWPORT = { width: 1280, height: 900 };

export interface ConsoleBrowser {
  /** A profile of its own, with empty caches, signed in at the console of that origin. */
  signIn(base: string): Promise<BrowserContext>;
  close(): Promise<void>;
}

/**
 * @param lowest the browser draws only when the load, with which it shares a core, has nothing to do: it is the
 *   gateway that is measured, and with less load its requests would cost more each
 */
export async function startConsoleBrowser({ lowest = false } = {}): Promise<ConsoleBrowser> {
  const before = new Set(descendants(process.pid));
  const started = await startBrowser();
  // What it starts later inherits the policy; niceness is nothing to rely on, as the browser sets that by itself.
  if (lowest)
    for (const pid of descendants(process.pid))
      if (!before.has(pid)) execFileSync(programPath('chrt'), ['-a', '-i', '-p', '0', String(pid)]);
  return {
    close: () => started.close(),
    signIn: async (base) => {
      const context = await started.browser.newContext({ baseURL: base, viewport: VIEWPORT });
      const response = await context.request.post('/api/v1/session', { data: { token: ADMIN_TOKEN } });
      if (!response.ok()) throw new Error(`The sign-in answered ${response.status()}`);
      return context;
    },
  };
}
