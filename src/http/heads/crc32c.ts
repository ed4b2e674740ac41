/** CRC32c (RFC 3385 section 2.3, Castagnoli's polynomial), as the PROXY protocol has it. Bytes only; pure. */

/** Reflected. */
const POLYNOMIAL = 0x82f63b78;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = (rest & 1) === 0 ? rest >>> 1 : (rest >>> 1) ^ POLYNOMIAL;
  return rest;
});

/** @returns 0 … 2^32 − 1 */
export function crc32c(bytes: Uint8Array): number {
  let rest = 0xffffffff;
  for (const byte of bytes) rest = (rest >>> 8) ^ (TABLE[(rest ^ byte) & 0xff] as number);
  return (rest ^ 0xffffffff) >>> 0;
}
