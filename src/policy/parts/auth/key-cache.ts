/**
 * The API keys that a worker has resolved, by the header value that presents them. At most 131,072 are kept, and all
 * are dropped when any key changes; every other key is looked up by SHA-256 in the shared table of keys.
 *
 * A key is kept from its second use on, or a later one if other keys with the same place are in use, and keeps its
 * place while it is used. So keys that are used once are not kept in memory in clear text, and when far more keys are
 * in use than there are places, they do not replace each other at every request. Values that resolve to no key are
 * never kept: guessing displaces nothing.
 */
import { ownText } from '../../../http/latin1.ts';
import type { PresentedKey } from '../../../keys/presented-key.ts';
import { mayBeImported } from '../../../model/imported-token.ts';
import { API_KEY_PREFIX, TOKEN_LENGTH, hasValidChecksum, tokenDigest } from '../../../model/token.ts';
import type { KeyDirectory } from '../../dependencies.ts';
import type { Caller } from '../../stage.ts';
import { tokenStart } from './bearer.ts';
import { callerOfKey } from './key-caller.ts';
import { RecentTable, type RecentEntry } from './recent-table.ts';

/** 131,072 places; some 500 bytes of the heap for each that is taken. */
const PLACE_BITS = 17;
/** A longer header value, with spaces before the token, is not kept. */
const HEADER_CHARS_MAX = 256;

/** What requests need to know about a key, and the expiry of the value that presents it: `key`, the header value. */
export interface ResolvedKey extends RecentEntry {
  readonly appId: string;
  readonly isActive: boolean;
  readonly caller: Caller;
  /** The value is refused from this time on, Unix milliseconds; Infinity for never. */
  readonly expiresAtMs: number;
}

/** Why a header value resolves to no key. */
export type Unresolved = typeof MALFORMED | typeof UNKNOWN;

const MALFORMED = 'key_malformed';
const UNKNOWN = 'key_unknown';

export class KeyCache {
  readonly #directory: KeyDirectory;
  readonly #recent: RecentTable<ResolvedKey>;
  #generation: number;

  /** @param placeBits the binary logarithm of the number of keys that are kept at most */
  constructor(directory: KeyDirectory, placeBits = PLACE_BITS) {
    this.#directory = directory;
    this.#recent = new RecentTable(placeBits);
    this.#generation = directory.generation;
  }

  /**
   * The key that a header value presents, whether or not it is valid.
   * @param credential the whole value: of the scheme `Bearer`, or the token alone
   */
  resolve(credential: string): ResolvedKey | Unresolved {
    const { generation } = this.#directory;
    if (this.#generation !== generation) {
      this.#recent.clear();
      this.#generation = generation;
    }
    return this.#recent.get(credential) ?? this.#lookUp(credential);
  }

  #lookUp(credential: string): ResolvedKey | Unresolved {
    const token = credential.slice(tokenStart(credential));
    const isOwn = token.startsWith(API_KEY_PREFIX);
    if (isOwn ? token.length !== TOKEN_LENGTH : !mayBeImported(token)) return MALFORMED;
    const found = this.#directory.findPresentedKey(tokenDigest(token));
    if (found === undefined) return isOwn && !hasValidChecksum(token) ? MALFORMED : UNKNOWN;
    const isKept = credential.length <= HEADER_CHARS_MAX && this.#recent.mayTakePlace(credential);
    if (!isKept) return resolvedKey('', found, callerOfKey(found));
    // Copies: the value is a slice of a whole request head, which would stay in memory, and the lines are many parts,
    // each of which waits for memory when they are written.
    const resolved = resolvedKey(ownText(credential), found, inOnePiece(callerOfKey(found)));
    this.#recent.set(resolved);
    return resolved;
  }
}

function resolvedKey(key: string, found: PresentedKey, caller: Caller): ResolvedKey {
  const { appId, isActive, expiresAtMs } = found;
  return { key, wasFound: false, appId, isActive, caller, expiresAtMs };
}

function inOnePiece(caller: Caller): Caller {
  return { ...caller, upstreamHeaderLines: ownText(caller.upstreamHeaderLines) };
}
