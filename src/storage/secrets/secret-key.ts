/**
 * Finds the keys of the secrets in a database: the setting GATEWAY_SECRET_KEY, or else the file `secret-key` beside the
 * database, which the first start creates with one key. While the key is changed, either lists several. The file is
 * never overwritten, and never created for a database that already contains secrets, since a new key could not open
 * them.
 */
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemCode } from '../../lib/error-message.ts';
import { randomHex, secretBytes } from '../../lib/ids.ts';
import {
  formatKeyText,
  KEY_BYTES,
  KEYS_EXPECTED,
  parseKeysText,
  type SecretKeys,
} from '../../lib/secret-key-text.ts';
import { SecretKeyMissing, StorageRefused, StorageUnavailable } from '../storage-errors.ts';
import { createSecretBox, type SecretBox } from './secret-box.ts';
import { attempt, syncFolder } from '../sqlite/sqlite-file.ts';

export const SECRET_KEY_SETTING = 'GATEWAY_SECRET_KEY';
const FILE_MODE = 0o600;

function secretKeyFile(databasePath: string): string {
  return join(dirname(databasePath), 'secret-key');
}

/** What the operator must fix if the key is missing or differs from the database's key. */
export function wantedKey(databasePath: string): string {
  return `${SECRET_KEY_SETTING}, or while that is unset the file "${secretKeyFile(databasePath)}", to contain the key with which they were encrypted`;
}

/** `others`: webhooks or certificates, and no policies, so that a start with a new key loses no protection. */
export type HeldSecrets = 'policies' | 'others' | 'none';

/** @param wanted the key that opens them */
function missingKeyText(database: string, held: HeldSecrets, wanted: string): string {
  const lost =
    held === 'others'
      ? `. If that key is lost, set ${SECRET_KEY_SETTING} to a new one: webhooks then need their URLs and secrets again, and certificates are ordered again`
      : '';
  return `Cannot open ${database}: it contains encrypted secrets, but there is no key for them; expected ${wanted}${lost}`;
}

/** A random key for a database in memory, which ends with the process. */
export function memorySecretBox(): SecretBox {
  return createSecretBox([secretBytes(KEY_BYTES)], 'this process');
}

/**
 * The box for a database on a server, whose keys come from the setting.
 * @param keys undefined if unset: secrets are refused, here if the database already has some, otherwise when one is
 *   stored
 * @throws StorageRefused
 */
export async function serverSecretBox(
  keys: SecretKeys | undefined,
  holdsSecrets: () => Promise<HeldSecrets>,
): Promise<SecretBox> {
  if (keys !== undefined) return createSecretBox(keys, SECRET_KEY_SETTING);
  const held = await holdsSecrets();
  if (held !== 'none') {
    const wanted = `${SECRET_KEY_SETTING} to be the key with which they were encrypted`;
    throw new StorageRefused(missingKeyText('the database', held, wanted));
  }
  return keylessSecretBox();
}

/** The box without a key, for a database on a server without secrets: refuses to seal. */
export function keylessSecretBox(): SecretBox {
  const problem = (action: string): string =>
    `Cannot ${action} the secret of a policy: there is no key for it; expected ${SECRET_KEY_SETTING} to be set to the same key on every gateway with this database`;
  return {
    keyName: SECRET_KEY_SETTING,
    keyIds: [],
    seal: () => {
      throw new SecretKeyMissing(problem('store'));
    },
    open: () => {
      throw new StorageRefused(problem('read'));
    },
  };
}

/**
 * The box for the database at an absolute path.
 * @param keys of the setting; undefined if unset
 * @param holdsSecrets whether the database has sealed values; called only if no key exists
 * @throws StorageUnavailable if the file cannot be read, created or parsed, or is missing although it is needed
 */
export async function fileSecretBox(
  databasePath: string,
  keys: SecretKeys | undefined,
  holdsSecrets: () => Promise<HeldSecrets>,
): Promise<SecretBox> {
  if (keys !== undefined) return createSecretBox(keys, SECRET_KEY_SETTING);
  const file = secretKeyFile(databasePath);
  const existing = readKeyFile(file);
  const held = existing === undefined ? await holdsSecrets() : 'none';
  if (held !== 'none')
    throw new StorageRefused(missingKeyText(`the database "${databasePath}"`, held, wantedKey(databasePath)));
  return createSecretBox(existing ?? makeKeyFile(file), `the file "${file}"`);
}

/** The box of existing keys, for a database that does not exist yet; undefined if there is no key. */
export function existingSecretBox(databasePath: string, keys: SecretKeys | undefined): SecretBox | undefined {
  if (keys !== undefined) return createSecretBox(keys, SECRET_KEY_SETTING);
  const file = secretKeyFile(databasePath);
  try {
    const existing = readKeyFile(file);
    return existing === undefined ? undefined : createSecretBox(existing, `the file "${file}"`);
  } catch (error) {
    if (error instanceof StorageUnavailable) return undefined;
    throw error;
  }
}

/** Why the file beside a database stops the start; undefined if it does not, or does not exist. */
export function secretKeyFileProblem(databasePath: string): string | undefined {
  try {
    readKeyFile(secretKeyFile(databasePath));
    return undefined;
  } catch (error) {
    if (error instanceof StorageUnavailable) return error.message;
    throw error;
  }
}

/** Reads the keys; undefined if the file does not exist. */
function readKeyFile(file: string): SecretKeys | undefined {
  const text = attempt(`Cannot read the secret key "${file}"`, 'a file that Headgate may read', () => {
    try {
      return readFileSync(file, 'latin1');
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  });
  if (text === undefined) return undefined;
  const keys = parseKeysText(text);
  if (keys === undefined) {
    throw new StorageRefused(
      `Cannot use the secret key "${file}": the file does not contain a key; expected ${KEYS_EXPECTED}`,
    );
  }
  return keys;
}

/**
 * Writes the file under a temporary name and then links it, so that it appears complete or not at all. If another
 * process has created the file meanwhile, that file is read.
 */
function makeKeyFile(file: string): SecretKeys {
  const key = secretBytes(KEY_BYTES);
  const temporary = `${file}.${randomHex(8)}.new`;
  const wanted = `a folder that Headgate may write, on a file system with hard links, or ${SECRET_KEY_SETTING} to be set`;
  const made = attempt(`Cannot create the secret key "${file}"`, wanted, () => {
    try {
      writeDurably(temporary, `${formatKeyText(key)}\n`);
      return linkIfMissing(temporary, file);
    } finally {
      rmSync(temporary, { force: true });
    }
  });
  if (made) return [key];
  const other = readKeyFile(file);
  if (other !== undefined) return other;
  throw new StorageUnavailable(
    `Cannot use the secret key "${file}": it is a link to a file that does not exist; expected ${KEYS_EXPECTED}`,
  );
}

function writeDurably(path: string, content: string): void {
  const descriptor = openSync(path, 'wx', FILE_MODE);
  try {
    writeFileSync(descriptor, content);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Flushes to disk: a secret must not outlive its key. */
function linkIfMissing(from: string, to: string): boolean {
  try {
    linkSync(from, to);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
  syncFolder(dirname(to));
  return true;
}
