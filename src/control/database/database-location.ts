/** Where the database of the settings lies, and what belongs beside it. Reads no file but the secret key. */
import { dirname, resolve } from 'node:path';
import { parseKeyText } from '../../lib/secret-key-text.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import type { Settings } from '../../settings/settings.ts';
import { parseDatabaseUrl } from '../../storage/database-url.ts';
import { createSecretBox, type SecretBox } from '../../storage/secrets/secret-box.ts';
import type { MaybeSealing } from '../../storage/secrets/sealed-config.ts';
import { existingSecretBox, keylessSecretBox, SECRET_KEY_SETTING } from '../../storage/secrets/secret-key.ts';

/** On a server, where nothing lies beside the database. */
const SERVER_SNAPSHOT_FILE = 'data/headgate.snapshot';

export interface DatabaseLocation {
  readonly kind: 'sqlite' | 'postgres';
  /** As the setting has it; of Postgres the URL, which may carry a password. */
  readonly path: string;
  /** Absolute; undefined in memory and on a server. */
  readonly file: string | undefined;
  /** Absolute, for what the gateway itself keeps: beside the database, or beside the snapshot file; undefined: nowhere. */
  readonly folder: string | undefined;
  readonly secretKey: Buffer | undefined;
  /** undefined: switched off. */
  readonly snapshotFile: string | undefined;
}

/** @returns the location, or what is wrong with the setting */
export function locateDatabase(settings: Settings): DatabaseLocation | { readonly error: string } {
  const url = parseDatabaseUrl(settings.database.url);
  if ('error' in url) return { error: `Cannot use GATEWAY_DATABASE_URL: ${url.error}` };
  const secretKey = settings.secretKey === undefined ? undefined : parseKeyText(settings.secretKey);
  if (url.kind === 'postgres') {
    const snapshotFile = snapshotPath(settings, SERVER_SNAPSHOT_FILE);
    const folder = snapshotFile === undefined ? undefined : dirname(snapshotFile);
    return { kind: 'postgres', path: url.url, file: undefined, folder, secretKey, snapshotFile };
  }
  if (url.path === ':memory:') {
    const nothing = { file: undefined, folder: undefined, snapshotFile: undefined };
    return { kind: 'sqlite', path: url.path, secretKey, ...nothing };
  }
  const file = resolve(url.path);
  return {
    kind: 'sqlite',
    path: url.path,
    file,
    folder: dirname(file),
    secretKey,
    snapshotFile: snapshotPath(settings, `${file}.snapshot`),
  };
}

function snapshotPath({ snapshotFile }: Settings, usual: string): string | undefined {
  return snapshotFile === 'off' ? undefined : resolve(snapshotFile ?? usual);
}

/** Of the policies in files beside the database, with the key that is there. */
export function sealingOf(location: DatabaseLocation): MaybeSealing {
  return { box: secretBoxOf(location), places: SECRET_PLACES };
}

function secretBoxOf({ kind, file, secretKey }: DatabaseLocation): SecretBox | undefined {
  if (kind === 'postgres') {
    return secretKey === undefined ? keylessSecretBox() : createSecretBox(secretKey, SECRET_KEY_SETTING);
  }
  return file === undefined ? undefined : existingSecretBox(file, secretKey);
}
