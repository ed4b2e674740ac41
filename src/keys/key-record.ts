/**
 * One API key as a block of shared memory: about 130 bytes where an object takes 700. The fixed fields come first, so
 * that a look-up compares hashes and ids as words. Fields that most keys do not have are left out. The texts follow as
 * JSON in ASCII.
 *
 * Hashes and ids are compared as eight and four words. A hash that is not written as SHA-256, or an id that is not
 * written as a UUID, is compared by its own SHA-256 and stored as text; the gateway makes none of these. Times that are
 * not RFC 3339 in UTC with milliseconds, and fields that this file does not know, are stored as text too. Decoding
 * gives back exactly what was encoded.
 */
import type { RateLimitPolicy } from '../model/rate-limit.ts';
import type { StoredApiKey } from '../model/resources.ts';
import {
  APP_ID,
  CREATED_AT,
  FLAGS,
  FLAG_BITS,
  HASH_WORDS,
  HAS_EXPIRES_AT,
  HAS_LAST_USED_AT,
  HAS_PREVIOUS_EXPIRES_AT,
  HAS_PREVIOUS_HASH,
  HAS_UPDATED_AT,
  ID,
  ID_WORDS,
  IS_ACTIVE,
  OPTIONAL,
  TIME_WORDS,
  TOKEN_HASH,
  UNITS,
  isAt,
  previousHashAt,
  timeMsAt,
  timesOf,
} from './key-layout.ts';
import { UNIT_BYTES, UNIT_WORDS } from './key-memory.ts';
import type { KeyMemoryView } from './key-memory.ts';
import { WordBuffer, idText, plainTimeMs, readHash, readId, timeText } from './key-words.ts';

/** `extra` has all values that have no other place, by field name. */
type Texts = readonly [
  name: string,
  scopes: readonly string[],
  tokenPrefix: string,
  rateLimit: RateLimitPolicy | null,
  extra: Readonly<Record<string, unknown>>,
];

/** A record without a block. Its words are in `draft` until the next call of `encodeKey`. */
export interface EncodedKey {
  readonly wordCount: number;
  /** ASCII. */
  readonly text: string;
  /** Size of the block that it needs. */
  readonly units: number;
}

export function encodeKey(key: StoredApiKey): EncodedKey {
  const { rate_limit: rateLimit, previous_token_hash: previousHash } = key;
  const writer = new WordWriter(unknownFields(key));
  if (key.is_active) writer.flags |= IS_ACTIVE;
  writer.hash('token_hash', key.token_hash);
  writer.id('id', key.id);
  writer.id('app_id', key.app_id);
  writer.time('created_at', key.created_at);
  const updatedAt = key.updated_at === key.created_at ? null : key.updated_at;
  writer.optionalTime(HAS_UPDATED_AT, 'updated_at', updatedAt);
  writer.optionalTime(HAS_EXPIRES_AT, 'expires_at', key.expires_at);
  writer.optionalTime(HAS_LAST_USED_AT, 'last_used_at', key.last_used_at);
  writer.optionalTime(HAS_PREVIOUS_EXPIRES_AT, 'previous_expires_at', key.previous_expires_at);
  if (previousHash !== null) {
    writer.flags |= HAS_PREVIOUS_HASH;
    writer.hash('previous_token_hash', previousHash);
  }
  const { wordCount, flags, extra } = writer;
  const texts: unknown[] = [key.name, key.scopes, key.token_prefix];
  if (rateLimit !== null || extra !== undefined) texts.push(rateLimit);
  if (extra !== undefined) texts.push(extra);
  const json = JSON.stringify(texts);
  const text = /[^\x20-\x7e]/.test(json) ? json.replaceAll(/[^\x20-\x7e]/g, escaped) : json;
  draft[FLAGS] = flags | (text.length << FLAG_BITS);
  return { wordCount, text, units: Math.ceil((wordCount * 4 + text.length) / UNIT_BYTES) };
}

/** The fields that `encodeKey` knows. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set<keyof StoredApiKey>([
  'id',
  'app_id',
  'name',
  'scopes',
  'token_prefix',
  'is_active',
  'expires_at',
  'last_used_at',
  'rate_limit',
  'token_hash',
  'previous_token_hash',
  'previous_expires_at',
  'created_at',
  'updated_at',
]);

/** Undefined when there are none, as is usual. */
function unknownFields(key: StoredApiKey): Record<string, unknown> | undefined {
  let unknown: Record<string, unknown> | undefined;
  for (const name of Object.keys(key)) {
    if (!KNOWN_FIELDS.has(name)) (unknown ??= {})[name] = (key as unknown as Record<string, unknown>)[name];
  }
  return unknown;
}

/** Writes the record that was encoded last into its block, which no reader can find yet. */
export function storeKey(view: KeyMemoryView, encoded: EncodedKey, reference: number, units: number): void {
  const words = view.words();
  const start = reference * UNIT_WORDS;
  draft[UNITS] = units;
  for (let index = 0; index < encoded.wordCount; index++) words[start + index] = draft[index] as number;
  view.bytes().write(encoded.text, (start + encoded.wordCount) * 4, 'latin1');
}

/** Whether a block contains exactly the record that was encoded last. */
export function isStored(view: KeyMemoryView, encoded: EncodedKey, reference: number): boolean {
  const words = view.words();
  const start = reference * UNIT_WORDS;
  const { wordCount, text } = encoded;
  // The flags give all lengths, including that of the text.
  for (let index = 0; index < wordCount; index++) {
    if (index !== UNITS && words[start + index] !== draft[index]) return false;
  }
  const from = (start + wordCount) * 4;
  return view.bytes().toString('latin1', from, from + text.length) === text;
}

export function decodeKey(view: KeyMemoryView, reference: number): StoredApiKey {
  const words = view.words();
  const start = reference * UNIT_WORDS;
  const flagsAndLength = words[start + FLAGS] as number;
  let at = start + OPTIONAL;
  const timeIf = (flag: number): string | null => {
    if ((flagsAndLength & flag) === 0) return null;
    at += TIME_WORDS;
    return timeAt(words, at - TIME_WORDS);
  };
  const createdAt = timeAt(words, start + CREATED_AT);
  const updatedAt = timeIf(HAS_UPDATED_AT);
  const expiresAt = timeIf(HAS_EXPIRES_AT);
  const lastUsedAt = timeIf(HAS_LAST_USED_AT);
  const previousExpiresAt = timeIf(HAS_PREVIOUS_EXPIRES_AT);
  const hasPrevious = (flagsAndLength & HAS_PREVIOUS_HASH) !== 0;
  const previousHash = hasPrevious ? hashText(view, at) : null;
  const from = (at + (hasPrevious ? HASH_WORDS : 0)) * 4;
  const text = view.bytes().toString('latin1', from, from + (flagsAndLength >>> FLAG_BITS));
  const [name, scopes, tokenPrefix, rateLimit = null, extra] = JSON.parse(text) as Partial<Texts>;
  const key = {
    token_hash: hashText(view, start + TOKEN_HASH),
    id: idText(view.bytes(), (start + ID) * 4),
    app_id: idText(view.bytes(), (start + APP_ID) * 4),
    name,
    scopes,
    token_prefix: tokenPrefix,
    is_active: (flagsAndLength & IS_ACTIVE) !== 0,
    created_at: createdAt,
    updated_at: updatedAt ?? createdAt,
    expires_at: expiresAt,
    last_used_at: lastUsedAt,
    rate_limit: rateLimit,
    previous_token_hash: previousHash,
    previous_expires_at: previousExpiresAt,
  } as StoredApiKey;
  if (extra === undefined) return key;
  // A key without `updated_at` uses the value of `created_at`, also when that is stored as text.
  const created = extra['created_at'];
  return {
    ...key,
    ...(updatedAt === null && created !== undefined ? { updated_at: created } : {}),
    ...extra,
  } as StoredApiKey;
}

/** The units that a record fills; its block may be larger. */
export function unitsFilled(words: Int32Array, reference: number): number {
  const start = reference * UNIT_WORDS;
  const flagsAndLength = words[start + FLAGS] as number;
  const previous = previousHashAt(words, start);
  const end =
    previous === 0 ? start + OPTIONAL + timesOf(flagsAndLength) * TIME_WORDS : previous + HASH_WORDS;
  return Math.ceil(((end - start) * 4 + (flagsAndLength >>> FLAG_BITS)) / UNIT_BYTES);
}

/** Stores the length of the block that a record was put into. */
export function setUnits(words: Int32Array, reference: number, units: number): void {
  words[reference * UNIT_WORDS + UNITS] = units;
}

/** The units of the block that contains a record. */
export function unitsOf(words: Int32Array, reference: number): number {
  return words[reference * UNIT_WORDS + UNITS] as number;
}

/** The id of the record that was encoded last. */
export function copyEncodedId({ words }: WordBuffer): void {
  for (let index = 0; index < ID_WORDS; index++) words[index] = draft[ID + index] as number;
}

/** The id of a record, in the form that `readId` writes. */
export function copyRecordId(words: Int32Array, reference: number, into: WordBuffer): void {
  const at = reference * UNIT_WORDS + ID;
  for (let index = 0; index < ID_WORDS; index++) into.words[index] = words[at + index] as number;
}

/**
 * The hash of a record's token, or the hash before its last rotation, in the form that `readHash` writes. Returns false
 * when the record has no such hash.
 */
export function copyHash(words: Int32Array, reference: number, previous: boolean, into: WordBuffer): boolean {
  const start = reference * UNIT_WORDS;
  const at = previous ? previousHashAt(words, start) : start + TOKEN_HASH;
  if (at === 0) return false;
  for (let index = 0; index < HASH_WORDS; index++) into.words[index] = words[at + index] as number;
  return true;
}

/** The place in an index of the hash that `readHash` has written. Hashes are random, so one word is enough. */
export function placeOfHash({ words }: WordBuffer): number {
  return words[0] as number;
}

/** The place in an index of the id that `readId` has written. The first half of a UUIDv7 is the time. */
export function placeOfId({ words }: WordBuffer): number {
  return mixId(words, 0);
}

/** The place in an index of a record's id. */
export function placeOfRecordId(words: Int32Array, reference: number): number {
  return mixId(words, reference * UNIT_WORDS + ID);
}

function mixId(words: Int32Array, at: number): number {
  let hash = 0;
  for (let index = 0; index < ID_WORDS; index++) {
    hash = Math.imul(hash ^ (words[at + index] as number), 0x85ebca6b);
    hash ^= hash >>> 15;
  }
  return hash;
}

/** Whether this is the hash of the key's token or the hash before its last rotation. */
export function hasHash(words: Int32Array, reference: number, { words: hash }: WordBuffer): boolean {
  const start = reference * UNIT_WORDS;
  if (isAt(words, start + TOKEN_HASH, hash, HASH_WORDS)) return true;
  const previous = previousHashAt(words, start);
  return previous > 0 && isAt(words, previous, hash, HASH_WORDS);
}

export function hasId(words: Int32Array, reference: number, { words: id }: WordBuffer): boolean {
  return isAt(words, reference * UNIT_WORDS + ID, id, ID_WORDS);
}

/** The first words of the hashes by which readers find a record: one, or two after a rotation. */
export function placesOfHashes(words: Int32Array, reference: number): readonly number[] {
  const start = reference * UNIT_WORDS;
  const previous = previousHashAt(words, start);
  const place = words[start + TOKEN_HASH] as number;
  return previous === 0 ? [place] : [place, words[previous] as number];
}

// The words of the record under construction; longer than any record.
const draftBuffer = new WordBuffer(OPTIONAL + 4 * TIME_WORDS + HASH_WORDS);
const draft = draftBuffer.words;

/** Writes the words of a record into `draft` and collects what does not fit into words. */
class WordWriter {
  extra: Record<string, unknown> | undefined;
  flags = 0;
  wordCount = TOKEN_HASH;

  constructor(extra: Record<string, unknown> | undefined) {
    this.extra = extra;
  }

  hash(field: string, text: string): void {
    if (!readHash(text, draftBuffer, this.wordCount)) this.#keep(field, text);
    this.wordCount += HASH_WORDS;
  }

  id(field: string, text: string): void {
    if (!readId(text, draftBuffer, this.wordCount)) this.#keep(field, text);
    this.wordCount += ID_WORDS;
  }

  time(field: string, text: string): void {
    const ms = plainTimeMs(text);
    const isPlain = !Number.isNaN(ms);
    if (!isPlain) this.#keep(field, text);
    draft[this.wordCount] = isPlain ? ms | 0 : 0;
    draft[this.wordCount + 1] = isPlain ? Math.floor(ms / 2 ** 32) : 0;
    this.wordCount += TIME_WORDS;
  }

  optionalTime(flag: number, field: string, text: string | null): void {
    if (text === null) return;
    this.flags |= flag;
    this.time(field, text);
  }

  #keep(field: string, text: string): void {
    (this.extra ??= {})[field] = text;
  }
}

function hashText(view: KeyMemoryView, at: number): string {
  return view.bytes().toString('hex', at * 4, (at + HASH_WORDS) * 4);
}

function timeAt(words: Int32Array, at: number): string {
  return timeText(timeMsAt(words, at));
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
