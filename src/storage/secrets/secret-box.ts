/**
 * Encryption of values that must be stored and read back, such as the shared secret of a JWT policy: AES-256-GCM (NIST
 * SP 800-38D), with a random nonce of 96 bits per value. A sealed value is the text `enc:v1:<key
 * id>:<base64url of nonce, ciphertext and tag>`; the key id says which key opens a value, and distinguishes
 * a missing key from a damaged value. Owns the keys while the database is open. secret-key.ts finds the keys.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { assert } from '../../lib/assert.ts';
import { secretBytes } from '../../lib/ids.ts';
import { KEY_BYTES, type SecretKeys } from '../../lib/secret-key-text.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PREFIX = 'enc:v1:';
/** Every version of the format, including future ones. */
const ANY_SEALED = /^enc:v[0-9]+:/;
const SEALED = /^enc:v1:([A-Za-z0-9_-]{8}):([A-Za-z0-9_-]+)$/;

type OpenedSecret =
  | { readonly text: string }
  /**
   * `other_key`: sealed with none of the keys. `damaged`: not in this format, changed since, or sealed for another
   * place.
   */
  | { readonly problem: 'other_key' | 'damaged' };

export interface SecretBox {
  /** The source of the keys, for messages: the name of a setting or of a file. */
  readonly keyName: string;
  /** Identify the keys without revealing them. The first one seals, all of them open; empty when there is no key. */
  readonly keyIds: readonly string[];
  /** @param place what the value belongs to, such as the id of its record; required again to open it */
  seal(text: string, place: string): string;
  open(sealed: string, place: string): OpenedSecret;
}

/**
 * Whether stored text is a sealed value. All text is sealed before it is stored, so plain text is never mistaken for
 * one.
 */
export function isSealed(stored: string): boolean {
  return ANY_SEALED.test(stored);
}

/** The id of the key that a sealed value needs; undefined for a value in another format. */
export function neededKeyId(sealed: string): string | undefined {
  return SEALED.exec(sealed)?.[1];
}

/** @param keys exactly 32 bytes each */
export function createSecretBox(keys: SecretKeys, keyName: string): SecretBox {
  const [sealing] = keys;
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const [sealingId = ''] = byId.keys();
  return {
    keyName,
    keyIds: [...byId.keys()],
    seal(text, place) {
      const nonce = secretBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, sealing, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(associatedData(sealingId, place));
      const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${PREFIX}${sealingId}:${Buffer.concat(sealed).toString('base64url')}`;
    },
    open(sealed, place) {
      const [, keyId, payload = ''] = SEALED.exec(sealed) ?? [];
      const bytes = Buffer.from(payload, 'base64url');
      if (keyId === undefined || bytes.length < NONCE_BYTES + TAG_BYTES) return { problem: 'damaged' };
      const key = byId.get(keyId);
      if (key === undefined) return { problem: 'other_key' };
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(associatedData(keyId, place));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8');
      try {
        return { text: text + decipher.final('utf8') };
      } catch {
        // `final` throws only if the tag does not match.
        return { problem: 'damaged' };
      }
    },
  };
}

function keyIdOf(key: Buffer): string {
  assert(key.length === KEY_BYTES, `a secret key has ${KEY_BYTES} bytes, got ${key.length}`);
  return createHmac('sha256', key).update('headgate secret key id').digest('base64url').slice(0, 8);
}

/** Authenticates the format and the key id too, so that a value cannot be opened in another format. */
function associatedData(keyId: string, place: string): Buffer {
  return Buffer.from(`${PREFIX}${keyId}:${place}`, 'utf8');
}
