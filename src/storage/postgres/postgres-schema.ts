/**
 * Checks the schema on Postgres at a start and migrates it. An advisory lock makes other gateways that start at the
 * same time wait. The statements are those of SQLite, except that text columns compare by bytes, whatever the locale of
 * the database.
 */
import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import type { SecretKeys } from '../../lib/secret-key-text.ts';
import type { SecretPlaces } from '../../model/policy.ts';
import { migrate, migrationState, type MigrationDialect, type MigrationState } from '../migrate.ts';
import { sqlState } from './postgres-errors.ts';
import { DatabaseEmpty, SchemaBehind, StorageRefused } from '../storage-errors.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { SECRET_KEY_SETTING, serverSecretBox } from '../secrets/secret-key.ts';
import { heldSecrets } from '../secrets/stored-secrets.ts';
import { inspectSealedValues } from '../sql/policy-secrets.ts';
import type { Tables } from '../sql/kysely-tables.ts';

/** Limit for one statement of a migration, and for waiting until another process has migrated. */
export const MIGRATION_TIMEOUT_MS = 600_000;
/** The name of the lock: "headgate" in ASCII. */
const LOCK_KEY = '7522525836451345509';
/** An existing or missing table or column contradicts the recorded migrations. */
const OTHER_SCHEMA: ReadonlySet<string | undefined> = new Set(['42P07', '42703', '42P01', '42704', '42804']);

const MIGRATION_DIALECT: MigrationDialect = {
  lock: async (transaction) => {
    await sql`select pg_advisory_xact_lock(${sql.raw(LOCK_KEY)})`.execute(transaction);
  },
  adapt: (statement) => statement.replaceAll(/\btext\b/g, 'text collate "C"'),
};

export interface PrepareOptions {
  readonly autoMigrate: boolean;
  /** True: leave a database without tables unchanged and throw `DatabaseEmpty`. */
  readonly mustExist?: boolean;
  readonly clock: Clock;
  readonly secretKeys?: SecretKeys | undefined;
  readonly secretPlaces: SecretPlaces;
  /** Only these migrations, the first ones; absent: all. */
  readonly upTo?: readonly string[] | undefined;
}

/** Connections that differ in their time limits; they may be one connection. */
export interface PrepareConnections {
  /** For checks that delay a start or a recovery: as short as for a management call. */
  readonly check: Kysely<Tables>;
  /** For statements that read whole tables. */
  readonly load: Kysely<Tables>;
  /** For waiting until another gateway has migrated. */
  readonly migrate: Kysely<Tables>;
}

/** Checks come first, so that an unusable database is not changed. Throws `StorageRefused`. */
export async function preparePostgres(
  { check, load, migrate: migrating }: PrepareConnections,
  { autoMigrate, mustExist = false, clock, upTo, ...keys }: PrepareOptions,
): Promise<{ readonly secrets: SecretBox; readonly applied: readonly string[] }> {
  try {
    const state = await check.transaction().execute((db) => inspectSchema(db, mustExist));
    if (!autoMigrate) assertCurrent(state);
    if (state.pending.length === 0 && upTo === undefined) {
      const secrets = await load.transaction().execute((db) => openSecrets(db, keys));
      return { secrets, applied: [] };
    }
    const secrets = await openSecrets(migrating, keys);
    const migrated = await migrate(migrating, clock, MIGRATION_DIALECT, upTo);
    assertKnown(migrated);
    return { secrets, applied: migrated.applied };
  } catch (error) {
    if (!OTHER_SCHEMA.has(sqlState(error))) throw error;
    const text = error instanceof Error ? error.message : '';
    throw new StorageRefused(
      `Cannot open the database: it contains tables of another program, or changed tables (${text}); expected an empty database or schema, or one that belongs to Headgate`,
    );
  }
}

/** @throws StorageRefused if the database must not be used; `DatabaseEmpty` */
async function inspectSchema(db: Kysely<Tables>, mustExist: boolean): Promise<MigrationState> {
  await assertEncoding(db);
  if (mustExist && !(await hasTable(db, 'config_state'))) {
    throw new DatabaseEmpty('Cannot use the database: it has no tables of Headgate');
  }
  const state = await migrationState(db, (name) => hasTable(db, name));
  assertKnown(state);
  return state;
}

/** Looks in the schemas of the search path. */
export async function hasTable(db: Kysely<Tables>, name: string): Promise<boolean> {
  const result = await sql<{ there: boolean }>`select to_regclass(${name}) is not null as there`.execute(db);
  return result.rows[0]?.there === true;
}

/** Stored text is Unicode and must be returned unchanged. */
async function assertEncoding(db: Kysely<Tables>): Promise<void> {
  const result = await sql<{ name: string }>`select current_setting('server_encoding') as name`.execute(db);
  const name = result.rows[0]?.name;
  if (name === 'UTF8') return;
  throw new StorageRefused(`Cannot open the database: its encoding is ${name}; expected UTF8`);
}

async function openSecrets(
  db: Kysely<Tables>,
  { secretKeys, secretPlaces }: Pick<PrepareOptions, 'secretKeys' | 'secretPlaces'>,
): Promise<SecretBox> {
  const isNew = !(await hasTable(db, 'app'));
  const secrets = await serverSecretBox(secretKeys, async () =>
    isNew ? 'none' : heldSecrets(db, secretPlaces, (name) => hasTable(db, name)),
  );
  if (isNew || secretKeys === undefined) return secrets;
  const { otherKey, damaged } = await inspectSealedValues(db, secretPlaces, secrets);
  if (otherKey) {
    throw new StorageRefused(
      `Cannot open the database: its secrets were not encrypted with the key of ${SECRET_KEY_SETTING}; expected the key with which they were encrypted`,
    );
  }
  if (damaged !== undefined) {
    throw new StorageRefused(
      `Cannot open the database: the encrypted secret in the policy of ${damaged} is damaged; expected an undamaged database, for example from a backup`,
    );
  }
  return secrets;
}

function assertKnown({ unknown }: MigrationState): void {
  if (unknown.length === 0) return;
  throw new StorageRefused(
    `Cannot open the database: its schema is newer than this program (it has ${unknown.join(', ')}); expected a newer Headgate`,
  );
}

function assertCurrent({ pending }: MigrationState): void {
  if (pending.length === 0) return;
  throw new SchemaBehind('the database', pending);
}
