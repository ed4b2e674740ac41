/**
 * Reads a backup file (backup-format.ts) page by page, and refuses other files, incomplete or damaged backups, and
 * backups that only a newer program understands. The content is known to be valid only at its end: read the file once
 * before using anything of it.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { systemReason } from '../../lib/error-message.ts';
import { isObject } from '../../lib/is-object.ts';
import { MIGRATIONS } from '../migrate.ts';
import { StorageRefused } from '../storage-errors.ts';
import { BACKUP_FORMAT, type BackupEnd, type BackupHeader } from './backup-format.ts';
import { COPIED_TABLES, type Cell, type CopiedTable, type Row } from './tables.ts';

/** A row has policies of at most a megabyte. */
const LINE_CHARS_MAX = 16 * 1024 * 1024;
const PAGE_ROWS = 1_000;
const PAGE_CHARS = 4 * 1024 * 1024;

export interface BackupPage {
  readonly table: CopiedTable;
  readonly rows: readonly Row[];
}

export interface BackupSummary {
  readonly header: BackupHeader;
  readonly end: BackupEnd;
}

/** @throws StorageRefused unless the whole file is valid */
export async function inspectBackup(path: string): Promise<BackupSummary> {
  const pages = readBackup(path);
  for (;;) {
    const { done, value } = await pages.next();
    if (done === true) return value;
  }
}

/** @returns the description in the file, after its last page @throws StorageRefused */
export async function* readBackup(path: string): AsyncGenerator<BackupPage, BackupSummary> {
  const refuse = (why: string, cause?: unknown): StorageRefused =>
    new StorageRefused(`Cannot use the backup ${path}: ${why}`, cause);
  const parser = new BackupParser(refuse);
  try {
    for await (const line of linesOf(path, refuse)) {
      const page = parser.take(line);
      if (page !== undefined) yield page;
    }
  } catch (error) {
    throw asRefusal(error, refuse);
  }
  return parser.finish();
}

type Refuse = (why: string, cause?: unknown) => StorageRefused;

async function* linesOf(path: string, refuse: Refuse): AsyncGenerator<string> {
  const file = createReadStream(path);
  const gunzip = createGunzip();
  file.once('error', (error) => gunzip.destroy(error));
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let rest = '';
    for await (const chunk of file.pipe(gunzip) as AsyncIterable<Buffer>) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > LINE_CHARS_MAX) throw refuse('it is damaged: a line has no end');
      yield* lines;
    }
    if (rest !== '') throw refuse('it is incomplete');
  } finally {
    file.destroy();
    gunzip.destroy();
  }
}

class BackupParser {
  readonly #refuse: Refuse;
  readonly #hash = createHash('sha256');
  readonly #counts: Record<string, number> = {};
  #header: BackupHeader | undefined;
  #end: BackupEnd | undefined;
  #table: CopiedTable | undefined;
  #columns: readonly string[] = [];
  #rows: Row[] = [];
  #chars = 0;

  constructor(refuse: Refuse) {
    this.#refuse = refuse;
  }

  /** @returns a page when one is full */
  take(line: string): BackupPage | undefined {
    if (this.#end !== undefined) throw this.#refuse('it is damaged: it continues after its end');
    const value: unknown = this.#header === undefined ? parsedOr(line) : JSON.parse(line);
    if (this.#header === undefined) {
      this.#header = this.#headerOf(value);
    } else if (Array.isArray(value)) {
      this.#hash.update(`${line}\n`);
      return this.#row(value as readonly Cell[], line.length);
    } else if (isObject(value) && 'table' in value) {
      const page = this.#page();
      this.#startTable(value);
      this.#hash.update(`${line}\n`);
      return page;
    } else {
      const page = this.#page();
      this.#end = this.#endOf(value);
      return page;
    }
    this.#hash.update(`${line}\n`);
    return undefined;
  }

  finish(): BackupSummary {
    if (this.#header === undefined || this.#end === undefined) throw this.#refuse('it is incomplete');
    return { header: this.#header, end: this.#end };
  }

  #headerOf(value: unknown): BackupHeader {
    if (!isObject(value) || typeof value['headgate_backup'] !== 'number') {
      throw this.#refuse('it is not a backup of Headgate');
    }
    const { headgate_backup: format, program_version: version, migrations } = value;
    const known = MIGRATIONS.map(({ name }) => name);
    const unknown = Array.isArray(migrations)
      ? migrations.filter((name) => !known.includes(String(name)))
      : [];
    if (format !== BACKUP_FORMAT || unknown.length > 0) {
      throw this.#refuse(
        `it was made by the newer Headgate ${String(version)}; expected a Headgate of this version or later`,
      );
    }
    if (!Array.isArray(migrations) || migrations.some((name, index) => name !== known[index])) {
      throw this.#refuse('it is damaged: its schema is unknown');
    }
    return value as unknown as BackupHeader;
  }

  #startTable({ table, columns }: Readonly<Record<string, unknown>>): void {
    const index = COPIED_TABLES.findIndex(({ name }) => name === table);
    const before = this.#table === undefined ? -1 : COPIED_TABLES.indexOf(this.#table);
    const found = COPIED_TABLES[index];
    const areNames =
      Array.isArray(columns) && columns.every((name) => /^[a-z][a-z0-9_]{0,62}$/.test(String(name)));
    if (found === undefined || index <= before || !areNames) {
      throw this.#refuse('it is damaged: its tables do not belong to Headgate');
    }
    this.#table = found;
    this.#columns = columns as readonly string[];
  }

  #row(cells: readonly Cell[], chars: number): BackupPage | undefined {
    const { length } = this.#columns;
    // The types are only what the file claims.
    const isSound = (cells as readonly unknown[]).every(
      (cell) => cell === null || typeof cell === 'string' || typeof cell === 'number',
    );
    if (this.#table === undefined || cells.length !== length || !isSound) {
      throw this.#refuse('it is damaged: a row does not fit its table');
    }
    const names = this.#columns;
    this.#rows.push(Object.fromEntries(cells.map((cell, index) => [names[index] ?? '', cell])));
    this.#chars += chars;
    this.#counts[this.#table.name] = (this.#counts[this.#table.name] ?? 0) + 1;
    return this.#rows.length >= PAGE_ROWS || this.#chars >= PAGE_CHARS ? this.#page() : undefined;
  }

  #page(): BackupPage | undefined {
    const rows = this.#rows;
    if (this.#table === undefined || rows.length === 0) return undefined;
    this.#rows = [];
    this.#chars = 0;
    return { table: this.#table, rows };
  }

  #endOf(value: unknown): BackupEnd {
    const counts = isObject(value) && isObject(value['rows']) ? value['rows'] : {};
    const isWhole = Object.entries(counts).every(([table, count]) => (this.#counts[table] ?? 0) === count);
    if (!isObject(value) || value['end'] !== true || !isWhole) {
      throw this.#refuse('it is damaged: rows are missing');
    }
    if (value['sha256'] !== this.#hash.digest('hex')) {
      throw this.#refuse('it is damaged: its checksum does not match');
    }
    return value as unknown as BackupEnd;
  }
}

/** The first line of a foreign file may be anything. */
function parsedOr(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** zlib has one code for all invalid data. Only its text identifies a file without a gzip header. */
const isWithoutGzipHead = ({ message }: Error): boolean => message.includes('header');

function asRefusal(error: unknown, refuse: Refuse): unknown {
  if (error instanceof StorageRefused) return error;
  const { code } = error as { readonly code?: unknown };
  if (code === 'Z_BUF_ERROR') return refuse('it is incomplete', error);
  if (code === 'Z_DATA_ERROR') {
    return refuse(
      isWithoutGzipHead(error as Error) ? 'it is not a backup of Headgate' : 'it is damaged',
      error,
    );
  }
  if (error instanceof SyntaxError || error instanceof TypeError) return refuse('it is damaged', error);
  if (typeof code === 'string') return refuse(systemReason(error), error);
  return error;
}
