/**
 * A keyed hash of strings: HalfSipHash-1-3 with 64 bits of output (Aumasson and Bernstein, "SipHash: a fast short-input
 * PRF", and the authors' reference for 32-bit machines) of the text in UTF-16LE, two code units per word.
 *
 * Clients choose the subjects of limits, so collisions must not be computable from outside; the key is drawn at every
 * start. Two subjects that do collide share a counter, which admits less and never more. It is not a message
 * authentication code, and its values are not stored.
 */

/** Two 32-bit words. */
export type HashKey = readonly [number, number];

/** Writes the 64-bit hash of `text` into `out[0]` and `out[1]`. */
export function hashText(text: string, key: HashKey, out: Int32Array): void {
  const key0 = key[0] | 0;
  const key1 = key[1] | 0;
  let v0 = key0;
  let v1 = key1 ^ 0xee;
  let v2 = 0x6c796765 ^ key0;
  let v3 = 0x74656462 ^ key1;
  const length = text.length;
  const words = (length >> 1) + 1;
  // One round for each word (the last one has an odd unit and the length), then three for each half of the result.
  for (let round = 0; round < words + 6; round++) {
    let word = 0;
    if (round < words) {
      const unit = round << 1;
      word =
        round < words - 1
          ? text.charCodeAt(unit) | (text.charCodeAt(unit + 1) << 16)
          : (length << 25) | (unit < length ? text.charCodeAt(unit) : 0);
      v3 ^= word;
    } else if (round === words) {
      v2 ^= 0xee;
    } else if (round === words + 3) {
      out[0] = v1 ^ v3;
      v1 ^= 0xdd;
    }
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    if (round < words) v0 ^= word;
  }
  out[1] = v1 ^ v3;
}
