/** A Postgres database as one side of a copy: transactions that may take long, and one connection for them. */
import { Kysely, sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
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
  /** A statement is a page of rows, or the count of all. */
  statementMs: 120_000,
  /** How long a target is waited for while others write to it. */
  lockMs: 10_000,
  /** Between two statements the other side is busy with a page. */
  idleMs: 120_000,
};
const CONNECT_TIMEOUT_MS = 10_000;

export interface PostgresEndOptions {
  readonly url: string;
  readonly clock: Clock;
  /** Of the setting; undefined: there is none. */
  readonly secretKey: Buffer | undefined;
  readonly secretPlaces: SecretPlaces;
  /** Of the setting; PEM file of the server's authority. */
  readonly caFile?: string | undefined;
}

/** @throws StorageUnavailable when it does not answer, and `StorageRefused` when its schema is not up to date */
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

/** Connects when it is first used. */
export function postgresTarget(options: PostgresEndOptions): CopyTarget {
  return {
    ...endOf(options, beginWrite(TIMEOUTS)),
    hasTable,
    async insert(db, table, page) {
      const columns = sql.join(Object.keys(page[0] ?? {}).map((column) => sql.ref(column)));
      await sql`
        insert into ${sql.table(table)} (${columns}) select ${columns}
        from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(page)}::json)`.execute(db);
    },
    async migrate() {
      const { caFile } = options;
      await migratePostgres({ ...options, settings: { ...POSTGRES_DEFAULTS, caFile } });
    },
  };
}

function endOf({ url, clock, secretKey, secretPlaces, caFile }: PostgresEndOptions, begin: string): CopyEnd {
  return {
    name: withoutPassword(url),
    secretPlaces,
    secrets: secretKey === undefined ? undefined : createSecretBox(secretKey, SECRET_KEY_SETTING),
    db: new Kysely<Tables>({
      dialect: postgresDialect({
        address: postgresAddress(url, caFile),
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
