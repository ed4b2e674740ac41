/** The only module that draws randomness: record ids (UUIDv7, RFC 9562), request ids, secrets, trace ids. */
import { randomBytes, randomFillSync } from 'node:crypto';

const POOL_BYTES = 4096;
let pool = '';
let poolOffset = 0;

/** `count` (at most 4096) random bytes as lower-case hex; cheap, because it is cut from a pool of hex text. */
export function randomHex(count: number): string {
  const length = count * 2;
  if (poolOffset + length > pool.length) {
    pool = randomBytes(POOL_BYTES).toString('hex');
    poolOffset = 0;
  }
  const hex = pool.slice(poolOffset, poolOffset + length);
  poolOffset += length;
  return hex;
}

/** `count` random bytes for secrets, directly from the operating system's generator. */
export function secretBytes(count: number): Buffer {
  return randomBytes(count);
}

/** Fills a reused buffer with random bytes: takes a third of the time of `secretBytes`. */
export function fillRandom(bytes: Buffer): void {
  randomFillSync(bytes);
}

const words = new Int32Array(POOL_BYTES / Int32Array.BYTES_PER_ELEMENT);
let nextWord = words.length;

/** 32 random bits as a signed integer; cheap, because it comes from a pool. */
export function randomWord(): number {
  if (nextWord === words.length) {
    randomFillSync(words);
    nextWord = 0;
  }
  return words[nextWord++] as number;
}

/** A random number from 0 (inclusive) to 1 (exclusive), for jitter. */
export function randomFraction(): number {
  return parseInt(randomHex(4), 16) / 2 ** 32;
}

const COUNTER_VALUES = 0x1000;

/**
 * A generator of UUIDv7 (RFC 9562 section 5.7), each for the given Unix time in milliseconds. Its ids sort by creation,
 * also within a millisecond: `rand_a` is a counter (section 6.2 method 1) that starts at a random value in its lower
 * half. When the counter overflows, the time of the id runs ahead by a millisecond.
 */
export function uuids(): (nowMs: number) => string {
  let lastMs = 0;
  let count = 0;
  return (nowMs) => {
    const random = randomHex(10);
    if (nowMs > lastMs) {
      lastMs = nowMs;
      count = parseInt(random.slice(0, 3), 16) >> 1;
    } else if (++count >= COUNTER_VALUES) {
      lastMs += 1;
      count = 0;
    }
    const time = lastMs.toString(16).padStart(12, '0');
    const counter = count.toString(16).padStart(3, '0');
    const variant = ((parseInt(random.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${variant}${random.slice(4, 7)}-${random.slice(8, 20)}`;
  };
}

/** The generator of this process, so that all its ids sort by creation. */
export const uuidv7 = uuids();

const RADIX_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';
const RADIX = RADIX_DIGITS.length;

/**
 * A generator of request ids: 16 random hex digits drawn once, then a counter. Unique across processes and cheap enough
 * for every request; the ids are not secret. They are cut from one text that has the ids of all last digits: V8 would
 * have to copy an id that is put together from two texts as soon as its characters are read.
 */
export function requestIds(): () => string {
  const prefix = `${randomHex(8)}-`;
  let counter = 0;
  let bytes = idsOf(prefix);
  let length = prefix.length + 1;
  let made = bytes.toString('latin1');
  return () => {
    const digit = ++counter % RADIX;
    if (digit === 0) {
      const count = (counter / RADIX).toString(RADIX);
      if (prefix.length + count.length + 1 === length) writeStems(bytes, length, count);
      else {
        bytes = idsOf(prefix + count);
        length = bytes.length / RADIX;
      }
      made = bytes.toString('latin1');
    }
    return made.slice(digit * length, (digit + 1) * length);
  };
}

/** The ids that begin with `stem`, one behind the other. */
function idsOf(stem: string): Buffer {
  return Buffer.from(Array.from(RADIX_DIGITS, (digit) => stem + digit).join(''), 'latin1');
}

/** Replaces the end of the stem in all ids of `length` bytes. */
function writeStems(bytes: Buffer, length: number, end: string): void {
  for (let index = 0; index < end.length; index++) {
    const code = end.charCodeAt(index);
    const first = length - 1 - end.length + index;
    for (let at = first; at < bytes.length; at += length) bytes[at] = code;
  }
}
