/**
 * The schema of a SQLite database: checks it at a start and applies migrations, after checking that the secret key
 * fits.
 */
import { resolve } from 'node:path';
import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import type { SecretKeys } from '../../lib/secret-key-text.ts';
import type { SecretPlaces } from '../../model/policy.ts';
import { migrate, migrationState, type MigrationState } from '../migrate.ts';
import { SchemaBehind, StorageRefused } from '../storage-errors.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { fileSecretBox, memorySecretBox, wantedKey } from '../secrets/secret-key.ts';
import { heldSecrets } from '../secrets/stored-secrets.ts';
import { inspectSealedValues } from '../sql/policy-secrets.ts';
import type { Tables } from '../sql/kysely-tables.ts';

export const MEMORY = ':memory:';

export interface PrepareSqliteOptions {
  /** A path, relative to the working folder, or `:memory:`. */
  readonly path: string;
  /** False: a schema that is out of date is an error that names the command to run. */
  readonly autoMigrate: boolean;
  readonly clock: Clock;
  /**
   * 32 bytes for the secrets in it. If absent, the file `secret-key` beside the database contains the key; see
   * secret-key.ts.
   */
  readonly secretKeys?: SecretKeys | undefined;
  readonly secretPlaces: SecretPlaces;
}

export interface PreparedSqlite {
  readonly secrets: SecretBox;
  /** Names of the migrations, in order. */
  readonly applied: readonly string[];
}

/**
 * Checks come first, so that a database that cannot be used is not changed and gets no key file.
 * @throws StorageRefused for a database that cannot be used
 */
export async function prepareSqlite(
  db: Kysely<Tables>,
  options: PrepareSqliteOptions,
): Promise<PreparedSqlite> {
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

/** Returns the box with the key of this database, after it has decrypted every secret in it. */
async function openSecrets(
  db: Kysely<Tables>,
  { path, secretKeys, secretPlaces }: PrepareSqliteOptions,
): Promise<SecretBox> {
  if (path === MEMORY) return memorySecretBox();
  const file = resolve(path);
  const isNew = !(await hasTable(db, 'app'));
  const secrets = await fileSecretBox(file, secretKeys, async () =>
    isNew ? 'none' : heldSecrets(db, secretPlaces, (name) => hasTable(db, name)),
  );
  if (isNew) return secrets;
  const { otherKey, damaged } = await inspectSealedValues(db, secretPlaces, secrets);
  if (otherKey) {
    throw new StorageRefused(
      `Cannot open the database "${file}": its secrets were not encrypted with the key of ${secrets.keyName}; expected ${wantedKey(file)}`,
    );
  }
  if (damaged !== undefined) {
    throw new StorageRefused(
      `Cannot open the database "${file}": the encrypted secret in the policy of ${damaged} is damaged; expected an undamaged database, for example from a backup`,
    );
  }
  return secrets;
}

export async function hasTable(db: Kysely<Tables>, name: string): Promise<boolean> {
  const result = await sql`select 1 from sqlite_schema where type = 'table' and name = ${name}`.execute(db);
  return result.rows.length > 0;
}

/** @throws StorageRefused when the program is older than the schema */
export function assertKnown(path: string, { unknown }: MigrationState): void {
  if (unknown.length === 0) return;
  throw new StorageRefused(
    `Cannot open the database "${path}": its schema is newer than this program (it has ${unknown.join(', ')}); expected a newer Headgate`,
  );
}

/** @throws StorageRefused when the schema is older than the program */
export function assertCurrent(path: string, { pending }: MigrationState): void {
  if (pending.length === 0) return;
  throw new SchemaBehind(`the database "${path}"`, pending);
}
