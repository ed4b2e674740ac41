/**
 * The format of API keys and admin tokens: `hgk_` or `hga_`, 43 characters of base64url (256 random bits), and a
 * checksum of 6 characters over all that precedes it. The checksum detects a mistyped or truncated token without a
 * look-up; it proves nothing else. Only the SHA-256 of a token is stored.
 *
 * Draws no randomness: the caller passes the secret bytes.
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
/** Characters after the prefix that a record keeps so that people recognise a token: 48 of its 256 bits. */
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

/** True when the text has a known prefix, the right length and a valid checksum. Takes any input. */
export function hasValidChecksum(token: string): boolean {
  if (token.length !== TOKEN_LENGTH) return false;
  if (!token.startsWith(API_KEY_PREFIX) && !token.startsWith(ADMIN_TOKEN_PREFIX)) return false;
  const split = TOKEN_LENGTH - CHECKSUM_LENGTH;
  return checksum(token.slice(0, split)) === token.slice(split);
}

/** SHA-256 of the whole token, 64 lower-case hex digits: the form that is stored and looked up. */
export function tokenHash(token: string): string {
  return hash('sha256', token, 'hex');
}

/** The same hash as 32 characters of latin1, for key look-ups: takes two thirds of the time. */
export function tokenDigest(token: string): string {
  return hash('sha256', token, 'binary');
}

/** The part of a token that may be shown: the prefix and the first characters. */
export function tokenDisplayPrefix(token: string): string {
  return token.slice(0, PREFIX_LENGTH + DISPLAY_LENGTH);
}
