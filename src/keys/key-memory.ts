/**
 * The shared memory of a node's API keys: one growable buffer that every thread reads. The main thread is the only
 * writer and allocates blocks in it. key-record.ts and key-index.ts describe their content.
 *
 * Readers take no lock. This is safe because:
 * - A block is complete before readers can find it. Whatever refers to it (a place of an index, a word of the header)
 *   is stored with `Atomics.store` afterwards and read with `Atomics.load`, so a reader that sees the reference sees
 *   the whole block. There are no torn reads.
 * - A block that readers can find is never written to, except the places of an index, which are single words.
 * - A block that readers can no longer find is *retired*. `release` frees it after every thread that could have been
 *   reading it has answered a later message. A look-up is synchronous, so a thread that answers is not inside one. A
 *   reference therefore never changes its meaning during a look-up (no ABA).
 * - A worker that dies leaves nothing behind, since readers only read. The writer is the main thread, and the process
 *   ends with it. A change that can fail (no room) fails before readers can find any part of it.
 *
 * Owns the free blocks, by size. A free block is split when no block of the right size is free, and is never joined
 * with its neighbours: records of keys differ little in size, and a change of a key usually needs as much room as it
 * frees.
 */

/** Limit of the memory in bytes: room for about twenty-five million keys with short names. */
export const KEY_MEMORY_BYTES_MAX = 4 * 1024 ** 3;
/** The size of a unit in bytes. Blocks have whole units; a reference is the number of a block's first unit. */
export const UNIT_BYTES = 8;
export const UNIT_WORDS = 2;

/** The buffer grows by at least this much, and by at least an eighth. Pages that were never written take no memory. */
const GROWTH_BYTES_MIN = 64 * 1024;
/** Blocks up to this size have one list of free blocks for each size. */
const SMALL_UNITS_MAX = 512;
/** A smaller remainder of a split block stays with the block. */
const REMAINDER_UNITS_MIN = 8;

/** Words of the header. */
export const GENERATION = 0;
export const KEY_COUNT = 1;
/** References of the two index blocks. */
export const HASH_INDEX = 2;
export const ID_INDEX = 3;
const LENGTH_WORDS = 4;
const HEADER_WORDS = 8;

/** What a worker receives. */
export interface KeyMemory {
  readonly header: SharedArrayBuffer;
  readonly blocks: SharedArrayBuffer;
}

/** There are more API keys than the gateway can hold. The operator can fix it. */
export class KeyMemoryFull extends Error {
  constructor(problem: string) {
    super(`Cannot hold more API keys: ${problem}`);
    this.name = 'KeyMemoryFull';
  }
}

/** A thread's view of the memory. */
export class KeyMemoryView {
  readonly memory: KeyMemory;
  readonly header: Int32Array;
  #words: Int32Array;
  #bytes: Buffer;

  constructor(memory: KeyMemory) {
    this.memory = memory;
    this.header = new Int32Array(memory.header);
    // Views of a fixed length: a view that follows a growing buffer is several times slower to read.
    this.#words = new Int32Array(memory.blocks, 0, 0);
    this.#bytes = Buffer.from(memory.blocks, 0, 0);
  }

  /** The words of all blocks that readers can find now. Call it again for every look-up. */
  words(): Int32Array {
    if (Atomics.load(this.header, LENGTH_WORDS) !== this.#words.length) this.#refresh();
    return this.#words;
  }

  /** The same memory as bytes, with the length of the last call of `words`. */
  bytes(): Buffer {
    return this.#bytes;
  }

  #refresh(): void {
    const length = Atomics.load(this.header, LENGTH_WORDS);
    this.#words = new Int32Array(this.memory.blocks, 0, length);
    this.#bytes = Buffer.from(this.memory.blocks, 0, length * 4);
  }
}

export class KeyAllocator {
  readonly view: KeyMemoryView;
  readonly #bytesMax: number;
  /** References of free blocks by their number of units; all larger blocks are in one list. */
  readonly #small: number[][] = Array.from({ length: SMALL_UNITS_MAX + 1 }, () => []);
  readonly #large: { readonly reference: number; readonly units: number }[] = [];
  #freeUnits = 0;
  /** The first unit that was never allocated. */
  #end = 1;

  constructor(bytesMax: number = KEY_MEMORY_BYTES_MAX) {
    const blocks = reserve(bytesMax);
    this.#bytesMax = blocks.maxByteLength;
    this.view = new KeyMemoryView({ header: new SharedArrayBuffer(HEADER_WORDS * 4), blocks });
  }

  /** Bytes that are allocated or retired: memory that the operating system must keep. */
  get usedBytes(): number {
    return (this.#end - this.#freeUnits) * UNIT_BYTES;
  }

  /** Bytes that can still be allocated, in blocks of any size. */
  get freeBytes(): number {
    return this.#bytesMax - this.usedBytes;
  }

  /** Returns a block of at least `units`. The caller must remember its length. Throws KeyMemoryFull. */
  allocate(units: number): { readonly reference: number; readonly units: number } {
    const free = this.#freeUnits < units ? undefined : this.#takeFree(units);
    if (free !== undefined) return this.#split(free, units);
    const reference = this.#end;
    this.#growTo((reference + units) * UNIT_BYTES);
    this.#end = reference + units;
    return { reference, units };
  }

  /** Frees a block that no thread can be reading. */
  free(reference: number, units: number): void {
    this.#freeUnits += units;
    if (units <= SMALL_UNITS_MAX) this.#small[units]?.push(reference);
    else this.#large.push({ reference, units });
  }

  #takeFree(units: number): { readonly reference: number; readonly units: number } | undefined {
    for (let size = units; size <= SMALL_UNITS_MAX; size++) {
      const reference = this.#small[size]?.pop();
      if (reference !== undefined) return { reference, units: size };
    }
    const at = this.#large.findIndex((block) => block.units >= units);
    return at < 0 ? undefined : this.#large.splice(at, 1)[0];
  }

  #split(
    block: { readonly reference: number; readonly units: number },
    units: number,
  ): { readonly reference: number; readonly units: number } {
    this.#freeUnits -= block.units;
    if (block.units - units < REMAINDER_UNITS_MIN) return block;
    this.free(block.reference + units, block.units - units);
    return { reference: block.reference, units };
  }

  #growTo(bytes: number): void {
    const { blocks } = this.view.memory;
    if (bytes <= blocks.byteLength) return;
    if (bytes > this.#bytesMax) throw new KeyMemoryFull(`the limit is ${this.#bytesMax} bytes`);
    const wanted = Math.max(bytes, blocks.byteLength + Math.max(GROWTH_BYTES_MIN, blocks.byteLength / 8));
    blocks.grow(Math.min(this.#bytesMax, Math.ceil(wanted / UNIT_BYTES) * UNIT_BYTES));
    Atomics.store(this.view.header, LENGTH_WORDS, blocks.byteLength / 4);
  }
}

/** Reserves addresses, not memory; a quarter as many as long as the system does not grant them. */
function reserve(bytesMax: number): SharedArrayBuffer {
  for (let bytes = bytesMax; ; bytes = Math.floor(bytes / 4 / UNIT_BYTES) * UNIT_BYTES) {
    try {
      return new SharedArrayBuffer(0, { maxByteLength: bytes });
    } catch (error) {
      if (bytes < 1024 ** 2) throw error;
    }
  }
}
