/** Keys of 256 bits as text: how an operator writes one into a setting or a file. */

export const KEY_BYTES = 32;
/** 64 hexadecimal digits, or base64url (RFC 4648 section 5) with or without its padding. */
export const KEY_TEXT = /^(?:[0-9A-Fa-f]{64}|[A-Za-z0-9_-]{43}=?)$/;

/** The `KEY_BYTES` bytes that the text stands for; undefined when it is neither form. No spaces around it. */
export function parseKeyText(text: string): Buffer | undefined {
  if (!KEY_TEXT.test(text)) return undefined;
  return Buffer.from(text, text.length === KEY_BYTES * 2 ? 'hex' : 'base64url');
}

export function formatKeyText(key: Buffer): string {
  return key.toString('base64url');
}
