/**
 * One character per byte: how heads are converted to text. HTTP/1.1 heads are octets. latin1 maps each octet to the
 * character with the same code and back without loss, and V8 stores such strings in one byte per character.
 */

/** Node's buffers have had this method since version 0.x; its types omit it. It skips the checks of `toString`. */
type Latin1Source = { latin1Slice(from: number, to: number): string };

/** Text of `buffer[from, to)`. The string is a copy: the buffer may be reused. */
export function latin1Text(buffer: Buffer, from: number, to: number): string {
  return (buffer as unknown as Latin1Source).latin1Slice(from, to);
}

/** The counterpart of `latin1Slice`: takes half the time of `write` for short texts. */
type Latin1Target = { latin1Write(text: string, at: number, length: number): number };

/**
 * Writes the first `length` characters of `text` as bytes from `at` on. Characters above U+00FF lose their high bits.
 */
export function writeLatin1(text: string, buffer: Buffer, at: number, length: number): void {
  (buffer as unknown as Latin1Target).latin1Write(text, at, length);
}

/** Whether `bytes` has `expected` at `from`; false also when `bytes` ends earlier. */
export function hasBytes(bytes: Buffer, from: number, expected: Buffer): boolean {
  for (let i = 0; i < expected.length; i++) {
    if (bytes[from + i] !== expected[i]) return false;
  }
  return true;
}

/** A copy of the text: a slice keeps the whole text alive that it was cut from. */
export function ownText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** The bytes of a latin1 `text`, in a buffer that the next call overwrites. Not for characters above U+00FF. */
export function scratchBytes(text: string): Buffer {
  if (text.length > scratch.length) scratch = Buffer.allocUnsafeSlow(text.length * 2);
  scratch.write(text, 0, text.length, 'latin1');
  return scratch;
}

let scratch = Buffer.allocUnsafeSlow(64 * 1024);
