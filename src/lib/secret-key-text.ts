/** Keys of 256 bits as text, as an operator writes them into a setting or a file. */

export const KEY_BYTES = 32;
/** While a key is changed there are two; more are left of changes that were not finished. */
export const KEYS_MAX = 8;
/** What messages expect. */
export const KEYS_EXPECTED = `32 bytes as base64url (43 characters) or hexadecimal (64 digits) text; while the key is changed, up to ${KEYS_MAX} different keys with commas between them`;
/** 64 hexadecimal digits, or base64url (RFC 4648 section 5) with or without its padding. */
const KEY_TEXT = /^(?:[0-9A-Fa-f]{64}|[A-Za-z0-9_-]{43}=?)$/;

/** The first one encrypts, all of them decrypt. Each has `KEY_BYTES` bytes. */
export type SecretKeys = readonly [Buffer, ...Buffer[]];

/**
 * The keys that the text lists, separated by commas, line ends or spaces; undefined when one has another format, or
 * when there are none, too many, or the same one twice.
 */
export function parseKeysText(text: string): SecretKeys | undefined {
  const items = text.trim().split(/\s*,\s*|\s+/);
  if (items.length > KEYS_MAX) return undefined;
  const keys = items.flatMap((item) => parseKey(item) ?? []);
  const [first, ...others] = keys;
  const distinct = new Set(keys.map((key) => key.toString('hex')));
  return first === undefined || distinct.size < items.length ? undefined : [first, ...others];
}

function parseKey(text: string): Buffer | undefined {
  if (!KEY_TEXT.test(text)) return undefined;
  return Buffer.from(text, text.length === KEY_BYTES * 2 ? 'hex' : 'base64url');
}

export function formatKeyText(key: Buffer): string {
  return key.toString('base64url');
}
