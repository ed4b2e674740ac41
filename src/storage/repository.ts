/**
 * The boundary between Headgate and its database: reads, and writes inside one transaction that also carries
 * the audit entry and the next config version. SQLite implements it; test/contract/repository.ts is the suite
 * that every implementation must pass. Nothing here knows SQL, HTTP or the proxy.
 */
import type { AppTree, ConfigChange, ConfigPosition, ChangeSet } from '../model/config.ts';
import type { KeyUsage, UsageDay } from '../model/key-usage.ts';
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

/** One page of a list, ordered by id (that is, by time of creation). */
export interface PageRequest {
  /** 1 to 500. */
  readonly limit: number;
  /** Id after which the page starts; undefined for the first. */
  readonly after: string | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Number of all items, over all pages. */
  readonly total: number;
  /** Id to give as `after` for the next page; null on the last. */
  readonly nextAfter: string | null;
}

/** Entries that have all of these values. Times are RFC 3339, UTC, as `AuditEntry.at`. */
export interface AuditFilter {
  readonly actor?: string;
  readonly action?: string;
  readonly resource_type?: string;
  readonly resource_id?: string;
  readonly resource_name?: string;
  /** From this moment on. */
  readonly since?: string;
  /** Before this moment. */
  readonly until?: string;
}

/** Audit entries are the one list of which the end matters most. */
export type AuditOrder = 'oldest_first' | 'newest_first';

/**
 * Reads. Parents are always part of the look-up: an id below another parent is not found. `ref` is an id or
 * the natural label (slug, version label, revision label); an id wins over a label of the same spelling.
 */
export interface ConfigReader {
  configVersion(): Promise<number>;
  listApps(page: PageRequest): Promise<Page<App>>;
  findApp(ref: string): Promise<App | undefined>;
  findAppByGatewayPath(gatewayPath: string): Promise<App | undefined>;
  listVersions(appId: string, page: PageRequest): Promise<Page<Version>>;
  findVersion(appId: string, ref: string): Promise<Version | undefined>;
  findVersionByGatewayPath(gatewayPath: string): Promise<Version | undefined>;
  /** The versions of the app that name this label as their successor. */
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
  /** The endpoints with this method whose path begins with `prefix`, by code units; of each its id and path. */
  findEndpointPaths(
    revisionId: string,
    method: string,
    prefix: string,
  ): Promise<readonly Pick<Endpoint, 'id' | 'path'>[]>;
  hasActiveEndpoint(revisionId: string): Promise<boolean>;
  /** Labels of a current revision without an active endpoint, in a version of the app that is not retired. */
  findRevisionWithoutEndpoint(
    appId: string,
  ): Promise<(Pick<Version, 'version'> & Pick<Revision, 'revision'>) | undefined>;
  /** How many revisions of a version are current, and the sum of their weights. */
  currentWeights(versionId: string): Promise<{ readonly count: number; readonly weight: number }>;
  /**
   * Whether a key of an app has all of the scopes and is good at a time (RFC 3339, UTC); undefined when none of the
   * newest 1,000 has them and there are more.
   */
  someKeyHasScopes(appId: string, scopes: readonly string[], now: string): Promise<boolean | undefined>;
  listKeys(appId: string, page: PageRequest): Promise<Page<StoredApiKey>>;
  findKey(appId: string, id: string): Promise<StoredApiKey | undefined>;
  /** The key whose value has, or before its last rotation had, this SHA-256, whether that is still good or not. */
  findKeyByHash(hash: string): Promise<StoredApiKey | undefined>;
  /** The days with requests of a key, oldest first; `YYYY-MM-DD`, both ends count. */
  listKeyUsage(keyId: string, fromDate: string, toDate: string): Promise<readonly UsageDay[]>;
  listAdminTokens(page: PageRequest): Promise<Page<AdminToken>>;
  findAdminToken(id: string): Promise<StoredAdminToken | undefined>;
  findAdminTokenByHash(hash: string): Promise<StoredAdminToken | undefined>;
  /** `after` is the last id of the page before in either order. */
  listAudit(page: PageRequest, order?: AuditOrder, filter?: AuditFilter): Promise<Page<AuditEntry>>;
  /** One app with everything below it, for the snapshot. */
  loadAppTree(appId: string): Promise<AppTree | undefined>;
}

/**
 * Everything that may happen inside one write. Inserting or updating into a duplicate throws `UniqueViolation`;
 * the write is to be given up then, since some databases take no further statement in the transaction. Updating a
 * record that is not there is a programmer error.
 */
export interface ConfigWriter extends ConfigReader {
  insertApp(app: App): Promise<void>;
  updateApp(app: App): Promise<void>;
  insertVersion(version: Version): Promise<void>;
  updateVersion(version: Version): Promise<void>;
  insertRevision(revision: Revision): Promise<void>;
  updateRevision(revision: Revision): Promise<void>;
  insertEndpoint(endpoint: Endpoint): Promise<void>;
  /** Some hundreds at once, at most. */
  insertEndpoints(endpoints: readonly Endpoint[]): Promise<void>;
  updateEndpoint(endpoint: Endpoint): Promise<void>;
  insertKey(key: StoredApiKey): Promise<void>;
  updateKey(key: StoredApiKey): Promise<void>;
  insertAdminToken(token: StoredAdminToken): Promise<void>;
  /** Each deletes the record and everything below it; false when there was none. */
  deleteApp(id: string): Promise<boolean>;
  deleteVersion(id: string): Promise<boolean>;
  deleteRevision(id: string): Promise<boolean>;
  deleteEndpoint(id: string): Promise<boolean>;
  deleteKey(id: string): Promise<boolean>;
  deleteAdminToken(id: string): Promise<boolean>;
  /** Counts of direct children, for the refusal to delete a parent. */
  countVersions(appId: string): Promise<number>;
  countKeys(appId: string): Promise<number>;
  countRevisions(versionId: string): Promise<number>;
  countEndpoints(revisionId: string): Promise<number>;
  keyIdsOfApp(appId: string): Promise<readonly string[]>;
  /** How many revisions have changed by it: none when all of them were so already. */
  setCurrentRevision(
    versionId: string,
    revisionId: string,
    exclusive: boolean,
    updatedAt: string,
  ): Promise<number>;
  /** Visible to reads after the write. */
  appendAudit(entry: Omit<AuditEntry, 'config_version'>): Promise<void>;
}

/** A duplicate that the database itself refused; `field` is the API's name of the field. */
export class UniqueViolation extends Error {
  readonly resource: string;
  readonly field: string;
  constructor(resource: string, field: string) {
    super(`Cannot write ${resource}: ${field} is already taken`);
    this.name = 'UniqueViolation';
    this.resource = resource;
    this.field = field;
  }
}

/** The database cannot be reached, is locked, full, read-only or corrupt: the API answers 503. */
export class StorageUnavailable extends Error {
  /** In words that name no path and no host; undefined where there are none. */
  readonly reason: string | undefined;
  constructor(message: string, cause?: unknown, reason?: string) {
    super(message, { cause });
    this.reason = reason;
    this.name = 'StorageUnavailable';
  }
}

/** The database is there and must not be used as things are: the operator has to decide. Nothing stands in for it. */
export class StorageRefused extends StorageUnavailable {}

/** The server has the database, and nothing of Headgate is in it, where something was expected. */
export class DatabaseEmpty extends StorageUnavailable {}

/** A secret was to be stored, and there is no key for it. The message may be shown to the caller. */
export class SecretKeyMissing extends StorageRefused {}

/** What a write's work returns: the answer for the caller and what was touched. */
export interface WriteResult<T> {
  readonly value: T;
  readonly touched: ChangeSet;
}

export interface Committed<T> {
  readonly value: T;
  /** What the workers must apply; undefined when nothing that they know of was touched. */
  readonly change: ConfigChange | undefined;
  readonly configVersion: number;
}

/**
 * Refuses a write by a throw, before it is committed.
 * @param change what the workers would have to apply
 * @param missed what other gateways have written that the caller has not seen yet
 */
export type WriteCheck = (change: ConfigChange, missed: ConfigChange | undefined) => void;

/** A gateway process, as it makes itself known to the others. */
export interface NodeDescription {
  /** A new one for each start. */
  readonly id: string;
  readonly name: string;
  readonly programVersion: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /** How often it tells that it lives, and looks for changes that it was not told of. */
  readonly heartbeatMs: number;
  /** After so long without a word it counts as gone. */
  readonly timeoutMs: number;
}

/** A gateway that lives, as the database has it. */
export interface NodeRecord {
  readonly id: string;
  readonly name: string;
  readonly programVersion: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /** RFC 3339, by the database's clock. */
  readonly lastSeenAt: string;
  /** What all of its workers obey. */
  readonly configVersion: number;
}

/** One gateway among those that live. */
export interface NodePlace {
  /** Of those that live, this one included. */
  readonly count: number;
  /** From 0, by their start: a different one for each. */
  readonly rank: number;
}

/** What a member hears; none may throw. */
export interface MembershipEvents {
  /** A gateway has written something. */
  onChanged(): void;
  /** The database is in this state; with each heartbeat. */
  onPosition(position: ConfigPosition): void;
  /** Another gateway's workers obey this version. */
  onApplied(nodeId: string, configVersion: number): void;
  /** How many gateways live, and which of them this one is; with each heartbeat. */
  onNodes(place: NodePlace): void;
  /** The connection was lost and is tried again, or is back. */
  onLost(error: unknown): void;
  onBack(): void;
}

/** One gateway among others; it reconnects by itself until it leaves. */
export interface Membership {
  /** All workers obey this version now; the others are told. */
  applied(configVersion: number): void;
  /** Takes the row away. Never rejects. */
  leave(): Promise<void>;
}

/** The gateways that share a database. */
export interface ClusterStore {
  /**
   * Makes a gateway known. From then on the others wait for it, so it has to look for changes before it serves.
   * @param configVersion what it would serve now
   * @throws StorageUnavailable when the database does not answer; StorageRefused when other gateways seal secrets with
   * another key
   */
  join(node: NodeDescription, configVersion: number, events: MembershipEvents): Promise<Membership>;
  /** Those that live, ordered by their start. */
  liveNodes(): Promise<readonly NodeRecord[]>;
}

export interface Repository {
  readonly driver: 'sqlite' | 'postgres';
  /** Throws `StorageUnavailable` when the database does not answer. */
  ping(): Promise<void>;
  /** The same for writing: a write that changes nothing, down to the disk. */
  pingWrite(): Promise<void>;
  /**
   * Runs `work` on one consistent state of the database. Neither `work` here nor that of a write may wait for the
   * network or call the repository itself: it has the reader or writer that it is given.
   */
  read<T>(work: (reader: ConfigReader) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in one transaction; writes are serialised, and settle in the order of their config versions. When it
   * returns `touched` with anything in it, the config version grows by one, the change is loaded inside the same
   * transaction and handed to `check` (which may throw to refuse: then nothing has happened). Returning `abort` rolls
   * back and gives the value. The promise resolves only when the transaction is durable. Throws `StorageUnavailable`
   * when the database cannot take the write, and whatever `work` or `check` throw; nothing has happened then.
   * @param known asked for the state that the caller has, when `check` is to be told what it misses
   */
  write<T>(
    work: (writer: ConfigWriter) => Promise<WriteResult<T> | { readonly abort: T }>,
    check?: WriteCheck,
    known?: () => ConfigPosition,
  ): Promise<Committed<T>>;
  /**
   * The whole configuration as one change with `reset: true`.
   * @param onKeys takes the keys as they are read, some at a time, so that a million of them need not be held at
   * once; the change has none then
   */
  loadAll(onKeys?: (keys: readonly StoredApiKey[]) => void): Promise<ConfigChange>;
  /** The state that the database is in. */
  position(): Promise<ConfigPosition>;
  /**
   * From `known` to the database's state as one change, of only what is different, or with `reset` where that cannot
   * be told; undefined when it is the same state.
   */
  loadSince(known: ConfigPosition): Promise<ConfigChange | undefined>;
  /**
   * Adds to the counts of keys and moves their `last_used_at` forward, in one transaction outside of config
   * versions. Keys that are gone are passed over.
   * @param usage at most one entry per key and day
   */
  recordKeyUsage(usage: readonly KeyUsage[]): Promise<void>;
  /** Removes counts of days before `beforeDate`, a bounded number at once; false when there may be more. */
  removeKeyUsage(beforeDate: string): Promise<boolean>;
  /** Moves `last_used_at` forward, never back. */
  recordAdminTokenUse(id: string, lastUsedAt: string): Promise<void>;
  countAdminTokens(): Promise<number>;
  /** undefined where a database has one gateway, and while it is away since the start. */
  readonly cluster: ClusterStore | undefined;
  close(): Promise<void>;
}
