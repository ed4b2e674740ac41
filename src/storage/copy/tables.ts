/**
 * What a copy of a database consists of: which tables, in which order, how their rows are read page by page in the
 * same order from every database, and how rows become the bytes of the checksum. Rows stay as they lie in their
 * columns: nothing is decoded, and secrets stay sealed.
 */
import { createHash } from 'node:crypto';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Tables } from '../sql/kysely-tables.ts';

/** What a column can hold, in every database. */
export type Cell = string | number | null;
export type Row = Readonly<Record<string, Cell>>;

export interface CopiedTable {
  readonly name: keyof Tables;
  /** The primary key: texts that every database orders by their bytes, or numbers. */
  readonly key: readonly string[];
}

/** Of every table its primary key, or why it stays behind. Parents come before their children. */
const TABLES = {
  config_state: ['id'],
  app: ['id'],
  version: ['id'],
  revision: ['id'],
  endpoint: ['id'],
  api_key: ['id'],
  key_usage: ['key_id', 'date'],
  admin_token: ['id'],
  audit_entry: ['id'],
  config_change:
    'a gateway on the target starts by loading everything, and needs no changes from an earlier state',
  node: 'gateways that are running, on the source database',
} as const satisfies Readonly<Record<keyof Tables, readonly string[] | string>>;

/** In the order in which they are written. */
export const COPIED_TABLES: readonly CopiedTable[] = Object.entries(TABLES).flatMap(
  ([name, key]: [string, readonly string[] | string]) =>
    typeof key === 'string' ? [] : [{ name: name as keyof Tables, key }],
);

/** The table whose one row is there from the first migration on. */
export const STATE_TABLE = 'config_state';

/** Rows that are held at once: a million keys take as much memory as these. */
const PAGE_ROWS = 1_000;

/** All rows of a table, a page at a time, in the order of its key. To be used within one transaction. */
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

/** What a checksum of whole tables says. */
export interface Digest {
  /** SHA-256 of all rows of all tables, in hexadecimal digits. */
  readonly sha256: string;
  /** Rows of each table. */
  readonly rows: ReadonlyMap<keyof Tables, number>;
}

/** Adds up pages, which come in the order of `COPIED_TABLES` and within one table in the order of its key. */
export class Digester {
  readonly #hash = createHash('sha256');
  readonly #rows = new Map<keyof Tables, number>();

  startTable({ name }: CopiedTable): void {
    this.#rows.set(name, 0);
    this.#hash.update(`${JSON.stringify({ table: name })}\n`);
  }

  /** @returns the rows of the table so far */
  add({ name }: CopiedTable, page: readonly Row[]): number {
    const columns = Object.keys(page[0] ?? {}).toSorted();
    // With the names of the columns in each line, no two contents have the same bytes.
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
