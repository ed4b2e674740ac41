/** Pages of lists: the window of rows that a page needs, the page itself, and the number of all rows. */
import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import { assert } from '../../lib/assert.ts';
import type { Page, PageRequest } from '../repository.ts';
import type { Tables } from './kysely-tables.ts';

const PAGE_LIMIT_MAX = 500;

/** One row more than the page has, which only shows whether there are more. */
export function window(page: PageRequest): { readonly after: string; readonly count: number } {
  assert(
    Number.isInteger(page.limit) && page.limit >= 1 && page.limit <= PAGE_LIMIT_MAX,
    `a page has 1 to ${PAGE_LIMIT_MAX} items, not ${page.limit}`,
  );
  return { after: page.after ?? '', count: page.limit + 1 };
}

/** Counts the rows whose `column` equals `value`, or all rows. */
export async function countRows(
  db: Kysely<Tables>,
  table: keyof Tables,
  column?: string,
  value?: string,
  condition?: RawBuilder<SqlBool>,
): Promise<number> {
  const conditions = [
    ...(column === undefined ? [] : [sql`${sql.ref(column)} = ${value}`]),
    ...(condition === undefined ? [] : [condition]),
  ];
  const filter = conditions.length === 0 ? sql`` : sql` where ${sql.join(conditions, sql` and `)}`;
  const result = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}${filter}`.execute(db);
  return result.rows[0]?.n ?? 0;
}

/** Makes one page of `limit + 1` rows: the extra row only shows that there are more. */
export async function toPage<Row, T extends { readonly id: string }>(
  { limit }: PageRequest,
  rows: Promise<Row[]>,
  total: Promise<number>,
  toRecord: (row: Row) => T,
): Promise<Page<T>> {
  const [found, count] = await Promise.all([rows, total]);
  const items = found.slice(0, limit).map(toRecord);
  return { items, total: count, nextAfter: found.length > limit ? (items.at(-1)?.id ?? null) : null };
}
