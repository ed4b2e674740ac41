/** An SQLite database in memory, empty, as the code of src/storage/sql works on it; for its unit tests. */
import { DatabaseSync } from 'node:sqlite';
import { Kysely, type LogEvent } from 'kysely';
import { systemClock } from '../../../src/lib/clock.ts';
import { migrate } from '../../../src/storage/migrate.ts';
import { memorySecretBox } from '../../../src/storage/secrets/secret-key.ts';
import { SECRET_PLACES } from '../../../src/policy/secret-places.ts';
import { HISTORY_DEFAULTS } from '../../../src/model/history/config-history.ts';
import { createSqlRepository } from '../../../src/storage/sql/sql-repository.ts';
import { nodeSqliteDialect } from '../../../src/storage/sqlite/node-sqlite-dialect.ts';
import type { Repository } from '../../../src/storage/repository.ts';
import { StorageUnavailable } from '../../../src/storage/storage-errors.ts';
import type { Tables } from '../../../src/storage/sql/kysely-tables.ts';
import { isBusy, mapSqliteError } from '../../../src/storage/sqlite/sqlite-errors.ts';

/** @param log is told of each statement */
export function memoryDatabase(
  connection = new DatabaseSync(':memory:'),
  log: (event: LogEvent) => void = () => undefined,
): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: nodeSqliteDialect({
      open: () => connection,
      connectionsMax: 1,
      begin: 'begin immediate',
      replaceBroken: false,
      mapError: mapSqliteError,
      isBusy,
      unavailable: (reason) => new StorageUnavailable(reason),
      clock: systemClock,
    }),
    log,
  });
}

/** The repository on such a database, with all tables. */
export async function memoryRepository(db: Kysely<Tables>): Promise<Repository> {
  await migrate(db, systemClock);
  return createSqlRepository({
    driver: 'sqlite',
    write: db,
    read: db,
    assertPresent: () => {},
    groupWritesMax: 1,
    history: HISTORY_DEFAULTS,
    clock: systemClock,
    secrets: { box: memorySecretBox(), places: SECRET_PLACES },
  });
}
