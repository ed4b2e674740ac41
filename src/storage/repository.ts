/**
 * The boundary between Headgate and its database: reads, and writes inside one transaction that also stores the audit
 * entry and the next config version. SQLite and Postgres implement it; every implementation must pass
 * test/contract/repository.ts. Nothing here knows SQL, HTTP or the proxy.
 */
import type { AppTree, ConfigChange, ConfigPosition, ChangeSet } from '../model/config.ts';
import type {
  AppState,
  HistoryEntry,
  HistoryFilter,
  HistorySize,
  RecordChange,
  RecordName,
  WriteDescription,
} from '../model/history/config-history.ts';
import type { DeadLetter, StoredWebhook } from '../model/events/webhook.ts';
import type { AcmeStore } from './acme-store.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { EventStore } from './event-store.ts';
import type { KeySweepStore } from './key-sweep-store.ts';
import type { SecretStore } from './secret-store.ts';
import type { ListOrder, Page, PageRequest } from './paging.ts';
import type { KeyUsage, UsageDay, UsageName } from '../model/key-usage.ts';
import type { FoundSession, SessionTimes, StoredSession } from '../model/resources.ts';
import type {
  AdminToken,
  App,
  AuditEntry,
  Endpoint,
  Revision,
  StoredAdminToken,
  StoredApiKey,
  Version,
} from '../model/resources.ts';

export { LIST_ORDERS, type ListOrder, type Page, type PageRequest } from './paging.ts';

/** Selects entries that match all given values. Times are RFC 3339, UTC, as `AuditEntry.at`. */
export interface AuditFilter {
  readonly actor?: string;
  readonly action?: string;
  readonly resource_type?: string;
  readonly resource_id?: string;
  readonly resource_name?: string;
  /** Inclusive. */
  readonly since?: string;
  /** Exclusive. */
  readonly until?: string;
}

/** Audit entries may be listed newest first. */
type AuditOrder = ListOrder;

/** An app, stored or not, and its hosts in their stored form. */
export interface HostsOwner {
  readonly appId: string;
  readonly hosts: readonly string[];
}

export interface HostOverlap {
  /** The host of the other app. */
  readonly host: string;
  /** The other app. */
  readonly slug: string;
  readonly gateway_path: string;
  /** Whether the other host has priority, because it lies within a host of this app. */
  readonly isNarrower: boolean;
}

/**
 * Reads. Every look-up includes the parents: an id below another parent is not found. `ref` is an id or the natural
 * label (slug, version label, revision label); an id takes precedence over an equal label.
 */
export interface ConfigReader {
  configVersion(): Promise<number>;
  listApps(page: PageRequest): Promise<Page<App>>;
  findApp(ref: string): Promise<App | undefined>;
  /**
   * Another app with this path that has a host in common with `owner`; for an app without hosts, another app without
   * hosts.
   */
  findAppAt(gatewayPath: string, owner: HostsOwner): Promise<App | undefined>;
  listVersions(appId: string, page: PageRequest): Promise<Page<Version>>;
  findVersion(appId: string, ref: string): Promise<Version | undefined>;
  /** A version with this path of another app that has a host in common with `owner`, as for `findAppAt`. */
  findVersionAt(gatewayPath: string, owner: HostsOwner): Promise<Version | undefined>;
  findOwnVersionAt(gatewayPath: string, appId: string): Promise<Version | undefined>;
  /**
   * A host of another app that lies within a wildcard of `hosts`, or a wildcard of another app that contains one of
   * `hosts`, if both apps have a version with the same path.
   */
  findHostOverlap(appId: string, hosts: readonly string[]): Promise<HostOverlap | undefined>;
  /** Versions of the app whose successor is this label. */
  findVersionsBySuccessor(appId: string, label: string): Promise<readonly Version[]>;
  listRevisions(versionId: string, page: PageRequest): Promise<Page<Revision>>;
  findRevision(versionId: string, ref: string): Promise<Revision | undefined>;
  listEndpoints(revisionId: string, page: PageRequest): Promise<Page<Endpoint>>;
  findEndpoint(revisionId: string, id: string): Promise<Endpoint | undefined>;
  findEndpointByMethodAndPath(
    revisionId: string,
    method: string,
    path: string,
  ): Promise<Endpoint | undefined>;
  /** Id and path of the endpoints with this method whose path begins with `prefix`, ordered by code units. */
  findEndpointPaths(
    revisionId: string,
    method: string,
    prefix: string,
  ): Promise<readonly Pick<Endpoint, 'id' | 'path'>[]>;
  hasActiveEndpoint(revisionId: string): Promise<boolean>;
  /** Labels of current revisions without an active endpoint, in versions of the app that are not retired. */
  findRevisionWithoutEndpoint(
    appId: string,
  ): Promise<(Pick<Version, 'version'> & Pick<Revision, 'revision'>) | undefined>;
  /** The number of current revisions of a version, and the sum of their weights. */
  currentWeights(versionId: string): Promise<{ readonly count: number; readonly weight: number }>;
  /**
   * Whether a key of the app has all of the scopes and is valid at a time (RFC 3339, UTC). undefined if none of the
   * newest 1,000 keys has them and there are more keys.
   */
  someKeyHasScopes(appId: string, scopes: readonly string[], now: string): Promise<boolean | undefined>;
  listKeys(appId: string, page: PageRequest): Promise<Page<StoredApiKey>>;
  findKey(appId: string, id: string): Promise<StoredApiKey | undefined>;
  /** The key whose current or previous value has this SHA-256, whether or not that value is still valid. */
  findKeyByHash(hash: string): Promise<StoredApiKey | undefined>;
  /** Days on which a key was used, oldest first; `YYYY-MM-DD`, both ends inclusive. */
  listKeyUsage(keyId: string, fromDate: string, toDate: string): Promise<readonly UsageDay[]>;
  listAdminTokens(page: PageRequest): Promise<Page<AdminToken>>;
  findAdminToken(id: string): Promise<StoredAdminToken | undefined>;
  findAdminTokenByHash(hash: string): Promise<StoredAdminToken | undefined>;
  findSession(id: string): Promise<FoundSession | undefined>;
  /** Whether or not it has expired. */
  findSessionByHash(hash: string): Promise<FoundSession | undefined>;
  /** Sessions that have not expired; with `actorId`, only those of this actor. */
  listSessions(page: PageRequest, times: SessionTimes, actorId?: string): Promise<Page<FoundSession>>;
  /** Includes expired sessions that are not removed yet. */
  countSessions(): Promise<number>;
  listWebhooks(page: PageRequest): Promise<Page<StoredWebhook>>;
  findWebhook(id: string): Promise<StoredWebhook | undefined>;
  countWebhooks(): Promise<number>;
  /** In the order of their events; the id is that of the event. */
  listDeadLetters(webhookId: string, page: PageRequest): Promise<Page<DeadLetter & { readonly id: string }>>;
  /** `after` is the last id of the previous page, in either order. */
  listAudit(page: PageRequest, order?: AuditOrder, filter?: AuditFilter): Promise<Page<AuditEntry>>;
  /** One app with everything below it, for the snapshot. */
  loadAppTree(appId: string): Promise<AppTree | undefined>;
  /**
   * The oldest config version that `appsAt` can rebuild; the present version if there is no history. All versions
   * from here to the present one can be rebuilt.
   */
  historyFrom(): Promise<number>;
  /**
   * The kept versions, newest first: an unbroken run up to the present version.
   * @param page `after` and `nextAfter` are config versions as text
   */
  listHistory(page: PageRequest, filter?: HistoryFilter): Promise<Page<HistoryEntry>>;
  /** undefined if the version is not kept. */
  findHistory(configVersion: number): Promise<HistoryEntry | undefined>;
  /** The first record that each version changed; none for one that changed no record, or whose records are not kept. */
  firstRecords(configVersions: readonly number[]): Promise<ReadonlyMap<number, RecordName>>;
  /**
   * The records that a version changed, in the order of their first change; none if the version is not kept.
   * @param page `after` and `nextAfter` are opaque texts
   * @throws StorageUnavailable if a secret of a record was encrypted with another key
   */
  historyChanges(configVersion: number, page: PageRequest): Promise<Page<RecordChange>>;
  /**
   * The apps as of a config version, ordered by id: the present state, with every later change undone. In a writer,
   * call it before the write changes anything. Memory and time grow with the present state of the apps asked for and
   * the number of records that changed since the version.
   * @param appId only this app: the list is empty if it did not exist
   * @returns undefined if the version cannot be rebuilt: never written, or no longer kept
   * @throws StorageUnavailable if a secret was encrypted with another key
   */
  appsAt(configVersion: number, appId?: string): Promise<readonly AppState[] | undefined>;
}

/**
 * The operations of one write. Inserting or updating to a duplicate throws `UniqueViolation`; the caller must then
 * abandon the write, since some databases accept no further statement in the transaction. Updating a missing record is
 * a programmer error.
 */
export interface ConfigWriter extends ConfigReader {
  insertApp(app: App): Promise<void>;
  updateApp(app: App): Promise<void>;
  insertVersion(version: Version): Promise<void>;
  updateVersion(version: Version): Promise<void>;
  insertRevision(revision: Revision): Promise<void>;
  updateRevision(revision: Revision): Promise<void>;
  insertEndpoint(endpoint: Endpoint): Promise<void>;
  /** At most some hundreds at once. */
  insertEndpoints(endpoints: readonly Endpoint[]): Promise<void>;
  updateEndpoint(endpoint: Endpoint): Promise<void>;
  insertKey(key: StoredApiKey): Promise<void>;
  updateKey(key: StoredApiKey): Promise<void>;
  insertAdminToken(token: StoredAdminToken): Promise<void>;
  /** Deletes the record and everything below it; false if it does not exist. */
  deleteApp(id: string): Promise<boolean>;
  deleteVersion(id: string): Promise<boolean>;
  deleteRevision(id: string): Promise<boolean>;
  deleteEndpoint(id: string): Promise<boolean>;
  deleteKey(id: string): Promise<boolean>;
  deleteAdminToken(id: string): Promise<boolean>;
  insertSession(session: StoredSession): Promise<void>;
  deleteSession(id: string): Promise<boolean>;
  /**
   * Deletes the sessions of an actor, except the `keep` that were used last; returns the ids of the deleted sessions.
   */
  deleteLeastUsedSessions(actorId: string, keep: number): Promise<readonly string[]>;
  deleteExpiredSessions(times: SessionTimes): Promise<void>;
  /** From then on, events wait for the webhook. */
  insertWebhook(webhook: StoredWebhook): Promise<void>;
  updateWebhook(webhook: StoredWebhook): Promise<void>;
  deleteWebhook(id: string): Promise<boolean>;
  /** Makes dead letters wait for another delivery: one, or all. Returns how many. */
  wantDeadLetters(webhookId: string, eventId?: string): Promise<number>;
  deleteDeadLetters(webhookId: string, eventId?: string): Promise<number>;
  /** Makes an order for the certificate of a name due now; false if no order was ever wanted for it. */
  requestCertificate(name: string): Promise<boolean>;
  /** Moves `last_used_at` forward, never back; ignores an id that does not exist. */
  recordSessionUse(id: string, lastUsedAt: string): Promise<void>;
  /** Counts direct children, to refuse the deletion of a parent. */
  countVersions(appId: string): Promise<number>;
  countKeys(appId: string): Promise<number>;
  countRevisions(versionId: string): Promise<number>;
  countEndpoints(revisionId: string): Promise<number>;
  keyIdsOfApp(appId: string): Promise<readonly string[]>;
  /** Returns how many revisions changed: none if all already had the value. */
  setCurrentRevision(
    versionId: string,
    revisionId: string,
    exclusive: boolean,
    updatedAt: string,
  ): Promise<number>;
  /**
   * The description of the config version that the write creates; by default it is an action of `system`. The last call
   * counts. It has no effect on a write that creates no config version.
   */
  describeVersion(description: WriteDescription): void;
  /** Visible to reads after the write. */
  appendAudit(entry: Omit<AuditEntry, 'config_version'>): Promise<void>;
}

/** The result of a write's work: the answer for the caller, and what was changed. */
export interface WriteResult<T> {
  readonly value: T;
  readonly touched: ChangeSet;
}

export interface Committed<T> {
  readonly value: T;
  /** What the workers must apply; undefined if the write touched nothing that they use. */
  readonly change: ConfigChange | undefined;
  readonly configVersion: number;
}

/**
 * Throws to refuse a write before it is committed.
 * @param change what the workers would apply
 * @param missed what other gateways have written and the caller has not applied yet
 */
export type WriteCheck = (change: ConfigChange, missed: ConfigChange | undefined) => Promise<void> | void;

/** How a gateway process announces itself to the others. */
export interface NodeDescription {
  /** New at each start. */
  readonly id: string;
  readonly name: string;
  readonly programVersion: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /** Interval of heartbeats, each of which also looks for missed changes. */
  readonly heartbeatMs: number;
  /** A gateway without a heartbeat for this long counts as gone. */
  readonly timeoutMs: number;
}

/** A live gateway as recorded in the database. */
export interface NodeRecord {
  readonly id: string;
  readonly name: string;
  readonly programVersion: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /** RFC 3339, by the database's clock. */
  readonly lastSeenAt: string;
  /** The version that all of its workers serve. */
  readonly configVersion: number;
}

/** Position of one gateway among the live ones. */
export interface NodePlace {
  /** Number of live gateways, including this one. */
  readonly count: number;
  /** Rank by start time, from 0; unique. */
  readonly rank: number;
}

/** Events of a membership; handlers must not throw. */
export interface MembershipEvents {
  /** A gateway has written something. */
  onChanged(): void;
  /** The state of the database; sent with each heartbeat. */
  onPosition(position: ConfigPosition): void;
  /** The workers of another gateway serve this version. */
  onApplied(nodeId: string, configVersion: number): void;
  /** The number of live gateways and the rank of this one; sent with each heartbeat. */
  onNodes(place: NodePlace): void;
  /** Another gateway has sent a message, to all or to this one. */
  onMessage(text: string): void;
  /** A heartbeat failed: a change may have been announced and not heard, although the database can perhaps be read. */
  onMissed(error: unknown): void;
  /** The connection was lost and is being retried, or is back. */
  onLost(error: unknown): void;
  onBack(): void;
}

/** Membership of one gateway; reconnects until it leaves. */
export interface Membership {
  /** Announces that all workers serve this version. */
  applied(configVersion: number): void;
  /** Removes the row. Never rejects. */
  leave(): Promise<void>;
}

/** The gateways that share a database. */
export interface ClusterStore {
  /**
   * Announces a gateway. From then on the others wait for it, so it must look for changes before it serves.
   * @param configVersion the version that it would serve now
   * @throws StorageUnavailable if the database does not answer; StorageRefused if other gateways encrypt secrets with
   *   another key
   */
  join(node: NodeDescription, configVersion: number, events: MembershipEvents): Promise<Membership>;
  /** Live gateways, ordered by start time. */
  liveNodes(): Promise<readonly NodeRecord[]>;
  /**
   * Sends messages in their order, all or none. Those that listen get them; nothing is kept for others.
   * @param nodeId undefined: to all gateways, also this one
   * @param texts each at most `MESSAGE_LENGTH_MAX` characters of ASCII
   * @throws StorageUnavailable
   */
  send(nodeId: string | undefined, texts: readonly string[]): Promise<void>;
}

/** A notification of Postgres has less than 8,000 bytes. */
export const MESSAGE_LENGTH_MAX = 7_900;

/** The origin of a backup. */
export interface BackupOrigin {
  /** Version of the program that writes it. */
  readonly program_version: string;
  /** RFC 3339, UTC. */
  readonly created_at: string;
}

export interface Repository {
  readonly driver: 'sqlite' | 'postgres';
  /** Throws `StorageUnavailable` if the database does not answer. */
  ping(): Promise<void>;
  /** Checks writing: commits a transaction that changes nothing. */
  pingWrite(): Promise<void>;
  /**
   * Throws `StorageUnavailable` if the user of the database lacks a privilege that every write needs. Writes nothing.
   */
  assertPrivileges(): Promise<void>;
  /**
   * Runs `work` on one consistent state of the database. Neither `work` here nor that of a write may wait for the
   * network or call the repository itself: it must use the reader or writer that it gets.
   */
  read<T>(work: (reader: ConfigReader) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in one transaction. Writes are serialised and settle in the order of their config versions. If `work`
   * returns a non-empty `touched`, the config version grows by one, and the change is loaded in the same transaction
   * and passed to `check`, which may throw to refuse the write. Returning `abort` rolls back and resolves with its
   * value. The promise resolves once the transaction is durable. Throws `StorageUnavailable` if the database cannot
   * complete the write, and whatever `work` or `check` throw; nothing is written then.
   * @param known returns the state that the caller has, so that `check` gets the changes it missed
   */
  write<T>(
    work: (writer: ConfigWriter) => Promise<WriteResult<T> | { readonly abort: T }>,
    check?: WriteCheck,
    known?: () => ConfigPosition,
  ): Promise<Committed<T>>;
  /**
   * Loads the whole configuration as one change with `reset: true`.
   * @param onKeys receives the keys in batches, so that they are never all in memory; the change then has none
   */
  loadAll(onKeys?: (keys: readonly StoredApiKey[]) => void): Promise<ConfigChange>;
  /** The current state of the database. */
  position(): Promise<ConfigPosition>;
  /**
   * The difference from `known` to the current state as one change. With `reset` if the difference is unknown;
   * undefined if the states are equal.
   */
  loadSince(known: ConfigPosition): Promise<ConfigChange | undefined>;
  /**
   * Adds to the counts of keys and moves their `last_used_at` forward, or back if it is far ahead of the clock of the
   * database, in one transaction that creates no config version. Skips deleted keys.
   * @param usage at most one entry per key and day
   * @param name of this usage: a call with the name of the last one that was stored stores nothing, so it can be
   * repeated if it is not known whether it was stored
   */
  recordKeyUsage(usage: readonly KeyUsage[], name?: UsageName): Promise<void>;
  /** Deletes counts of days before `beforeDate`, a bounded number at once; false if there may be more. */
  removeKeyUsage(beforeDate: string): Promise<boolean>;
  /** Removes entries of the audit log that are older, a bounded number at once; false if there may be more. */
  trimAudit(maxAgeMs: number): Promise<boolean>;
  /**
   * Removes the oldest history beyond the bounds that the database was opened with, a bounded number of records at
   * once; false if there may be more. Any gateway may call it at any time.
   */
  compactHistory(): Promise<boolean>;
  historySize(): Promise<HistorySize>;
  /** Moves `last_used_at` forward, or back if it is far ahead of the clock of the database. */
  recordAdminTokenUse(id: string, lastUsedAt: string): Promise<void>;
  countAdminTokens(): Promise<number>;
  /**
   * Sends everything of one state of the database as the text of a backup file, in pieces (copy/backup-format.ts). The
   * database keeps that state until `send` has taken the last piece.
   */
  backup(origin: BackupOrigin, send: (text: string) => Promise<void>): Promise<void>;
  /** undefined if a database has only one gateway, or has been unreachable since the start. */
  readonly cluster: ClusterStore | undefined;
  /** Looks for keys that expire. Throws StorageUnavailable if the database has been unreachable since the start. */
  readonly keySweeps: KeySweepStore;
  readonly secrets: SecretStore;
  /** Certificates by ACME. Throws StorageUnavailable if the database has been unreachable since the start. */
  readonly acme: AcmeStore;
  /** The gateway's events. Throws like `acme`. */
  readonly events: EventStore;
  /** The progress of webhooks. Throws like `acme`. */
  readonly deliveries: DeliveryStore;
  /** Calls the listener after each transaction of this gateway that may have recorded events or changed webhooks. */
  onEvents(listener: () => void): void;
  close(): Promise<void>;
}
