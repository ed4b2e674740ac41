/**
 * Opens the database at start, or falls back to the snapshot file: if the database is gone, locked, corrupt or
 * unreachable, the gateway starts with the configuration of the snapshot file and waits for the database.
 *
 * A missing database file is created only if there is no snapshot file, which means a first start. Otherwise it was
 * lost, and an empty one in its place would remove every route. The same applies to an empty database, such as
 * `headgate migrate` makes, while the snapshot file has a configuration. A problem that the operator must resolve (a
 * wrong key, a database of another program or of a newer version) always stops the start.
 */
import { statSync } from 'node:fs';
import type { Logger } from '../../observe/log.ts';
import type { Repository } from '../../storage/repository.ts';
import { DatabaseEmpty, StorageRefused, StorageUnavailable } from '../../storage/storage-errors.ts';
import { ConfigState } from '../cluster/config-state.ts';
import { sealingOf, type DatabaseLocation } from '../database/database-location.ts';
import { RecoveringRepository } from './recovering-repository.ts';
import { hasSnapshotFile, readSnapshotFile, type SavedConfig } from './snapshot-file.ts';

export interface StartDatabase {
  readonly repository: Repository;
  /** The configuration to start with. */
  readonly state: ConfigState;
  /** The same object as `repository` if it waits for the database; undefined after a normal start. */
  readonly recovering: RecoveringRepository | undefined;
  readonly saved: SavedConfig | undefined;
}

/**
 * @param open opens the database; creates it if missing, on a server only unless it must exist
 * @throws the error of `open` if there is no fallback; the message says why
 */
export async function startDatabase(
  location: DatabaseLocation,
  open: (mustExist: boolean) => Promise<Repository>,
  log: Logger,
): Promise<StartDatabase> {
  const { file, snapshotFile } = location;
  const mayBeNew = snapshotFile === undefined || !hasSnapshotFile(snapshotFile);
  let savedVersion: number | undefined;
  const isServed = (): boolean => {
    savedVersion ??= savedVersionOf(snapshotFile);
    return savedVersion > 0;
  };
  const openExisting = async (): Promise<Repository> => {
    if (file !== undefined) assertNotLost(file, snapshotFile);
    return openFilled(open, isServed, snapshotFile);
  };
  let repository: Repository | undefined;
  try {
    repository = await (mayBeNew ? open(false) : openExisting());
    return { repository, state: await loadState(repository), recovering: undefined, saved: undefined };
  } catch (error) {
    await repository?.close();
    if (mayBeNew || error instanceof StorageRefused || !(error instanceof StorageUnavailable)) throw error;
    const saved = savedConfig(location, snapshotFile, error, log);
    const recovering = new RecoveringRepository({
      driver: location.kind,
      reason: error.message,
      open: openExisting,
    });
    return { repository: recovering, state: saved.state, recovering, saved };
  }
}

/** No worker reads the keys yet, so replaced records are freed at once. */
async function loadState(repository: Repository): Promise<ConfigState> {
  const state = new ConfigState();
  state.apply(await repository.loadAll((keys) => state.keys.change(keys, [])), true);
  state.keys.release(state.keys.takeRetired());
  return state;
}

/** Says what is served in place of the database, without naming a path; undefined when the database is used. */
export function fallbackText({ saved, recovering }: StartDatabase): string | undefined {
  if (saved === undefined || recovering?.isRecovered !== false) return undefined;
  return `The database has been unusable since the start; traffic is served with config version ${saved.configVersion} of the snapshot file of ${saved.writtenAt}`;
}

function savedConfig(
  location: DatabaseLocation,
  snapshotFile: string,
  cause: StorageUnavailable,
  log: Logger,
): SavedConfig {
  const saved = readSnapshotFile(snapshotFile, sealingOf(location));
  if ('error' in saved) throw new StorageUnavailable(`${cause.message}. ${saved.error}`, cause);
  log.error(
    {
      reason: cause.message,
      snapshot_file: snapshotFile,
      written_at: saved.writtenAt,
      config_version: saved.configVersion,
    },
    'the database cannot be used; traffic is served with the configuration of the snapshot file',
  );
  if (saved.closedRecords.length > 0) {
    log.error(
      { records: saved.closedRecords.slice(0, 100), total: saved.closedRecords.length },
      'secrets of JWT policies could not be opened without their key; these routes refuse every token',
    );
  }
  return saved;
}

/**
 * Opens a database, unless it is empty while the snapshot file has a configuration.
 * @param isServed whether the snapshot file has a configuration; called only for an empty database
 */
async function openFilled(
  open: (mustExist: boolean) => Promise<Repository>,
  isServed: () => boolean,
  snapshotFile: string | undefined,
): Promise<Repository> {
  const lost = (problem: string): StorageUnavailable =>
    new StorageUnavailable(
      `Cannot use the database: ${problem}; expected the database from which the snapshot file "${snapshotFile}" was written; to start with an empty database, remove that file`,
    );
  let repository: Repository;
  try {
    repository = await open(true);
  } catch (error) {
    if (!(error instanceof DatabaseEmpty)) throw error;
    if (isServed()) throw lost('it has no tables of Headgate');
    return open(false);
  }
  try {
    if ((await repository.position()).configVersion > 0 || !isServed()) return repository;
    throw lost('it is empty');
  } catch (error) {
    await repository.close();
    throw error;
  }
}

/** Infinity for an unreadable snapshot file: it may contain a configuration. */
function savedVersionOf(snapshotFile: string | undefined): number {
  if (snapshotFile === undefined) return 0;
  const saved = readSnapshotFile(snapshotFile, { box: undefined, places: [] });
  return 'error' in saved ? Infinity : saved.configVersion;
}

function assertNotLost(databaseFile: string, snapshotFile: string | undefined): void {
  let bytes: number | undefined;
  try {
    bytes = statSync(databaseFile, { throwIfNoEntry: false })?.size;
  } catch {
    // Opening the file then gives a more precise error.
    return;
  }
  if (bytes !== undefined && bytes > 0) return;
  const problem = bytes === undefined ? 'the file is gone' : 'the file is empty';
  throw new StorageUnavailable(
    `Cannot open the database "${databaseFile}": ${problem}; expected the database from which the snapshot file "${snapshotFile}" was written; to start with an empty database, remove both files`,
  );
}
