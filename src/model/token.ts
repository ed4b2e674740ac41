/**
 * The form of API keys and admin tokens: `hgk_` or `hga_`, 43 characters of base64url (256 random bits), and 6
 * characters of checksum over what stands before them. The checksum tells a mistyped or truncated token from a
 * well-formed one without a look-up; it is no proof of anything else. Only the SHA-256 of a token is stored.
 *
 * Draws no randomness: the caller brings the secret bytes.
 */
import { hash } from 'node:crypto';
import { assert } from '../lib/assert.ts';

export const API_KEY_PREFIX = 'hgk_';
export const ADMIN_TOKEN_PREFIX = 'hga_';
export type TokenPrefix = typeof API_KEY_PREFIX | typeof ADMIN_TOKEN_PREFIX;

export const SECRET_BYTES = 32;
const PREFIX_LENGTH = 4;
const CHECKSUM_LENGTH = 6;
const BODY_LENGTH = 43;
export const TOKEN_LENGTH = PREFIX_LENGTH + BODY_LENGTH + CHECKSUM_LENGTH;
/** Characters after the prefix that a record keeps for people to recognise a token by: 48 of its 256 bits. */
const DISPLAY_LENGTH = 8;

function checksum(prefixAndBody: string): string {
  return hash('sha256', `headgate:${prefixAndBody}`, 'base64url').slice(0, CHECKSUM_LENGTH);
}

/** @param secret exactly `SECRET_BYTES` bytes from a cryptographic generator */
export function createToken(prefix: TokenPrefix, secret: Buffer): string {
  assert(secret.length === SECRET_BYTES, `a token needs ${SECRET_BYTES} secret bytes, got ${secret.length}`);
  const prefixAndBody = prefix + secret.toString('base64url');
  return prefixAndBody + checksum(prefixAndBody);
}

/** True when the text has a known prefix, the right length and a checksum that fits. Takes any input. */
export function hasValidChecksum(token: string): boolean {
  if (token.length !== TOKEN_LENGTH) return false;
  if (!token.startsWith(API_KEY_PREFIX) && !token.startsWith(ADMIN_TOKEN_PREFIX)) return false;
  const split = TOKEN_LENGTH - CHECKSUM_LENGTH;
  return checksum(token.slice(0, split)) === token.slice(split);
}

/** SHA-256 of the whole token, 64 lower-case hex digits: what is stored and looked up. */
export function tokenHash(token: string): string {
  return hash('sha256', token, 'hex');
}

/** The same 32 bytes as latin1 text: for looking keys up, at two thirds of the time. */
export function tokenDigest(token: string): string {
  return hash('sha256', token, 'binary');
}

/** The part of a token that may be shown: the prefix and its first characters. */
export function tokenDisplayPrefix(token: string): string {
  return token.slice(0, PREFIX_LENGTH + DISPLAY_LENGTH);
}
