/**
 * Inspects a database file without opening it as a gateway does: creates, locks and writes nothing. For files that
 * no process has open.
 */
import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../lib/error-message.ts';
import { MIGRATIONS } from '../migrate.ts';
import { SEALED_COLUMNS } from '../secrets/sealed-columns.ts';

export type SqliteLook =
  | { readonly state: 'missing' }
  /** The log of the database contains changes that the file lacks. */
  | { readonly state: 'recovering' }
  | { readonly state: 'unusable'; readonly reason: string }
  | {
      readonly state: 'readable';
      /** Migrations of this program that it lacks. */
      readonly pending: readonly string[];
      /** Migrations that this program does not know. */
      readonly unknown: readonly string[];
      /** Whether it can be opened only with its secret key, as far as this program knows its schema. */
      readonly needsKey: boolean;
    };

export function lookAtSqlite(path: string): SqliteLook {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.size === 0) return { state: 'missing' };
  if (!stats.isFile()) return { state: 'unusable', reason: 'it is not a file' };
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return { state: 'recovering' };
  const url = pathToFileURL(path);
  // Otherwise SQLite would create files beside it, owned by this user.
  url.searchParams.set('immutable', '1');
  try {
    using database = new DatabaseSync(url, { readOnly: true });
    const tables = database.prepare("select name from sqlite_schema where type = 'table'").all();
    const names = tables.map(({ name }) => String(name));
    if (!names.includes('schema_migration'))
      return names.length === 0
        ? { state: 'readable', pending: MIGRATIONS.map(({ name }) => name), unknown: [], needsKey: false }
        : { state: 'unusable', reason: 'it belongs to another program' };
    const applied = database
      .prepare('select name from schema_migration')
      .all()
      .map(({ name }) => String(name));
    const known = MIGRATIONS.map(({ name }) => name);
    return {
      state: 'readable',
      pending: known.filter((name) => !applied.includes(name)),
      unknown: applied.filter((name) => !known.includes(name)),
      needsKey: needsKey(database, names),
    };
  } catch (failure) {
    return { state: 'unusable', reason: messageOf(failure) };
  }
}

/** Not for the secrets of the history: the start does without them. */
function needsKey(database: DatabaseSync, tables: readonly string[]): boolean {
  return SEALED_COLUMNS.some(({ belongsTo, table, column }) => {
    if (belongsTo === 'history' || !tables.includes(table)) return false;
    const columns = database.prepare('select name from pragma_table_info(?)').all(table);
    if (!columns.some(({ name }) => name === column)) return false;
    const pattern = belongsTo === 'policies' ? '%":"enc:v%' : '%enc:v%';
    return (
      database.prepare(`select 1 from ${table} where ${column} like ? limit 1`).get(pattern) !== undefined
    );
  });
}
