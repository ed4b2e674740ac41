/**
 * SQLite: opens a database file (or one in memory) and supplies the SQL repository with connections to it. One
 * connection writes, a few read, so that reads neither wait for a write nor see it half-done; in memory there is
 * one connection for everything. What happens on the connections is in sql/, how each is set up in
 * sqlite-connection.ts, what the file must be in sqlite-file.ts.
 */
import { resolve } from 'node:path';
import { Kysely, sql } from 'kysely';
import type { Clock } from '../kernel/clock.ts';
import { migrate, migrationState, type MigrationState } from './migrate.ts';
import { nodeSqliteDialect, type NodeSqliteDialectConfig } from './node-sqlite-dialect.ts';
import { StorageRefused, StorageUnavailable, type Repository } from './repository.ts';
import type { SecretBox } from './secret-box.ts';
import { fileSecretBox, memorySecretBox, wantedKey } from './secret-key.ts';
import { inspectSealedValues } from './sql/policy-secrets.ts';
import { createSqlRepository } from './sql/repository.ts';
import type { Tables } from './sql/schema.ts';
import { asStartError, checkContent, openConnection } from './sqlite-connection.ts';
import { isBusy, mapSqliteError } from './sqlite-errors.ts';
import { prepareDatabaseFile } from './sqlite-file.ts';

const MEMORY = ':memory:';
const READ_CONNECTIONS_MAX = 4;
export interface OpenSqliteOptions {
  /** A path, relative to the working folder, or `:memory:`. */
  readonly path: string;
  /** False: a schema that is behind is an error that names the command to run. */
  readonly autoMigrate: boolean;
  readonly clock: Clock;
  /** 32 bytes for the secrets in it. Without one the file `secret-key` beside the database has it; see secret-key.ts. */
  readonly secretKey?: Buffer | undefined;
}

/**
 * Opens the database, makes it when it is missing, checks that its secrets can be read, and brings its schema up
 * to date.
 * @throws StorageUnavailable with a message for the operator: action, value, what was expected
 */
export async function openSqlite(options: OpenSqliteOptions): Promise<Repository> {
  const connections = await connect(options.path);
  try {
    const { secrets } = await prepare(connections.write, options);
    return createSqlRepository({ driver: 'sqlite', ...connections, secrets });
  } catch (error) {
    await destroy(connections);
    throw asStartError(options.path, error);
  }
}

/**
 * Only brings the schema up to date: the command `headgate migrate`. It needs the key as a start does, so that a
 * wrong one shows before anything is changed.
 * @returns the names of the migrations that were applied, in order
 * @throws StorageUnavailable as `openSqlite` does
 */
export async function migrateSqlite(
  options: Omit<OpenSqliteOptions, 'autoMigrate'>,
): Promise<{ readonly applied: readonly string[] }> {
  const connections = await connect(options.path);
  try {
    const { applied } = await prepare(connections.write, { ...options, autoMigrate: true });
    return { applied };
  } catch (error) {
    throw asStartError(options.path, error);
  } finally {
    await destroy(connections);
  }
}

interface Prepared {
  readonly secrets: SecretBox;
  readonly applied: readonly string[];
}

/** In this order: a database that cannot be used is left as it is, and without a key file that it does not need. */
async function prepare(db: Kysely<Tables>, options: OpenSqliteOptions): Promise<Prepared> {
  const { path, autoMigrate, clock } = options;
  const state = await migrationState(db, (name) => hasTable(db, name));
  assertKnown(path, state);
  if (!autoMigrate) assertCurrent(path, state);
  const secrets = await openSecrets(db, options);
  if (!autoMigrate) return { secrets, applied: [] };
  const migrated = await migrate(db, clock);
  assertKnown(path, migrated);
  return { secrets, applied: migrated.applied };
}

/** The box with the key of this database, which has opened every sealed value in it. */
async function openSecrets(db: Kysely<Tables>, { path, secretKey }: OpenSqliteOptions): Promise<SecretBox> {
  if (path === MEMORY) return memorySecretBox();
  const file = resolve(path);
  const isNew = !(await hasTable(db, 'app'));
  const secrets = await fileSecretBox(
    file,
    secretKey,
    async () => !isNew && (await inspectSealedValues(db, undefined)).total > 0,
  );
  if (isNew) return secrets;
  const { otherKey, damaged } = await inspectSealedValues(db, secrets);
  if (otherKey) {
    throw new StorageRefused(
      `Cannot open the database "${file}": the secrets in it were encrypted with another key than that of ${secrets.keyName}; expected ${wantedKey(file)}`,
    );
  }
  if (damaged !== undefined) {
    throw new StorageRefused(
      `Cannot open the database "${file}": the encrypted secret in the policy of ${damaged} is damaged; expected a sound database, such as one from a backup`,
    );
  }
  return secrets;
}

interface Connections {
  readonly write: Kysely<Tables>;
  readonly read: Kysely<Tables>;
  readonly assertPresent: () => void;
}

async function connect(path: string): Promise<Connections> {
  if (path === MEMORY) {
    const only = new Kysely<Tables>({
      dialect: nodeSqliteDialect({ ...common(MEMORY), begin: 'begin immediate', replaceBroken: false }),
    });
    return { write: only, read: only, assertPresent: () => {} };
  }
  const file = prepareDatabaseFile(resolve(path));
  checkContent(file);
  const write = new Kysely<Tables>({
    dialect: nodeSqliteDialect({ ...common(file.path), begin: 'begin immediate', replaceBroken: true }),
  });
  const read = new Kysely<Tables>({
    dialect: nodeSqliteDialect({
      ...common(file.path),
      open: () => openConnection(file.path, 'query_only = on'),
      connectionsMax: READ_CONNECTIONS_MAX,
      begin: 'begin',
      replaceBroken: true,
    }),
  });
  return { write, read, assertPresent: file.assertPresent };
}

function common(path: string): Omit<NodeSqliteDialectConfig, 'begin' | 'replaceBroken'> {
  return {
    open: () => openConnection(path, 'busy_timeout = 0'),
    connectionsMax: 1,
    mapError: mapSqliteError,
    isBusy,
    unavailable: (reason) => new StorageUnavailable(`Cannot use the database: ${reason}`),
  };
}

async function hasTable(db: Kysely<Tables>, name: string): Promise<boolean> {
  const result = await sql`select 1 from sqlite_schema where type = 'table' and name = ${name}`.execute(db);
  return result.rows.length > 0;
}

function assertKnown(path: string, { unknown }: MigrationState): void {
  if (unknown.length === 0) return;
  throw new StorageRefused(
    `Cannot open the database "${path}": its schema is newer than this program (it has ${unknown.join(', ')}); expected a Headgate that is at least as new`,
  );
}

function assertCurrent(path: string, { pending }: MigrationState): void {
  if (pending.length === 0) return;
  throw new StorageRefused(
    `Cannot open the database "${path}": its schema is behind (${pending.join(', ')} not applied); run \`headgate migrate\`, or set GATEWAY_AUTO_MIGRATE=true`,
  );
}

async function destroy({ write, read }: Connections): Promise<void> {
  if (read !== write) await read.destroy();
  await write.destroy();
}
