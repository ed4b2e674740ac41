/** Bytes as text, one character per byte (ISO 8859-1), which loses nothing and costs little. */

interface Latin1Buffer {
  latin1Slice(from: number, to: number): string;
}

/** Bytes `from` to `to` as latin1 text. Node's own slice, without the look-up of the encoding by its name. */
export function latin1(buffer: Buffer, from: number, to: number): string {
  return (buffer as unknown as Latin1Buffer).latin1Slice(from, to);
}
