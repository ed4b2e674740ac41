/**
 * One API key as a block of shared memory: some 130 bytes where the record as an object takes 700. Fixed fields come
 * first, so that a look-up compares hashes and ids as words; those that most keys do not have are left out; the
 * texts follow as JSON in ASCII.
 *
 * Hashes and ids are compared as eight and four words. One that is not written as SHA-256 or UUID are (none of the
 * gateway's own) is compared by its own SHA-256 and kept as text; so are times that are not RFC 3339 in UTC with
 * milliseconds, and fields that this file does not know. Whatever the record, decoding gives back what was encoded.
 */
import { createHash } from 'node:crypto';
import type { RateLimitPolicy } from '../model/policy.ts';
import type { StoredApiKey } from '../model/resources.ts';
import { UNIT_BYTES, UNIT_WORDS } from './key-memory.ts';
import type { KeyMemoryView } from './key-memory.ts';

/** Word 0: flags, and above them the bytes of JSON. Word 1: units of the block. */
const FLAGS = 0;
const UNITS = 1;
const TOKEN_HASH = 2;
const ID = 10;
const APP_ID = 14;
const CREATED_AT = 18;
/** Here begin the fields that only some keys have, in the order of their flags. */
const OPTIONAL = 20;

const IS_ACTIVE = 1;
const HAS_UPDATED_AT = 2;
const HAS_EXPIRES_AT = 4;
const HAS_LAST_USED_AT = 8;
const HAS_PREVIOUS_EXPIRES_AT = 16;
const HAS_PREVIOUS_HASH = 32;
const FLAG_BITS = 6;

const HASH_WORDS = 8;
const ID_WORDS = 4;
const TIME_WORDS = 2;

const HEX_HASH = /^[0-9a-f]{64}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** `extra` has whatever does not lie elsewhere, by its name. */
type Texts = readonly [
  name: string,
  scopes: readonly string[],
  tokenPrefix: string,
  rateLimit: RateLimitPolicy | null,
  extra: Readonly<Record<string, unknown>>,
];

/** A record that has no place yet; its words are in `draft` until the next call of `encodeKey`. */
export interface EncodedKey {
  readonly wordCount: number;
  /** ASCII. */
  readonly text: string;
  /** Of the block that it needs. */
  readonly units: number;
}

export function encodeKey(key: StoredApiKey): EncodedKey {
  const { token_hash, id, app_id, created_at, updated_at, expires_at, last_used_at, ...others } = key;
  const { previous_expires_at, previous_token_hash, name, scopes, token_prefix, ...more } = others;
  const { is_active, rate_limit, ...unknown } = more;
  const writer = new WordWriter({ ...unknown });
  if (is_active) writer.flags |= IS_ACTIVE;
  writer.hash('token_hash', token_hash);
  writer.id('id', id);
  writer.id('app_id', app_id);
  writer.time('created_at', created_at);
  writer.optionalTime(HAS_UPDATED_AT, 'updated_at', updated_at === created_at ? null : updated_at);
  writer.optionalTime(HAS_EXPIRES_AT, 'expires_at', expires_at);
  writer.optionalTime(HAS_LAST_USED_AT, 'last_used_at', last_used_at);
  writer.optionalTime(HAS_PREVIOUS_EXPIRES_AT, 'previous_expires_at', previous_expires_at);
  if (previous_token_hash !== null) {
    writer.flags |= HAS_PREVIOUS_HASH;
    writer.hash('previous_token_hash', previous_token_hash);
  }
  const texts: unknown[] = [name, scopes, token_prefix];
  if (rate_limit !== null || writer.hasExtra) texts.push(rate_limit);
  if (writer.hasExtra) texts.push(writer.extra);
  const json = JSON.stringify(texts);
  const text = /[^\x20-\x7e]/.test(json) ? json.replaceAll(/[^\x20-\x7e]/g, escaped) : json;
  draft[FLAGS] = writer.flags | (text.length << FLAG_BITS);
  const { wordCount } = writer;
  return { wordCount, text, units: Math.ceil((wordCount * 4 + text.length) / UNIT_BYTES) };
}

/** Writes the record that was encoded last into its block, which nobody can find yet. */
export function storeKey(view: KeyMemoryView, encoded: EncodedKey, reference: number, units: number): void {
  const words = view.words();
  const start = reference * UNIT_WORDS;
  draft[UNITS] = units;
  for (let index = 0; index < encoded.wordCount; index++) words[start + index] = draft[index] as number;
  view.bytes().write(encoded.text, (start + encoded.wordCount) * 4, 'latin1');
}

/** Whether a block has exactly the record that was encoded last. */
export function isStored(view: KeyMemoryView, encoded: EncodedKey, reference: number): boolean {
  const words = view.words();
  const start = reference * UNIT_WORDS;
  const { wordCount, text } = encoded;
  // The flags tell the lengths of everything, the text's as well.
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
    return timeText(words, at - TIME_WORDS);
  };
  const createdAt = timeText(words, start + CREATED_AT);
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
    id: idText(view, start + ID),
    app_id: idText(view, start + APP_ID),
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
  // Without an `updated_at` of its own the key has that of `created_at`, also where it is kept as text.
  const created = extra['created_at'];
  return {
    ...key,
    ...(updatedAt === null && created !== undefined ? { updated_at: created } : {}),
    ...extra,
  } as StoredApiKey;
}

/** Units of the block that holds a record. */
export function unitsOf(words: Int32Array, reference: number): number {
  return words[reference * UNIT_WORDS + UNITS] as number;
}

/** What is being looked up or written: words, with the same memory as bytes. */
export class WordBuffer {
  readonly words: Int32Array;
  readonly bytes: Buffer;

  constructor(count: number) {
    this.words = new Int32Array(count);
    this.bytes = Buffer.from(this.words.buffer);
  }
}

/** Writes a hash as eight words from word `at` on. */
export function readHash(text: string, into: WordBuffer, at = 0): void {
  const isHex = text.length === HASH_WORDS * 8 && into.bytes.write(text, at * 4, 'hex') === HASH_WORDS * 4;
  if (!isHex) into.bytes.write(standIn(text), at * 4, HASH_WORDS * 4, 'hex');
}

/** Writes an id as four words from word `at` on. */
export function readId(text: string, into: WordBuffer, at = 0): void {
  const isUuid = UUID.test(text);
  const hex = isUuid
    ? text.slice(0, 8) + text.slice(9, 13) + text.slice(14, 18) + text.slice(19, 23) + text.slice(24)
    : standIn(text);
  into.bytes.write(hex, at * 4, ID_WORDS * 4, 'hex');
}

/** The id of the record that was encoded last. */
export function copyEncodedId({ words }: WordBuffer): void {
  for (let index = 0; index < ID_WORDS; index++) words[index] = draft[ID + index] as number;
}

/** The id of a record, as `readId` writes it. */
export function copyId(words: Int32Array, reference: number, into: WordBuffer): void {
  const at = reference * UNIT_WORDS + ID;
  for (let index = 0; index < ID_WORDS; index++) into.words[index] = words[at + index] as number;
}

/** The token's hash of a record, or the one before its last rotation, as `readHash` writes it; false without one. */
export function copyHash(words: Int32Array, reference: number, previous: boolean, into: WordBuffer): boolean {
  const start = reference * UNIT_WORDS;
  const at = previous ? previousHashAt(words, start) : start + TOKEN_HASH;
  if (at === 0) return false;
  for (let index = 0; index < HASH_WORDS; index++) into.words[index] = words[at + index] as number;
  return true;
}

/** For an index: of what `readHash` has written, random as it is. */
export function placeOfHash({ words }: WordBuffer): number {
  return words[0] as number;
}

/** For an index: of what `readId` has written; the first half of a UUIDv7 is the time. */
export function placeOfId({ words }: WordBuffer): number {
  return mixId(words, 0);
}

/** The same of the id that a record has. */
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

/** Whether this is the hash of the key's token, or of the one before its last rotation. */
export function hasHash(words: Int32Array, reference: number, { words: hash }: WordBuffer): boolean {
  const start = reference * UNIT_WORDS;
  if (isAt(words, start + TOKEN_HASH, hash, HASH_WORDS)) return true;
  const previous = previousHashAt(words, start);
  return previous > 0 && isAt(words, previous, hash, HASH_WORDS);
}

export function hasId(words: Int32Array, reference: number, { words: id }: WordBuffer): boolean {
  return isAt(words, reference * UNIT_WORDS + ID, id, ID_WORDS);
}

/** First words of the hashes by which a record is found: one, or two after a rotation. */
export function placesOfHashes(words: Int32Array, reference: number): readonly number[] {
  const start = reference * UNIT_WORDS;
  const previous = previousHashAt(words, start);
  const place = words[start + TOKEN_HASH] as number;
  return previous === 0 ? [place] : [place, words[previous] as number];
}

function previousHashAt(words: Int32Array, start: number): number {
  const flags = words[start + FLAGS] as number;
  if ((flags & HAS_PREVIOUS_HASH) === 0) return 0;
  let at = start + OPTIONAL;
  for (let flag = HAS_UPDATED_AT; flag < HAS_PREVIOUS_HASH; flag <<= 1) if (flags & flag) at += TIME_WORDS;
  return at;
}

function isAt(words: Int32Array, at: number, wanted: Int32Array, count: number): boolean {
  for (let index = 0; index < count; index++) if (words[at + index] !== wanted[index]) return false;
  return true;
}

// The words of the record that is being encoded; more than any record has.
const draftBuffer = new WordBuffer(OPTIONAL + 4 * TIME_WORDS + HASH_WORDS);
const draft = draftBuffer.words;

/** Writes the words of a record into `draft`, and gathers what does not fit into words. */
class WordWriter {
  readonly extra: Record<string, unknown>;
  flags = 0;
  wordCount = TOKEN_HASH;

  constructor(extra: Record<string, unknown>) {
    this.extra = extra;
  }

  get hasExtra(): boolean {
    return Object.keys(this.extra).length > 0;
  }

  hash(field: string, text: string): void {
    if (!HEX_HASH.test(text)) this.extra[field] = text;
    readHash(text, draftBuffer, this.wordCount);
    this.wordCount += HASH_WORDS;
  }

  id(field: string, text: string): void {
    if (!UUID.test(text)) this.extra[field] = text;
    readId(text, draftBuffer, this.wordCount);
    this.wordCount += ID_WORDS;
  }

  time(field: string, text: string): void {
    const ms = Date.parse(text);
    const isPlain = ms >= 0 && new Date(ms).toISOString() === text;
    if (!isPlain) this.extra[field] = text;
    draft[this.wordCount] = isPlain ? ms | 0 : 0;
    draft[this.wordCount + 1] = isPlain ? Math.floor(ms / 2 ** 32) : 0;
    this.wordCount += TIME_WORDS;
  }

  optionalTime(flag: number, field: string, text: string | null): void {
    if (text === null) return;
    this.flags |= flag;
    this.time(field, text);
  }
}

function standIn(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hashText(view: KeyMemoryView, at: number): string {
  return view.bytes().toString('hex', at * 4, (at + HASH_WORDS) * 4);
}

function idText(view: KeyMemoryView, at: number): string {
  const hex = view.bytes().toString('hex', at * 4, (at + ID_WORDS) * 4);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function timeText(words: Int32Array, at: number): string {
  return new Date((words[at + 1] as number) * 2 ** 32 + ((words[at] as number) >>> 0)).toISOString();
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
