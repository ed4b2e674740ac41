/**
 * The API keys of a worker, by hash and by id. A million of them must fit several times over into a process, so
 * each is one packed string (JSON of its fields without their names) and two entries in a flat hash table, some
 * 300 bytes in all; a record is unpacked when it is asked for, which the cache in front of the api-key stage
 * makes rare.
 *
 * `generation` grows with every change, so that whoever remembers keys knows when to forget. Does not know the
 * time: whether a key has expired, or the overlap of a rotation is over, is the caller's to decide.
 */
import type { RateLimitPolicy } from '../model/policy.ts';
import type { StoredApiKey } from '../model/resources.ts';
import { SlotIndex, hashText } from './slot-index.ts';

/** The hash and the id come first: they are compared without unpacking. */
type PackedKey = readonly [
  tokenHash: string,
  id: string,
  appId: string,
  name: string,
  scopes: readonly string[],
  tokenPrefix: string,
  isActive: 0 | 1,
  createdAt: string,
  /** 0: the same as `createdAt`. */
  updatedAt: string | 0,
  expiresAt: string | null,
  lastUsedAt: string | null,
  rateLimit: RateLimitPolicy | null,
  previousTokenHash: string | null,
  previousExpiresAt: string | null,
];

export class KeyTable {
  /** Packed keys by slot; '' is a free slot. */
  #packed: string[] = [];
  #free: number[] = [];
  #byHash = new SlotIndex();
  #byId = new SlotIndex();
  /** Current hash by the one before a rotation; few. */
  #currentHash = new Map<string, string>();
  #generation = 0;

  /** Grows with every change of any key. */
  get generation(): number {
    return this.#generation;
  }

  get size(): number {
    return this.#byId.size;
  }

  /**
   * The key whose token has, or before its last rotation had, this SHA-256 (64 lower-case hex digits). In the
   * second case `previous_token_hash` equals the argument and `previous_expires_at` says until when it counts.
   */
  findKeyByHash(hash: string): StoredApiKey | undefined {
    const slot = this.#slotByHash(hash);
    if (slot >= 0) return unpack(this.#packed[slot] as string);
    const current = this.#currentHash.get(hash);
    return current === undefined ? undefined : this.findKeyByHash(current);
  }

  findKeyById(id: string): StoredApiKey | undefined {
    const slot = this.#slotById(id);
    return slot < 0 ? undefined : unpack(this.#packed[slot] as string);
  }

  /** Puts keys in place of those with the same ids and removes others, as one step. */
  change(keys: readonly StoredApiKey[], removedIds: readonly string[]): void {
    if (keys.length === 0 && removedIds.length === 0) return;
    this.#generation++;
    for (const id of removedIds) this.#remove(id);
    // All old values go before any new one comes: two keys may have changed places.
    for (const key of keys) this.#remove(key.id);
    for (const key of keys) {
      this.#remove(key.id); // The list may name a key twice; the last one counts.
      this.#add(key);
    }
  }

  clear(): void {
    this.#generation++;
    this.#packed = [];
    this.#free = [];
    this.#byHash = new SlotIndex();
    this.#byId = new SlotIndex();
    this.#currentHash = new Map();
  }

  #add(key: StoredApiKey): void {
    const slot = this.#free.pop() ?? this.#packed.length;
    this.#packed[slot] = pack(key);
    this.#byHash.add(hashText(key.token_hash), slot);
    this.#byId.add(hashText(key.id), slot);
    if (key.previous_token_hash !== null) this.#currentHash.set(key.previous_token_hash, key.token_hash);
  }

  #remove(id: string): void {
    const slot = this.#slotById(id);
    if (slot < 0) return;
    const key = unpack(this.#packed[slot] as string);
    const isThis = (other: number): boolean => other === slot;
    this.#byHash.delete(hashText(key.token_hash), isThis);
    this.#byId.delete(hashText(id), isThis);
    if (key.previous_token_hash !== null) this.#currentHash.delete(key.previous_token_hash);
    this.#packed[slot] = '';
    this.#free.push(slot);
  }

  #slotByHash(hash: string): number {
    const start = `["${hash}",`;
    return this.#byHash.find(hashText(hash), (slot) => (this.#packed[slot] as string).startsWith(start));
  }

  #slotById(id: string): number {
    const part = `"${id}",`;
    return this.#byId.find(hashText(id), (slot) => {
      const packed = this.#packed[slot] as string;
      return packed.startsWith(part, packed.indexOf(',') + 1);
    });
  }
}

function pack(key: StoredApiKey): string {
  const fields: PackedKey = [
    key.token_hash,
    key.id,
    key.app_id,
    key.name,
    key.scopes,
    key.token_prefix,
    key.is_active ? 1 : 0,
    key.created_at,
    key.updated_at === key.created_at ? 0 : key.updated_at,
    key.expires_at,
    key.last_used_at,
    key.rate_limit,
    key.previous_token_hash,
    key.previous_expires_at,
  ];
  return JSON.stringify(fields);
}

function unpack(packed: string): StoredApiKey {
  const fields = JSON.parse(packed) as PackedKey;
  return {
    token_hash: fields[0],
    id: fields[1],
    app_id: fields[2],
    name: fields[3],
    scopes: fields[4],
    token_prefix: fields[5],
    is_active: fields[6] === 1,
    created_at: fields[7],
    updated_at: fields[8] === 0 ? fields[7] : fields[8],
    expires_at: fields[9],
    last_used_at: fields[10],
    rate_limit: fields[11],
    previous_token_hash: fields[12],
    previous_expires_at: fields[13],
  };
}
