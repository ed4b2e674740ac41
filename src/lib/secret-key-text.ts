/** Keys of 256 bits as text, as an operator writes them into a setting or a file. */

export const KEY_BYTES = 32;
/** 64 hexadecimal digits, or base64url (RFC 4648 section 5) with or without its padding. */
export const KEY_TEXT = /^(?:[0-9A-Fa-f]{64}|[A-Za-z0-9_-]{43}=?)$/;

/**
 * The `KEY_BYTES` bytes that the text represents; undefined when it has neither format. Surrounding spaces are not
 * allowed.
 */
export function parseKeyText(text: string): Buffer | undefined {
  if (!KEY_TEXT.test(text)) return undefined;
  return Buffer.from(text, text.length === KEY_BYTES * 2 ? 'hex' : 'base64url');
}

export function formatKeyText(key: Buffer): string {
  return key.toString('base64url');
}
