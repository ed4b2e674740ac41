/**
 * `headgate copy`: finds the two databases, and reports progress, results and remaining tasks to the operator in plain
 * lines. storage/copy/ copies and verifies.
 */
import { resolve } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import type { SecretPlaces } from '../../model/policy.ts';
import { parseKeysText, type SecretKeys } from '../../lib/secret-key-text.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import type { Settings } from '../../settings/settings.ts';
import { copyDatabase, type CopyEnd, type CopyReport, type CopyTarget } from '../../storage/copy/copy.ts';
import { openPostgresSource, postgresTarget } from '../../storage/copy/postgres-end.ts';
import { openSqliteSource, openSqliteTarget } from '../../storage/copy/sqlite-end.ts';
import { parseDatabaseUrl, type DatabaseUrl } from '../../storage/database-url.ts';
import type { SealedCount, SealedState } from '../../storage/secret-store.ts';
import { SchemaBehind, StorageRefused } from '../../storage/storage-errors.ts';
import { SECRET_KEY_SETTING } from '../../storage/secrets/secret-key.ts';
import { unreadableFix, unreadableText } from './secret-watch.ts';

const PROGRESS_INTERVAL_MS = 1_000;

export interface CopyOptions {
  /** Database URLs; if one is left out, GATEWAY_DATABASE_URL replaces it. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly settings: Settings;
  readonly clock: Clock;
  /** Receives lines about the progress. */
  readonly tell: (line: string) => void;
}

/** `givenBy`: the flag or the setting, for messages. */
type Location = Exclude<DatabaseUrl, { readonly error: string }> & { readonly givenBy: string };

/**
 * @returns lines for the operator: rows of each table, both checksums, and what to do about the secret key
 * @throws StorageUnavailable with a message for the operator; nothing was copied then
 */
export async function copyDatabases({
  settings,
  clock,
  tell,
  ...urls
}: CopyOptions): Promise<readonly string[]> {
  if (urls.from === undefined && urls.to === undefined) {
    throw new StorageRefused(
      'Cannot copy: neither --from nor --to is given; expected at least one of them; the other one defaults to GATEWAY_DATABASE_URL',
    );
  }
  const from = locate('--from', urls.from, settings);
  const to = locate('--to', urls.to, settings);
  if (idOf(from) === idOf(to)) {
    throw new StorageRefused('Cannot copy: --from and --to are the same database; expected two');
  }
  const secretKeys = settings.secretKey === undefined ? undefined : parseKeysText(settings.secretKey);
  const common = { clock, secretKeys, secretPlaces: SECRET_PLACES, caFile: settings.database.caFile };
  const source = await openSource(from, common);
  try {
    const target = openTarget(to, common);
    try {
      const report = await copyDatabase(source, target, progressTeller(clock, tell));
      return linesOf(report, source, target);
    } finally {
      await target.close();
    }
  } finally {
    await source.db.destroy();
  }
}

/**
 * The database to write to.
 * @param to undefined: the one in GATEWAY_DATABASE_URL
 * @throws StorageRefused when it cannot be a target
 */
export function locateTarget(to: string | undefined, settings: Settings, clock: Clock): () => CopyTarget {
  const location = locate('--to', to, settings);
  const secretKeys = settings.secretKey === undefined ? undefined : parseKeysText(settings.secretKey);
  const { caFile } = settings.database;
  return () => openTarget(location, { clock, secretKeys, secretPlaces: SECRET_PLACES, caFile });
}

function locate(flag: string, given: string | undefined, { database }: Settings): Location {
  const givenBy = given === undefined ? 'GATEWAY_DATABASE_URL' : flag;
  const url = parseDatabaseUrl(given ?? database.url);
  if ('error' in url) throw new StorageRefused(`Cannot use ${givenBy}: ${url.error}`);
  if (url.kind === 'sqlite' && url.path === ':memory:') {
    throw new StorageRefused(
      `Cannot use ${givenBy}: a database in memory is lost when the command ends; expected a file`,
    );
  }
  return { ...url, givenBy };
}

const idOf = (location: Location): string =>
  location.kind === 'sqlite' ? resolve(location.path) : location.url;

interface Common {
  readonly clock: Clock;
  readonly secretKeys: SecretKeys | undefined;
  readonly secretPlaces: SecretPlaces;
  readonly caFile: string | undefined;
}

async function openSource(location: Location, common: Common): Promise<CopyEnd> {
  try {
    return await (location.kind === 'sqlite'
      ? openSqliteSource({ ...common, path: location.path })
      : openPostgresSource({ ...common, url: location.url, givenBy: location.givenBy }));
  } catch (error) {
    if (!(error instanceof SchemaBehind)) throw error;
    // A backup before an upgrade must not need the upgrade.
    throw new StorageRefused(
      `${error.what}; copy it with the version of Headgate that it belongs to, or run \`headgate migrate\` first`,
    );
  }
}

function openTarget(location: Location, common: Common): CopyTarget {
  return location.kind === 'sqlite'
    ? openSqliteTarget({ ...common, path: location.path })
    : postgresTarget({ ...common, url: location.url, givenBy: location.givenBy });
}

/** Reports the first page and the end of each table, and one line per second in between. */
export function progressTeller(
  clock: Clock,
  tell: (line: string) => void,
): Parameters<typeof copyDatabase>[2] {
  let last: { readonly table: string; readonly atMs: number } | undefined;
  return ({ table, rows, total }) => {
    const nowMs = clock.monotonicMs();
    const recent = last?.table === table && nowMs - last.atMs < PROGRESS_INTERVAL_MS;
    if (recent && rows < total) return;
    last = { table, atMs: nowMs };
    tell(`${table}: ${rows} of ${total} rows`);
  };
}

function linesOf(report: CopyReport, source: CopyEnd, target: CopyEnd): readonly string[] {
  const { sent, stored, configVersion, sealed } = report;
  const rows = [...stored.rows].filter(([table]) => table !== 'config_state');
  return [
    `Copied ${source.name} to ${target.name}, config version ${configVersion}.`,
    `Rows: ${rows.map(([table, count]) => `${table} ${count}`).join(', ')}.`,
    `SHA-256 of the source: ${sent.sha256}`,
    `SHA-256 of the target: ${stored.sha256}`,
    ...keyLines(sealed, source, target),
  ];
}

/** Number of the encrypted values that the configuration needs: those of the history are not counted. */
export function secretsAmong(sealed: readonly SealedCount[], states: readonly SealedState[]): number {
  const needed = sealed.filter(({ place, state }) => place !== 'history' && states.includes(state));
  return needed.reduce((sum, { count }) => sum + count, 0);
}

/** Values that do not stop a copy, since a gateway can do without them. */
export function unreadableLines(sealed: readonly SealedCount[], keyName: string): readonly string[] {
  const text = unreadableText(sealed);
  if (text === undefined) return [];
  return [`${text}: ${unreadableFix(keyName)}; or set what cannot be decrypted again.`];
}

/** Secrets are never copied elsewhere automatically: the operator copies the key. */
function keyLines(sealed: readonly SealedCount[], source: CopyEnd, target: CopyEnd): readonly string[] {
  if (target.secrets !== undefined) return unreadableLines(sealed, target.secrets.keyName);
  const secrets = secretsAmong(sealed, ['current', 'other', 'unreadable']);
  if (secrets === 0) return [];
  const key = source.secrets?.keyName ?? SECRET_KEY_SETTING;
  return [
    `Encrypted secrets: ${secrets}. They stay encrypted with the key of ${key}: set ${SECRET_KEY_SETTING} to it for every gateway on the new database.`,
  ];
}
