/**
 * The tables as Kysely sees them, and the uniqueness rules with the API's names for their fields. The same for
 * every SQL database: ids and times are text, booleans are 0 and 1, everything structured is JSON text, and
 * 64-bit integers arrive as numbers (a driver that returns them as text is told to parse them). The statements that make these tables are in migrations/.
 */
import type { UsageDay } from '../../model/key-usage.ts';
import type {
  App,
  AuditEntry,
  Endpoint,
  Revision,
  StoredAdminToken,
  StoredApiKey,
  Version,
} from '../../model/resources.ts';

/** How one field of a record lies in a column. */
type Cell<T> = T extends boolean ? number : T extends string | number | null ? T : string;

/** The row of a record: the same names, each value as a text, a number or null. */
export type RowOf<T> = { -readonly [K in keyof T]: Cell<T[K]> };

export interface Tables {
  app: RowOf<App>;
  version: RowOf<Version>;
  revision: RowOf<Revision>;
  endpoint: RowOf<Endpoint>;
  api_key: RowOf<StoredApiKey>;
  admin_token: RowOf<StoredAdminToken>;
  audit_entry: RowOf<AuditEntry>;
  key_usage: { key_id: string } & RowOf<UsageDay>;
  /** One row, with id 1. */
  config_state: { id: number; config_version: number };
  config_change: ChangeRow;
  node: NodeRow;
}

/** What one config version touched; see change-log.ts. */
export interface ChangeRow {
  config_version: number;
  change_id: string;
  /** `ChangeSet` as JSON; null: more than is written down. */
  touched: string | null;
}

/** A gateway that runs on this database. */
export interface NodeRow {
  id: string;
  name: string;
  program_version: string;
  /** Of the key that seals secrets; null: it has none. */
  secret_key_id: string | null;
  started_at: string;
  /** What all of its workers obey. */
  config_version: number;
  /** How long after `last_seen_ms` it counts as alive. */
  timeout_ms: number;
  last_seen_ms: number;
}

export interface UniqueConstraint {
  /** Name of the index; Postgres reports it. */
  readonly index: string;
  /** Table and columns; SQLite reports these. */
  readonly table: keyof Tables;
  readonly columns: readonly string[];
  /** What the API calls it. */
  readonly resource: string;
  readonly field: string;
}

const unique = (
  table: keyof Tables,
  columns: readonly string[],
  resource: string,
  field: string,
): UniqueConstraint => ({ index: `${table}_${columns.join('_')}_unique`, table, columns, resource, field });

export const UNIQUE_CONSTRAINTS: readonly UniqueConstraint[] = [
  unique('app', ['slug'], 'app', 'slug'),
  unique('app', ['gateway_path'], 'app', 'gateway_path'),
  unique('version', ['app_id', 'version'], 'version', 'version'),
  unique('version', ['gateway_path'], 'version', 'gateway_path'),
  unique('revision', ['version_id', 'revision'], 'revision', 'revision'),
  unique('endpoint', ['revision_id', 'method', 'path'], 'endpoint', 'path'),
  unique('api_key', ['token_hash'], 'token', 'token'),
  unique('admin_token', ['token_hash'], 'admin_token', 'token'),
];
