/** `headgate config restore`: finds the database of the settings, and reports to the operator in plain lines. */
import type { Clock } from '../../lib/clock.ts';
import type { Settings } from '../../settings/settings.ts';
import { restoreBackup } from '../../storage/copy/restore.ts';
import { SECRET_KEY_SETTING } from '../../storage/secrets/secret-key.ts';
import { locateTarget, progressTeller, secretsAmong, unreadableLines } from './copy-database.ts';

export interface RestoreOptions {
  readonly file: string;
  /** Database URL; if it is left out, GATEWAY_DATABASE_URL replaces it. */
  readonly to?: string | undefined;
  readonly settings: Settings;
  readonly clock: Clock;
  /** Receives lines about the progress. */
  readonly tell: (line: string) => void;
}

/**
 * @returns lines for the operator
 * @throws StorageUnavailable with a message for the operator; nothing was restored then
 */
export async function restoreDatabase({
  file,
  to,
  settings,
  clock,
  tell,
}: RestoreOptions): Promise<readonly string[]> {
  const openTarget = locateTarget(to, settings, clock);
  let name = '';
  let keyName = SECRET_KEY_SETTING;
  const { header, stored, sealed } = await restoreBackup(
    file,
    () => {
      const target = openTarget();
      ({ name } = target);
      keyName = target.secrets?.keyName ?? keyName;
      return target;
    },
    progressTeller(clock, tell),
  );
  const secrets = secretsAmong(sealed, ['current', 'other']);
  const rows = [...stored.rows].filter(([table]) => table !== 'config_state');
  return [
    `Restored ${file} of ${header.created_at} to ${name}, config version ${header.config_version}.`,
    `Rows: ${rows.map(([table, count]) => `${table} ${count}`).join(', ')}.`,
    ...(secrets === 0 ? [] : [`Encrypted secrets: ${secrets}, which the key of this database decrypts.`]),
    ...unreadableLines(sealed, keyName),
  ];
}
