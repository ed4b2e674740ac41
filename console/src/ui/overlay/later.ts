/**
 * Parts of the page that are needed only when something is opened. They are loaded soon after the page, or at the
 * first press, so that they are there, and nothing that was typed is lost, if the gateway is away later.
 */
import { lazy, type ComponentType, type LazyExoticComponent } from 'react';

const AFTER_PAGE_MS = 1_500;
const TRY_AGAIN_MS = 1_500;
const TRIES_MAX = 40;

type Loaded<Props> = { readonly default: ComponentType<Props> };

/** Shows nothing while the gateway does not answer; fails after a minute of that, or when the part is gone. */
export function later<Props>(load: () => Promise<Loaded<Props>>): LazyExoticComponent<ComponentType<Props>> {
  const ended = new AbortController();
  const start = (): void => {
    ended.abort();
    void load().catch(() => undefined);
  };
  setTimeout(start, AFTER_PAGE_MS);
  // What is pressed first may well be what opens it.
  for (const event of ['pointerdown', 'keydown'])
    window.addEventListener(event, start, { signal: ended.signal });
  return lazy(() => persistently(load));
}

async function persistently<Props>(load: () => Promise<Loaded<Props>>): Promise<Loaded<Props>> {
  for (let count = 1; count < TRIES_MAX; count++) {
    try {
      return await load();
    } catch {
      // The banner says that the gateway does not answer.
      await new Promise((done) => setTimeout(done, TRY_AGAIN_MS));
    }
  }
  return load();
}
