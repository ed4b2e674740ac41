/**
 * The tables as Kysely sees them, and the unique constraints with the API's field names. The same for every SQL
 * database: ids and times are text, booleans are 0 and 1, structured values are JSON text, and 64-bit integers are
 * numbers (a driver that returns them as text must parse them). migrations/ creates the tables.
 */
import type { HistoryEntry, HistoryRecordType } from '../../model/history/config-history.ts';
import type { StoredSession } from '../../model/resources.ts';
import type { StoredWebhook } from '../../model/events/webhook.ts';
import type { AcmeCertificate, AcmeChallenge } from '../acme-store.ts';
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

/** How one field of a record is stored in a column. */
type Cell<T> = T extends boolean ? number : T extends string | number | null ? T : string;

/** The row of a record: the same names, each value a text, a number or null. */
export type RowOf<T> = { -readonly [K in keyof T]: Cell<T[K]> };

export interface Tables {
  app: RowOf<App>;
  /** The hosts of apps, with their labels reversed. */
  app_host: { app_id: string; host: string };
  /** `host_scope` follows from the hosts of the app; writer.ts keeps it. */
  version: RowOf<Version> & { host_scope: string };
  revision: RowOf<Revision>;
  endpoint: RowOf<Endpoint>;
  api_key: RowOf<StoredApiKey>;
  admin_token: RowOf<StoredAdminToken>;
  audit_entry: RowOf<AuditEntry>;
  key_usage: { key_id: string } & RowOf<UsageDay>;
  /** One row, with id 1. */
  config_state: { id: number; config_version: number };
  config_change: ChangeRow;
  config_history: HistoryRow;
  config_history_record: HistoryRecordRow;
  admin_session: RowOf<StoredSession>;
  node: NodeRow;
  acme_state: AcmeStateRow;
  /** Marks by name: for sweeps over keys, for events that were removed to make room, and for stored usage of keys. */
  key_sweep: { name: string; until: string };
  acme_account: { directory: string; private_key: string; url: string | null; created_at: string };
  acme_certificate: RowOf<AcmeCertificate> & { revision: number };
  acme_challenge: RowOf<AcmeChallenge>;
  acme_order: { id: string; name: string; started_ms: number };
  event: EventRow;
  webhook: WebhookRow;
  webhook_delivery: DeliveryRow;
  webhook_dead_letter: DeadLetterRow;
}

export interface EventRow {
  id: string;
  type: string;
  at: string;
  node: string | null;
  app_id: string | null;
  subject_kind: string;
  subject_id: string;
  subject_name: string;
  /** JSON. */
  data: string;
  dedupe_key: string | null;
}

/** Secrets are sealed. */
export type WebhookRow = Omit<RowOf<StoredWebhook>, 'secret'> & { secret: string };

/** The progress of a webhook, and which gateway sends for it. */
export interface DeliveryRow {
  webhook_id: string;
  cursor: string;
  failures: number;
  tries: number;
  next_try_ms: number;
  last_error: string | null;
  failed_at_ms: number | null;
  delivered_at_ms: number | null;
  delivered: number;
  lease_holder: string | null;
  lease_until_ms: number;
}

export interface DeadLetterRow {
  webhook_id: string;
  event_id: string;
  /** JSON of the event. */
  event: string;
  tries: number;
  error: string;
  failed_at: string;
  is_wanted: number;
}

/** One row, with id 1. */
interface AcmeStateRow {
  id: number;
  lease_holder: string | null;
  lease_until_ms: number;
  revision: number;
  paused_until_ms: number;
  paused_reason: string | null;
}

/** What one config version touched; see change-log.ts. */
interface ChangeRow {
  config_version: number;
  change_id: string;
  /** `ChangeSet` as JSON; null: too large to be recorded. */
  touched: string | null;
}

/** What is stored about one config version. */
export interface HistoryRow extends RowOf<HistoryEntry> {
  /** The oldest version that can be rebuilt from this one, if all versions between them are kept. */
  from_version: number;
}

/** The change of one record in one config version. */
export interface HistoryRecordRow {
  config_version: number;
  /** From 0, in the order of the first change. */
  position: number;
  type: HistoryRecordType;
  id: string;
  app_id: string;
  name: string;
  /** Names of the records above it, as JSON. */
  parents: string;
  /** The rows as JSON; null: the record did not exist. */
  before: string | null;
  after: string | null;
}

/** A running gateway on this database. */
interface NodeRow {
  id: string;
  name: string;
  program_version: string;
  /** Ids of its secret keys with spaces between them, first the one that encrypts; null: it has no key. */
  secret_key_id: string | null;
  started_at: string;
  /** The version that all of its workers serve. */
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
  /** The API's name of the field. */
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
  unique('version', ['gateway_path', 'host_scope'], 'version', 'gateway_path'),
  unique('revision', ['version_id', 'revision'], 'revision', 'revision'),
  unique('endpoint', ['revision_id', 'method', 'path'], 'endpoint', 'path'),
  unique('api_key', ['token_hash'], 'token', 'token'),
  unique('admin_token', ['token_hash'], 'admin_token', 'token'),
  unique('admin_session', ['value_hash'], 'session', 'id'),
];
