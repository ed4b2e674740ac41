/**
 * API keys with an imported value, so that clients of another gateway keep their keys. A value must be usable wherever
 * a credential is (RFC 6750 section 2.1 `b64token`) and must not be guessable: values that the gateway generates have
 * 256 random bits, imported ones must have at least 128 as far as their text shows. The estimate is an upper bound: it
 * considers alphabets, repetitions and sequences, but not words.
 *
 * A value may have the format of the gateway's own keys, with a valid checksum: keys can move between gateways.
 */
import { B64_TOKEN_PATTERN } from './patterns.ts';
import { isUuid } from '../lib/text/uuid.ts';
import {
  ADMIN_TOKEN_PREFIX,
  API_KEY_PREFIX,
  hasValidChecksum,
  tokenDisplayPrefix,
  tokenHash,
} from './token.ts';

/** 128 bits in base64url. */
export const IMPORTED_CHARS_MIN = 22;
/** With this limit, `Bearer ` and the value are cached as one text (policy/parts/auth/key-cache.ts). */
export const IMPORTED_CHARS_MAX = 200;
const BITS_MIN = 128;

/** The form of a JWT: a JSON object in base64url and two more parts. */
const JWT = /^eyJ[^.]*\.[^.]*\.[^.]*$/;
const B64_TOKEN = new RegExp(B64_TOKEN_PATTERN);
/** Characters are predictable when they repeat an earlier sequence of this length. */
const REPEATED_CHARS = 4;
const DISPLAY_DIGITS = 8;

/** Whether a text without the prefix of the gateway's own keys can be a key, so that it has to be looked up. */
export function mayBeImported(token: string): boolean {
  return hasImportedLength(token) && !token.startsWith(ADMIN_TOKEN_PREFIX);
}

function hasImportedLength({ length }: string): boolean {
  return length >= IMPORTED_CHARS_MIN && length <= IMPORTED_CHARS_MAX;
}

/** Why the text cannot be the value of a key, as a continuation of a field's name; undefined when it can. */
export function importedTokenError(token: string): string | undefined {
  if (token.startsWith(ADMIN_TOKEN_PREFIX))
    return `must not start with "${ADMIN_TOKEN_PREFIX}", as admin tokens do`;
  if (token.startsWith(API_KEY_PREFIX)) {
    if (hasValidChecksum(token)) return undefined;
    return `must not start with "${API_KEY_PREFIX}", unless it is a key that Headgate has generated: its checksum is wrong`;
  }
  if (!mayBeImported(token)) {
    return `must have ${IMPORTED_CHARS_MIN} to ${IMPORTED_CHARS_MAX} characters`;
  }
  if (!B64_TOKEN.test(token)) return 'must contain only letters, digits and -._~+/, and "=" only at the end';
  if (JWT.test(token)) return 'must not have the form of a JWT';
  if (isUuid(token)) return `must have at least ${BITS_MIN} random bits; a UUID has at most 122`;
  return weakness(token.replace(/=+$/, ''));
}

/**
 * What a record shows of a value: the start of the value if the gateway generated it, otherwise the start of its hash,
 * so that nothing of the value is revealed.
 */
export function importedDisplayPrefix(token: string): string {
  if (token.startsWith(API_KEY_PREFIX)) return tokenDisplayPrefix(token);
  return hashDisplayPrefix(tokenHash(token));
}

/** Like `importedDisplayPrefix`, when only the hash of a value is known. */
export function hashDisplayPrefix(hash: string): string {
  return `sha256:${hash.slice(0, DISPLAY_DIGITS)}`;
}

function weakness(text: string): string | undefined {
  const classes = classesOf(text);
  if (classes.kinds < 2) {
    return 'must mix kinds of characters (upper case, lower case, digits): it has only one kind';
  }
  const bits = classes.counted * Math.log2(classes.alphabet);
  if (bits < BITS_MIN) {
    return `must have at least ${BITS_MIN} random bits: ${classes.counted} such characters have at most ${Math.floor(bits)}`;
  }
  if (new Set(text).size < 8 || foretold(text) > text.length / 4) {
    return `must have at least ${BITS_MIN} random bits: it repeats itself or counts up or down`;
  }
  return undefined;
}

/**
 * How many characters count, and the size of the alphabet that they were drawn from, at most. Punctuation between
 * hexadecimal digits counts as separators.
 */
function classesOf(text: string): {
  readonly kinds: number;
  readonly counted: number;
  readonly alphabet: number;
} {
  const signs = text.replace(/[A-Za-z0-9]/g, '');
  const digits = /[0-9]/.test(text);
  const upper = /[A-Z]/.test(text);
  const lower = /[a-z]/.test(text);
  const kinds = [digits, upper, lower].filter(Boolean).length;
  const alphanumeric = text.length - signs.length;
  const isHex = !(upper && lower) && !/[G-Zg-z]/.test(text);
  if (isHex) return { kinds, counted: alphanumeric, alphabet: 16 };
  // A text in both cases uses digits too, whether it contains any or not.
  const alphabet = upper && lower ? 62 : (digits ? 10 : 0) + (upper || lower ? 26 : 0);
  return { kinds, counted: text.length, alphabet: alphabet + new Set(signs).size };
}

/**
 * The number of characters that follow from earlier ones: in runs such as `aaa`, `abc` and `321`, and in
 * repetitions.
 */
function foretold(text: string): number {
  const seen = new Set<string>();
  let count = 0;
  let repeatedTo = 0;
  for (let index = 0; index < text.length; index++) {
    const from = index - REPEATED_CHARS + 1;
    const part = from < 0 ? undefined : text.slice(from, index + 1);
    if (part !== undefined && seen.has(part)) {
      count += index + 1 - Math.max(repeatedTo, from);
      repeatedTo = index + 1;
    } else if (index >= repeatedTo && isStep(text, index)) {
      count++;
      repeatedTo = index + 1;
    }
    if (part !== undefined) seen.add(part);
  }
  return count;
}

/** Whether the step to this character equals the previous step and is at most 1 in the order of characters. */
function isStep(text: string, index: number): boolean {
  if (index < 2) return false;
  const step = text.charCodeAt(index) - text.charCodeAt(index - 1);
  return Math.abs(step) <= 1 && step === text.charCodeAt(index - 1) - text.charCodeAt(index - 2);
}
