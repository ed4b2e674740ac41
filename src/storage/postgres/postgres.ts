/**
 * Postgres: opens a database on a server and supplies the SQL repository with connections to it. One connection
 * writes, in transactions that take the lock on the config version when they begin, so that the writes of all
 * gateways are serialised; a few read, each transaction from one state of the database; a further one loads
 * everything. What happens on the connections is in sql/, how they wait and fail in postgres-connection.ts, the
 * schema's part in postgres-schema.ts, what several gateways tell each other in postgres-membership.ts.
 */
import { Kysely } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import type { SecretPlaces } from '../../model/policy.ts';
import { beginRead, beginWrite, type TransactionTimeouts } from './postgres-begin.ts';
import { postgresDialect, type PostgresDialectConfig } from './postgres-dialect.ts';
import { mapPostgresError, mayTryAgain } from './postgres-errors.ts';
import { PostgresMembership } from './postgres-membership.ts';
import { announceChange, readLiveNodes } from './postgres-nodes.ts';
import { MIGRATION_TIMEOUT_MS, preparePostgres } from './postgres-schema.ts';
import { postgresAddress, type PostgresAddress } from './postgres-tls.ts';
import { DatabaseEmpty, StorageRefused, StorageUnavailable, type Repository } from '../repository.ts';
import { createSqlRepository } from '../sql/repository.ts';
import type { Tables } from '../sql/kysely-tables.ts';

/** How long one statement may take when everything is loaded. */
const LOAD_STATEMENT_TIMEOUT_MS = 30_000;
/** A gateway that is frozen within a transaction holds up the writes of the others for no longer. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;
/** Of the time for a statement. */
const LOCK_TIMEOUT_PART = 0.8;

export interface PostgresSettings {
  /** Connections that read, at most. There are two more: one that writes and one that loads everything. */
  readonly readConnectionsMax: number;
  /** A read or a write that takes longer ends as unavailable; counted from the call. */
  readonly timeoutMs: number;
  /** For one connection to be made; absent: `timeoutMs`. */
  readonly connectTimeoutMs?: number | undefined;
  /** For one statement, also on the server; absent: `timeoutMs`. */
  readonly statementTimeoutMs?: number | undefined;
  /** Idle connections are closed after this time. */
  readonly idleTimeoutMs: number;
  /** PEM file of the authority that the server's certificate must come from. */
  readonly caFile?: string | undefined;
}

export const POSTGRES_DEFAULTS: PostgresSettings = Object.freeze({
  readConnectionsMax: 4,
  timeoutMs: 1_500,
  idleTimeoutMs: 60_000,
});

export interface OpenPostgresOptions {
  /** A connection URI, with TLS parameters in its query. */
  readonly url: string;
  /** False: a schema that is behind is an error that names the command to run. */
  readonly autoMigrate: boolean;
  /** True: a database without tables is not made one of Headgate's, but throws `DatabaseEmpty`. */
  readonly mustExist?: boolean;
  readonly clock: Clock;
  /** 32 bytes for the secrets in it; needed as soon as there are some. */
  readonly secretKey?: Buffer | undefined;
  readonly secretPlaces: SecretPlaces;
  readonly settings?: PostgresSettings;
}

/**
 * Connects, checks the schema, or brings it up to date, and that the secrets can be read.
 * @throws StorageUnavailable with a message for the operator: action, value without password, what was expected;
 * `DatabaseEmpty` among them
 */
export async function openPostgres(options: OpenPostgresOptions): Promise<Repository> {
  const { secrets } = await prepare(options);
  const { connectTimeoutMs, statementTimeoutMs } = waits(options);
  const parts = connections(options);
  const repository = createSqlRepository({
    driver: 'postgres',
    ...parts,
    secrets: { box: secrets, places: options.secretPlaces },
    groupWritesMax: 1,
    clock: options.clock,
    mayTryAgain,
    announce: announceChange,
    assertPresent: () => undefined,
  });
  const common = {
    address: addressOf(options),
    secretKeyId: secrets.keyId,
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
    },
  };
}

/** @throws StorageRefused when the URL cannot be used */
function addressOf({ url, settings = POSTGRES_DEFAULTS }: OpenPostgresOptions): PostgresAddress {
  return postgresAddress(url, settings.caFile);
}

function waits({ settings = POSTGRES_DEFAULTS }: OpenPostgresOptions) {
  const { timeoutMs, connectTimeoutMs = timeoutMs, statementTimeoutMs = timeoutMs } = settings;
  return { timeoutMs, connectTimeoutMs, statementTimeoutMs };
}

/**
 * Only brings the schema up to date: the command `headgate migrate`.
 * @returns the names of the migrations that were applied, in order
 * @throws StorageUnavailable as `openPostgres` does
 */
export async function migratePostgres(
  options: Omit<OpenPostgresOptions, 'autoMigrate'>,
): Promise<{ readonly applied: readonly string[] }> {
  return prepare({ ...options, autoMigrate: true });
}

async function prepare(options: OpenPostgresOptions): ReturnType<typeof preparePostgres> {
  const { statementTimeoutMs } = waits(options);
  const part = { connectionsMax: 1, operationTimeoutMs: undefined };
  const begin = beginRead(timeouts(statementTimeoutMs));
  const parts = {
    check: kyselyOf(options, { ...part, begin, statementTimeoutMs }),
    load: kyselyOf(options, loading(statementTimeoutMs)),
    migrate: kyselyOf(options, {
      ...part,
      begin: 'begin isolation level read committed read write',
      // Other gateways may be migrating; they are waited for.
      statementTimeoutMs: MIGRATION_TIMEOUT_MS,
    }),
  };
  try {
    return await preparePostgres(parts, options);
  } catch (error) {
    throw startError(options.url, error);
  } finally {
    await Promise.all(Object.values(parts).map((db) => db.destroy()));
  }
}

type Part = Pick<
  PostgresDialectConfig,
  'begin' | 'connectionsMax' | 'operationTimeoutMs' | 'statementTimeoutMs'
>;

function connections(options: OpenPostgresOptions) {
  const { readConnectionsMax } = options.settings ?? POSTGRES_DEFAULTS;
  const { timeoutMs, statementTimeoutMs } = waits(options);
  const usual = { statementTimeoutMs, operationTimeoutMs: timeoutMs };
  const usually = timeouts(statementTimeoutMs);
  return {
    write: kyselyOf(options, { ...usual, connectionsMax: 1, begin: beginWrite(usually) }),
    read: kyselyOf(options, { ...usual, connectionsMax: readConnectionsMax, begin: beginRead(usually) }),
    load: kyselyOf(options, loading(statementTimeoutMs)),
  };
}

/** Reading whole tables takes its time; a lock on one of them is waited for as long as anywhere. */
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
  // The lock's a little earlier, so that the error says what it was.
  const lockMs = Math.ceil(statementMs * LOCK_TIMEOUT_PART);
  return { statementMs, lockMs, idleMs: IDLE_IN_TRANSACTION_TIMEOUT_MS };
}

function startError(url: string, error: unknown): unknown {
  const mapped = mapPostgresError(error);
  if (
    mapped instanceof StorageRefused ||
    mapped instanceof DatabaseEmpty ||
    !(mapped instanceof StorageUnavailable)
  )
    return mapped;
  const reason = mapped.message.replace(/^Cannot use the database: /, '');
  return new StorageUnavailable(
    `Cannot open the database ${withoutPassword(url)}: ${reason}; expected a PostgreSQL server that answers and a database that the user may write`,
    mapped.cause ?? mapped,
  );
}

/** Host, port and database: what an operator needs to know which one is meant. */
export function withoutPassword(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `postgres://${host}${pathname}`;
  } catch {
    return 'of GATEWAY_DATABASE_URL';
  }
}
