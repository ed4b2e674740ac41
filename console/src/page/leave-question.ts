/** Asks before a page or a form is left while something typed there is not saved. */
import { useBlocker } from '@tanstack/react-router';
import { useRef } from 'react';
import { words } from '../text/words.ts';

/**
 * @param isOn whether something is typed
 * @param places the values of the address without which the form is gone, such as `tab`; always asked for another path
 * @returns what lets the reader go, once it was saved or given up
 */
export function useLeaveQuestion(
  isOn: boolean,
  places: readonly string[] = [],
): { readonly allow: () => void } {
  const isAllowed = useRef(false);
  useBlocker({
    shouldBlockFn: ({ current, next }) =>
      isOn &&
      !isAllowed.current &&
      (current.pathname !== next.pathname ||
        places.some((name) => valueOf(current.search, name) !== valueOf(next.search, name))) &&
      // oxlint-disable-next-line no-alert -- the browser asks the same when a tab is closed
      !window.confirm(words.unsavedLeave),
    enableBeforeUnload: () => isOn && !isAllowed.current,
  });
  return {
    allow: () => {
      isAllowed.current = true;
    },
  };
}

const valueOf = (search: object, name: string): string | undefined =>
  (search as Readonly<Record<string, string>>)[name];
