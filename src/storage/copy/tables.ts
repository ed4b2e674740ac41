/**
 * The content of a copy: the tables in their order, how rows are read page by page in the same order from every
 * database, and the bytes that the checksum covers. Column values are copied as stored; secrets stay encrypted.
 */
import { createHash } from 'node:crypto';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Tables } from '../sql/kysely-tables.ts';

/** Types of column values, the same in every database. */
export type Cell = string | number | null;
export type Row = Readonly<Record<string, Cell>>;

export interface CopiedTable {
  readonly name: keyof Tables;
  /** The primary key: text that every database orders by its bytes, or numbers. */
  readonly key: readonly string[];
}

/**
 * The primary key of each copied table, or the reason why a table is not copied. Parents come before their children.
 */
const TABLES = {
  config_state: ['id'],
  app: ['id'],
  app_host: ['app_id', 'host'],
  version: ['id'],
  revision: ['id'],
  endpoint: ['id'],
  api_key: ['id'],
  key_usage: ['key_id', 'date'],
  admin_token: ['id'],
  audit_entry: ['id'],
  config_history: ['config_version'],
  config_history_record: ['config_version', 'position'],
  event: ['id'],
  webhook: ['id'],
  webhook_delivery: ['webhook_id'],
  webhook_dead_letter: ['webhook_id', 'event_id'],
  config_change: 'a gateway on the target loads everything at its start and needs no earlier changes',
  admin_session: 'a browser signs in to one gateway, and a copy must not let it into another',
  node: 'it lists the gateways that run on the source database',
  acme_account:
    'two databases must not order with one account; a gateway on the target creates its own account',
  acme_certificate:
    'it contains unfinished orders of the source; a gateway on the target orders its own certificates',
  acme_challenge: 'they belong to orders of the source',
  acme_order: 'they count towards the limit of the source',
  key_sweep: ['name'],
  acme_state: 'it contains the lease of a gateway on the source',
} as const satisfies Readonly<Record<keyof Tables, readonly string[] | string>>;

/** The order in which tables are written. */
export const COPIED_TABLES: readonly CopiedTable[] = Object.entries(TABLES).flatMap(
  ([name, key]: [string, readonly string[] | string]) =>
    typeof key === 'string' ? [] : [{ name: name as keyof Tables, key }],
);

/** A gateway fills these tables even in an otherwise empty database; a copy replaces their content. */
export const REPLACED_TABLES: readonly (keyof Tables)[] = ['event', 'key_sweep'];

/** The table that has one row after the first migration. */
export const STATE_TABLE = 'config_state';

/** Rows in memory at once, whatever the size of the database. */
const PAGE_ROWS = 1_000;

/** All rows of a table, one page at a time, ordered by its key. Call it inside one transaction. */
export async function* pagesOf(
  db: Kysely<Tables>,
  { name, key }: CopiedTable,
): AsyncGenerator<readonly Row[]> {
  const columns = sql.join(key.map((column) => sql.ref(column)));
  for (let last: Row | undefined; ;) {
    const rest: RawBuilder<unknown> =
      last === undefined
        ? sql``
        : sql`where (${columns}) > (${sql.join(key.map((column) => last?.[column] ?? null))})`;
    const { rows } = await sql<Row>`
      select * from ${sql.table(name)} ${rest} order by ${columns} limit ${sql.lit(PAGE_ROWS)}`.execute(db);
    if (rows.length > 0) yield rows;
    if (rows.length < PAGE_ROWS) return;
    last = rows.at(-1);
  }
}

export async function countOf(db: Kysely<Tables>, { name }: CopiedTable): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(name)}`.execute(db);
  return Number(rows[0]?.count);
}

/** The checksum of whole tables, with the number of rows. */
export interface Digest {
  /** SHA-256 of all rows of all tables, in hexadecimal. */
  readonly sha256: string;
  readonly rows: ReadonlyMap<keyof Tables, number>;
}

/**
 * Computes the checksum of pages. They must arrive in the order of `COPIED_TABLES`, and ordered by key within a table.
 */
export class Digester {
  readonly #hash = createHash('sha256');
  readonly #rows = new Map<keyof Tables, number>();

  startTable({ name }: CopiedTable): void {
    this.#rows.set(name, 0);
    this.#hash.update(`${JSON.stringify({ table: name })}\n`);
  }

  /** @returns the number of rows of the table so far */
  add({ name }: CopiedTable, page: readonly Row[]): number {
    const columns = Object.keys(page[0] ?? {}).toSorted();
    // Each line contains the column names, so that different contents never give the same bytes.
    const lines = page.map((row) => JSON.stringify(columns.map((column) => [column, row[column]])));
    this.#hash.update(`${lines.join('\n')}\n`);
    const count = (this.#rows.get(name) ?? 0) + page.length;
    this.#rows.set(name, count);
    return count;
  }

  finish(): Digest {
    return { sha256: this.#hash.digest('hex'), rows: this.#rows };
  }
}
