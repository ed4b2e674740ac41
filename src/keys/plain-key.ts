/**
 * What a request needs of a plain API key, read from the key's block (key-layout.ts) as bytes and numbers: no text is
 * made of it, and no object, but for its list of scopes, which is one for all keys with equal ones. Plain is a key with
 * a UUID and usual times, a name and scopes without escapes in JSON, and no limit of its own; as nearly all are. Others
 * are for presented-key.ts, whose reading is the slow twin of this one.
 *
 * Owns the lists of scopes that were read lately, a bounded number of bounded length.
 */
import {
  APP_ID,
  FLAGS,
  FLAG_BITS,
  HASH_WORDS,
  HAS_PREVIOUS_HASH,
  ID,
  IS_ACTIVE,
  TOKEN_HASH,
  isAt,
  readOptionalFields,
} from './key-layout.ts';
import { UNIT_WORDS, type KeyMemoryView } from './key-memory.ts';
import { appIdAt } from './presented-key.ts';

/** Good until the next key is read into it. */
export interface PlainKey {
  words: Int32Array;
  /** The same memory. */
  bytes: Buffer;
  /** Word at which the id begins. */
  idAt: number;
  appId: string;
  /** Bytes of the name: visible ASCII and spaces, without `"` and `\`. */
  nameFrom: number;
  nameTo: number;
  scopes: readonly string[];
  isActive: boolean;
  /** Unix milliseconds from which on the value is refused; Infinity for never. */
  expiresAtMs: number;
}

export function emptyPlainKey(): PlainKey {
  return {
    words: new Int32Array(0),
    bytes: Buffer.alloc(0),
    idAt: 0,
    appId: '',
    nameFrom: 0,
    nameTo: 0,
    scopes: [],
    isActive: false,
    expiresAtMs: 0,
  };
}

// Used within one call.
const optional = { expiresAtMs: 0, overlapEndsAtMs: 0, textsAt: 0 };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const COMMA = 0x2c;

/**
 * Reads the record at `reference` when it is a plain key.
 * @param hashAt where in `hash` the words of the SHA-256 of the value begin by which it was found
 * @returns false when it is none, or when the value is the one before the last rotation and does not count any more
 */
export function readPlainKey(
  view: KeyMemoryView,
  reference: number,
  hash: Int32Array,
  hashAt: number,
  into: PlainKey,
): boolean {
  const words = view.words();
  const start = reference * UNIT_WORDS;
  const flags = words[start + FLAGS] as number;
  readOptionalFields(words, start, optional);
  let { expiresAtMs } = optional;
  const { overlapEndsAtMs, textsAt } = optional;
  if ((flags & HAS_PREVIOUS_HASH) !== 0 && !isAt(words, start + TOKEN_HASH, hash, HASH_WORDS, hashAt)) {
    if (overlapEndsAtMs === -Infinity) return false;
    expiresAtMs = Math.min(expiresAtMs, overlapEndsAtMs);
  }
  const bytes = view.bytes();
  if (!readTexts(bytes, textsAt * 4, textsAt * 4 + (flags >>> FLAG_BITS), into)) return false;
  into.words = words;
  into.bytes = bytes;
  into.idAt = start + ID;
  into.appId = appIdAt(view, start + APP_ID);
  into.isActive = (flags & IS_ACTIVE) !== 0;
  into.expiresAtMs = expiresAtMs;
  return true;
}

/** Name and scopes of `["<name>",["<scope>",…],"<prefix>"]`, which ends in `"]` only without more than these three. */
function readTexts(bytes: Buffer, from: number, to: number, into: PlainKey): boolean {
  if (bytes[to - 2] !== QUOTE || bytes[from + 1] !== QUOTE) return false;
  let at = from + 2;
  for (let byte = bytes[at] as number; byte !== QUOTE; byte = bytes[++at] as number) {
    if (byte === BACKSLASH) return false;
  }
  const nameTo = at;
  if (bytes[at + 1] !== COMMA || bytes[at + 2] !== OPEN) return false;
  const scopesFrom = at + 2;
  let mixed = 0;
  let inside = false;
  for (at = scopesFrom + 1; ; at++) {
    const byte = bytes[at] as number;
    if (byte === CLOSE && !inside) break;
    if (byte === BACKSLASH) return false;
    if (byte === QUOTE) inside = !inside;
    mixed = (Math.imul(mixed, 31) + byte) | 0;
  }
  const scopes = scopesOf(bytes, scopesFrom, at + 1, mixed);
  if (scopes === undefined) return false;
  into.nameFrom = from + 2;
  into.nameTo = nameTo;
  into.scopes = scopes;
  return true;
}

/** A power of two. */
const SCOPE_LISTS = 256;
const SCOPE_LIST_BYTES_MAX = 1024;

interface ScopeList {
  readonly json: Buffer;
  readonly scopes: readonly string[];
}

const scopeLists: (ScopeList | undefined)[] = Array.from({ length: SCOPE_LISTS }, () => undefined);

/** Undefined for a list that is too long. */
function scopesOf(bytes: Buffer, from: number, to: number, mixed: number): readonly string[] | undefined {
  const place = (mixed ^ (mixed >>> 15)) & (SCOPE_LISTS - 1);
  const known = scopeLists[place];
  if (known !== undefined && isSame(known.json, bytes, from, to)) return known.scopes;
  if (to - from > SCOPE_LIST_BYTES_MAX) return undefined;
  const json = Buffer.from(bytes.subarray(from, to));
  const scopes = Object.freeze(JSON.parse(json.toString('latin1')) as string[]);
  scopeLists[place] = { json, scopes };
  return scopes;
}

function isSame(json: Buffer, bytes: Buffer, from: number, to: number): boolean {
  if (json.length !== to - from) return false;
  for (let index = 0; index < json.length; index++) if (json[index] !== bytes[from + index]) return false;
  return true;
}
