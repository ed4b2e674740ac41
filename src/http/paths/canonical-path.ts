/**
 * The canonical path (RFC 3986 sections 3.3 and 6.2.2): the one form in which a path is matched, authorised and
 * forwarded. Percent-encoded unreserved characters are decoded, other hex digits are upper-cased, and the few visible
 * characters that RFC 3986 does not allow raw in a path (such as "|") are encoded, as URL libraries do.
 *
 * Refused, because servers disagree on them: empty segments, dot segments in any spelling (also with path parameters or
 * between encoded slashes), backslashes, control characters, malformed and overlong percent-encoding. `%2F` is not
 * changed; the caller decides whether an app accepts it, see `hasEncodedSlash`.
 */
import { HEX_VALUE } from '../characters.ts';
import { headError, type HeadError } from '../heads/head-error.ts';

const SLASH = 0x2f;
const DOT = 0x2e;
const PERCENT = 0x25;
const SEMICOLON = 0x3b;
const BACKSLASH = 0x5c;
const HEX = '0123456789ABCDEF';

const PLAIN = 0;
const SPECIAL = 1;
const TO_ENCODE = 2;
const UNRESERVED = new Uint8Array(128);
const CLASS = buildClassTable();

/**
 * 1 for the bytes of plain paths. A path of only these bytes and without empty segments is canonical, and lenient
 * servers read it in the same way: lower-case unreserved characters except ".", sub-delims except ";", "/", ":", "@".
 */
export const PLAIN_PATH: Uint8Array = buildPlainTable();

const badEncoding = headError(
  400,
  'bad_path_encoding',
  'The path contains a "%" that is not followed by two hexadecimal digits.',
);
const badCharacter = headError(
  400,
  'bad_path_character',
  'The path contains a control character, a backslash or a byte that is not ASCII.',
);
const emptySegment = headError(400, 'empty_path_segment', 'The path contains "//".');
const dotSegment = headError(400, 'dot_path_segment', 'The path contains a "." or ".." segment.');
const overlong = headError(400, 'bad_path_encoding', 'The path contains an overlong UTF-8 sequence.');
const notAbsolute = headError(400, 'bad_target', 'The path does not start with "/".');

/**
 * The canonical form of `rawPath` (no query), or the refusal. A path that is already canonical is returned unchanged,
 * after one pass and without an allocation. The function is idempotent.
 */
export function canonicalPath(rawPath: string): string | HeadError {
  if (rawPath.charCodeAt(0) !== SLASH) return notAbsolute;
  for (let position = 1; position < rawPath.length; position++) {
    if (CLASS[rawPath.charCodeAt(position)] === PLAIN) continue;
    const code = rawPath.charCodeAt(position);
    if (code === SLASH) {
      if (rawPath.charCodeAt(position - 1) === SLASH) return emptySegment;
    } else if (code !== DOT || rawPath.charCodeAt(position - 1) === SLASH) {
      return rewritePath(rawPath);
    }
  }
  return rawPath;
}

/** Whether a canonical path contains an encoded slash, which an app must allow explicitly. */
export function hasEncodedSlash(path: string): boolean {
  return path.includes('%2F');
}

/**
 * The spelling of a canonical path that is compared with configured paths: characters that need no encoding in a
 * segment (RFC 3986 `pchar`: sub-delims, ":" and "@" besides the unreserved characters) are decoded too. A backend
 * treats `/users%3Abatch` as `/users:batch`, so a policy for one must apply to the other; the forwarded path keeps its
 * spelling. Slashes do not change: the segments of both spellings correspond one to one.
 */
export function comparablePath(path: string): string {
  return path.includes('%') ? path.replace(/%(?:2[146-9A-C]|3[ABD]|40)/g, decodeOctet) : path;
}

function decodeOctet(octet: string): string {
  return String.fromCharCode(parseInt(octet.slice(1), 16));
}

/** Position of the "?" that ends the path of a target in origin-form; the target's length if it has no query. */
export function pathEnd(target: string): number {
  const position = target.indexOf('?');
  return position < 0 ? target.length : position;
}

/** The slow way, for paths with something to decode, encode or refuse. */
function rewritePath(rawPath: string): string | HeadError {
  let path = '';
  // Tracked separately: reading the end of a text that is built piece by piece would copy the whole text each time.
  let endsWithSlash = false;
  for (let position = 0; position < rawPath.length; position++) {
    const code = rawPath.charCodeAt(position);
    const kind = CLASS[code];
    if (code === PERCENT) {
      const octet = octetAt(rawPath, position);
      if (octet < 0) return badEncoding;
      if (octet < 0x20 || octet === 0x7f || octet === BACKSLASH) return badCharacter;
      if (octet >= 0xc0 && isOverlong(octet, octetAt(rawPath, position + 3))) return overlong;
      path += UNRESERVED[octet] === 1 ? String.fromCharCode(octet) : percentEncoded(octet);
      position += 2;
    } else if (kind === TO_ENCODE) {
      path += percentEncoded(code);
    } else if (kind === PLAIN || code === SLASH || code === DOT) {
      if (code === SLASH && endsWithSlash) return emptySegment;
      path += rawPath.charAt(position);
    } else {
      return badCharacter;
    }
    endsWithSlash = code === SLASH;
  }
  return hasDotSegment(path) ? dotSegment : path;
}

/**
 * Whether a decoded path has a segment "." or "..", alone or before a path parameter (";", also encoded). An encoded
 * slash delimits segments here, because a backend that decodes it would see the same dot segment.
 */
function hasDotSegment(path: string): boolean {
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
    if (path.charCodeAt(dot - 1) !== SLASH && !path.startsWith('%2F', dot - 3)) continue;
    const end = path.charCodeAt(dot + 1) === DOT ? dot + 2 : dot + 1;
    const next = path.charCodeAt(end);
    if (end === path.length || next === SLASH || next === SEMICOLON) return true;
    if (path.startsWith('%2F', end) || path.startsWith('%3B', end)) return true;
  }
  return false;
}

/** Value of the percent-encoded octet at `position`, -1 when there is none. */
function octetAt(path: string, position: number): number {
  if (path.charCodeAt(position) !== PERCENT) return -1;
  const high = HEX_VALUE[path.charCodeAt(position + 1)] ?? 0xff;
  const low = HEX_VALUE[path.charCodeAt(position + 2)] ?? 0xff;
  return high > 0xf || low > 0xf ? -1 : (high << 4) | low;
}

/** Whether a UTF-8 lead octet and the octet after it encode a character that has a shorter form (RFC 3629). */
function isOverlong(lead: number, next: number): boolean {
  if (next < 0x80 || next > 0xbf) return false;
  return lead <= 0xc1 || (lead === 0xe0 && next < 0xa0) || (lead === 0xf0 && next < 0x90);
}

function percentEncoded(octet: number): string {
  return `%${HEX.charAt(octet >> 4)}${HEX.charAt(octet & 15)}`;
}

function buildPlainTable(): Uint8Array {
  const table = new Uint8Array(256);
  for (const character of "abcdefghijklmnopqrstuvwxyz0123456789-_~!$&'()*+,=:@/")
    table[character.charCodeAt(0)] = 1;
  return table;
}

function buildClassTable(): Uint8Array {
  const table = new Uint8Array(256).fill(SPECIAL);
  for (let code = 0x21; code < 0x7f; code++) {
    const character = String.fromCharCode(code);
    if (/[A-Za-z0-9._~-]/.test(character)) UNRESERVED[code] = 1;
    if (/[A-Za-z0-9_~!$&'()*+,;=:@-]/.test(character)) table[code] = PLAIN;
    else if ('"<>^`{|}[]'.includes(character)) table[code] = TO_ENCODE;
  }
  return table;
}
