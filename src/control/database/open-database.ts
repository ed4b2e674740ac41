/**
 * Opens the database of the settings, or only migrates its schema. The PostgreSQL client is loaded only when it is
 * used.
 */
import { hostname } from 'node:os';
import type { Clock } from '../../lib/clock.ts';
import { systemReason } from '../../lib/error-message.ts';
import type { HistoryBounds } from '../../model/history/config-history.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import type { Settings } from '../../settings/settings.ts';
import { makeFolder } from '../../storage/make-folder.ts';
import type { PostgresSettings } from '../../storage/postgres/postgres.ts';
import type { Repository } from '../../storage/repository.ts';
import { StorageRefused } from '../../storage/storage-errors.ts';
import { migrateSqlite, openSqlite } from '../../storage/sqlite/sqlite.ts';
import type { DatabaseLocation } from './database-location.ts';

const NO_HISTORY: HistoryBounds = { maxVersions: 0, maxBytes: 0 };

/**
 * @param mustExist throws `DatabaseEmpty` for a database on a server without tables, instead of creating them
 * @throws StorageUnavailable with a message for the operator
 */
export async function openDatabase(
  { kind, path, secretKeys }: DatabaseLocation,
  settings: Settings,
  clock: Clock,
  mustExist: boolean,
): Promise<Repository> {
  // Configuration files have their own history, such as Git; this one would be in memory.
  const history = settings.configFile === undefined ? settings.history : NO_HISTORY;
  const { autoMigrate } = settings.database;
  const nodeName = settings.cluster.nodeName ?? hostname();
  if (kind === 'sqlite')
    return openSqlite({
      path,
      secretKeys,
      secretPlaces: SECRET_PLACES,
      clock,
      history,
      nodeName,
      autoMigrate: autoMigrate ?? true,
    });
  const { openPostgres } = await import('../../storage/postgres/postgres.ts');
  // A schema on a server changes only when the operator says so.
  return openPostgres({
    url: path,
    secretKeys,
    secretPlaces: SECRET_PLACES,
    clock,
    history,
    nodeName,
    autoMigrate: autoMigrate ?? false,
    mustExist,
    settings: postgresSettings(settings),
  });
}

/**
 * @returns the names of the applied migrations
 * @throws StorageUnavailable with a message for the operator
 */
export async function migrateDatabase(
  { kind, path, secretKeys }: DatabaseLocation,
  settings: Settings,
  clock: Clock,
): Promise<readonly string[]> {
  const options = { secretKeys, secretPlaces: SECRET_PLACES, clock };
  if (kind === 'sqlite') return (await migrateSqlite({ ...options, path })).applied;
  const { migratePostgres } = await import('../../storage/postgres/postgres.ts');
  const { applied } = await migratePostgres({ ...options, url: path, settings: postgresSettings(settings) });
  return applied;
}

/**
 * Creates the folder of the gateway's own files, for databases without a file.
 * @throws StorageRefused with a message for the operator
 */
export function makeOwnFolder({ kind, folder }: DatabaseLocation): void {
  if (kind === 'sqlite' || folder === undefined) return;
  try {
    makeFolder(folder, 0o700);
  } catch (error) {
    throw new StorageRefused(
      `Cannot make the folder "${folder}" for the snapshot file: ${systemReason(error)}; expected GATEWAY_SNAPSHOT_FILE to name a file in a folder that Headgate may write, or off`,
      error,
    );
  }
}

function postgresSettings({ database }: Settings): PostgresSettings {
  const { poolMax, timeoutMs, connectTimeoutMs, statementTimeoutMs } = database;
  const { idleTimeoutMs, caFile } = database;
  return { poolMax, timeoutMs, connectTimeoutMs, statementTimeoutMs, idleTimeoutMs, caFile };
}
