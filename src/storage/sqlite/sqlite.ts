/**
 * Opens a SQLite database, in a file or in memory, as a repository. One connection writes and a few read, so that reads
 * neither wait for a write nor see half of it; in memory, one connection does everything. sql/ has the queries,
 * sqlite-connection.ts the settings of a connection, sqlite-file.ts the checks of the file, sqlite-schema.ts the
 * schema.
 */
import { resolve } from 'node:path';
import { Kysely } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { nodeSqliteDialect } from './node-sqlite-dialect.ts';
import { HISTORY_DEFAULTS, type HistoryBounds } from '../../model/history/config-history.ts';
import type { Repository } from '../repository.ts';
import { createSqlRepository } from '../sql/sql-repository.ts';
import { sealPlainUrls } from '../sql/events/sealed-url.ts';
import type { Tables } from '../sql/kysely-tables.ts';
import { GROUP_WRITES_MAX } from '../sql/queue/write-queue.ts';
import { asStartError, checkContent, connectionsOf } from './sqlite-connection.ts';
import { prepareDatabaseFile } from './sqlite-file.ts';
import { MEMORY, prepareSqlite, type PrepareSqliteOptions } from './sqlite-schema.ts';

const READ_CONNECTIONS_MAX = 4;

export interface OpenSqliteOptions extends PrepareSqliteOptions {
  /** Absent: `HISTORY_DEFAULTS`. */
  readonly history?: HistoryBounds;
  /** The name of this gateway in the events of its writes; absent: unknown. */
  readonly nodeName?: string | undefined;
}

/**
 * Opens the database, creates it if missing, checks that its secrets can be decrypted, and applies migrations.
 * @throws StorageUnavailable with a message for the operator: action, value, what was expected
 */
export async function openSqlite(options: OpenSqliteOptions): Promise<Repository> {
  const connections = await connect(options);
  try {
    const { secrets } = await prepareSqlite(connections.write, options);
    if (connections.read !== connections.write) await openAll(connections.read, READ_CONNECTIONS_MAX);
    const repository = createSqlRepository({
      driver: 'sqlite',
      ...connections,
      secrets: { box: secrets, places: options.secretPlaces },
      groupWritesMax: GROUP_WRITES_MAX,
      history: options.history ?? HISTORY_DEFAULTS,
      nodeName: options.nodeName,
      clock: options.clock,
    });
    const sealPlain = (): Promise<void> => sealPlainUrls(connections.write, secrets);
    return { ...repository, secrets: { ...repository.secrets, sealPlain } };
  } catch (error) {
    await destroy(connections);
    throw asStartError(options.path, error);
  }
}

/**
 * Only applies migrations: the command `headgate migrate`. Needs the secret key as a start does, so that a wrong key is
 * found before anything is changed.
 * @returns the names of the migrations that were applied, in order
 * @throws StorageUnavailable as `openSqlite` does
 */
export async function migrateSqlite(
  options: Omit<OpenSqliteOptions, 'autoMigrate'>,
): Promise<{ readonly applied: readonly string[] }> {
  const connections = await connect(options);
  try {
    const { applied } = await prepareSqlite(connections.write, { ...options, autoMigrate: true });
    return { applied };
  } catch (error) {
    throw asStartError(options.path, error);
  } finally {
    await destroy(connections);
  }
}

interface Connections {
  readonly write: Kysely<Tables>;
  readonly read: Kysely<Tables>;
  readonly assertPresent: () => void;
}

async function connect({ path, clock }: Pick<OpenSqliteOptions, 'path' | 'clock'>): Promise<Connections> {
  if (path === MEMORY) {
    const only = new Kysely<Tables>({
      dialect: nodeSqliteDialect({ ...writing(MEMORY, clock), replaceBroken: false }),
    });
    return { write: only, read: only, assertPresent: () => {} };
  }
  const file = prepareDatabaseFile(resolve(path));
  checkContent(file);
  const write = new Kysely<Tables>({
    dialect: nodeSqliteDialect({ ...writing(file.path, clock), replaceBroken: true }),
  });
  const read = new Kysely<Tables>({
    dialect: nodeSqliteDialect({
      ...connectionsOf(file.path, 'query_only = on', clock),
      connectionsMax: READ_CONNECTIONS_MAX,
      begin: 'begin',
      replaceBroken: true,
    }),
  });
  return { write, read, assertPresent: file.assertPresent };
}

/** At the start, so that the process has the same number of open files whether or not it is reading. */
async function openAll(db: Kysely<Tables>, count: number): Promise<void> {
  if (count > 0) await db.connection().execute(() => openAll(db, count - 1));
}

function writing(path: string, clock: Clock) {
  const begin = 'begin immediate' as const;
  return { ...connectionsOf(path, 'busy_timeout = 0', clock), connectionsMax: 1, begin };
}

async function destroy({ write, read }: Connections): Promise<void> {
  if (read !== write) await read.destroy();
  await write.destroy();
}
