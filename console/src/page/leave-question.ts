/** Asks before a page or a form is left while something typed there is not saved. */
import { useBlocker } from '@tanstack/react-router';
import { useRef } from 'react';
import { words } from '../text/words.ts';

/**
 * @param isOn whether something is typed
 * @param places values of the address, such as `tab`: a change of one closes the form, as another path always does
 * @returns `allow` lets the reader leave without the question, after saving or giving up
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
