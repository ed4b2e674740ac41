/** Values in the address of a page, so that every view can be linked: `?tab=policy&q=invoice`, always as text. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type PageSearch = Readonly<Record<string, string>>;

export function parseSearch(text: string): PageSearch {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === 'string' && value !== '') query.set(name, value);
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** One value of the address, and a function to change it; the fallback is used when it is absent. */
export function useSearchText(name: string, fallback = ''): readonly [string, (value: string) => void] {
  const search = useSearch({ strict: false }) as PageSearch;
  const navigate = useNavigate();
  const set = useCallback(
    (value: string) => {
      void navigate({
        to: '.',
        replace: true,
        search: (before: PageSearch) => withValue(before, name, value === fallback ? '' : value),
      } as never);
    },
    [navigate, name, fallback],
  );
  return [search[name] ?? fallback, set];
}

/**
 * Changes several values of the address at once; an empty text takes one away. What changes them resolves when the page
 * shows the new values.
 */
export function useSetSearchTexts(): (values: PageSearch) => Promise<void> {
  const navigate = useNavigate();
  return useCallback(
    (values: PageSearch) => {
      const search = (before: PageSearch): PageSearch =>
        Object.entries(values).reduce((after, [name, value]) => withValue(after, name, value), before);
      return navigate({ to: '.', replace: true, search } as never);
    },
    [navigate],
  );
}

function withValue(search: PageSearch, name: string, value: string): PageSearch {
  const { [name]: _, ...rest } = search;
  return value === '' ? rest : { ...rest, [name]: value };
}
