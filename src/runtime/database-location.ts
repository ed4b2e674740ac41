/** Where the database of the settings lies, and what belongs beside it. Reads no file but the secret key. */
import { resolve } from 'node:path';
import { parseKeyText } from '../kernel/key-text.ts';
import type { Settings } from '../settings.ts';
import { parseDatabaseUrl } from '../storage/database-url.ts';
import type { SecretBox } from '../storage/secret-box.ts';
import { existingSecretBox } from '../storage/secret-key.ts';

export interface DatabaseLocation {
  /** As the setting has it. */
  readonly path: string;
  /** Absolute; undefined in memory. */
  readonly file: string | undefined;
  readonly secretKey: Buffer | undefined;
  /** undefined: switched off. */
  readonly snapshotFile: string | undefined;
}

/** @returns the location, or what is wrong with the setting */
export function locateDatabase(settings: Settings): DatabaseLocation | { readonly error: string } {
  const url = parseDatabaseUrl(settings.database.url);
  if ('error' in url) return { error: `Cannot use GATEWAY_DATABASE_URL: ${url.error}` };
  if (url.kind !== 'sqlite') return { error: 'Cannot use GATEWAY_DATABASE_URL: expected a sqlite:// URL' };
  const { secretKey, snapshotFile } = settings;
  const file = url.path === ':memory:' ? undefined : resolve(url.path);
  const isOff = file === undefined || snapshotFile === 'off';
  return {
    path: url.path,
    file,
    secretKey: secretKey === undefined ? undefined : parseKeyText(secretKey),
    snapshotFile: isOff ? undefined : resolve(snapshotFile ?? `${file}.snapshot`),
  };
}

/** With the key that is there; undefined when there is none to be had. */
export function secretBoxOf({ file, secretKey }: DatabaseLocation): SecretBox | undefined {
  return file === undefined ? undefined : existingSecretBox(file, secretKey);
}
