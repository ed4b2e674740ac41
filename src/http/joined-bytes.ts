/**
 * Joins bytes that arrive in many small reads for a parser that needs them in one piece. A peer chooses the size of its
 * pieces, and joining everything again for each new piece would take quadratic time. Here the memory grows by doubling,
 * and each byte is copied a few times at most.
 */

const ROOM_BYTES_MIN = 1024;
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
