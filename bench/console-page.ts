/** The console of a gateway that is measured, in a headless Chromium whose user has signed in. */
import type { BrowserContext } from 'playwright-core';
import { startBrowser } from '../test/support/clients/browser.ts';
import { ADMIN_TOKEN } from './peers/headgate.ts';

const VIEWPORT = { width: 1280, height: 900 };

export interface ConsoleBrowser {
  /** A profile of its own, with empty caches, signed in at the console of that origin. */
  signIn(base: string): Promise<BrowserContext>;
  close(): Promise<void>;
}

export async function startConsoleBrowser(): Promise<ConsoleBrowser> {
  const started = await startBrowser();
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
