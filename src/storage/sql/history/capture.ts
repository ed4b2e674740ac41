/**
 * Collects what one write does to the records of the configuration: rows before its first change and after its last.
 * Owns these rows, as JSON, until the write ends; beyond a bound it keeps only which records changed. The rows are the
 * rows of the tables, so secrets in them are sealed.
 */
import { CompiledQuery, type Kysely } from 'kysely';
import type { HistoryRecordType } from '../../../model/history/config-history.ts';
import type { Repository } from '../../repository.ts';
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
const CAPTURED_BYTES_MAX = 64 * 1024 * 1024;
/**
 * Maximum number of children that are read at once before they are deleted, and of parents whose children are read at
 * once.
 */
const BATCH_ROWS = 1_000;
const PARENTS_PER_QUERY = 200;

type ChildType = Exclude<HistoryRecordType, 'app'>;
type ParentColumn = 'app_id' | 'version_id' | 'revision_id';
type ChildRow = { readonly id: string } & Readonly<Record<ParentColumn, string>>;

export interface CaptureOptions {
  readonly driver: Repository['driver'];
  readonly db: Kysely<Tables>;
  readonly codecs: Codecs;
  /** The limit of the history. */
  readonly bytesMax: number;
}

export class HistoryCapture {
  readonly #db: Kysely<Tables>;
  readonly #codecs: Codecs;
  readonly #bytesMax: number;
  /** How a statement names its first parameter. */
  readonly #parameter: string;
  readonly #places: RecordPlaces;
  readonly #records = new Map<string, CapturedRecord>();
  /** The changed records of a write whose records have too many bytes. */
  #excess: Set<string> | undefined;
  #bytes = 0;

  constructor({ driver, db, codecs, bytesMax }: CaptureOptions) {
    this.#db = db;
    this.#codecs = codecs;
    this.#parameter = driver === 'sqlite' ? '?' : '$1';
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

  /** Call it before the deletion. Includes what the deletion removes below the record, level by level. */
  async deleting(type: HistoryRecordType, id: string): Promise<void> {
    const row = await this.#read(type, id);
    if (row === undefined) return;
    await this.#add({ type, row } as RecordRow, row, null);
    let revisionIds = type === 'revision' ? [id] : [];
    let versionIds = type === 'version' ? [id] : [];
    if (type === 'app') versionIds = await this.#deletingBelow('version', 'app_id', [id]);
    if (versionIds.length > 0) revisionIds = await this.#deletingBelow('revision', 'version_id', versionIds);
    if (revisionIds.length > 0) await this.#deletingBelow('endpoint', 'revision_id', revisionIds);
    if (type === 'app') await this.#deletingBelow('token', 'app_id', [id]);
  }

  /** Leaves out records that have not changed. */
  finish(): Captured {
    if (this.#excess !== undefined) {
      return { records: [], changedRecords: this.#excess.size, bytes: 0, isComplete: false };
    }
    const records = [...this.#records.values()].filter((record) => !this.#isSame(record));
    const bytes = records.reduce((sum, record) => sum + bytesOf(record), 0);
    return { records, changedRecords: records.length, bytes, isComplete: true };
  }

  /** @returns the ids of the children */
  async #deletingBelow(
    type: ChildType,
    column: ParentColumn,
    parentIds: readonly string[],
  ): Promise<string[]> {
    const ids: string[] = [];
    for (let waiting = parentIds.toSorted(); waiting.length > 0;) {
      const some = waiting.slice(0, PARENTS_PER_QUERY);
      const rows = await this.#children(type, column, some, '');
      const last = rows.at(-1);
      await this.#addDeleted(type, rows, ids);
      if (rows.length < BATCH_ROWS || last === undefined) waiting = waiting.slice(PARENTS_PER_QUERY);
      else {
        // The rest of the parent whose children were cut off; those before it are complete.
        const cutId = last[column];
        for (let more: ChildRow[] = rows; more.length === BATCH_ROWS;) {
          more = await this.#children(type, column, [cutId], more.at(-1)?.id ?? '');
          await this.#addDeleted(type, more, ids);
        }
        waiting = waiting.filter((id) => id > cutId);
      }
    }
    return ids;
  }

  async #addDeleted(type: ChildType, rows: readonly ChildRow[], ids: string[]): Promise<void> {
    for (const row of rows) {
      ids.push(row.id);
      await this.#add({ type, row } as unknown as RecordRow, row, null);
    }
  }

  /** One batch, ordered by parent and id. */
  async #children(
    type: ChildType,
    column: ParentColumn,
    parentIds: readonly string[],
    after: string,
  ): Promise<ChildRow[]> {
    // The tables of children differ; Kysely cannot follow a table that is a parameter.
    const rows = await this.#db
      .selectFrom(RECORD_TABLES[type] as 'version')
      .selectAll()
      .where(column as 'app_id', 'in', parentIds)
      .where('id', '>', after)
      .orderBy(column as 'app_id')
      .orderBy('id')
      .limit(BATCH_ROWS)
      .execute();
    return rows as unknown as ChildRow[];
  }

  /** Without a query builder, which would cost more than the query. */
  async #read(type: HistoryRecordType, id: string): Promise<{ readonly id: string } | undefined> {
    const { rows } = await this.#db.executeQuery<{ id: string }>(
      CompiledQuery.raw(`select * from "${RECORD_TABLES[type]}" where "id" = ${this.#parameter}`, [id]),
    );
    return rows[0];
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
    return { app_id: appId, name: nameOf(record), parents: JSON.stringify(parents) };
  }

  /** Sealing the same secret again gives another text. The last use of a key is not a change. */
  #isSame({ type, before, after }: CapturedRecord): boolean {
    if (before === after) return true;
    if (before === null || after === null) return false;
    const [old, now] = [JSON.parse(before), JSON.parse(after)] as [Fields, Fields];
    const different = Object.keys(old).filter((name) => old[name] !== now[name] && name !== 'last_used_at');
    if (different.some((name) => !SEALED_FIELDS.has(name))) return false;
    if (different.length === 0) return true;
    const [oldRecord, nowRecord] = [before, after].map((row) => toRecord(this.#codecs, type, row) as Fields);
    return different.every((name) => JSON.stringify(oldRecord?.[name]) === JSON.stringify(nowRecord?.[name]));
  }
}

type Fields = Readonly<Record<string, unknown>>;
const SEALED_FIELDS: ReadonlySet<string> = new Set(['default_policy', 'policy_override']);

/** @param row as JSON */
export function toRecord(codecs: Codecs, type: HistoryRecordType, row: string): unknown {
  const codec = codecs[type === 'token' ? 'key' : type];
  return codec.toRecord(JSON.parse(row) as never);
}

function bytesOf({ id, app_id, name, parents, before, after }: CapturedRecord): number {
  const texts = [id, app_id, name, parents, before ?? '', after ?? ''];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}
