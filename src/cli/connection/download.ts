/**
 * Writes the body of an answer into a new file that only its owner may read. It is written beside its place, under
 * `<path>.part`, which does not stay after a failure.
 */
import { accessSync, constants, existsSync, renameSync, rmSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { systemReason } from '../../lib/error-message.ts';
import { CliError } from '../io.ts';
import { assertFileName } from '../output-file.ts';
import type { Progress } from '../show/progress.ts';

const MODE = 0o600;
export const MEBIBYTE = 1024 * 1024;

/** An answer as `GatewayClient.open` gives it. */
interface Opened {
  readonly body: AsyncIterable<Buffer> & { destroy(): unknown };
  readonly broken: (error: unknown) => CliError;
}

/** Call it before the gateway begins: a heap snapshot stops a thread. @throws CliError */
export function assertNew(path: string): void {
  assertFileName(path);
  if (existsSync(path)) throw new CliError(`Cannot write ${path}: it exists; expected a new file`);
  const folder = dirname(resolve(path));
  if (!existsSync(folder)) throw new CliError(`Cannot write ${path}: there is no folder "${folder}"`);
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new CliError(`Cannot write ${path}: "${folder}": ${systemReason(error)}`);
  }
}

/**
 * @param inspect looks at the written file before it gets its name
 * @returns the number of bytes, and what `inspect` found
 * @throws CliError when the answer is incomplete, `inspect` refuses it, or the file cannot be written
 */
export async function downloadTo<T>(
  path: string,
  { body, broken }: Opened,
  progress: Progress,
  inspect: (part: string) => Promise<T>,
): Promise<{ readonly bytes: number; readonly found: T }> {
  const part = `${path}.part`;
  try {
    const file = await openPart(part);
    try {
      const bytes = await write(body, file, part, broken, progress);
      const found = await inspect(part);
      assertNew(path);
      renameSync(part, path);
      return { bytes, found };
    } catch (error) {
      rmSync(part, { force: true });
      throw error;
    }
  } finally {
    body.destroy();
  }
}

/** @returns the number of bytes */
async function write(
  body: AsyncIterable<Buffer>,
  file: FileHandle,
  part: string,
  broken: (error: unknown) => CliError,
  progress: Progress,
): Promise<number> {
  const onFile = async (work: Promise<unknown>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      throw cannotWrite(part, error);
    }
  };
  try {
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      progress.tell(`Writing ${part}: ${(bytes / MEBIBYTE).toFixed(1)} MiB`);
      await onFile(file.writeFile(chunk));
    }
    await onFile(file.sync());
    return bytes;
  } catch (error) {
    throw error instanceof CliError ? error : broken(error);
  } finally {
    await file.close();
  }
}

async function openPart(part: string): Promise<FileHandle> {
  try {
    // An earlier command that was interrupted may have left one.
    rmSync(part, { force: true });
    return await open(part, 'wx', MODE);
  } catch (error) {
    throw cannotWrite(part, error);
  }
}

function cannotWrite(path: string, error: unknown): CliError {
  return new CliError(`Cannot write ${path}: ${systemReason(error)}; nothing is left of it`);
}
