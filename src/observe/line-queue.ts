/**
 * A queue of whole lines as bytes, in reusable blocks of memory: allocating a buffer for every batch costs more than
 * filling one. Owns the blocks. The reader takes one piece at a time and releases it before the next.
 */
const BLOCK_BYTES = 262_144;
/** Empty blocks kept for reuse. */
const SPARE_BLOCKS_MAX = 2;
const NEWLINE = 0x0a;

interface Block {
  readonly bytes: Buffer;
  /** The bytes between `start` and `end` are queued. */
  start: number;
  end: number;
}

export class LineQueue {
  #blocks: Block[] = [];
  readonly #spare: Buffer[] = [];
  /** The block that is empty once the taken piece is released. */
  #emptied: Buffer | undefined;
  #bytes = 0;

  /** Queued bytes, without the taken piece. */
  get bytes(): number {
    return this.#bytes;
  }

  addBytes(lines: Uint8Array): void {
    const block = this.#blockFor(lines.length);
    block.bytes.set(lines, block.end);
    this.#grow(block, lines.length);
  }

  addText(lines: string): void {
    const block = this.#blockFor(Buffer.byteLength(lines));
    this.#grow(block, block.bytes.write(lines, block.end));
  }

  /**
   * Takes whole lines from the head, as many as fit; a longer line is taken alone. The bytes stay valid until
   * `release`; undefined if nothing is queued.
   */
  take(bytesMax: number): Buffer | undefined {
    const block = this.#blocks[0];
    if (block === undefined) return undefined;
    const { bytes, start } = block;
    const end = block.end - start <= bytesMax ? block.end : endOfLines(block, start + bytesMax);
    block.start = end;
    this.#bytes -= end - start;
    if (end === block.end) {
      this.#blocks.shift();
      this.#emptied = bytes;
    }
    return bytes.subarray(start, end);
  }

  /** Releases the taken piece. */
  release(): void {
    const block = this.#emptied;
    this.#emptied = undefined;
    if (block?.length === BLOCK_BYTES && this.#spare.length < SPARE_BLOCKS_MAX) this.#spare.push(block);
  }

  /** Drops everything; returns the number of dropped lines. */
  clear(): number {
    let lines = 0;
    for (const { bytes, start, end } of this.#blocks) lines += countLines(bytes.subarray(start, end));
    this.#blocks = [];
    this.#bytes = 0;
    return lines;
  }

  #blockFor(length: number): Block {
    const last = this.#blocks.at(-1);
    if (last !== undefined && last.end + length <= last.bytes.length) return last;
    const block = { bytes: this.#memory(length), start: 0, end: 0 };
    this.#blocks.push(block);
    return block;
  }

  #grow(block: Block, length: number): void {
    block.end += length;
    this.#bytes += length;
  }

  #memory(length: number): Buffer {
    if (length > BLOCK_BYTES) return Buffer.allocUnsafeSlow(length);
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }
}

/** The end of the last line before `limit`, or of the first line. */
function endOfLines({ bytes, start, end }: Block, limit: number): number {
  const last = bytes.lastIndexOf(NEWLINE, limit - 1);
  if (last >= start) return last + 1;
  const first = bytes.indexOf(NEWLINE, start);
  return first < 0 || first >= end ? end : first + 1;
}

export function countLines(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) lines++;
  return lines;
}
