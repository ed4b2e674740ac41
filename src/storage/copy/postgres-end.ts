/** A Postgres database as the source or target of a copy: one connection, with long transactions. */
import { Kysely, sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import type { SecretKeys } from '../../lib/secret-key-text.ts';
import type { SecretPlaces } from '../../model/policy.ts';
import { beginRead, beginWrite, type TransactionTimeouts } from '../postgres/postgres-begin.ts';
import { postgresDialect } from '../postgres/postgres-dialect.ts';
import { hasTable, preparePostgres } from '../postgres/postgres-schema.ts';
import { postgresAddress } from '../postgres/postgres-tls.ts';
import { migratePostgres, POSTGRES_DEFAULTS, withoutPassword } from '../postgres/postgres.ts';
import { createSecretBox } from '../secrets/secret-box.ts';
import { SECRET_KEY_SETTING } from '../secrets/secret-key.ts';
import type { Tables } from '../sql/kysely-tables.ts';
import { at, type CopyEnd, type CopyTarget } from './copy.ts';

const TIMEOUTS: TransactionTimeouts = {
  /** Limit for a statement that reads a page of rows or counts all rows. */
  statementMs: 120_000,
  /** How long to wait for a target while others write to it. */
  lockMs: 10_000,
  /** Time between two statements, in which the other side handles a page. */
  idleMs: 120_000,
};
const CONNECT_TIMEOUT_MS = 10_000;

export interface PostgresEndOptions {
  readonly url: string;
  /** The setting or flag that gives the URL, for messages. */
  readonly givenBy: string;
  readonly clock: Clock;
  /** Value of the setting; undefined if unset. */
  readonly secretKeys: SecretKeys | undefined;
  readonly secretPlaces: SecretPlaces;
  /** PEM file of the server's certificate authority, from the settings. */
  readonly caFile?: string | undefined;
}

/** @throws StorageUnavailable if the database does not answer; `StorageRefused` if its schema is not up to date */
export async function openPostgresSource(options: PostgresEndOptions): Promise<CopyEnd> {
  const end = endOf(options, beginRead(TIMEOUTS));
  try {
    const { db } = end;
    const connections = { check: db, load: db, migrate: db };
    await at(end, () => preparePostgres(connections, { ...options, autoMigrate: false }));
    return end;
  } catch (error) {
    await end.db.destroy();
    throw error;
  }
}

/** Connects at the first use. */
export function postgresTarget(options: PostgresEndOptions): CopyTarget {
  const end = endOf(options, beginWrite(TIMEOUTS));
  return {
    ...end,
    close: () => end.db.destroy(),
    hasTable,
    async insert(db, table, page) {
      const columns = sql.join(Object.keys(page[0] ?? {}).map((column) => sql.ref(column)));
      await sql`
        insert into ${sql.table(table)} (${columns}) select ${columns}
        from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(page)}::json)`.execute(db);
    },
    async migrate(upTo) {
      const { caFile } = options;
      await migratePostgres({ ...options, settings: { ...POSTGRES_DEFAULTS, caFile }, upTo });
    },
  };
}

function endOf(options: PostgresEndOptions, begin: string): CopyEnd {
  const { url, givenBy, clock, secretKeys, secretPlaces, caFile } = options;
  return {
    name: withoutPassword(url, givenBy),
    secretPlaces,
    secrets: secretKeys === undefined ? undefined : createSecretBox(secretKeys, SECRET_KEY_SETTING),
    db: new Kysely<Tables>({
      dialect: postgresDialect({
        address: postgresAddress(url, caFile, givenBy),
        clock,
        begin,
        connectionsMax: 1,
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
        statementTimeoutMs: TIMEOUTS.statementMs,
        operationTimeoutMs: undefined,
        idleTimeoutMs: POSTGRES_DEFAULTS.idleTimeoutMs,
      }),
    }),
  };
}
