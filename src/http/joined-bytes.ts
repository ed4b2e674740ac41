/**
 * Bytes that come in many small reads, joined for a parser that wants them in one piece. A peer chooses how small its
 * pieces are, and joining all that is there with each new one takes time that grows with the square of their number;
 * here the memory grows by doubling, and each byte is copied a few times at most.
 */

const ROOM_BYTES_MIN = 1024;
/** The memory that was made here; what lies behind the bytes that were joined last is free. */
const rooms = new WeakSet<ArrayBufferLike>();

/**
 * `held` with `more` behind it. `held` may be what an earlier call gave, or a later part of that: then `more` is
 * written behind it, so that one chain of calls must not fork. Other bytes are copied.
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
