/**
 * Reads a regular file up to a bound, so that a device, a pipe or a file that grows meanwhile cannot fill the memory.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { systemCode, systemReason } from '../lib/error-message.ts';

const CHUNK_BYTES = 64 * 1024;

export interface UnreadableFile {
  /** Why, in words. */
  readonly problem: string;
  readonly isMissing: boolean;
}

/** @param bytesMax longer files are a problem */
export function readBoundedFile(
  path: string,
  bytesMax: number,
): { readonly bytes: Uint8Array } | UnreadableFile {
  let file: number | undefined;
  try {
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(file).isFile()) return unreadable('it is not a regular file');
    return readUpTo(file, bytesMax);
  } catch (error) {
    return { problem: systemReason(error), isMissing: systemCode(error) === 'ENOENT' };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function readUpTo(file: number, bytesMax: number): { readonly bytes: Uint8Array } | UnreadableFile {
  const chunks: Uint8Array[] = [];
  for (let bytes = 0; ;) {
    const chunk = new Uint8Array(Math.min(CHUNK_BYTES, bytesMax + 1 - bytes));
    const count = readSync(file, chunk);
    if (count === 0) return { bytes: Buffer.concat(chunks) };
    bytes += count;
    if (bytes > bytesMax) return unreadable(`it has more than ${bytesMax} bytes`);
    chunks.push(chunk.subarray(0, count));
  }
}

function unreadable(problem: string): UnreadableFile {
  return { problem, isMissing: false };
}
