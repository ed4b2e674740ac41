/**
 * What a request needs of the API key that it presents, read from the key's block (key-layout.ts) without decoding the
 * whole record: hashes and the times that only people read do not become texts, and equal lists of scopes are one
 * object. A worker with more keys in use than its cache can hold does this for every request.
 *
 * Owns bounded caches of the lists of scopes and the app ids that were read recently.
 */
import { latin1Text, ownText } from '../http/latin1.ts';
import type { RateLimitPolicy } from '../model/rate-limit.ts';
import type { StoredApiKey } from '../model/resources.ts';
import {
  APP_ID,
  FLAGS,
  FLAG_BITS,
  HASH_WORDS,
  ID,
  ID_WORDS,
  IS_ACTIVE,
  TOKEN_HASH,
  isAt,
  readOptionalFields,
} from './key-layout.ts';
import type { KeyMemoryView } from './key-memory.ts';
import { UNIT_WORDS } from './key-memory.ts';
import { decodeKey } from './key-record.ts';
import { idText, type WordBuffer } from './key-words.ts';

/** A key, and which of its values was presented. */
export interface PresentedKey {
  readonly id: string;
  readonly appId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly isActive: boolean;
  readonly rateLimit: RateLimitPolicy | null;
  /** Unix milliseconds from which on the value is refused; Infinity for never. */
  readonly expiresAtMs: number;
}

/**
 * Makes a presented key of a whole record.
 * @param isPrevious the presented value is the one before the last rotation
 * @returns undefined when that value is no longer valid
 */
export function presentedKey(key: StoredApiKey, isPrevious: boolean): PresentedKey | undefined {
  const { previous_expires_at: overlapEnd } = key;
  let expiresAtMs = key.expires_at === null ? Infinity : timeMs(key.expires_at);
  if (isPrevious) {
    if (key.previous_token_hash === null || overlapEnd === null) return undefined;
    expiresAtMs = Math.min(expiresAtMs, timeMs(overlapEnd));
  }
  return {
    id: key.id,
    appId: key.app_id,
    name: key.name,
    scopes: key.scopes,
    isActive: key.is_active,
    rateLimit: key.rate_limit,
    expiresAtMs,
  };
}

/**
 * Reads the record that has this hash as its present or previous one.
 * @returns undefined when it is the previous one and no longer valid
 */
export function readPresentedKey(
  view: KeyMemoryView,
  reference: number,
  hash: WordBuffer,
): PresentedKey | undefined {
  const words = view.words();
  const start = reference * UNIT_WORDS;
  const flags = words[start + FLAGS] as number;
  const isPrevious = !isAt(words, start + TOKEN_HASH, hash.words, HASH_WORDS);
  readOptionalFields(words, start, optional);
  let { expiresAtMs } = optional;
  const { overlapEndsAtMs, textsAt } = optional;
  const bytes = view.bytes();
  const text = latin1Text(bytes, textsAt * 4, textsAt * 4 + (flags >>> FLAG_BITS));
  const texts = plainTexts(text, bytes, textsAt * 4) ?? parsedTexts(text);
  // A time or an id in an unusual format is among the texts.
  if (texts === undefined) return presentedKey(decodeKey(view, reference), isPrevious);
  if (isPrevious) {
    if (overlapEndsAtMs === -Infinity) return undefined;
    expiresAtMs = Math.min(expiresAtMs, overlapEndsAtMs);
  }
  return {
    id: idText(bytes, (start + ID) * 4),
    appId: appIdAt(view, start + APP_ID),
    name: texts.name,
    scopes: texts.scopes,
    isActive: (flags & IS_ACTIVE) !== 0,
    rateLimit: texts.rateLimit,
    expiresAtMs,
  };
}

const QUOTE = 0x22;
const COMMA = 0x2c;

// Used within one call.
const optional = { expiresAtMs: 0, overlapEndsAtMs: 0, textsAt: 0 };

interface Texts {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly rateLimit: RateLimitPolicy | null;
}

/**
 * Name, scopes and limit of `["<name>",["<scope>",…],"<prefix>",<limit>]` without escapes and with only these four, as
 * most keys have it. Without escapes, a quote always begins or ends a string.
 * @param from start of the text in `bytes`
 * @returns undefined for any other text that key-record.ts writes
 */
function plainTexts(text: string, bytes: Buffer, from: number): Texts | undefined {
  if (text.includes('\\')) return undefined;
  const nameEnd = text.indexOf('"', 2);
  const scopesFrom = nameEnd + 2;
  let at = scopesFrom + 1;
  while (text.charCodeAt(at) === QUOTE) {
    at = text.indexOf('"', at + 1) + 1;
    if (text.charCodeAt(at) === COMMA) at++;
  }
  const scopesTo = at + 1;
  const prefixEnd = text.indexOf('"', scopesTo + 2);
  const isPlan = prefixEnd + 2 < text.length;
  const rateLimit = isPlan ? limits.get(text.slice(prefixEnd + 2, -1)) : null;
  if (rateLimit === undefined) return undefined;
  // A copy: a slice would keep the whole text alive, and lists of scopes are long.
  const name = latin1Text(bytes, from + 2, from + nameEnd);
  return { name, scopes: scopeLists.get(text.slice(scopesFrom, scopesTo)) ?? [], rateLimit };
}

/** Undefined when there is more than name, scopes, prefix and limit. */
function parsedTexts(text: string): Texts | undefined {
  const parsed = JSON.parse(text) as [string, readonly string[], string, RateLimitPolicy?, unknown?];
  const [name, scopes, , plan = null] = parsed;
  if (parsed.length > 4) return undefined;
  const rateLimit = plan === null ? null : (limits.get(JSON.stringify(plan)) ?? plan);
  return { name, scopes: scopeLists.get(JSON.stringify(scopes)) ?? [], rateLimit };
}

const PARSED_MAX = 1024;
const PARSED_CHARS_MAX = 4096;

/** Parses texts that are equal for many keys; equal texts give the same value. */
class SharedValues<V> {
  readonly #values = new Map<string, V>();
  readonly #parse: (json: string) => V | undefined;

  constructor(parse: (json: string) => V | undefined) {
    this.#parse = parse;
  }

  get(json: string): V | undefined {
    const known = this.#values.get(json);
    if (known !== undefined) return known;
    const value = this.#parse(json);
    if (value === undefined || json.length > PARSED_CHARS_MAX) return value;
    // Clears all at once; values in use are soon parsed again.
    if (this.#values.size >= PARSED_MAX) this.#values.clear();
    // A copy: the text may be a slice of a whole record's text.
    this.#values.set(ownText(json), value);
    return value;
  }
}

const scopeLists = new SharedValues((json) => Object.freeze(JSON.parse(json) as readonly string[]));
/** Undefined when other fields follow the limit. */
const limits = new SharedValues((json) => {
  const values = JSON.parse(`[${json}]`) as readonly RateLimitPolicy[];
  return values.length === 1 ? Object.freeze(values[0]) : undefined;
});

/** A power of two. */
const APP_IDS = 64;
const appIdWords = new Int32Array(APP_IDS * ID_WORDS);
const appIds: string[] = Array.from({ length: APP_IDS }, () => '');

/** The id as text; created once for apps whose keys are read again and again. */
function appIdAt(view: KeyMemoryView, at: number): string {
  const words = view.words();
  // The last word of a UUID is random.
  const place = (words[at + ID_WORDS - 1] as number) & (APP_IDS - 1);
  const from = place * ID_WORDS;
  let isSame = appIds[place] !== '';
  for (let index = 0; index < ID_WORDS; index++) {
    if (appIdWords[from + index] !== words[at + index]) {
      appIdWords[from + index] = words[at + index] as number;
      isSame = false;
    }
  }
  if (!isSame) appIds[place] = idText(view.bytes(), at * 4);
  return appIds[place] as string;
}

/** Unix milliseconds of an RFC 3339 time. An unreadable time counts as past, so that the key is refused. */
function timeMs(text: string): number {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? 0 : ms;
}
