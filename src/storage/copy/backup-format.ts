/**
 * A backup file: gzip (RFC 1952) of lines of JSON. The first line identifies the file and its schema; then each
 * table has a line with its columns and one for each row; the last line has the number of rows and the SHA-256 of
 * everything before it. Rows are copied as stored: keys and admin tokens as hashes, secrets of policies encrypted.
 * Writing needs the memory of one page. backup-reader.ts reads it.
 */
import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { BackupOrigin } from '../repository.ts';
import type { Tables } from '../sql/kysely-tables.ts';
import { COPIED_TABLES, pagesOf, STATE_TABLE, type Row } from './tables.ts';

export const BACKUP_FORMAT = 1;

export interface BackupHeader extends BackupOrigin {
  readonly headgate_backup: typeof BACKUP_FORMAT;
  /** Migrations of the schema to which the rows belong, in order. */
  readonly migrations: readonly string[];
  readonly config_version: number;
}

export interface BackupEnd {
  readonly end: true;
  readonly rows: Readonly<Record<string, number>>;
  /** Hexadecimal, of all lines before this one with their line feeds. */
  readonly sha256: string;
}

/** The text of a backup in pieces of a page each. Call it inside one transaction. */
export async function* backupText(
  db: Kysely<Tables>,
  origin: BackupOrigin & Pick<BackupHeader, 'migrations'>,
): AsyncGenerator<string> {
  const hash = createHash('sha256');
  const counted = (text: string): string => {
    hash.update(text);
    return text;
  };
  const state = await db.selectFrom(STATE_TABLE).select('config_version').executeTakeFirst();
  const header: BackupHeader = {
    headgate_backup: BACKUP_FORMAT,
    ...origin,
    config_version: state?.config_version ?? 0,
  };
  yield counted(lineOf(header));
  const counts: Record<string, number> = {};
  for (const table of COPIED_TABLES) {
    let columns: readonly string[] | undefined;
    let rows = 0;
    for await (const page of pagesOf(db, table)) {
      let text = '';
      if (columns === undefined) {
        columns = Object.keys(page[0] ?? {});
        text += lineOf({ table: table.name, columns });
      }
      text += rowLines(page, columns);
      rows += page.length;
      yield counted(text);
    }
    counts[table.name] = rows;
  }
  const end: BackupEnd = { end: true, rows: counts, sha256: hash.digest('hex') };
  yield lineOf(end);
}

function rowLines(page: readonly Row[], columns: readonly string[]): string {
  return page.map((row) => lineOf(columns.map((column) => row[column] ?? null))).join('');
}

function lineOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
