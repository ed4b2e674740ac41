/**
 * Strictly parses a JWT (RFC 7519 as a JWS in compact form, RFC 7515 section 7.1), as far as possible without a key.
 * Refuses what parsers are known to disagree on: a number of parts other than three, base64url that is not the
 * canonical encoding of its bytes, duplicate members, `crit`, and types other than access and identity tokens.
 * Nothing in the header selects an algorithm or a key source; `jku`, `x5u`, `x5c` and `jwk` are ignored.
 */
import { JWT_CHARS_MAX, type CredentialProblem } from '../auth-reasons.ts';

const KID_CHARS_MAX = 1024;
/** Depth of nested objects and lists; more than any issuer needs. */
const DEPTH_MAX = 32;

/** Types of RFC 7519 section 5.1 and RFC 9068 section 2.1; RFC 8725 section 3.11 requires this check. */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']);

export type Claims = Readonly<Record<string, unknown>>;

export interface TokenHeader {
  readonly algorithm: string;
  readonly kid: string | undefined;
}

/** @returns the header, or why this gateway cannot accept the token */
export function readHeader(token: string, algorithms: readonly string[]): TokenHeader | CredentialProblem {
  if (token.length > JWT_CHARS_MAX) return 'token_too_long';
  const parts = token.split('.', 4);
  if (parts.length !== 3 || !parts.every(isCanonicalBase64url)) return 'token_not_compact';
  const header = readObject(parts[0] ?? '');
  if (header === undefined) return 'token_header';
  const { alg, kid, typ } = header;
  if (typeof alg !== 'string' || !algorithms.includes(alg)) return 'token_algorithm';
  // `b64` has a meaning only as a critical extension (RFC 7797 section 6); a signer that uses it sets both.
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) return 'token_extensions';
  if (typ !== undefined && (typeof typ !== 'string' || !TYPES.has(typ.toLowerCase()))) {
    return 'token_type';
  }
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > KID_CHARS_MAX)) return 'token_key_id';
  return { algorithm: alg, kid };
}

/** @param payload the bytes that the signature covers; @returns undefined if they are not a JSON object */
export function readClaims(payload: Uint8Array): Claims | undefined {
  return uniqueObject(payload);
}

function readObject(part: string): Claims | undefined {
  return uniqueObject(Buffer.from(part, 'base64url'));
}

/** True for the canonical base64url text of its bytes: no padding, no other alphabet, no stray bits (RFC 4648 3.5). */
function isCanonicalBase64url(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A JSON object of bounded depth without duplicate members at any depth; undefined for anything else. */
function uniqueObject(bytes: Uint8Array): Claims | undefined {
  try {
    const text = strictUtf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return writtenMembers(text) === readMembers(value, DEPTH_MAX) ? (value as Claims) : undefined;
  } catch {
    return undefined;
  }
}

/** Number of members of the objects in valid JSON, including duplicates: the colons outside of strings. */
function writtenMembers(json: string): number {
  let count = 0;
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (code === 0x22) index = stringEnd(json, index + 1);
    else if (code === 0x3a) count++;
  }
  return count;
}

/** Number of members after parsing; NaN if values are nested deeper than `depthMax`. */
function readMembers(value: unknown, depthMax: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depthMax === 0) return NaN;
  const members: unknown[] = Object.values(value);
  let count = Array.isArray(value) ? 0 : members.length;
  for (const member of members) count += readMembers(member, depthMax - 1);
  return count;
}

/** Index of the quote that ends a string in valid JSON. */
function stringEnd(json: string, from: number): number {
  let index = from;
  while (index < json.length && json.charCodeAt(index) !== 0x22)
    index += json.charCodeAt(index) === 0x5c ? 2 : 1;
  return index;
}
