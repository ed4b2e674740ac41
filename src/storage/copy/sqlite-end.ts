/**
 * A SQLite file as the source or target of a copy. A source is opened read-only and must exist; a gateway may write to
 * it meanwhile, since the write-ahead log keeps what an open transaction sees. A missing target is created.
 */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Kysely, sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import type { SecretKeys } from '../../lib/secret-key-text.ts';
import type { SecretPlaces } from '../../model/policy.ts';
import { migrate, migrationState } from '../migrate.ts';
import { nodeSqliteDialect } from '../sqlite/node-sqlite-dialect.ts';
import { StorageRefused } from '../storage-errors.ts';
import { existingSecretBox } from '../secrets/secret-key.ts';
import { GatewayLock } from '../sqlite/gateway-lock.ts';
import { asStartError, checkContent, connectionsOf } from '../sqlite/sqlite-connection.ts';
import { prepareDatabaseFile } from '../sqlite/sqlite-file.ts';
import { assertCurrent, assertKnown, hasTable } from '../sqlite/sqlite-schema.ts';
import type { Tables } from '../sql/kysely-tables.ts';
import type { CopyEnd, CopyTarget } from './copy.ts';

export interface SqliteEndOptions {
  /** Absolute, or relative to the working folder. */
  readonly path: string;
  readonly clock: Clock;
  /** Value of the setting; undefined: read from the file `secret-key` beside the database, if it exists. */
  readonly secretKeys: SecretKeys | undefined;
  readonly secretPlaces: SecretPlaces;
}

/** @throws StorageUnavailable if the file is missing or corrupt; `StorageRefused` if its schema is not up to date */
export async function openSqliteSource(options: SqliteEndOptions): Promise<CopyEnd> {
  const path = resolve(options.path);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    throw new StorageRefused(
      `Cannot copy from "${path}": it does not exist; expected a database of Headgate`,
    );
  }
  const end = open(options, 'begin', 'query_only = on');
  try {
    const state = await migrationState(end.db, (name) => hasTable(end.db, name));
    assertKnown(path, state);
    assertCurrent(path, state);
    return end;
  } catch (error) {
    await end.db.destroy();
    throw asStartError(path, error);
  }
}

/**
 * No gateway can serve the file until it is closed.
 * @throws StorageUnavailable if the file cannot be created or written, or belongs to another program
 * @throws StorageRefused if a gateway serves it
 */
export function openSqliteTarget(options: SqliteEndOptions): CopyTarget {
  const lock = new GatewayLock(resolve(options.path));
  assertTaken(lock, options);
  let end: CopyEnd;
  try {
    end = open(options, 'begin immediate', 'busy_timeout = 0');
  } catch (error) {
    lock.release();
    throw error;
  }
  // There may have been no folder for it before.
  assertTaken(lock, options);
  return {
    ...end,
    hasTable,
    async close() {
      await end.db.destroy();
      lock.release();
    },
    async insert(db, table, page) {
      const columns = Object.keys(page[0] ?? {});
      const cells = columns.map((column) => sql`json_extract(value, ${sql.lit(`$."${column}"`)})`);
      await sql`
        insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
        select ${sql.join(cells)} from json_each(${JSON.stringify(page)})`.execute(db);
    },
    async migrate(upTo) {
      assertKnown(options.path, await migrationState(end.db, (name) => hasTable(end.db, name)));
      await migrate(end.db, options.clock, {}, upTo);
    },
  };
}

/** A gateway keeps its configuration in memory, and would not see what is stored. */
function assertTaken(lock: GatewayLock, { path }: SqliteEndOptions): void {
  if (lock.take() !== 'held elsewhere') return;
  throw new StorageRefused(
    `Cannot write to "${resolve(path)}": a gateway serves it, or another command writes to it (it has locked ` +
      `"${lock.path}"); expected a database that no gateway serves (stop the gateway first)`,
  );
}

function open(
  { path, secretKeys, secretPlaces, clock }: SqliteEndOptions,
  begin: 'begin' | 'begin immediate',
  pragma: string,
): CopyEnd {
  const file = prepareDatabaseFile(resolve(path));
  checkContent(file);
  return {
    name: `"${file.path}"`,
    secretPlaces,
    secrets: existingSecretBox(file.path, secretKeys),
    db: new Kysely<Tables>({
      dialect: nodeSqliteDialect({
        ...connectionsOf(file.path, pragma, clock),
        connectionsMax: 1,
        begin,
        replaceBroken: false,
      }),
    }),
  };
}
