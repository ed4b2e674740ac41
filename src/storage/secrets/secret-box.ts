/**
 * Encryption of values that must be stored and read back, such as the shared secret of a JWT policy: AES-256-GCM (NIST
 * SP 800-38D) under one key, with a random nonce of 96 bits per value. A sealed value is the text `enc:v1:<key
 * id>:<base64url of nonce, ciphertext and tag>`; the key id distinguishes a wrong key from a damaged value. Owns the
 * key while the database is open. secret-key.ts finds the key.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { assert } from '../../lib/assert.ts';
import { secretBytes } from '../../lib/ids.ts';
import { KEY_BYTES } from '../../lib/secret-key-text.ts';

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
   * `other_key`: sealed with another key. `damaged`: not in this format, changed since, or sealed for another place.
   */
  | { readonly problem: 'other_key' | 'damaged' };

export interface SecretBox {
  /** The source of the key, for messages: the name of a setting or of a file. */
  readonly keyName: string;
  /** Identifies the key without revealing it; undefined when there is no key. */
  readonly keyId: string | undefined;
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

/** @param key exactly 32 bytes */
export function createSecretBox(key: Buffer, keyName: string): SecretBox {
  assert(key.length === KEY_BYTES, `a secret key has ${KEY_BYTES} bytes, got ${key.length}`);
  const keyId = createHmac('sha256', key).update('headgate secret key id').digest('base64url').slice(0, 8);
  return {
    keyName,
    keyId,
    seal(text, place) {
      const nonce = secretBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(associatedData(keyId, place));
      const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${PREFIX}${keyId}:${Buffer.concat(sealed).toString('base64url')}`;
    },
    open(sealed, place) {
      const [, sealedWith, payload = ''] = SEALED.exec(sealed) ?? [];
      const bytes = Buffer.from(payload, 'base64url');
      if (sealedWith === undefined || bytes.length < NONCE_BYTES + TAG_BYTES) return { problem: 'damaged' };
      if (sealedWith !== keyId) return { problem: 'other_key' };
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

/** Authenticates the format and the key id too, so that a value cannot be opened in another format. */
function associatedData(keyId: string, place: string): Buffer {
  return Buffer.from(`${PREFIX}${keyId}:${place}`, 'utf8');
}
