/** An SQLite database in memory, empty, as the code of src/storage/sql works on it; for its unit tests. */
import { DatabaseSync } from 'node:sqlite';
import { Kysely, type LogEvent } from 'kysely';
import { systemClock } from '../../../src/lib/clock.ts';
import { nodeSqliteDialect } from '../../../src/storage/sqlite/node-sqlite-dialect.ts';
import { StorageUnavailable } from '../../../src/storage/repository.ts';
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
