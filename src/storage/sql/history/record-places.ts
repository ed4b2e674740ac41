/**
 * Where the records of a write belong: their app, and the names of the records above them. Reads each parent at most
 * once for a write; `clear` forgets them, since a write may rename a parent.
 */
import type { Kysely } from 'kysely';
import type { HistoryRecordType } from '../../../model/history/config-history.ts';
import type { App, Endpoint, Revision, StoredApiKey, Version } from '../../../model/resources.ts';
import type { RowOf, Tables } from '../kysely-tables.ts';

/** The table of each type of record. */
export const RECORD_TABLES = {
  app: 'app',
  version: 'version',
  revision: 'revision',
  endpoint: 'endpoint',
  token: 'api_key',
} as const satisfies Readonly<Record<HistoryRecordType, keyof Tables>>;

export interface RecordRows {
  readonly app: RowOf<App>;
  readonly version: RowOf<Version>;
  readonly revision: RowOf<Revision>;
  readonly endpoint: RowOf<Endpoint>;
  readonly token: RowOf<StoredApiKey>;
}

export type RecordRow = {
  readonly [Type in HistoryRecordType]: { type: Type; row: RecordRows[Type] };
}[HistoryRecordType];

/** The names, as JSON, of the records above one. */
export interface Place {
  readonly appId: string;
  readonly parents: string;
}

export class RecordPlaces {
  readonly #db: Kysely<Tables>;
  readonly #places = new Map<string, Place>();

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  clear(): void {
    this.#places.clear();
  }

  /** The parents must exist. */
  async placeOf({ type, row }: RecordRow): Promise<Place> {
    if (type === 'app') return { appId: row.id, parents: '{}' };
    if (type === 'version' || type === 'token') return this.#below(row.app_id, () => this.#app(row.app_id));
    if (type === 'revision') return this.#below(row.version_id, () => this.#version(row.version_id));
    return this.#below(row.revision_id, () => this.#revision(row.revision_id));
  }

  async #below(
    id: string,
    read: () => Promise<{ readonly id: string } & Readonly<Record<string, string>>>,
  ): Promise<Place> {
    const known = this.#places.get(id);
    if (known !== undefined) return known;
    const { id: appId, ...parents } = await read();
    const place = { appId, parents: JSON.stringify(parents) };
    this.#places.set(id, place);
    return place;
  }

  #app(id: string) {
    return this.#db
      .selectFrom('app')
      .select(['app.id', 'app.slug as app'])
      .where('app.id', '=', id)
      .executeTakeFirstOrThrow();
  }

  #version(id: string) {
    return this.#db
      .selectFrom('version')
      .innerJoin('app', 'app.id', 'version.app_id')
      .select(['app.id', 'app.slug as app', 'version.version'])
      .where('version.id', '=', id)
      .executeTakeFirstOrThrow();
  }

  #revision(id: string) {
    return this.#db
      .selectFrom('revision')
      .innerJoin('version', 'version.id', 'revision.version_id')
      .innerJoin('app', 'app.id', 'version.app_id')
      .select(['app.id', 'app.slug as app', 'version.version', 'revision.revision'])
      .where('revision.id', '=', id)
      .executeTakeFirstOrThrow();
  }
}

/** What a record is called: slug, label, `GET /path`, or name. */
export function nameOf({ type, row }: RecordRow): string {
  if (type === 'app') return row.slug;
  if (type === 'version') return row.version;
  if (type === 'revision') return row.revision;
  if (type === 'endpoint') return `${row.method} ${row.path}`;
  return row.name;
}
