/**
 * Reads a regular file up to a bound, so that a device, a pipe or a file that grows meanwhile cannot fill the memory.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const CHUNK_BYTES = 64 * 1024;

/** @param bytesMax longer files are a problem */
export function readBoundedFile(
  path: string,
  bytesMax: number,
): { readonly bytes: Uint8Array } | { readonly problem: string } {
  let file: number | undefined;
  try {
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(file).isFile()) return { problem: 'it is not a regular file' };
    return readUpTo(file, bytesMax);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    return { problem: typeof code === 'string' ? code : String(error) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function readUpTo(
  file: number,
  bytesMax: number,
): { readonly bytes: Uint8Array } | { readonly problem: string } {
  const chunks: Uint8Array[] = [];
  for (let bytes = 0; ;) {
    const chunk = new Uint8Array(Math.min(CHUNK_BYTES, bytesMax + 1 - bytes));
    const count = readSync(file, chunk);
    if (count === 0) return { bytes: Buffer.concat(chunks) };
    bytes += count;
    if (bytes > bytesMax) return { problem: `it has more than ${bytesMax} bytes` };
    chunks.push(chunk.subarray(0, count));
  }
}
