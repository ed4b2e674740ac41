/**
 * The history of the configuration: what is stored for each config version, and the records that it changed. The
 * management API and the repository use the same types. Admin tokens are not part of it.
 */
import type { AppTree } from '../config.ts';
import type { App, Endpoint, Revision, StoredApiKey, Version } from '../resources.ts';

/** Who created a config version, through which interface, and why. */
export interface VersionDescription {
  /** Id of the admin token, `environment`, `anonymous`, or `system`, as in the audit log. */
  readonly actor: string;
  /** The client's address and the id of its request; null when there was none. */
  readonly address: string | null;
  readonly request_id: string | null;
  /** The interface: `api`, `cli`, `console`, `file`, `rollback`, `system`; a short text. */
  readonly source: string;
  /** The Git commit that the configuration was taken from. */
  readonly git_commit: string | null;
  /** As in the audit log, such as `app.create`. */
  readonly action: string;
  readonly message: string | null;
}

/** What a write says of itself: the history stores all but the name, which is in the event of the write. */
export interface WriteDescription extends VersionDescription {
  /** Of the admin token, or of the person at the OpenID provider; absent when the gateway itself writes. */
  readonly actor_name?: string;
}

/** One config version in the history. */
export interface HistoryEntry extends VersionDescription {
  readonly config_version: number;
  /** RFC 3339, UTC. */
  readonly at: string;
  /** Number of records that the version changed. */
  readonly changed_records: number;
  /** UTF-8 bytes of the kept records; 0 if they are not kept. */
  readonly bytes: number;
  /** False: the write exceeded the bound, so neither its records nor earlier versions are kept. */
  readonly is_complete: boolean;
}

/** The records of the history, by type. */
export interface HistoryRecords {
  readonly app: App;
  readonly version: Version;
  readonly revision: Revision;
  readonly endpoint: Endpoint;
  /** An API key. */
  readonly token: StoredApiKey;
}

export type HistoryRecordType = keyof HistoryRecords;

/** What one config version did to one record. At least one of `before` and `after` is a record. */
export type RecordChange = {
  readonly [Type in HistoryRecordType]: {
    readonly type: Type;
    readonly id: string;
    readonly app_id: string;
    /** Slug, label, `GET /path`, or name of a key, at the time of the write. */
    readonly name: string;
    /** The names of the records above it (`app`, `version`, `revision`), at the time of the write. */
    readonly parents: Readonly<Record<string, string>>;
    /** Null: the version created the record. */
    readonly before: HistoryRecords[Type] | null;
    /** Null: the version deleted the record. */
    readonly after: HistoryRecords[Type] | null;
  };
}[HistoryRecordType];

/** Identifies the record of a change by its names at that time. */
export type RecordName = Pick<RecordChange, 'type' | 'name' | 'parents'>;

/** Selects versions that match all given values. Times are RFC 3339, UTC. */
export interface HistoryFilter {
  readonly actor?: string;
  readonly source?: string;
  readonly action?: string;
  readonly git_commit?: string;
  /** Versions that changed something in this app, which may be deleted since. */
  readonly app_id?: string;
  /** Inclusive. */
  readonly since?: string;
  /** Exclusive. */
  readonly until?: string;
}

/** An app with everything below it. */
export interface AppState {
  readonly tree: AppTree;
  /** Ordered by id. `last_used_at` is the current value: the use of a key is not part of the configuration. */
  readonly keys: readonly StoredApiKey[];
}

/** How much history is kept. A write that exceeds the bounds drops the oldest versions a little later. */
export interface HistoryBounds {
  /** 0: keep no history. */
  readonly maxVersions: number;
  /** UTF-8 bytes of the records. */
  readonly maxBytes: number;
}

export const HISTORY_DEFAULTS: HistoryBounds = Object.freeze({
  maxVersions: 1_000,
  maxBytes: 256 * 1024 * 1024,
});

/** The current size of the history. */
export interface HistorySize {
  readonly versions: number;
  readonly bytes: number;
}
