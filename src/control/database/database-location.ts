/** Finds the database of the settings and the files beside it. Reads no file except the secret key. */
import { dirname, resolve } from 'node:path';
import { parseKeysText, type SecretKeys } from '../../lib/secret-key-text.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import type { Settings } from '../../settings/settings.ts';
import { parseDatabaseUrl } from '../../storage/database-url.ts';
import { createSecretBox, type SecretBox } from '../../storage/secrets/secret-box.ts';
import type { MaybeSealing } from '../../storage/secrets/sealed-config.ts';
import { existingSecretBox, keylessSecretBox, SECRET_KEY_SETTING } from '../../storage/secrets/secret-key.ts';

/** For a database on a server, which has no folder. */
const SERVER_SNAPSHOT_FILE = 'data/headgate.snapshot';

const MEMORY = ':memory:';

export interface DatabaseLocation {
  readonly kind: 'sqlite' | 'postgres';
  /** The value of the setting; for Postgres the URL, which may contain a password. */
  readonly path: string;
  /** Absolute; undefined in memory and on a server. */
  readonly file: string | undefined;
  /**
   * Absolute folder of the gateway's own files: the folder of the database or of the snapshot file; undefined
   * when there is none.
   */
  readonly folder: string | undefined;
  readonly secretKeys: SecretKeys | undefined;
  /** undefined when it is switched off. */
  readonly snapshotFile: string | undefined;
}

/** @returns the location, or an error about the setting */
export function locateDatabase(settings: Settings): DatabaseLocation | { readonly error: string } {
  if (settings.configFile !== undefined) return inMemory(undefined);
  const url = parseDatabaseUrl(settings.database.url);
  if ('error' in url) return { error: `Cannot use GATEWAY_DATABASE_URL: ${url.error}` };
  const secretKeys = settings.secretKey === undefined ? undefined : parseKeysText(settings.secretKey);
  if (url.kind === 'postgres') {
    const snapshotFile = snapshotPath(settings, SERVER_SNAPSHOT_FILE);
    const folder = snapshotFile === undefined ? undefined : dirname(snapshotFile);
    return { kind: 'postgres', path: url.url, file: undefined, folder, secretKeys, snapshotFile };
  }
  if (url.path === MEMORY) return inMemory(secretKeys);
  const file = resolve(url.path);
  return {
    kind: 'sqlite',
    path: url.path,
    file,
    folder: dirname(file),
    secretKeys,
    snapshotFile: snapshotPath(settings, `${file}.snapshot`),
  };
}

/** Also used for a configuration from files, which is kept in memory. */
function inMemory(secretKeys: SecretKeys | undefined): DatabaseLocation {
  const nothing = { file: undefined, folder: undefined, snapshotFile: undefined };
  return { kind: 'sqlite', path: MEMORY, secretKeys, ...nothing };
}

function snapshotPath({ snapshotFile }: Settings, usual: string): string | undefined {
  return snapshotFile === 'off' ? undefined : resolve(snapshotFile ?? usual);
}

/** Encryption of policies in files beside the database. Uses an existing key only. */
export function sealingOf(location: DatabaseLocation): MaybeSealing {
  return { box: secretBoxOf(location), places: SECRET_PLACES };
}

function secretBoxOf({ kind, file, secretKeys }: DatabaseLocation): SecretBox | undefined {
  if (kind === 'postgres') {
    return secretKeys === undefined ? keylessSecretBox() : createSecretBox(secretKeys, SECRET_KEY_SETTING);
  }
  return file === undefined ? undefined : existingSecretBox(file, secretKeys);
}
