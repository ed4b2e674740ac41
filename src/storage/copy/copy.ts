/**
 * `headgate copy`: copies everything from one database to another. It reads the source in one transaction, which sees
 * one state even while a gateway writes to the source. It writes the target in one transaction and reads it back before
 * the commit; the checksums must match. Memory: one page of rows. sqlite-end.ts and postgres-end.ts open the two kinds
 * of databases.
 */
import { sql, type Kysely } from 'kysely';
import type { SecretPlaces } from '../../model/policy.ts';
import { StorageRefused, StorageUnavailable } from '../storage-errors.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { keylessSecretBox, SECRET_KEY_SETTING } from '../secrets/secret-key.ts';
import { countSealed } from '../secrets/stored-secrets.ts';
import type { SealedCount } from '../secret-store.ts';
import { inspectSealedValues } from '../sql/policy-secrets.ts';
import type { Tables } from '../sql/kysely-tables.ts';
import {
  COPIED_TABLES,
  countOf,
  Digester,
  pagesOf,
  REPLACED_TABLES,
  STATE_TABLE,
  type CopiedTable,
  type Digest,
  type Row,
} from './tables.ts';
import { counted } from '../../lib/text/counted.ts';

/** One side of a copy. */
export interface CopyEnd {
  /** Names the database in messages, without a password. */
  readonly name: string;
  /** A transaction of a source sees one state. A transaction of a target locks out other writers when it begins. */
  readonly db: Kysely<Tables>;
  /** The key with which a gateway on this database would open secrets; undefined if it has none. */
  readonly secrets: SecretBox | undefined;
  readonly secretPlaces: SecretPlaces;
}

export interface CopyTarget extends CopyEnd {
  /** Whether the table exists; before the first migration there is none. */
  readonly hasTable: (db: Kysely<Tables>, name: string) => Promise<boolean>;
  /** Inserts rows as one parameter, which is many times faster than one parameter per cell. */
  readonly insert: (db: Kysely<Tables>, table: string, page: readonly Row[]) => Promise<void>;
  /**
   * Applies migrations; throws `StorageRefused` if the schema is newer than the program.
   * @param upTo only these, the first ones; `StorageRefused` if the database has more
   */
  migrate(upTo?: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export interface CopyProgress {
  readonly table: keyof Tables;
  readonly rows: number;
  readonly total: number;
}

export interface CopyReport {
  /** Checksum of the rows that were read from the source. */
  readonly sent: Digest;
  /** Checksum of the rows that were read back from the target: the same. */
  readonly stored: Digest;
  readonly configVersion: number;
  /** Encrypted values, which are copied unchanged, and whether the key of the target (or the source) opens them. */
  readonly sealed: readonly SealedCount[];
}

/**
 * @returns when the target durably holds everything
 * @throws StorageRefused if the target is not empty, if its key does not open the secrets, or if it returns other rows
 *   than were written; StorageUnavailable if one of the databases does not answer. The target is empty then, unless the
 *   connection is lost during the commit: its state is then unknown, and the message says so.
 */
export async function copyDatabase(
  source: CopyEnd,
  target: CopyTarget,
  onProgress: (progress: CopyProgress) => void,
): Promise<CopyReport> {
  await at(target, async () => {
    await assertEmpty(target, target.db);
    await target.migrate();
  });
  let report: CopyReport | undefined;
  try {
    await source.db.transaction().execute(async (from) => {
      const sealed = await at(source, () => checkSecrets(from, source, target));
      report = await target.db.transaction().execute(async (to) => {
        await at(target, () => assertEmpty(target, to));
        await at(target, () => clearOwnRecords(target, to));
        const sent = await sendTables({ ...source, db: from }, { ...target, db: to }, onProgress);
        const stored = await at(target, () => digestOf(to));
        assertSame(sent, stored, target);
        return { sent, stored, sealed, configVersion: await configVersionOf(to) };
      });
    });
  } catch (error) {
    // The target has committed. Everything was read from the source by then, so its failure no longer matters.
    if (report === undefined) throw error;
  }
  if (report === undefined) throw new StorageUnavailable('Cannot copy: the target gave no answer');
  return report;
}

/** Runs `work`; adds the name of the database to its error. */
export async function at<T>({ name }: CopyEnd, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StorageUnavailable) || isNamed(error, name)) throw error;
    const Kind = error instanceof StorageRefused ? StorageRefused : StorageUnavailable;
    throw new Kind(`${name}: ${error.message}`, error);
  }
}

/** For the message: an error that already names its database does not get the name again. */
const isNamed = ({ message }: StorageUnavailable, name: string): boolean => message.includes(name);

/** Runs before the schema is changed, and again once other writers are locked out. */
export async function assertEmpty(
  { name, hasTable }: CopyTarget,
  db: Kysely<Tables>,
  action: 'copy' | 'restore' = 'copy',
): Promise<void> {
  for (const table of COPIED_TABLES) {
    if (REPLACED_TABLES.includes(table.name) || !(await hasTable(db, table.name))) continue;
    const used = table.name === STATE_TABLE ? await configVersionOf(db) : await countOf(db, table);
    if (used === 0) continue;
    const what =
      table.name === STATE_TABLE ? `config version ${used}` : `${counted(used, 'row')} in ${table.name}`;
    throw new StorageRefused(
      `Cannot ${action} to ${name}: it is not empty (${what}); expected a database without any record of Headgate`,
    );
  }
}

/**
 * Removes what a gateway that ran on the empty target has recorded about itself. Call it in the transaction of the
 * copy.
 */
export async function clearOwnRecords({ hasTable }: CopyTarget, db: Kysely<Tables>): Promise<void> {
  for (const table of REPLACED_TABLES) if (await hasTable(db, table)) await db.deleteFrom(table).execute();
}

async function configVersionOf(db: Kysely<Tables>): Promise<number> {
  const row = await db.selectFrom(STATE_TABLE).select('config_version').executeTakeFirst();
  return row?.config_version ?? 0;
}

/** Throws unless the key of the target (or, if it has none, of the source) opens all secrets of policies. */
async function checkSecrets(
  db: Kysely<Tables>,
  source: CopyEnd,
  target: CopyEnd,
): Promise<readonly SealedCount[]> {
  const box = target.secrets ?? source.secrets;
  const { total, otherKey, damaged } = await inspectSealedValues(db, source.secretPlaces, box);
  if (total > 0 && box === undefined) {
    throw new StorageRefused(
      `Cannot copy from ${source.name}: it contains encrypted secrets, but there is no key for them; expected ${SECRET_KEY_SETTING} to be the key with which they were encrypted`,
    );
  }
  if (box !== undefined && otherKey) {
    throw new StorageRefused(
      `Cannot copy from ${source.name}: its secrets were not encrypted with the key of ${box.keyName}; expected the target to have the key with which they were encrypted`,
    );
  }
  if (damaged !== undefined) {
    throw new StorageRefused(
      `Cannot copy from ${source.name}: the encrypted secret in the policy of ${damaged} is damaged; expected an undamaged database`,
    );
  }
  return sealedIn(db, { secrets: box, secretPlaces: source.secretPlaces });
}

/** The encrypted values of the copied tables. The schema must be current. */
export async function sealedIn(
  db: Kysely<Tables>,
  { secrets: box = keylessSecretBox(), secretPlaces: places }: Pick<CopyEnd, 'secrets' | 'secretPlaces'>,
): Promise<readonly SealedCount[]> {
  const counts = await countSealed(db, { box, places });
  return counts.filter(({ place }) => place !== 'certificates');
}

async function sendTables(
  source: CopyEnd,
  target: CopyTarget,
  onProgress: (progress: CopyProgress) => void,
): Promise<Digest> {
  const digester = new Digester();
  for (const table of COPIED_TABLES) {
    const total = await at(source, () => countOf(source.db, table));
    digester.startTable(table);
    const pages = pagesOf(source.db, table);
    for (;;) {
      const { value: page } = await at(source, () => pages.next());
      if (page === undefined) break;
      await at(target, () => store(target, table, page));
      onProgress({ table: table.name, rows: digester.add(table, page), total });
    }
  }
  return digester.finish();
}

export async function store(
  { db, insert }: CopyTarget,
  { name }: CopiedTable,
  page: readonly Row[],
): Promise<void> {
  if (name !== STATE_TABLE) return insert(db, name, page);
  for (const row of page) {
    const values = Object.entries(row).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
    await sql`update ${sql.table(name)} set ${sql.join(values)} where id = ${row['id']}`.execute(db);
  }
}

export async function digestOf(
  db: Kysely<Tables>,
  tables: readonly CopiedTable[] = COPIED_TABLES,
): Promise<Digest> {
  const digester = new Digester();
  for (const table of tables) {
    digester.startTable(table);
    for await (const page of pagesOf(db, table)) digester.add(table, page);
  }
  return digester.finish();
}

export function assertSame(sent: Digest, stored: Digest, { name }: CopyEnd): void {
  if (sent.sha256 === stored.sha256) return;
  const other = COPIED_TABLES.filter((table) => sent.rows.get(table.name) !== stored.rows.get(table.name));
  const counts = other.map(
    (table) =>
      `${table.name} has ${counted(stored.rows.get(table.name) ?? 0, 'row')} instead of ${sent.rows.get(table.name)}`,
  );
  throw new StorageRefused(
    `Cannot copy to ${name}: it has stored something else than was sent (checksum ${stored.sha256} instead of ${sent.sha256}${counts.map((text) => `; ${text}`).join('')}); nothing was kept; expected a database whose tables have no triggers or rules of other programs`,
  );
}
