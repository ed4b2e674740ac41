/**
 * What a worker remembers of API keys, which is good until any key changes: what a key resolved to while it is asked
 * for again soon, four thousand at most; of others what SHA-256 gave for their tokens, and where in the directory they lie
 * (token-cache.ts). Reading it there again costs less than keeping thousands of objects, which lie all over the memory
 * and have to be moved about by collections of garbage. Only keys that are more to read (presented-key.ts) are kept in
 * a larger number.
 */
import { ownText } from '../../../http/latin1.ts';
import { mayBeBrought } from '../../../model/brought-token.ts';
import { API_KEY_PREFIX, TOKEN_LENGTH, hasValidChecksum, tokenHash } from '../../../model/token.ts';
import { WordBuffer, readHash } from '../../../keys/key-words.ts';
import { emptyPlainKey } from '../../../keys/plain-key.ts';
import { tokenStart } from './bearer.ts';
import type { KeyDirectory, KeyRows } from '../../dependencies.ts';
import { callerOfKey, callerOfPlainKey } from './key-caller.ts';
import { RecentTable } from './recent-table.ts';
import type { Caller } from '../../stage.ts';
import { TokenMemory } from './token-cache.ts';

/** Of those that are not plain. */
const KEYS_REMEMBERED_MAX = 20_000;
/** Look-ups of such keys that are not remembered before some that are make room. */
const MISSES_MIN = 20_000;
/** A longer field value, with spaces before the token, is read anew each time. */
const FIELD_CHARS_MAX = 256;
/** A token that so many others came after is not asked for soon. */
const SOON = 4_096;
/** Of those that would take the place of another among the recent ones, one of so many does. */
const TURN = 16;
/** Four thousand places. */
const RECENT_BITS = 12;
const HASH_WORDS = 8;

/** One value of one key: what requests need of it, and until when it is good. */
export interface ResolvedKey {
  /** The field value that brought it, where it is remembered. */
  key: string;
  readonly appId: string;
  readonly isActive: boolean;
  readonly caller: Caller;
  /** Unix milliseconds from which on the value is refused; Infinity for never. */
  readonly expiresAtMs: number;
}

/** Why a field value resolves to no key. */
export type Unresolved = typeof MALFORMED | typeof UNKNOWN;

const MALFORMED = 'key_malformed';
const UNKNOWN = 'key_unknown';

export class RememberedKeys {
  readonly #directory: KeyDirectory;
  readonly #rows: KeyRows | undefined;
  readonly #recent = new RecentTable<ResolvedKey>(RECENT_BITS);
  readonly #tokens: TokenMemory<ResolvedKey>;
  #generation: number;
  /** Counts keys that would take the place of a recent one. */
  #turn = 0;
  // Used within one call.
  readonly #hash = new WordBuffer(HASH_WORDS);
  readonly #plain = emptyPlainKey();

  /** @param rows where uses of keys are counted; undefined when nobody does */
  constructor(directory: KeyDirectory, rows: KeyRows | undefined) {
    this.#directory = directory;
    this.#rows = rows;
    this.#generation = directory.generation;
    const limits = { valuesMax: KEYS_REMEMBERED_MAX, missesMin: MISSES_MIN };
    this.#tokens = new TokenMemory<ResolvedKey>(limits, {
      isKnown: (hash) => directory.hasKey(hash),
      onDropped: ({ key }) => this.#recent.delete(key),
    });
  }

  /** Bytes in which tokens are remembered. */
  get tokenBytes(): number {
    return this.#tokens.bytes;
  }

  /**
   * The key that a field value names, whatever it is worth.
   * @param authorization the whole value: of the scheme `Bearer`, or the token alone
   */
  resolve(authorization: string): ResolvedKey | Unresolved {
    const { generation } = this.#directory;
    if (this.#generation !== generation) {
      this.#recent.clear();
      this.#tokens.dropValues();
      this.#generation = generation;
    }
    return this.#recent.get(authorization) ?? this.#resolveToken(authorization);
  }

  #resolveToken(authorization: string): ResolvedKey | Unresolved {
    const token = authorization.slice(tokenStart(authorization));
    if (!token.startsWith(API_KEY_PREFIX)) return this.#resolveBrought(authorization, token);
    if (token.length !== TOKEN_LENGTH) return MALFORMED;
    const place = this.#tokens.find(token);
    if (place < 0) {
      if (!hasValidChecksum(token)) return MALFORMED;
      readHash(tokenHash(token), this.#hash);
      return this.#add(authorization, token);
    }
    return this.#found(authorization, place);
  }

  /**
   * A value that was brought along (model/brought-token.ts), of any form and length: remembered by its SHA-256, of which
   * as much as a token has characters tells it from all others, and from the gateway's own, which begin otherwise.
   */
  #resolveBrought(authorization: string, token: string): ResolvedKey | Unresolved {
    if (!mayBeBrought(token)) return MALFORMED;
    const hash = tokenHash(token);
    const text = hash.slice(0, TOKEN_LENGTH);
    const place = this.#tokens.find(text);
    if (place >= 0) return this.#found(authorization, place);
    readHash(hash, this.#hash);
    return this.#add(authorization, text);
  }

  /** A key with the hash in `#hash` that is not remembered. */
  #add(authorization: string, text: string): ResolvedKey | Unresolved {
    if (!this.#directory.hasKey(this.#hash)) return UNKNOWN;
    return this.#read(authorization, this.#tokens.add(text, this.#hash));
  }

  #found(authorization: string, place: number): ResolvedKey | Unresolved {
    const kept = this.#tokens.valueAt(place);
    if (kept === undefined) return this.#read(authorization, place);
    this.#recent.set(kept);
    return kept;
  }

  /** From the directory. */
  #read(authorization: string, place: number): ResolvedKey | Unresolved {
    const plain = this.#readPlain(place);
    if (plain !== undefined) {
      this.#remember(authorization, plain);
      return plain;
    }
    this.#tokens.copyHash(place, this.#hash);
    const found = this.#directory.findPresentedKey(this.#hash);
    if (found === undefined) return UNKNOWN;
    const { appId, isActive, expiresAtMs } = found;
    const resolved = { key: '', appId, isActive, caller: callerOfKey(found), expiresAtMs };
    if (authorization.length <= FIELD_CHARS_MAX && this.#tokens.keep(place, resolved)) {
      // A copy: the field is a slice of a whole request head, which must not be kept alive by it.
      resolved.key = ownText(authorization);
    }
    return resolved;
  }

  /** A plain key, from where it is remembered to lie, or from where it is found now; undefined for others. */
  #readPlain(place: number): ResolvedKey | undefined {
    const directory = this.#directory;
    const tokens = this.#tokens;
    const plain = this.#plain;
    let reference = tokens.referenceAt(place, this.#generation);
    const isRemembered = reference > 0;
    if (!isRemembered) {
      tokens.copyHash(place, this.#hash);
      reference = directory.findReference(this.#hash);
    }
    if (reference === 0) return undefined;
    if (!directory.readPlainKey(reference, tokens.words, tokens.hashAt(place), plain)) return undefined;
    const caller = callerOfPlainKey(plain);
    if (caller === undefined) return undefined;
    if (!isRemembered) tokens.setReference(place, reference, this.#generation);
    if (this.#rows !== undefined) {
      const known = tokens.rowAt(place);
      caller.countedIn = this.#rows.rowOf(plain.words, plain.idAt, known);
      if (caller.countedIn !== known) tokens.setRow(place, caller.countedIn);
    }
    const { appId, isActive, expiresAtMs } = plain;
    return { key: '', appId, isActive, caller, expiresAtMs };
  }

  /** Puts a key among the recent ones that is likely to be asked for before others take its place. */
  #remember(authorization: string, resolved: ResolvedKey): void {
    if (this.#tokens.sinceAsked > SOON || authorization.length > FIELD_CHARS_MAX) return;
    if (!this.#recent.isRoomFor(authorization) && ++this.#turn % TURN > 0) return;
    resolved.key = ownText(authorization);
    this.#recent.set(resolved);
  }
}
