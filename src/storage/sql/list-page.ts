/**
 * Pages of the lists of configuration records, oldest or newest first, all or filtered. With a filter, every row of the
 * list must be read, because the total needs it. This is done in parts, between which a thread that runs the database
 * itself can do other work (sqlite/node-sqlite-dialect.ts).
 */
import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import type { FilteredTable } from '../list-filter.ts';
import type { Page, PageRequest } from '../repository.ts';
import { filterCondition } from './filter-conditions.ts';
import type { Tables } from './kysely-tables.ts';
import { countRows, toPage, window } from './page-window.ts';

/** Rows that one statement filters: a few milliseconds. */
const PART_ROWS = 5_000;
/** Greater than every id: ids contain only hexadecimal digits. */
const ABOVE_ALL_IDS = '~';

type Condition = RawBuilder<SqlBool>;

/** The list: the children of a record, or a whole table. */
export interface Listed<Table extends FilteredTable> {
  readonly table: Table;
  /** Column and value that the rows have in common. */
  readonly below?: readonly [column: string, id: string];
}

/**
 * @param toRecord converts a row of the table
 * @param partRows limit of the rows that one statement filters
 */
export async function listPage<Table extends FilteredTable, T extends { readonly id: string }>(
  db: Kysely<Tables>,
  { table, below }: Listed<Table>,
  page: PageRequest,
  toRecord: (row: Tables[Table]) => T,
  partRows = PART_ROWS,
): Promise<Page<T>> {
  const matching = filterCondition(table, page.filter);
  const scope = below === undefined ? [] : [sql<SqlBool>`${sql.ref(below[0])} = ${below[1]}`];
  const rows = (conditions: readonly Condition[], count: number) =>
    selectRows<Tables[Table]>(db, table, conditions, page.order === 'newest_first', count);
  const [column, id] = below ?? [];
  const counted = (conditions: readonly Condition[]): Promise<number> =>
    countRows(db, table, column, id, conditions.length === 0 ? undefined : allOf(conditions));
  const after = startOf(page);
  const { count } = window(page);
  if (matching === undefined) {
    return toPage(page, rows([...scope, after], count), counted([]), toRecord);
  }
  const parts = await partsOf(db, table, scope, partRows);
  if (page.order === 'newest_first') parts.reverse();
  const found: Tables[Table][] = [];
  let total = 0;
  for (const part of parts) {
    total += await counted([...part, matching]);
    const missing = count - found.length;
    if (missing > 0) found.push(...(await rows([...scope, ...part, after, matching], missing)));
  }
  return toPage(page, Promise.resolve(found), Promise.resolve(total), toRecord);
}

const allOf = (conditions: readonly Condition[]): Condition =>
  sql<SqlBool>`${sql.join([...conditions], sql` and `)}`;

function startOf({ order, after }: PageRequest): Condition {
  return order === 'newest_first' ? sql`id < ${after ?? ABOVE_ALL_IDS}` : sql`id > ${after ?? ''}`;
}

async function selectRows<Row>(
  db: Kysely<Tables>,
  table: FilteredTable,
  conditions: readonly Condition[],
  isNewestFirst: boolean,
  count: number,
): Promise<Row[]> {
  const direction = isNewestFirst ? sql`desc` : sql`asc`;
  const query = sql<Row>`select * from ${sql.table(table)} where ${allOf(conditions)} order by id ${direction} limit ${count}`;
  return (await query.execute(db)).rows;
}

/** Conditions on the id, each for at most `partRows` rows, which together are the list; oldest first. */
async function partsOf(
  db: Kysely<Tables>,
  table: FilteredTable,
  scope: readonly Condition[],
  partRows: number,
): Promise<Condition[][]> {
  const parts: Condition[][] = [];
  for (let start = ''; ;) {
    const conditions = allOf([...scope, sql`id > ${start}`]);
    const query = sql<{
      id: string;
    }>`select id from ${sql.table(table)} where ${conditions} order by id limit 1 offset ${partRows - 1}`;
    const end = (await query.execute(db)).rows[0]?.id;
    parts.push(end === undefined ? [sql`id > ${start}`] : [sql`id > ${start}`, sql`id <= ${end}`]);
    if (end === undefined) return parts;
    start = end;
  }
}
