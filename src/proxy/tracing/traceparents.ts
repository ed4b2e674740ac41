/**
 * Values of `traceparent` for requests that begin a trace. Made in batches, as one text that is cut into values. Owns
 * the remaining values.
 */
import { latin1Text } from '../../http/latin1.ts';
import { makeTraceparent } from '../../http/fields/trace-context.ts';
import { fillRandom } from '../../lib/ids.ts';

const MADE_AT_ONCE = 128;
const DIGITS = Buffer.from('0123456789abcdef', 'latin1');
const TRACE_DIGITS = 32;
const PARENT_DIGITS = 16;
const SHAPE = makeTraceparent('?'.repeat(TRACE_DIGITS), '?'.repeat(PARENT_DIGITS));
const TRACE_START = SHAPE.indexOf('?');
const PARENT_START = SHAPE.lastIndexOf('?') + 1 - PARENT_DIGITS;
/** The text of the next values, including the parts that never change. */
const bytes = Buffer.from(SHAPE.repeat(MADE_AT_ONCE), 'latin1');
const random = Buffer.allocUnsafeSlow((MADE_AT_ONCE * (TRACE_DIGITS + PARENT_DIGITS)) / 2);
let made = '';
let position = 0;

/** A new value. */
export function newTraceparent(): string {
  if (position === made.length) {
    made = makeValues();
    position = 0;
  }
  return made.slice(position, (position += SHAPE.length));
}

function makeValues(): string {
  fillRandom(random);
  let from = 0;
  for (let start = 0; start < bytes.length; start += SHAPE.length) {
    from = writeDigits(from, start + TRACE_START, TRACE_DIGITS);
    from = writeDigits(from, start + PARENT_START, PARENT_DIGITS);
  }
  return latin1Text(bytes, 0, bytes.length);
}

/** Writes `count` digits into `bytes`. @returns where the unused part of `random` begins */
function writeDigits(from: number, at: number, count: number): number {
  let next = from;
  for (let digit = at; digit < at + count; digit += 2) {
    const byte = random[next++] as number;
    bytes[digit] = DIGITS[byte >> 4] as number;
    bytes[digit + 1] = DIGITS[byte & 15] as number;
  }
  return next;
}
