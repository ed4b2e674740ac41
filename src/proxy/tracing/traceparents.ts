/**
 * Values of `traceparent` for requests that begin a trace. Made in batches, as one text that is cut into values. Owns
 * the remaining values.
 */
import { latin1Text } from '../../http/latin1.ts';
import { makeTraceparent, PARENT_ID, TRACE_ID } from '../../http/fields/trace-context.ts';
import { fillRandom } from '../../lib/ids.ts';

const MADE_AT_ONCE = 128;
const DIGITS = Buffer.from('0123456789abcdef', 'latin1');
const RANDOM_BYTES = (TRACE_ID.digits + PARENT_ID.digits) / 2;
const random = Buffer.allocUnsafeSlow(MADE_AT_ONCE * RANDOM_BYTES);

/** A new value that is not marked as sampled. */
export const newTraceparent = traceparents(false);
/** A new value that is marked as sampled. */
export const newSampledTraceparent = traceparents(true);

function traceparents(isSampled: boolean): () => string {
  const shape = makeTraceparent('?'.repeat(TRACE_ID.digits), '?'.repeat(PARENT_ID.digits), isSampled);
  /** The text of the next values, including the parts that never change. */
  const bytes = Buffer.from(shape.repeat(MADE_AT_ONCE), 'latin1');
  let made = '';
  let position = 0;
  return () => {
    if (position === made.length) {
      writeIds(bytes, shape.length);
      made = latin1Text(bytes, 0, bytes.length);
      position = 0;
    }
    return made.slice(position, (position += shape.length));
  };
}

/** @param length of one value */
function writeIds(bytes: Buffer, length: number): void {
  fillRandom(random);
  let from = 0;
  for (let start = 0; start < bytes.length; start += length) {
    from = writeDigits(bytes, from, start + TRACE_ID.start, TRACE_ID.digits);
    from = writeDigits(bytes, from, start + PARENT_ID.start, PARENT_ID.digits);
  }
}

/** Writes `count` digits. @returns where the unused part of `random` begins */
function writeDigits(bytes: Buffer, from: number, at: number, count: number): number {
  let next = from;
  for (let digit = at; digit < at + count; digit += 2) {
    const byte = random[next++] as number;
    bytes[digit] = DIGITS[byte >> 4] as number;
    bytes[digit + 1] = DIGITS[byte & 15] as number;
  }
  return next;
}
