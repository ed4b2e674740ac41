/**
 * Wires the database: its location, migrations, the snapshot file, recovery after a start without it, and the first
 * admin token.
 */
import { systemClock, type Clock } from '../lib/clock.ts';
import type { DatabaseFolder } from '../management/access/admin-token-file.ts';
import { ensureFirstAdminToken } from '../management/access/first-admin-token.ts';
import type { Logger } from '../observe/log.ts';
import type { ConfigState } from '../control/cluster/config-state.ts';
import { locateDatabase, sealingOf, type DatabaseLocation } from '../control/database/database-location.ts';
import { migrateDatabase as migrate } from '../control/database/open-database.ts';
import type { RecoveringRepository } from '../control/fallback/recovering-repository.ts';
import { SnapshotFileWriter } from '../control/fallback/snapshot-file-writer.ts';
import type { Settings } from '../settings/settings.ts';
import type { Repository } from '../storage/repository.ts';
import type { Changes, Parts } from './parts.ts';
import { StartError } from './start-error.ts';

export function databaseOf(settings: Settings): DatabaseLocation {
  const location = locateDatabase(settings);
  if ('error' in location) throw new StartError(location.error);
  return location;
}

/** `headgate migrate`: applies migrations and returns their names. */
export async function migrateDatabase(settings: Settings): Promise<readonly string[]> {
  if (settings.configFile !== undefined) {
    throw new StartError('Cannot migrate: GATEWAY_CONFIG_FILE is set, so there is no database');
  }
  return migrate(databaseOf(settings), settings, systemClock);
}

/** Undefined if the snapshot file is switched off. */
export function snapshotFileWriter(
  database: DatabaseLocation,
  state: ConfigState,
  clock: Clock,
  log: Logger,
): SnapshotFileWriter | undefined {
  const { snapshotFile: path } = database;
  if (path === undefined) return undefined;
  return new SnapshotFileWriter({ path, state, sealing: () => sealingOf(database), clock, log });
}

/** Completes a start that began with the snapshot file, once the database is back. */
export function recoverDatabase(
  { log, snapshotFile }: Parts,
  recovering: RecoveringRepository,
  { configSync, cluster }: Changes,
  announceToken: (repository: Repository) => Promise<void>,
): void {
  recovering.recover({
    publish: (change) => configSync.replace(change),
    onRecovered: async (repository) => {
      await cluster.join(repository.cluster);
      await announceToken(repository);
      snapshotFile?.changed();
    },
    log,
  });
}

/** How the first start tells the operator what they need. */
export interface Announcing {
  /** Shows the first admin token to the person at the terminal; it must not reach a log. */
  readonly announce: (text: string) => void;
  /** The output is kept where others may read it: a token that is also in a file is not shown. */
  readonly isRecorded: boolean;
}

export async function announceFirstToken(
  repository: Repository,
  clock: Clock,
  database: DatabaseLocation,
  { announce, isRecorded }: Announcing,
): Promise<void> {
  const first = await ensureFirstAdminToken(repository, clock, databaseFolder(database));
  if (first === undefined) return;
  const { token, file } = first;
  const where =
    file === undefined
      ? '\nIt is stored nowhere and is lost when this process ends; set GATEWAY_ADMIN_TOKEN for a token that stays valid.'
      : `\nIt is kept in ${file.path}; it is not shown again.`;
  const other =
    file?.other === undefined
      ? ''
      : `\n${file.other} is left as it is: there is another database in that folder, and the token may belong to that database.`;
  if (isRecorded && file !== undefined) announce(`The first admin token is in ${file.path}${other}\n`);
  else announce(`The first admin token is ${token}${where}${other}\n`);
}

function databaseFolder({ folder, file, snapshotFile }: DatabaseLocation): DatabaseFolder | undefined {
  const [first, ...others] = [file, snapshotFile].filter((path) => path !== undefined);
  return folder === undefined || first === undefined ? undefined : { folder, files: [first, ...others] };
}
