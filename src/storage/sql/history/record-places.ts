/**
 * Where the records of a write belong: their app, and the names of the records above them. Reads each parent at most
 * once for a write; `clear` forgets them, since a write may rename a parent.
 */
import type { Kysely } from 'kysely';
import type { HistoryRecords, HistoryRecordType } from '../../../model/history/config-history.ts';
import type { RowOf, Tables } from '../kysely-tables.ts';

export const RECORD_TABLES = {
  app: 'app',
  version: 'version',
  revision: 'revision',
  endpoint: 'endpoint',
  token: 'api_key',
} as const satisfies Readonly<Record<HistoryRecordType, keyof Tables>>;

export type RecordRows = { readonly [Type in keyof HistoryRecords]: RowOf<HistoryRecords[Type]> };

export type RecordRow = {
  readonly [Type in HistoryRecordType]: { type: Type; row: RecordRows[Type] };
}[HistoryRecordType];

export interface Place {
  readonly appId: string;
  /** The names of the records above one. */
  readonly parents: Readonly<Record<string, string>>;
}

export class RecordPlaces {
  readonly #db: Kysely<Tables>;
  /** The place of the children of a record, by its id. */
  readonly #below = new Map<string, Place>();

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  clear(): void {
    this.#below.clear();
  }

  /** The parents must exist. */
  async placeOf(record: RecordRow): Promise<Place> {
    const { type, row } = record;
    const place = type === 'app' ? { appId: row.id, parents: {} } : await this.#belowParent(record);
    // Often the children come next.
    if (type !== 'endpoint' && type !== 'token') {
      this.#below.set(row.id, { ...place, parents: { ...place.parents, [type]: nameOf(record) } });
    }
    return place;
  }

  async #belowParent({ type, row }: RecordRow): Promise<Place> {
    if (type === 'revision') {
      return this.#below.get(row.version_id) ?? this.#belowVersion(row.version_id);
    }
    if (type === 'endpoint') {
      return this.#below.get(row.revision_id) ?? this.#belowRevision(row.revision_id);
    }
    const appId = type === 'app' ? row.id : row.app_id;
    return this.#below.get(appId) ?? this.#belowApp(appId);
  }

  async #belowApp(id: string): Promise<Place> {
    const app = await this.#db
      .selectFrom('app')
      .select(['app.id', 'app.slug as app'])
      .where('app.id', '=', id)
      .executeTakeFirstOrThrow();
    return this.#keep(id, app);
  }

  async #belowVersion(id: string): Promise<Place> {
    const version = await this.#db
      .selectFrom('version')
      .innerJoin('app', 'app.id', 'version.app_id')
      .select(['app.id', 'app.slug as app', 'version.version'])
      .where('version.id', '=', id)
      .executeTakeFirstOrThrow();
    return this.#keep(id, version);
  }

  async #belowRevision(id: string): Promise<Place> {
    const revision = await this.#db
      .selectFrom('revision')
      .innerJoin('version', 'version.id', 'revision.version_id')
      .innerJoin('app', 'app.id', 'version.app_id')
      .select(['app.id', 'app.slug as app', 'version.version', 'revision.revision'])
      .where('revision.id', '=', id)
      .executeTakeFirstOrThrow();
    return this.#keep(id, revision);
  }

  #keep(
    id: string,
    { id: appId, ...parents }: { readonly id: string } & Readonly<Record<string, string>>,
  ): Place {
    const place = { appId, parents };
    this.#below.set(id, place);
    return place;
  }
}

/** The name of a record: slug, label, `GET /path`, or name. */
export function nameOf({ type, row }: RecordRow): string {
  if (type === 'app') return row.slug;
  if (type === 'version') return row.version;
  if (type === 'revision') return row.revision;
  if (type === 'endpoint') return `${row.method} ${row.path}`;
  return row.name;
}
