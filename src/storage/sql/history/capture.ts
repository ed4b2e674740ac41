/**
 * Collects what one write does to the records of the configuration: rows before its first change and after its last.
 * Owns these rows, as JSON, until the write ends; beyond a bound it keeps only which records changed. The rows are
 * those of the tables, so secrets in them are sealed.
 */
import type { Kysely } from 'kysely';
import type { HistoryRecordType } from '../../../model/history/config-history.ts';
import type { Tables } from '../kysely-tables.ts';
import type { Codecs } from '../rows.ts';
import { nameOf, RECORD_TABLES, RecordPlaces, type RecordRow, type RecordRows } from './record-places.ts';

/** A change of one record; `before` and `after` are rows as JSON. */
export interface CapturedRecord {
  readonly type: HistoryRecordType;
  readonly id: string;
  readonly app_id: string;
  readonly name: string;
  readonly parents: string;
  readonly before: string | null;
  readonly after: string | null;
}

export interface Captured {
  /** In the order of the first change. Empty if there are too many bytes. */
  readonly records: readonly CapturedRecord[];
  readonly changedRecords: number;
  readonly bytes: number;
  /** False: there were too many bytes. */
  readonly isComplete: boolean;
}

/** Bytes of one write in memory; a write that changes more is not kept. */
export const CAPTURED_BYTES_MAX = 64 * 1024 * 1024;
/** Children read at once before they are deleted. */
const BATCH_ROWS = 1_000;

export class HistoryCapture {
  readonly #db: Kysely<Tables>;
  readonly #codecs: Codecs;
  readonly #bytesMax: number;
  readonly #places: RecordPlaces;
  readonly #records = new Map<string, CapturedRecord>();
  /** The changed records of a write with too many bytes. */
  #excess: Set<string> | undefined;
  #bytes = 0;

  /** @param bytesMax of the history */
  constructor(db: Kysely<Tables>, codecs: Codecs, bytesMax: number) {
    this.#db = db;
    this.#codecs = codecs;
    this.#bytesMax = Math.min(bytesMax, CAPTURED_BYTES_MAX);
    this.#places = new RecordPlaces(db);
  }

  /** Whether something has changed; a record that has its first state again counts. */
  get hasChanges(): boolean {
    return this.#records.size > 0 || this.#excess !== undefined;
  }

  /** Call it after the insertion, or at least after that of the parents. */
  async inserted<Type extends HistoryRecordType>(type: Type, row: RecordRows[Type]): Promise<void> {
    await this.#add({ type, row } as RecordRow, null, row);
  }

  /**
   * Call it before the update.
   * @param change the new values of some or all columns
   */
  async updating<Type extends HistoryRecordType>(
    type: Type,
    id: string,
    change: Partial<RecordRows[Type]>,
  ): Promise<void> {
    const before = await this.#read(type, id);
    if (before === undefined) return;
    await this.#add({ type, row: before } as RecordRow, before, { ...before, ...change });
    if (type !== 'endpoint' && type !== 'token') this.#places.clear();
  }

  /** Call it before the deletion. Children that the deletion removes are included, and stand behind their parents. */
  async deleting(type: HistoryRecordType, id: string): Promise<void> {
    const row = await this.#read(type, id);
    if (row === undefined) return;
    await this.#add({ type, row } as RecordRow, row, null);
    if (type === 'app') {
      await this.#deletingBelow('version', 'app_id', id);
      await this.#deletingBelow('token', 'app_id', id);
    } else if (type === 'version') await this.#deletingBelow('revision', 'version_id', id);
    else if (type === 'revision') await this.#deletingBelow('endpoint', 'revision_id', id);
  }

  /** Leaves out records that are as they were. */
  finish(): Captured {
    if (this.#excess !== undefined) {
      return { records: [], changedRecords: this.#excess.size, bytes: 0, isComplete: false };
    }
    const records = [...this.#records.values()].filter((record) => !this.#isSame(record));
    const bytes = records.reduce((sum, record) => sum + bytesOf(record), 0);
    return { records, changedRecords: records.length, bytes, isComplete: true };
  }

  async #deletingBelow(
    type: 'version' | 'token' | 'revision' | 'endpoint',
    column: 'app_id' | 'version_id' | 'revision_id',
    parentId: string,
  ): Promise<void> {
    const hasChildren = type === 'version' || type === 'revision';
    for (let after = ''; ;) {
      const rows: RecordRows[typeof type][] = await this.#db
        .selectFrom(RECORD_TABLES[type] as 'version')
        .selectAll()
        .where(column as 'app_id', '=', parentId)
        .where('id', '>', after)
        .orderBy('id')
        .limit(BATCH_ROWS)
        .execute();
      for (const row of rows) {
        if (hasChildren) await this.deleting(type, row.id);
        else await this.#add({ type, row } as RecordRow, row, null);
      }
      if (rows.length < BATCH_ROWS) return;
      after = rows.at(-1)?.id ?? '';
    }
  }

  async #read(type: HistoryRecordType, id: string): Promise<object | undefined> {
    return this.#db
      .selectFrom(RECORD_TABLES[type] as 'app')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
  }

  async #add(record: RecordRow, before: object | null, after: object | null): Promise<void> {
    const { type, row } = record;
    const key = `${type} ${row.id}`;
    if (this.#excess !== undefined) {
      this.#excess.add(key);
      return;
    }
    const known = this.#records.get(key);
    const next = known ?? {
      type,
      id: row.id,
      ...(await this.#nameOf(record)),
      before: before && JSON.stringify(before),
    };
    const changed = { ...next, after: after && JSON.stringify(after) };
    this.#records.set(key, changed);
    this.#bytes += bytesOf(changed) - (known === undefined ? 0 : bytesOf(known));
    if (this.#bytes <= this.#bytesMax) return;
    this.#excess = new Set(this.#records.keys());
    this.#records.clear();
  }

  async #nameOf(record: RecordRow): Promise<Pick<CapturedRecord, 'app_id' | 'name' | 'parents'>> {
    const { appId, parents } = await this.#places.placeOf(record);
    return { app_id: appId, name: nameOf(record), parents };
  }

  /** Compares records: sealing the same secret again gives another row. The last use of a key is not a change. */
  #isSame({ type, before, after }: CapturedRecord): boolean {
    if (before === after) return true;
    if (before === null || after === null) return false;
    const [old, now] = [before, after].map((row) => toRecord(this.#codecs, type, row) as object);
    return Object.entries(old ?? {}).every(
      ([field, value]) =>
        field === 'last_used_at' || JSON.stringify(value) === JSON.stringify((now as Fields)[field]),
    );
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** @param row as JSON */
export function toRecord(codecs: Codecs, type: HistoryRecordType, row: string): unknown {
  const codec = codecs[type === 'token' ? 'key' : type];
  return codec.toRecord(JSON.parse(row) as never);
}

function bytesOf({ id, app_id, name, parents, before, after }: CapturedRecord): number {
  const texts = [id, app_id, name, parents, before ?? '', after ?? ''];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}
