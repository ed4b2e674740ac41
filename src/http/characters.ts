/**
 * Character classes of RFC 9110 section 5.6.2 (tokens) and 5.5 (field values), as tables indexed by latin1 code. The
 * scanners look up one byte per step; the request path does not use regular expressions.
 */

/**
 * Set in the `TOKEN` entry of a character that is not a letter, digit or "-". Names with such characters can be
 * aliases.
 */
export const ODD_BIT = 0x80;

/**
 * The lower-case code of a token character (with `ODD_BIT` where it applies), 0 for any other byte. Lower-case codes
 * are below 0x80, so the bit never collides with one.
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
 * Whether `text` can be sent unchanged as a field value (RFC 9110 section 5.5): latin1, no control characters except
 * HTAB, no white space at either end. The empty value is valid. Check every value from configuration or token claims
 * with this function before sending it; otherwise it could inject fields.
 */
export function isFieldValue(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (!FIELD_TEXT[text.charCodeAt(i)]) return false;
  }
  return text.length === 0 || (!isBlank(text.charCodeAt(0)) && !isBlank(text.charCodeAt(text.length - 1)));
}

/** SP or HTAB, the only white space in HTTP fields (RFC 9110 section 5.6.3). */
export function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
