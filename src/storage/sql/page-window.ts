/** The window of rows that a page needs. */
import { assert } from '../../lib/assert.ts';
import type { PageRequest } from '../repository.ts';

const PAGE_LIMIT_MAX = 500;

/** One more row than the page has: it only shows that there are more. */
export function window(page: PageRequest): { readonly after: string; readonly count: number } {
  assert(
    Number.isInteger(page.limit) && page.limit >= 1 && page.limit <= PAGE_LIMIT_MAX,
    `a page has 1 to ${PAGE_LIMIT_MAX} items, not ${page.limit}`,
  );
  return { after: page.after ?? '', count: page.limit + 1 };
}
