/**
 * The text of a JWT (RFC 7519 as a JWS in compact form, RFC 7515 section 7.1), read strictly: what can be said
 * without a key. Refuses what parsers are known to disagree on: other than three parts, base64url that is not the
 * one encoding of its bytes, duplicate members, `crit`, types that are no access or identity token. Nothing in the
 * header selects an algorithm or a key source; `jku`, `x5u`, `x5c` and `jwk` are not looked at.
 */
import { JWT_CHARS_MAX, type CredentialProblem } from '../auth-reasons.ts';

const KID_CHARS_MAX = 1024;
/** Objects and lists within each other: more than any issuer has a use for. */
const DEPTH_MAX = 32;

/** Types that RFC 7519 section 5.1 and RFC 9068 section 2.1 name; RFC 8725 section 3.11 asks for this check. */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']);

export type Claims = Readonly<Record<string, unknown>>;

export interface TokenHeader {
  readonly algorithm: string;
  readonly kid: string | undefined;
}

/** @returns the header, or why the token cannot be one that this gateway takes */
export function readHeader(token: string, algorithms: readonly string[]): TokenHeader | CredentialProblem {
  if (token.length > JWT_CHARS_MAX) return 'token_too_long';
  const parts = token.split('.', 4);
  if (parts.length !== 3 || !parts.every(isCanonicalBase64url)) return 'token_not_compact';
  const header = readObject(parts[0] ?? '');
  if (header === undefined) return 'token_header';
  const { alg, kid, typ } = header;
  if (typeof alg !== 'string' || !algorithms.includes(alg)) return 'token_algorithm';
  // `b64` has a meaning as a critical extension only (RFC 7797 section 6); a signer that means it says both.
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) return 'token_extensions';
  if (typ !== undefined && (typeof typ !== 'string' || !TYPES.has(typ.toLowerCase()))) {
    return 'token_type';
  }
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > KID_CHARS_MAX)) return 'token_key_id';
  return { algorithm: alg, kid };
}

/** @param payload the bytes that the signature covers; @returns undefined when they are no JSON object */
export function readClaims(payload: Uint8Array): Claims | undefined {
  return uniqueObject(payload);
}

function readObject(part: string): Claims | undefined {
  return uniqueObject(Buffer.from(part, 'base64url'));
}

/** True for the one base64url text of its bytes: no padding, no other alphabet, no stray bits (RFC 4648 3.5). */
function isCanonicalBase64url(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A JSON object of bounded depth whose objects, at any depth, name no member twice; undefined for anything else. */
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

/** How many members the objects of valid JSON have, counting duplicates: the colons outside of strings. */
function writtenMembers(json: string): number {
  let count = 0;
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (code === 0x22) index = stringEnd(json, index + 1);
    else if (code === 0x3a) count++;
  }
  return count;
}

/** How many members are left of them, once read; NaN when values lie deeper than `depthMax`. */
function readMembers(value: unknown, depthMax: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depthMax === 0) return NaN;
  const members: unknown[] = Object.values(value);
  let count = Array.isArray(value) ? 0 : members.length;
  for (const member of members) count += readMembers(member, depthMax - 1);
  return count;
}

/** Index of the quote that ends a string of valid JSON. */
function stringEnd(json: string, from: number): number {
  let index = from;
  while (index < json.length && json.charCodeAt(index) !== 0x22)
    index += json.charCodeAt(index) === 0x5c ? 2 : 1;
  return index;
}
