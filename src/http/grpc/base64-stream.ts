/**
 * Base64 (RFC 4648 section 4) that arrives in pieces, as in the text form of gRPC-Web: a quantum may be cut by the
 * end of a piece, and padding may follow any quantum, since senders flush at any time.
 */

const PAD = 0x3d;
/** Value of a character; -1 for all others. */
const VALUES = new Int8Array(256).fill(-1);
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
for (let value = 0; value < ALPHABET.length; value++) VALUES[ALPHABET.charCodeAt(value)] = value;

export class Base64Decoder {
  /** The characters of the current quantum, six bits each. */
  #bits = 0;
  #count = 0;
  #pads = 0;

  /** No quantum is incomplete. */
  get isWhole(): boolean {
    return this.#count === 0;
  }

  /** @returns memory of its own; undefined if this is not Base64, whatever follows */
  write(bytes: Buffer, from: number, to: number): Buffer | undefined {
    const decoded = Buffer.allocUnsafe(3 * Math.ceil((this.#count + to - from) / 4));
    let length = 0;
    for (let index = from; index < to; index++) {
      if (!this.#take(bytes[index] as number)) return undefined;
      if (this.#count < 4) continue;
      const bits = this.#bits;
      decoded[length++] = bits >> 16;
      if (this.#pads < 2) decoded[length++] = (bits >> 8) & 0xff;
      if (this.#pads < 1) decoded[length++] = bits & 0xff;
      this.#bits = this.#count = this.#pads = 0;
    }
    return decoded.subarray(0, length);
  }

  #take(byte: number): boolean {
    const value = VALUES[byte] as number;
    if (byte === PAD) {
      if (this.#count < 2) return false;
      this.#pads += 1;
    } else if (value < 0 || this.#pads > 0) return false;
    this.#bits = (this.#bits << 6) | Math.max(0, value);
    this.#count += 1;
    return true;
  }
}

/** A single piece, with its padding. */
export function base64Piece(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('base64'), 'latin1');
}
