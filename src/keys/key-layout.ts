/**
 * Where the fields of an API key are in its block of shared memory. key-record.ts writes and reads whole records;
 * presented-key.ts reads the fields that a request needs.
 */

/** Word 0: the flags, and above them the length of the JSON in bytes. Word 1: the units of the block. */
export const FLAGS = 0;
export const UNITS = 1;
export const TOKEN_HASH = 2;
export const ID = 10;
export const APP_ID = 14;
export const CREATED_AT = 18;
/** Start of the fields that only some keys have, in the order of their flags. */
export const OPTIONAL = 20;

export const IS_ACTIVE = 1;
export const HAS_UPDATED_AT = 2;
export const HAS_EXPIRES_AT = 4;
export const HAS_LAST_USED_AT = 8;
export const HAS_PREVIOUS_EXPIRES_AT = 16;
export const HAS_PREVIOUS_HASH = 32;
export const FLAG_BITS = 6;

export const HASH_WORDS = 8;
export const ID_WORDS = 4;
export const TIME_WORDS = 2;

/** The word at which the hash before the last rotation begins, or 0. */
export function previousHashAt(words: Int32Array, start: number): number {
  const flags = words[start + FLAGS] as number;
  if ((flags & HAS_PREVIOUS_HASH) === 0) return 0;
  return start + OPTIONAL + timesOf(flags) * TIME_WORDS;
}

/** The number of optional times. */
export function timesOf(flags: number): number {
  let times = 0;
  for (let flag = HAS_UPDATED_AT; flag < HAS_PREVIOUS_HASH; flag <<= 1) if (flags & flag) times++;
  return times;
}

/** Whether the words from `at` on equal the first `count` words of `wanted`. */
export function isAt(words: Int32Array, at: number, wanted: Int32Array, count: number): boolean {
  for (let index = 0; index < count; index++) {
    if (words[at + index] !== wanted[index]) return false;
  }
  return true;
}

/** The time at `at`, in Unix milliseconds. */
export function timeMsAt(words: Int32Array, at: number): number {
  return (words[at + 1] as number) * 2 ** 32 + ((words[at] as number) >>> 0);
}

/** What the optional fields of a record say about its values. */
export interface OptionalFields {
  /** Unix milliseconds from which on no value is valid; Infinity for never. */
  expiresAtMs: number;
  /** Unix milliseconds from which on the previous value is invalid; -Infinity when it is never valid. */
  overlapEndsAtMs: number;
  /** The word at which the texts begin. */
  textsAt: number;
}

/** Reads the optional fields of the record that begins at word `start`. */
export function readOptionalFields(words: Int32Array, start: number, into: OptionalFields): void {
  const flags = words[start + FLAGS] as number;
  let at = start + OPTIONAL;
  if ((flags & HAS_UPDATED_AT) !== 0) at += TIME_WORDS;
  into.expiresAtMs = Infinity;
  if ((flags & HAS_EXPIRES_AT) !== 0) {
    into.expiresAtMs = timeMsAt(words, at);
    at += TIME_WORDS;
  }
  if ((flags & HAS_LAST_USED_AT) !== 0) at += TIME_WORDS;
  into.overlapEndsAtMs = -Infinity;
  if ((flags & HAS_PREVIOUS_EXPIRES_AT) !== 0) {
    into.overlapEndsAtMs = timeMsAt(words, at);
    at += TIME_WORDS;
  }
  if ((flags & HAS_PREVIOUS_HASH) !== 0) at += HASH_WORDS;
  into.textsAt = at;
}
