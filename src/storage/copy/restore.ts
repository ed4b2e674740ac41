/**
 * `headgate config restore`: loads the content of a backup file into an empty database. The file is read to its end
 * before the target is touched. Then everything is written in one transaction and read back before the commit, so
 * that the target has all of it or nothing. Memory: one page of rows.
 */
import { StorageRefused } from '../storage-errors.ts';
import { SECRET_KEY_SETTING } from '../secrets/secret-key.ts';
import { inspectSealedValues } from '../sql/policy-secrets.ts';
import type { BackupHeader } from './backup-format.ts';
import { inspectBackup, readBackup, type BackupPage } from './backup-reader.ts';
import {
  assertEmpty,
  assertSame,
  at,
  clearOwnRecords,
  digestOf,
  sealedIn,
  store,
  type CopyProgress,
  type CopyTarget,
} from './copy.ts';
import { COPIED_TABLES, Digester, type Digest } from './tables.ts';
import type { SealedCount } from '../secret-store.ts';
import { counted } from '../../lib/text/counted.ts';

export interface RestoreReport {
  readonly header: BackupHeader;
  readonly stored: Digest;
  /** Encrypted values, and whether the key of the target opens them; it opens those of policies. */
  readonly sealed: readonly SealedCount[];
}

/**
 * @param openTarget called when the file is known to be valid
 * @throws StorageRefused if the file is not a valid backup, if the target is not empty, or if its key does not open the
 *   secrets; StorageUnavailable if the target does not answer. The target has nothing of the file then.
 */
export async function restoreBackup(
  path: string,
  openTarget: () => CopyTarget,
  onProgress: (progress: CopyProgress) => void,
): Promise<RestoreReport> {
  const { header, end } = await inspectBackup(path);
  const target = openTarget();
  try {
    await at(target, async () => {
      await assertEmpty(target, target.db, 'restore');
      await target.migrate(header.migrations);
    });
    const report = await target.db.transaction().execute(async (to) => {
      const inside = { ...target, db: to };
      await at(target, () => assertEmpty(target, to, 'restore'));
      await at(target, () => clearOwnRecords(target, to));
      const sent = await sendPages(readBackup(path), inside, end.rows, onProgress);
      const tables = COPIED_TABLES.filter(({ name }) => Object.hasOwn(end.rows, name));
      const stored = await at(target, () => digestOf(to, tables));
      assertSame(sent, stored, target);
      await at(target, () => assertSecretsOpen(inside));
      return { header, stored };
    });
    // For an older schema: continues like the first start with this program.
    await at(target, () => target.migrate());
    // Everything is stored: a failure from here on must not look like one of the restore.
    const sealed = await sealedIn(target.db, target).catch(() => []);
    return { ...report, sealed };
  } finally {
    await target.close();
  }
}

async function sendPages(
  pages: AsyncIterable<BackupPage>,
  target: CopyTarget,
  totals: Readonly<Record<string, number>>,
  onProgress: (progress: CopyProgress) => void,
): Promise<Digest> {
  const digester = new Digester();
  let next = 0;
  const startUpTo = (last: number): void => {
    for (; next <= last; next += 1) {
      const table = COPIED_TABLES[next];
      if (table !== undefined && Object.hasOwn(totals, table.name)) digester.startTable(table);
    }
  };
  for await (const { table, rows } of pages) {
    startUpTo(COPIED_TABLES.indexOf(table));
    await at(target, () => store(target, table, rows));
    onProgress({ table: table.name, rows: digester.add(table, rows), total: totals[table.name] ?? 0 });
  }
  startUpTo(COPIED_TABLES.length - 1);
  return digester.finish();
}

async function assertSecretsOpen({ db, name, secrets, secretPlaces }: CopyTarget): Promise<void> {
  const { total, otherKey, damaged } = await inspectSealedValues(db, secretPlaces, secrets);
  if (total === 0) return;
  const refuse = (why: string): StorageRefused => new StorageRefused(`Cannot restore to ${name}: ${why}`);
  if (secrets === undefined) {
    throw refuse(
      `the backup contains ${counted(total, 'encrypted secret')}, but there is no key for ${total === 1 ? 'it' : 'them'}; expected ${SECRET_KEY_SETTING}, or for SQLite the file secret-key beside the database, to be the key of the gateway that made the backup`,
    );
  }
  if (otherKey) {
    throw refuse(
      `the secrets in the backup were not encrypted with the key of ${secrets.keyName}; expected the key of the gateway that made the backup; if its key has changed since, list the old key behind the new one, and run "headgate secrets rekey" after the start`,
    );
  }
  if (damaged !== undefined) throw refuse(`the encrypted secret in the policy of ${damaged} is damaged`);
}
