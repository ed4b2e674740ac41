/**
 * Joins bytes that arrive in many small reads for a parser that needs them in one piece. A peer chooses the size of its
 * pieces, and joining everything again for each new piece would take quadratic time. Here the memory grows by doubling,
 * and each byte is copied a few times at most.
 */

const ROOM_BYTES_MIN = 1024;
/** Memory up to this size is not worth a copy. */
const SMALL_BYTES = 16 * 1024;
/** Memory may be this many times as large as the bytes in it that are still needed. */
const SPARE_TIMES = 4;
/** The memory allocated here; the space after the bytes that were joined last is free. */
const rooms = new WeakSet<ArrayBufferLike>();

export const EMPTY = Buffer.alloc(0);

/**
 * `held` followed by `more`. `held` may be the result of an earlier call or the end of one: then `more` is written
 * directly after it, so a chain of calls must not fork. Other bytes are copied.
 */
export function joined(held: Buffer, more: Buffer): Buffer {
  const length = held.length + more.length;
  const { buffer, byteOffset } = held;
  if (rooms.has(buffer) && byteOffset + length <= buffer.byteLength) {
    const whole = Buffer.from(buffer as ArrayBuffer, byteOffset, length);
    more.copy(whole, held.length);
    return whole;
  }
  const room = Buffer.allocUnsafeSlow(Math.max(length * 2, ROOM_BYTES_MIN));
  rooms.add(room.buffer);
  held.copy(room, 0);
  more.copy(room, held.length);
  return room.subarray(0, length);
}

/**
 * The end of joined bytes, which a connection keeps until more arrives, in memory of its own if it is a small part of
 * what it would keep alive: otherwise one byte behind a large read would keep all of it.
 */
export function compacted(rest: Buffer): Buffer {
  const { byteLength } = rest.buffer;
  return byteLength > SMALL_BYTES && byteLength > SPARE_TIMES * rest.length ? Buffer.from(rest) : rest;
}
