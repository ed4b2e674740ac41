/** Reads files that a command line names, where `-` is standard input. */
import { readBoundedFile } from '../declaration/bounded-file.ts';
import { CliError, type CliIo } from './io.ts';

const TEXT_BYTES_MAX = 1024 * 1024;

type Input = Pick<CliIo, 'readStdin'>;

/** @throws CliError when the file cannot be read, or has more than `bytesMax` bytes */
export function readInput(path: string, bytesMax: number, io: Input): Uint8Array {
  const read = path === '-' ? { bytes: io.readStdin() } : readBoundedFile(path, bytesMax);
  if ('problem' in read) throw new CliError(`Cannot read ${path}: ${read.problem}`);
  if (read.bytes.byteLength <= bytesMax) return read.bytes;
  throw new CliError(`Cannot read ${path}: it has more than ${bytesMax} bytes`);
}

/** @throws CliError when the file cannot be read, or has more than a mebibyte */
export function textOf(path: string, io: Input): string {
  return Buffer.from(readInput(path, TEXT_BYTES_MAX, io)).toString('utf8');
}
