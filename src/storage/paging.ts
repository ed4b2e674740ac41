/** Pages of lists, by the id of the last record of the previous page. */
import type { ListFilter } from './list-filter.ts';

/** One page of a list, ordered by id, which is the order of creation. */
export const LIST_ORDERS = ['oldest_first', 'newest_first'] as const;
export type ListOrder = (typeof LIST_ORDERS)[number];

export interface PageRequest {
  /** 1 to 500. */
  readonly limit: number;
  /** The page starts after this id; undefined for the first page. */
  readonly after: string | undefined;
  /**
   * For lists of apps, versions, revisions, endpoints and keys; absent: `oldest_first`. With `newest_first`, the page
   * has the records before `after`, the newest first.
   */
  readonly order?: ListOrder;
  /**
   * For lists of apps, versions, revisions, endpoints and keys; absent: everything. The total counts the matching
   * records.
   */
  readonly filter?: ListFilter;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Number of items on all pages. */
  readonly total: number;
  /** Pass it as `after` to get the next page; null on the last. */
  readonly nextAfter: string | null;
}
