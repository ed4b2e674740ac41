/**
 * A queue of batches in shared memory, from one writing thread to one reading thread. It sends no messages and
 * allocates nothing, and its content survives either thread. A batch is stored in one piece after its length and its
 * number of items. When it does not fit before the end of the memory, a mark sends the reader back to the beginning.
 * Batches without room are dropped and counted.
 */

/** Words of the control memory. */
const READ = 0;
const WRITE = 1;
const CONTROL_WORDS = 2;
const HEADER_BYTES = 8;
/** Stands in place of a length: the next batch is at the beginning. */
const BACK_TO_START = -1;
const RING_BYTES_MIN = 1_024;
/**
 * When this many bytes wait, or a quarter of the ring, the reader should stop waiting. Twice the size of an
 * export: it stays in the ring while it is sent, and as much arrives meanwhile.
 */
const FILLING_BYTES = 4_194_304;

export interface BatchRing {
  /** Offsets into `bytes` of the next read and the next write; equal when the ring is empty. */
  readonly control: Int32Array<SharedArrayBuffer>;
  /** One counter: items that had no room. */
  readonly dropped: BigInt64Array<SharedArrayBuffer>;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
}

/** @param bytes of memory; pages that were never written take none */
export function createBatchRing(bytes: number): BatchRing {
  const size = Math.max(RING_BYTES_MIN, Math.floor(bytes / HEADER_BYTES) * HEADER_BYTES);
  return {
    control: new Int32Array(new SharedArrayBuffer(CONTROL_WORDS * Int32Array.BYTES_PER_ELEMENT)),
    dropped: new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)),
    bytes: new Uint8Array(new SharedArrayBuffer(size)),
  };
}

/** Bytes that wait, including headers. May be called by any thread. */
export function queuedBytes({ control, bytes }: BatchRing): number {
  const used = Atomics.load(control, WRITE) - Atomics.load(control, READ);
  return used < 0 ? used + bytes.length : used;
}

/** Whether enough waits that it should be read now. May be called by any thread. */
export function isFilling(ring: BatchRing): boolean {
  return queuedBytes(ring) >= Math.min(FILLING_BYTES, ring.bytes.length / 4);
}

/** Whether little room is left. May be called by any thread. */
export function isNearlyFull(ring: BatchRing): boolean {
  return queuedBytes(ring) >= ring.bytes.length / 2;
}

/** Items that had no room. May be called by any thread. */
export function droppedItems({ dropped }: BatchRing): number {
  return Number(Atomics.load(dropped, 0));
}

export class BatchWriter {
  readonly #ring: BatchRing;
  readonly #words: Int32Array;
  readonly #memory: Buffer;
  readonly #onFilling: () => void;
  #wasFilling = false;

  /** @param onFilling called when the reader should stop waiting */
  constructor(ring: BatchRing, onFilling: () => void = () => undefined) {
    this.#ring = ring;
    this.#words = new Int32Array(ring.bytes.buffer);
    this.#memory = memoryOf(ring);
    this.#onFilling = onFilling;
  }

  /** Whether little room is left. */
  get isNearlyFull(): boolean {
    return isNearlyFull(this.#ring);
  }

  /** Counts items that are not written. */
  drop(items: number): void {
    Atomics.add(this.#ring.dropped, 0, BigInt(items));
  }

  /** Appends a batch, if there is room. @param items number of items in it */
  push(batch: Uint8Array, items: number): void {
    const { control, bytes } = this.#ring;
    const at = this.#placeFor(HEADER_BYTES + padded(batch.length));
    if (at < 0) return this.drop(items);
    this.#words[at / 4] = batch.length;
    this.#words[at / 4 + 1] = items;
    const { byteOffset, length } = batch;
    // Copies from the whole memory: `Buffer.copy` of a complete buffer uses `set`, which copies shared memory
    // word by word.
    Buffer.from(batch.buffer).copy(this.#memory, at + HEADER_BYTES, byteOffset, byteOffset + length);
    const next = at + HEADER_BYTES + padded(batch.length);
    Atomics.store(control, WRITE, next === bytes.length ? 0 : next);
    const filling = isFilling(this.#ring);
    if (filling && !this.#wasFilling) this.#onFilling();
    this.#wasFilling = filling;
  }

  /**
   * The offset at which this many bytes fit; -1 when there is none. A write must not make the two offsets
   * equal, which would mean that the ring is empty.
   */
  #placeFor(needed: number): number {
    const { control, bytes } = this.#ring;
    const read = Atomics.load(control, READ);
    const write = Atomics.load(control, WRITE);
    if (write < read) return needed < read - write ? write : -1;
    const room = bytes.length - write;
    if (needed < room || (needed === room && read > 0)) return write;
    if (needed >= read) return -1;
    this.#words[write / 4] = BACK_TO_START;
    return 0;
  }
}

export interface Seen {
  readonly items: number;
  readonly bytes: number;
  /** The end of the batches, for `release`. */
  readonly end: number;
}

/** Receives a batch as a part of the ring's memory. */
type Visit = (memory: Buffer, start: number, length: number) => void;

export class BatchReader {
  readonly #ring: BatchRing;
  readonly #words: Int32Array;
  readonly #memory: Buffer;

  constructor(ring: BatchRing) {
    this.#ring = ring;
    this.#words = new Int32Array(ring.bytes.buffer);
    this.#memory = memoryOf(ring);
  }

  get isEmpty(): boolean {
    return queuedBytes(this.#ring) === 0;
  }

  get isFilling(): boolean {
    return isFilling(this.#ring);
  }

  get isNearlyFull(): boolean {
    return isNearlyFull(this.#ring);
  }

  /** A quarter of the ring: what stays in it while it is sent should leave room for what arrives. */
  get shareBytes(): number {
    return this.#ring.bytes.length / 4;
  }

  /**
   * Visits the oldest batches, which stay in the ring until they are released.
   * @param bytesMax limit of all together; the first batch may exceed it
   */
  look(bytesMax: number, visit: Visit = () => undefined): Seen {
    const { control, bytes } = this.#ring;
    const write = Atomics.load(control, WRITE);
    let read = Atomics.load(control, READ);
    let [items, count] = [0, 0];
    while (read !== write) {
      const length = this.#words[read / 4] as number;
      if (length === BACK_TO_START) {
        read = 0;
        continue;
      }
      if (count > 0 && count + length > bytesMax) break;
      visit(this.#memory, read + HEADER_BYTES, length);
      items += this.#words[read / 4 + 1] as number;
      count += length;
      read += HEADER_BYTES + padded(length);
      if (read === bytes.length) read = 0;
    }
    return { items, bytes: count, end: read };
  }

  /** Frees the memory of the batches before `end`. */
  release(end: number): void {
    Atomics.store(this.#ring.control, READ, end);
  }

  /** Visits the oldest batches and releases them. @param bytesMax as for `look` */
  take(bytesMax: number, visit?: Visit): Seen {
    const seen = this.look(bytesMax, visit);
    this.release(seen.end);
    return seen;
  }
}

function memoryOf({ bytes }: BatchRing): Buffer {
  return Buffer.from(bytes.buffer);
}

function padded(length: number): number {
  return Math.ceil(length / HEADER_BYTES) * HEADER_BYTES;
}
