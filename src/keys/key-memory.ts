/**
 * The shared memory in which the API keys of a node lie: one growable buffer that every thread sees, in which the
 * main thread, the only writer, hands out blocks. What lies in it is described in key-record.ts and key-index.ts.
 *
 * Readers take no lock. What makes that safe:
 * - A block is written before it can be found: whatever leads to it (a place of an index, a word of the header) is
 *   stored with `Atomics.store` afterwards and read with `Atomics.load`, so a reader that sees the reference sees
 *   the whole block. There are no torn reads.
 * - A block that can be found is never written to, but for the places of an index, which are single words.
 * - A block that cannot be found any more is *retired*, and used again only when `release` says so: after every
 *   thread that could have been reading it has answered a message that was sent later. A look-up is synchronous, so
 *   a thread that answers is not in the middle of one. No reference means two things to one reader (no ABA).
 * - A worker that dies holds nothing: readers only read. The writer is the main thread, with which the process ends.
 *   What can fail in a change (no room) fails before anything of it can be found.
 *
 * Owns the free blocks, by size. A free block is split when no other fits and is not joined with its neighbours
 * again: records of keys differ little in size, and a change of a key usually needs as much room as it gives up.
 */

/** Most bytes of the memory: some twenty-five million keys with short names. */
export const KEY_MEMORY_BYTES_MAX = 4 * 1024 ** 3;
/** Blocks are counted in units of this many bytes; a reference is the unit at which a block begins. */
export const UNIT_BYTES = 8;
export const UNIT_WORDS = 2;

/** Grows by at least this much, and by an eighth: pages that nobody has written to take no memory. */
const GROWTH_BYTES_MIN = 64 * 1024;
/** Blocks up to this size have a list of free ones for each size. */
const SMALL_UNITS_MAX = 512;
/** What is left of a split block, when it is smaller, goes with it. */
const REMAINDER_UNITS_MIN = 8;

/** Words of the header. */
export const GENERATION = 0;
export const KEY_COUNT = 1;
/** References of the two index blocks. */
export const HASH_INDEX = 2;
export const ID_INDEX = 3;
const LENGTH_WORDS = 4;
const HEADER_WORDS = 8;

/** What a worker is given. */
export interface KeyMemory {
  readonly header: SharedArrayBuffer;
  readonly blocks: SharedArrayBuffer;
}

/** The operator can mend it: there are more API keys than the gateway holds. */
export class KeyMemoryFull extends Error {
  constructor(problem: string) {
    super(`Cannot hold more API keys: ${problem}`);
    this.name = 'KeyMemoryFull';
  }
}

/** A thread's look into the memory. */
export class KeyMemoryView {
  readonly memory: KeyMemory;
  readonly header: Int32Array;
  #words: Int32Array;
  #bytes: Buffer;

  constructor(memory: KeyMemory) {
    this.memory = memory;
    this.header = new Int32Array(memory.header);
    // Views of a fixed length: those that follow a growing buffer cost several times as much to read.
    this.#words = new Int32Array(memory.blocks, 0, 0);
    this.#bytes = Buffer.from(memory.blocks, 0, 0);
  }

  /** The words of all blocks that can be found now; to be taken anew for every look-up. */
  words(): Int32Array {
    if (Atomics.load(this.header, LENGTH_WORDS) !== this.#words.length) this.#refresh();
    return this.#words;
  }

  /** The same memory as bytes, as of the last call of `words`. */
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
  /** References of free blocks by their number of units; larger ones together. */
  readonly #small: number[][] = Array.from({ length: SMALL_UNITS_MAX + 1 }, () => []);
  readonly #large: { readonly reference: number; readonly units: number }[] = [];
  #freeUnits = 0;
  /** Where nothing has been handed out yet. */
  #end = 1;

  constructor(bytesMax: number = KEY_MEMORY_BYTES_MAX) {
    const blocks = reserve(bytesMax);
    this.#bytesMax = blocks.maxByteLength;
    this.view = new KeyMemoryView({ header: new SharedArrayBuffer(HEADER_WORDS * 4), blocks });
  }

  /** Bytes that are handed out or retired: what the operating system has to keep. */
  get usedBytes(): number {
    return (this.#end - this.#freeUnits) * UNIT_BYTES;
  }

  /** Bytes that can still be handed out, in blocks of whatever size. */
  get freeBytes(): number {
    return this.#bytesMax - this.usedBytes;
  }

  /** A block of at least `units`; its length is for the caller to keep. Throws KeyMemoryFull. */
  allocate(units: number): { readonly reference: number; readonly units: number } {
    const free = this.#freeUnits < units ? undefined : this.#takeFree(units);
    if (free !== undefined) return this.#split(free, units);
    const reference = this.#end;
    this.#growTo((reference + units) * UNIT_BYTES);
    this.#end = reference + units;
    return { reference, units };
  }

  /** Gives back a block that no thread can be reading. */
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
    if (bytes > this.#bytesMax) throw new KeyMemoryFull(`they may take ${this.#bytesMax} bytes`);
    const wanted = Math.max(bytes, blocks.byteLength + Math.max(GROWTH_BYTES_MIN, blocks.byteLength / 8));
    blocks.grow(Math.min(this.#bytesMax, Math.ceil(wanted / UNIT_BYTES) * UNIT_BYTES));
    Atomics.store(this.view.header, LENGTH_WORDS, blocks.byteLength / 4);
  }
}

/** Reserves addresses, not memory; where even these are short, fewer. */
function reserve(bytesMax: number): SharedArrayBuffer {
  for (let bytes = bytesMax; ; bytes = Math.floor(bytes / 4 / UNIT_BYTES) * UNIT_BYTES) {
    try {
      return new SharedArrayBuffer(0, { maxByteLength: bytes });
    } catch (error) {
      if (bytes < 1024 ** 2) throw error;
    }
  }
}
