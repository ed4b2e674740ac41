/**
 * The API keys of the node, by hash and by id: one table in shared memory (key-memory.ts), about 160 bytes for each
 * key. The main thread writes it and every worker reads it. A record is decoded on request, or read only as far as a
 * request needs it (presented-key.ts); the caches in front of the api-key stage make the first rare and the second
 * cheap.
 *
 * `generation` increases with every change, so that caches know when to forget keys: a result that was looked up after
 * reading a generation is valid until the generation changes. A look-up that begins after `change` has returned never
 * finds the former state, in any thread. Each key changes at once; several keys of one change do so one after the
 * other.
 *
 * Does not know the time: the caller decides whether a key has expired or the overlap of a rotation is over.
 */
import type { StoredApiKey } from '../model/resources.ts';
import { KeyIndexWriter, findReference } from './key-index.ts';
import {
  GENERATION,
  HASH_INDEX,
  ID_INDEX,
  KEY_COUNT,
  KEY_MEMORY_BYTES_MAX,
  KeyAllocator,
  KeyMemoryFull,
  KeyMemoryView,
  UNIT_BYTES,
  UNIT_WORDS,
} from './key-memory.ts';
import type { KeyMemory } from './key-memory.ts';
import { PackedKeys, referencesOf } from './key-packing.ts';
import {
  copyEncodedId,
  copyHash,
  copyRecordId,
  decodeKey,
  encodeKey,
  hasHash,
  hasId,
  isStored,
  placeOfHash,
  placeOfId,
  placeOfRecordId,
  placesOfHashes,
  setUnits,
  storeKey,
  unitsOf,
} from './key-record.ts';
import { WordBuffer, readDigest, readHash, readId } from './key-words.ts';
import { readPresentedKey, type PresentedKey } from './presented-key.ts';

/** Limit of keys of a node (docs/reference/storage.md). */
export const KEYS_MAX = 10_000_000;

/** Two index entries per key at a load of at least a third, in the old index and the new one while the index grows. */
const INDEX_BYTES_PER_KEY = 96;

// What is being looked up; written and read within one call.
const hashWanted = new WordBuffer(8);
const idWanted = new WordBuffer(4);
const hasWantedHash = (words: Int32Array, reference: number): boolean =>
  hasHash(words, reference, hashWanted);
const hasWantedId = (words: Int32Array, reference: number): boolean => hasId(words, reference, idWanted);

/** A worker's access to the table. */
export class KeyReader {
  protected readonly view: KeyMemoryView;

  constructor(view: KeyMemory | KeyMemoryView) {
    this.view = view instanceof KeyMemoryView ? view : new KeyMemoryView(view);
  }

  /** What another thread needs for its own `KeyReader`. */
  get memory(): KeyMemory {
    return this.view.memory;
  }

  /** Increases with every change of any key; wraps around. */
  get generation(): number {
    return Atomics.load(this.view.header, GENERATION);
  }

  get size(): number {
    return Atomics.load(this.view.header, KEY_COUNT);
  }

  /**
   * The key whose token has this SHA-256 (64 lower-case hex digits), or had it before its last rotation. In the second
   * case `previous_token_hash` equals the argument, and `previous_expires_at` says until when it is valid.
   */
  findKeyByHash(hash: string): StoredApiKey | undefined {
    readHash(hash, hashWanted);
    const reference = this.#referenceOfWantedHash();
    return reference === 0 ? undefined : decodeKey(this.view, reference);
  }

  /**
   * What a request needs of the key with a value of this SHA-256 (32 characters of latin1). Returns undefined also for
   * the value before the last rotation once it is invalid.
   */
  findPresentedKey(digest: string): PresentedKey | undefined {
    readDigest(digest, hashWanted);
    const reference = this.#referenceOfWantedHash();
    return reference === 0 ? undefined : readPresentedKey(this.view, reference, hashWanted);
  }

  findKeyById(id: string): StoredApiKey | undefined {
    const reference = this.referenceById(id);
    return reference === 0 ? undefined : decodeKey(this.view, reference);
  }

  #referenceOfWantedHash(): number {
    return this.#find(HASH_INDEX, placeOfHash(hashWanted), hasWantedHash);
  }

  protected referenceById(id: string): number {
    readId(id, idWanted);
    return this.referenceOfWantedId();
  }

  protected referenceOfWantedId(): number {
    return this.#find(ID_INDEX, placeOfId(idWanted), hasWantedId);
  }

  #find(headerWord: number, place: number, isRight: typeof hasWantedHash): number {
    for (;;) {
      const index = Atomics.load(this.view.header, headerWord);
      const words = this.view.words();
      const reference = findReference(words, index, place, isRight);
      // When the memory has grown during the look-up, a replacement record may be beyond the end of the former view.
      if (reference !== 0 || words === this.view.words()) return reference;
    }
  }
}

/** A block that readers may be reading until `KeyTable.release`. */
export interface RetiredBlock {
  readonly reference: number;
  readonly units: number;
}

/** A record that is in memory and that readers cannot find yet. */
interface Staged {
  readonly reference: number;
  readonly units: number;
  readonly hashCount: number;
  /** The record that it replaces, or 0. */
  readonly old: number;
}

export class KeyTable extends KeyReader {
  readonly #allocator: KeyAllocator;
  readonly #keysMax: number;
  readonly #byHash: KeyIndexWriter;
  readonly #byId: KeyIndexWriter;
  #retired: RetiredBlock[] = [];

  constructor(limits: { readonly keysMax?: number; readonly bytesMax?: number } = {}) {
    const allocator = new KeyAllocator(limits.bytesMax ?? KEY_MEMORY_BYTES_MAX);
    super(allocator.view);
    this.#allocator = allocator;
    this.#keysMax = limits.keysMax ?? KEYS_MAX;
    const retire = (reference: number, units: number): void => void this.#retired.push({ reference, units });
    this.#byHash = new KeyIndexWriter(allocator, HASH_INDEX, retire);
    this.#byId = new KeyIndexWriter(allocator, ID_INDEX, retire);
  }

  /** The memory that the keys take, for all threads together; limited by KEY_MEMORY_BYTES_MAX. */
  get bytes(): number {
    return this.#allocator.usedBytes;
  }

  /**
   * Adds keys, replaces keys with the same ids, and removes others. Throws KeyMemoryFull when there is no room; then
   * nothing has changed. Blocks that are no longer needed are returned by the next `takeRetired`.
   */
  change(keys: readonly StoredApiKey[], removedIds: readonly string[]): void {
    this.#change(
      keys,
      removedIds.map((id) => this.referenceById(id)).filter((reference) => reference !== 0),
    );
  }

  /** Makes these the only keys. Does not touch keys that are already stored in this form. */
  replaceAll(keys: readonly StoredApiKey[]): void {
    const kept = new Set<number>();
    for (const key of keys) kept.add(this.referenceById(key.id));
    this.#change(
      keys,
      [...this.#byId.references()].filter((reference) => !kept.has(reference)),
    );
  }

  clear(): void {
    this.replaceAll([]);
  }

  /** Throws KeyMemoryFull when these keys, added as a whole change, would not fit. */
  assertRoomFor(keys: readonly StoredApiKey[]): void {
    if (keys.length === 0) return;
    const added = keys.filter((key) => this.referenceById(key.id) === 0).length;
    if (added > 0) this.#assertCount(this.size + added);
    let bytes = added * INDEX_BYTES_PER_KEY;
    for (const key of keys) bytes += encodeKey(key).units * UNIT_BYTES;
    if (bytes > this.#allocator.freeBytes) throw new KeyMemoryFull('their memory is full');
  }

  /** All keys. The table must not change during the iteration. */
  *all(): IterableIterator<StoredApiKey> {
    for (const reference of this.#byId.references()) yield decodeKey(this.view, reference);
  }

  /**
   * All keys, at most `count` at a time. The table may change between two slices: a key that changes in the meantime
   * may come in its old form, its new form, both or neither; every other key comes once or more.
   */
  *slices(count: number): IterableIterator<readonly StoredApiKey[]> {
    for (let seen = this.#byId.blocks, place = 0; ;) {
      if (seen !== this.#byId.blocks) [seen, place] = [this.#byId.blocks, 0];
      const slice: StoredApiKey[] = [];
      const { capacity } = this.#byId;
      for (; place < capacity && slice.length < count; place++) {
        const reference = this.#byId.referenceIn(place);
        if (reference !== 0) slice.push(decodeKey(this.view, reference));
      }
      yield slice;
      if (seen === this.#byId.blocks && place >= capacity) return;
    }
  }

  /**
   * Copies of all records as they are in memory, at least `chunkBytes` at a time. The table may change between two
   * chunks: a key that changes in the meantime may come in its old form, its new form or both; every other key comes
   * once or more.
   */
  *packed(chunkBytes: number): IterableIterator<Buffer> {
    for (let seen = 0, place = 0, ended = false; !ended;) {
      // Another block of the index has other places, so all records come once more.
      if (seen !== this.#byId.blocks) [seen, place] = [this.#byId.blocks, 0];
      const chunk = new PackedKeys(chunkBytes);
      const words = this.view.words();
      const { capacity } = this.#byId;
      for (; place < capacity && !chunk.isFull; place++) {
        const reference = this.#byId.referenceIn(place);
        if (reference !== 0) chunk.add(words, reference);
      }
      ended = place >= capacity;
      yield chunk.take();
    }
  }

  /**
   * Adds records that `packed` has produced, as `change` does. Throws KeyMemoryFull like `change`, and Error when the
   * bytes are not records; some records may have been added then.
   */
  addPacked(bytes: Buffer): void {
    const packed = new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const references = referencesOf(packed);
    this.#assertCount(this.size + references.length);
    this.#byHash.reserve(references.length * 2);
    this.#byId.reserve(references.length);
    const replaced = new Set<number>();
    for (const from of references) {
      copyRecordId(packed, from, idWanted);
      const old = this.referenceOfWantedId();
      const filled = unitsOf(packed, from);
      const { reference, units } = this.#allocator.allocate(filled);
      const start = from * UNIT_WORDS;
      const words = this.view.words();
      words.set(packed.subarray(start, start + filled * UNIT_WORDS), reference * UNIT_WORDS);
      setUnits(words, reference, units);
      this.#publish({ reference, units, hashCount: 2, old }, replaced);
    }
    this.#finish(replaced);
  }

  /** The blocks that were retired since the last call. */
  takeRetired(): readonly RetiredBlock[] {
    const retired = this.#retired;
    this.#retired = [];
    return retired;
  }

  /** Frees blocks. Every other thread must have begun a new loop tick since they were retired, or have ended. */
  release(retired: readonly RetiredBlock[]): void {
    for (const { reference, units } of retired) this.#allocator.free(reference, units);
  }

  /** @param removed references of records to remove, except those whose ids are in `keys` */
  #change(keys: readonly StoredApiKey[], removed: readonly number[]): void {
    const replaced = new Set(removed);
    const staged = this.#stage(keys, replaced);
    if (staged.length === 0 && replaced.size === 0) return;
    for (const each of staged) this.#publish(each, replaced);
    this.#finish(replaced);
  }

  #finish(replaced: ReadonlySet<number>): void {
    for (const reference of replaced) this.#remove(reference);
    Atomics.store(this.view.header, KEY_COUNT, this.#byId.size);
    Atomics.add(this.view.header, GENERATION, 1);
  }

  /**
   * Writes the records that are new or different; of several records with one id, the last one wins.
   * @param removed this function deletes from it the records that are already stored in the given form
   */
  #stage(keys: readonly StoredApiKey[], removed: Set<number>): readonly Staged[] {
    const staged: Staged[] = [];
    let added = 0;
    const last = keys.length > 1 ? new Map(keys.map((key) => [key.id, key])).values() : keys;
    try {
      for (const key of last) {
        const encoded = encodeKey(key);
        copyEncodedId(idWanted);
        const old = this.referenceOfWantedId();
        if (old === 0) added++;
        else if (isStored(this.view, encoded, old)) {
          removed.delete(old);
          continue;
        }
        const { reference, units } = this.#allocator.allocate(encoded.units);
        staged.push({ reference, units, hashCount: key.previous_token_hash === null ? 1 : 2, old });
        storeKey(this.view, encoded, reference, units);
      }
      if (added > 0) this.#assertCount(this.size + added);
      this.#byHash.reserve(staged.reduce((sum, { hashCount }) => sum + hashCount, 0));
      this.#byId.reserve(added);
    } catch (error) {
      for (const { reference, units } of staged) this.#allocator.free(reference, units);
      throw error;
    }
    return staged;
  }

  /** Lets readers find a record and retires the record that it replaces. */
  #publish({ reference, old }: Staged, replaced: Set<number>): void {
    const words = this.view.words();
    for (const previous of [false, true]) {
      if (!copyHash(words, reference, previous, hashWanted)) continue;
      const place = placeOfHash(hashWanted);
      const index = Atomics.load(this.view.header, HASH_INDEX);
      const holder = findReference(words, index, place, hasWantedHash);
      if (holder === 0) this.#byHash.add(place, reference);
      else if (holder !== reference) this.#byHash.replace(place, holder, reference);
    }
    const place = placeOfRecordId(words, reference);
    if (old === 0) return this.#byId.add(place, reference);
    this.#byId.replace(place, old, reference);
    replaced.add(old);
  }

  /** Removes a record and everything that refers to it. */
  #remove(reference: number): void {
    const words = this.view.words();
    for (const place of placesOfHashes(words, reference)) this.#byHash.delete(place, reference);
    this.#byId.delete(placeOfRecordId(words, reference), reference);
    this.#retired.push({ reference, units: unitsOf(words, reference) });
  }

  #assertCount(count: number): void {
    if (count > this.#keysMax)
      throw new KeyMemoryFull(`the limit is ${this.#keysMax}, and these are ${count}`);
  }
}
