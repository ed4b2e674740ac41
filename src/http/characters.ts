/**
 * Character classes of RFC 9110 section 5.6.2 (tokens) and 5.5 (field values), as tables indexed by latin1 code.
 * The scanners look one byte up per step; regular expressions are not used on the request path.
 */

/** Set in a `TOKEN` entry of a character that is neither letter, digit nor "-": such names can alias others. */
export const ODD_BIT = 0x80;

/**
 * For a token character its lower-case code (with `ODD_BIT` where that applies), 0 for any other byte. Lower-case
 * codes are below 0x80, so the bit never collides with one.
 */
export const TOKEN: Uint8Array = buildTokenTable();

/** 1 for bytes that may stand in a field value: HTAB, SP, visible ASCII, obs-text; 0 for control characters. */
export const FIELD_TEXT: Uint8Array = buildFieldTextTable();

/** Value of a hexadecimal digit, 0xff for any other byte. */
export const HEX_VALUE: Uint8Array = buildHexTable();

function buildTokenTable(): Uint8Array {
  const table = new Uint8Array(256);
  for (let code = 0x21; code < 0x7f; code++) {
    const character = String.fromCharCode(code);
    if (/[0-9a-z-]/.test(character)) table[code] = code;
    else if (/[A-Z]/.test(character)) table[code] = code | 0x20;
    else if ("!#$%&'*+.^_`|~".includes(character)) table[code] = code | ODD_BIT;
  }
  return table;
}

function buildFieldTextTable(): Uint8Array {
  const table = new Uint8Array(256).fill(1, 0x20);
  table[0x09] = 1;
  table[0x7f] = 0;
  return table;
}

function buildHexTable(): Uint8Array {
  const table = new Uint8Array(256).fill(0xff);
  for (const [value, character] of '0123456789abcdef'.split('').entries()) {
    table[character.charCodeAt(0)] = value;
    table[character.toUpperCase().charCodeAt(0)] = value;
  }
  return table;
}

/** Whether `text` is a token (RFC 9110 section 5.6.2): the grammar of methods and field names. */
export function isToken(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (!TOKEN[text.charCodeAt(i)]) return false;
  }
  return text.length > 0;
}

/**
 * Whether `text` can be sent as a field value as it stands (RFC 9110 section 5.5): latin1, no control characters
 * but HTAB, no white space at either end. The empty value passes. Anything the gateway emits from configuration
 * or from a token's claims goes through this, or it could inject fields.
 */
export function isFieldValue(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (!FIELD_TEXT[text.charCodeAt(i)]) return false;
  }
  return text.length === 0 || (!isBlank(text.charCodeAt(0)) && !isBlank(text.charCodeAt(text.length - 1)));
}

/** SP or HTAB, the only white space that HTTP fields know (RFC 9110 section 5.6.3). */
export function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
