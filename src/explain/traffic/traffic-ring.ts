/**
 * The latest texts in a buffer of fixed size: a new one overwrites the oldest. Nothing is allocated per text, so that a
 * full ring costs the garbage collector nothing. The buffer is reserved with the first text.
 */

const BYTES_PER_TEXT = 512;
/** A longer text is not kept. */
const TEXT_BYTES_MAX = 8_192;

/** Texts in the form that costs a thread least to send. */
export interface PackedTexts {
  readonly bytes: Uint8Array;
  readonly starts: Uint32Array;
  readonly lengths: Uint32Array;
}

export function unpackTexts({ bytes, starts, lengths }: PackedTexts): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from(starts, (start, index) =>
    buffer.toString('utf8', start, start + (lengths[index] as number)),
  );
}

export class TrafficRing {
  readonly #textsMax: number;
  readonly #bytesMax: number;
  #bytes: Buffer | undefined;
  /** By slot: where the text starts and how long it is. */
  readonly #starts: Uint32Array;
  readonly #lengths: Uint32Array;
  /** Slot of the oldest text. */
  #first = 0;
  #count = 0;
  /** The position of the next text. */
  #end = 0;

  /** @param textsMax above 0; memory is for texts of 512 bytes on average, longer ones leave room for fewer */
  constructor(textsMax: number) {
    this.#textsMax = textsMax;
    this.#bytesMax = Math.max(textsMax * BYTES_PER_TEXT, TEXT_BYTES_MAX);
    this.#starts = new Uint32Array(textsMax);
    this.#lengths = new Uint32Array(textsMax);
  }

  /** @returns false when the text is too long to be kept */
  add(text: string): boolean {
    const length = Buffer.byteLength(text, 'utf8');
    if (length > TEXT_BYTES_MAX) return false;
    const bytes = (this.#bytes ??= Buffer.allocUnsafeSlow(this.#bytesMax));
    const start = this.#roomFor(length);
    bytes.write(text, start, length, 'utf8');
    const slot = (this.#first + this.#count) % this.#textsMax;
    this.#starts[slot] = start;
    this.#lengths[slot] = length;
    this.#count += 1;
    this.#end = start + length;
    return true;
  }

  /** Oldest first. A message with it copies the buffer once; undefined before the first text. */
  packed(): PackedTexts | undefined {
    if (this.#bytes === undefined) return undefined;
    const slots = Array.from({ length: this.#count }, (_, index) => (this.#first + index) % this.#textsMax);
    return {
      bytes: this.#bytes,
      starts: Uint32Array.from(slots, (slot) => this.#startOf(slot)),
      lengths: Uint32Array.from(slots, (slot) => this.#lengths[slot] as number),
    };
  }

  #startOf(slot: number): number {
    return this.#starts[slot] as number;
  }

  /** Drops the oldest texts until `length` bytes are free in one piece. @returns where they start */
  #roomFor(length: number): number {
    if (this.#count === this.#textsMax) this.#drop();
    // The free bytes are those from `#end` to the oldest text, around the end of the buffer.
    for (;;) {
      if (this.#count === 0) return 0;
      const oldest = this.#startOf(this.#first);
      if (oldest < this.#end) {
        if (this.#end + length <= this.#bytesMax) return this.#end;
        // The rest of the buffer stays unused.
        if (length <= oldest) return 0;
      } else if (this.#end + length <= oldest) return this.#end;
      this.#drop();
    }
  }

  #drop(): void {
    this.#first = (this.#first + 1) % this.#textsMax;
    this.#count -= 1;
  }
}
