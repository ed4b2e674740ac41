/**
 * Values of `traceparent` for requests that begin a trace. Created in batches, as one text that is cut into values.
 * Owns the remaining values.
 */
import { latin1Text } from '../../http/latin1.ts';
import { makeTraceparent, PARENT_ID, TRACE_ID } from '../../http/fields/trace-context.ts';
import { fillRandom } from '../../lib/ids.ts';

const MADE_AT_ONCE = 128;
/** Values whose random bytes are drawn at once: most of the time of a draw does not depend on its length. */
const DRAWN_AT_ONCE = 4 * MADE_AT_ONCE;
const DIGITS = Buffer.from('0123456789abcdef', 'latin1');
const RANDOM_BYTES = (TRACE_ID.digits + PARENT_ID.digits) / 2;

/** The ids of a value as 32-bit words: writing them as bytes would otherwise require parsing the digits again. */
export interface TraceIds {
  /** The id of the trace, 128 bits. */
  readonly trace0: number;
  readonly trace1: number;
  readonly trace2: number;
  readonly trace3: number;
  /** The id of the span, 64 bits. */
  readonly parent0: number;
  readonly parent1: number;
}

class Traceparents {
  /** The text of the next values, including the parts that never change. */
  readonly #bytes: Buffer;
  readonly #length: number;
  readonly #random = Buffer.allocUnsafeSlow(DRAWN_AT_ONCE * RANDOM_BYTES);
  readonly #words = new DataView(this.#random.buffer);
  #made = '';
  /** Of the values in `#made`, and of those whose bytes are drawn. */
  #count = MADE_AT_ONCE;
  #drawn = DRAWN_AT_ONCE;

  constructor(isSampled: boolean) {
    const shape = makeTraceparent('?'.repeat(TRACE_ID.digits), '?'.repeat(PARENT_ID.digits), isSampled);
    this.#bytes = Buffer.from(shape.repeat(MADE_AT_ONCE), 'latin1');
    this.#length = shape.length;
  }

  next(): string {
    if (this.#count === MADE_AT_ONCE) {
      if (this.#drawn === DRAWN_AT_ONCE) {
        fillRandom(this.#random);
        this.#drawn = 0;
      }
      writeIds(this.#bytes, this.#length, this.#random, this.#drawn * RANDOM_BYTES);
      this.#drawn += MADE_AT_ONCE;
      this.#made = latin1Text(this.#bytes, 0, this.#bytes.length);
      this.#count = 0;
    }
    const start = this.#count++ * this.#length;
    return this.#made.slice(start, start + this.#length);
  }

  /** The ids of the last value that `next` returned. */
  ids(): TraceIds {
    const at = (this.#drawn - MADE_AT_ONCE + this.#count - 1) * RANDOM_BYTES;
    const words = this.#words;
    return {
      trace0: words.getInt32(at),
      trace1: words.getInt32(at + 4),
      trace2: words.getInt32(at + 8),
      trace3: words.getInt32(at + 12),
      parent0: words.getInt32(at + 16),
      parent1: words.getInt32(at + 20),
    };
  }
}

const plain = new Traceparents(false);
const sampled = new Traceparents(true);

/** A new value that is not marked as sampled. */
export function newTraceparent(): string {
  return plain.next();
}

/** A new value that is marked as sampled. */
export function newSampledTraceparent(): string {
  return sampled.next();
}

/** The ids of the last value that `newSampledTraceparent` returned. */
export function newSampledIds(): TraceIds {
  return sampled.ids();
}

/** @param value must be valid */
export function idsOf(value: string): TraceIds {
  return {
    trace0: wordAt(value, TRACE_ID.start),
    trace1: wordAt(value, TRACE_ID.start + 8),
    trace2: wordAt(value, TRACE_ID.start + 16),
    trace3: wordAt(value, TRACE_ID.start + 24),
    parent0: wordAt(value, PARENT_ID.start),
    parent1: wordAt(value, PARENT_ID.start + 8),
  };
}

/** The signed integer of eight digits. */
function wordAt(value: string, at: number): number {
  let word = 0;
  for (let index = at; index < at + 8; index++) {
    const code = value.charCodeAt(index);
    word = (word << 4) | (code < 0x40 ? code - 0x30 : code - 0x57);
  }
  return word;
}

/**
 * @param length of one value
 * @param offset where the random bytes of the first value begin
 */
function writeIds(bytes: Buffer, length: number, random: Buffer, offset: number): void {
  let from = offset;
  for (let start = 0; start < bytes.length; start += length) {
    from = writeDigits(bytes, random, from, start + TRACE_ID.start, TRACE_ID.digits);
    from = writeDigits(bytes, random, from, start + PARENT_ID.start, PARENT_ID.digits);
  }
}

/** Writes `count` digits. @returns where the unused part of `random` begins */
function writeDigits(bytes: Buffer, random: Buffer, from: number, at: number, count: number): number {
  let next = from;
  for (let digit = at; digit < at + count; digit += 2) {
    const byte = random[next++] as number;
    bytes[digit] = DIGITS[byte >> 4] as number;
    bytes[digit + 1] = DIGITS[byte & 15] as number;
  }
  return next;
}
