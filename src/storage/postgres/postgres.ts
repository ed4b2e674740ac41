/**
 * Opens a database on a Postgres server and gives the SQL repository its connections. One connection writes; its
 * transactions first lock the config version, which serialises the writes of all gateways. A few connections read, each
 * transaction from one state of the database, and one more loads everything. sql/ has the queries,
 * postgres-connection.ts handles waits and failures, postgres-schema.ts the schema, and postgres-membership.ts the
 * messages between gateways.
 */
import { Kysely } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { HISTORY_DEFAULTS, type HistoryBounds } from '../../model/history/config-history.ts';
import type { SecretKeys } from '../../lib/secret-key-text.ts';
import type { SecretPlaces } from '../../model/policy.ts';
import { beginRead, beginWrite, type TransactionTimeouts } from './postgres-begin.ts';
import { postgresDialect, type PostgresDialectConfig } from './postgres-dialect.ts';
import { mapPostgresError, mayTryAgain } from './postgres-errors.ts';
import { PostgresMembership } from './postgres-membership.ts';
import { announceChange, readLiveNodes, readSealingKeys, sendMessages } from './postgres-nodes.ts';
import { assertPrivileges } from './postgres-privileges.ts';
import { MIGRATION_TIMEOUT_MS, preparePostgres, type PrepareOptions } from './postgres-schema.ts';
import { postgresAddress, URL_SETTING, type PostgresAddress } from './postgres-tls.ts';
import type { Repository } from '../repository.ts';
import { DatabaseEmpty, StorageRefused, StorageUnavailable } from '../storage-errors.ts';
import { createSqlRepository } from '../sql/sql-repository.ts';
import type { Tables } from '../sql/kysely-tables.ts';

/** Limit for one statement when everything is loaded. */
const LOAD_STATEMENT_TIMEOUT_MS = 30_000;
/**
 * Limit for the pause between statements: a gateway that freezes inside a transaction blocks other writers for this
 * long.
 */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;
/** Share of a statement's limit that a lock may take. */
const LOCK_TIMEOUT_PART = 0.8;

export interface PostgresSettings {
  /** Number of read connections. There are two more: one for writes and one for loading everything. */
  readonly poolMax: number;
  /** A read or write that takes longer fails as unavailable; counted from the call. */
  readonly timeoutMs: number;
  /** Limit for connecting; default: `timeoutMs`. */
  readonly connectTimeoutMs?: number | undefined;
  /** Limit for one statement, also enforced by the server; default: `timeoutMs`. */
  readonly statementTimeoutMs?: number | undefined;
  /** Idle connections are closed after this time. */
  readonly idleTimeoutMs: number;
  /** PEM file of the authority that must have issued the server's certificate. */
  readonly caFile?: string | undefined;
}

export const POSTGRES_DEFAULTS: PostgresSettings = Object.freeze({
  poolMax: 4,
  timeoutMs: 1_500,
  idleTimeoutMs: 60_000,
});

export interface OpenPostgresOptions {
  /** A connection URI, with TLS parameters in its query. */
  readonly url: string;
  /** The setting or flag that gives the URI, for messages. Absent: the setting. */
  readonly givenBy?: string | undefined;
  /** False: an old schema is an error that names the command to run. */
  readonly autoMigrate: boolean;
  /** True: throws `DatabaseEmpty` for a database without tables, instead of creating them. */
  readonly mustExist?: boolean;
  readonly clock: Clock;
  /** 32 bytes, for the secrets in the database; required once it contains secrets. */
  readonly secretKeys?: SecretKeys | undefined;
  readonly secretPlaces: SecretPlaces;
  readonly settings?: PostgresSettings;
  /** Absent: `HISTORY_DEFAULTS`. */
  readonly history?: HistoryBounds;
  /** The name of this gateway in the events of its writes; absent: unknown. */
  readonly nodeName?: string | undefined;
}

/**
 * Connects, checks or migrates the schema, and checks that the secrets can be decrypted.
 * @throws StorageUnavailable with a message for the operator: action, value without password, what was expected; also
 *   `DatabaseEmpty`
 */
export async function openPostgres(options: OpenPostgresOptions): Promise<Repository> {
  const { secrets } = await prepare(options);
  const { timeoutMs, connectTimeoutMs, statementTimeoutMs } = waits(options);
  const parts = connections(options);
  const repository = createSqlRepository({
    driver: 'postgres',
    ...parts,
    secrets: { box: secrets, places: options.secretPlaces },
    groupWritesMax: 1,
    timeoutMs,
    history: options.history ?? HISTORY_DEFAULTS,
    nodeName: options.nodeName,
    clock: options.clock,
    mayTryAgain,
    announce: announceChange,
    assertPrivileges,
    sealingKeys: readSealingKeys,
    assertPresent: () => undefined,
  });
  const common = {
    address: addressOf(options),
    secretKeyIds: secrets.keyIds,
    connectTimeoutMs,
    statementTimeoutMs,
  };
  return {
    ...repository,
    cluster: {
      async join(node, configVersion, events) {
        const membership = new PostgresMembership({ ...common, node, events }, configVersion);
        await membership.join();
        return membership;
      },
      liveNodes: () => parts.read.transaction().execute(readLiveNodes),
      send: (nodeId, texts) => parts.read.transaction().execute((db) => sendMessages(db, nodeId, texts)),
    },
  };
}

/** @throws StorageRefused if the URL is invalid */
function addressOf({ url, givenBy, settings = POSTGRES_DEFAULTS }: OpenPostgresOptions): PostgresAddress {
  return postgresAddress(url, settings.caFile, givenBy);
}

function waits({ settings = POSTGRES_DEFAULTS }: OpenPostgresOptions) {
  const { timeoutMs, connectTimeoutMs = timeoutMs, statementTimeoutMs = timeoutMs } = settings;
  return { timeoutMs, connectTimeoutMs, statementTimeoutMs };
}

/**
 * Only migrates the schema: the command `headgate migrate`.
 * @returns the names of the applied migrations, in order
 * @throws StorageUnavailable as `openPostgres` does
 */
export async function migratePostgres(
  options: Omit<OpenPostgresOptions, 'autoMigrate'> & Pick<PrepareOptions, 'upTo'>,
): Promise<{ readonly applied: readonly string[] }> {
  return prepare({ ...options, autoMigrate: true });
}

async function prepare(
  options: OpenPostgresOptions & Pick<PrepareOptions, 'upTo'>,
): ReturnType<typeof preparePostgres> {
  const { statementTimeoutMs } = waits(options);
  const part = { connectionsMax: 1, operationTimeoutMs: undefined };
  const begin = beginRead(timeouts(statementTimeoutMs));
  const parts = {
    check: kyselyOf(options, { ...part, begin, statementTimeoutMs }),
    load: kyselyOf(options, loading(statementTimeoutMs)),
    migrate: kyselyOf(options, {
      ...part,
      begin: 'begin isolation level read committed read write',
      // Waits for other gateways that may be migrating.
      statementTimeoutMs: MIGRATION_TIMEOUT_MS,
    }),
  };
  try {
    return await preparePostgres(parts, options);
  } catch (error) {
    throw startError(options, error);
  } finally {
    await Promise.all(Object.values(parts).map((db) => db.destroy()));
  }
}

type Part = Pick<
  PostgresDialectConfig,
  'begin' | 'connectionsMax' | 'operationTimeoutMs' | 'statementTimeoutMs'
>;

function connections(options: OpenPostgresOptions) {
  const { poolMax } = options.settings ?? POSTGRES_DEFAULTS;
  const { timeoutMs, statementTimeoutMs } = waits(options);
  const usual = { statementTimeoutMs, operationTimeoutMs: timeoutMs };
  const usually = timeouts(statementTimeoutMs);
  return {
    write: kyselyOf(options, { ...usual, connectionsMax: 1, begin: beginWrite(usually) }),
    read: kyselyOf(options, { ...usual, connectionsMax: poolMax, begin: beginRead(usually) }),
    load: kyselyOf(options, loading(statementTimeoutMs)),
  };
}

/** Reading whole tables takes time; the limit for waiting for a lock is the usual one. */
function loading(usualStatementTimeoutMs: number): Part {
  const { lockMs } = timeouts(usualStatementTimeoutMs);
  return {
    connectionsMax: 1,
    begin: beginRead({ ...timeouts(LOAD_STATEMENT_TIMEOUT_MS), lockMs }),
    statementTimeoutMs: LOAD_STATEMENT_TIMEOUT_MS,
    operationTimeoutMs: undefined,
  };
}

function kyselyOf(options: OpenPostgresOptions, part: Part) {
  const { clock, settings: { idleTimeoutMs } = POSTGRES_DEFAULTS } = options;
  const { connectTimeoutMs } = waits(options);
  return new Kysely<Tables>({
    dialect: postgresDialect({
      address: addressOf(options),
      clock,
      connectTimeoutMs,
      idleTimeoutMs,
      ...part,
    }),
  });
}

function timeouts(statementMs: number): TransactionTimeouts {
  // The limit for locks ends a little earlier, so that the error names the lock.
  const lockMs = Math.ceil(statementMs * LOCK_TIMEOUT_PART);
  return { statementMs, lockMs, idleMs: IDLE_IN_TRANSACTION_TIMEOUT_MS };
}

function startError({ url, givenBy }: OpenPostgresOptions, error: unknown): unknown {
  const mapped = mapPostgresError(error);
  if (
    mapped instanceof StorageRefused ||
    mapped instanceof DatabaseEmpty ||
    !(mapped instanceof StorageUnavailable)
  )
    return mapped;
  const problem = mapped.problem ?? mapped.message;
  return new StorageUnavailable(
    `Cannot open the database ${withoutPassword(url, givenBy)}: ${problem}; expected a PostgreSQL server that answers and a database that the user may write`,
    mapped.cause ?? mapped,
  );
}

/** Host, port and database, to identify the database to an operator; where it comes from if it is not a URL. */
export function withoutPassword(url: string, givenBy: string = URL_SETTING): string {
  try {
    const { host, pathname } = new URL(url);
    return `postgres://${host}${pathname}`;
  } catch {
    return givenBy;
  }
}
