/**
 * Reads a file with a list of targets, as JSON or YAML. Reads it only when its metadata has changed, and only once
 * it has stopped changing, so that no half-written file is read. Files must be below one folder after links are
 * resolved, so that the management API cannot name any other file of the machine. The YAML reader is loaded with the
 * first file.
 */
import { constants } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { systemReason } from '../../lib/error-message.ts';
import type { Egress } from '../../egress/egress.ts';
import type { Look } from './look.ts';
import type * as ListedTargets from './listed-targets.ts';

/** Longest file; 256 targets with every field on its own line need a quarter of it. */
export const FILE_BYTES_MAX = 128 * 1_024;
/** How soon a file that has just changed is checked again. */
const SETTLE_MS = 200;

export interface SeenFile {
  /** The metadata at the latest check; undefined when it could not be read. */
  stamp: string | undefined;
  /** The metadata when the file was last read, and the result. */
  read: { readonly stamp: string; readonly look: Look } | undefined;
}

export const newSeenFile = (): SeenFile => ({ stamp: undefined, read: undefined });

/**
 * @param folder folder of the files; undefined: no files are read
 * @param defaultPort port of targets without one
 * @param seen state of this file; this function changes it
 */
export async function lookAtFile(
  path: string,
  defaultPort: number,
  folder: string | undefined,
  egress: Egress,
  seen: SeenFile,
): Promise<Look> {
  if (folder === undefined)
    return { kind: 'failed', error: 'files are not read: GATEWAY_DISCOVERY__FOLDER is not set' };
  let file: FileHandle | undefined;
  try {
    const inside = await placeInside(folder, path);
    if (inside === undefined)
      return { kind: 'failed', error: `${path} leads out of GATEWAY_DISCOVERY__FOLDER through a link` };
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    file = await open(inside, constants.O_RDONLY | constants.O_NONBLOCK);
    return await lookInto(file, path, defaultPort, egress, seen);
  } catch (error) {
    seen.stamp = undefined;
    return { kind: 'failed', error: `cannot read ${path}: ${systemReason(error)}` };
  } finally {
    await file?.close().catch(() => undefined);
  }
}

async function placeInside(folder: string, path: string): Promise<string | undefined> {
  const [top, found] = await Promise.all([realpath(folder), realpath(join(folder, path))]);
  const below = relative(top, found);
  return below === '' || below.startsWith('..') || isAbsolute(below) ? undefined : found;
}

async function lookInto(
  file: FileHandle,
  path: string,
  defaultPort: number,
  egress: Egress,
  seen: SeenFile,
): Promise<Look> {
  const stamp = await stampOf(file);
  if (stamp === undefined) return { kind: 'failed', error: `${path} is not a regular file` };
  if (stamp === seen.read?.stamp) {
    seen.stamp = stamp;
    return seen.read.look;
  }
  const isSettled = seen.read === undefined || seen.stamp === stamp;
  seen.stamp = stamp;
  if (!isSettled) return { kind: 'unsettled', againMs: SETTLE_MS };
  const bytes = await readUpTo(file, FILE_BYTES_MAX);
  if ((await stampOf(file)) !== stamp) return { kind: 'unsettled', againMs: SETTLE_MS };
  const { targetsIn } = await loadTargetReader();
  const look =
    bytes === undefined
      ? ({ kind: 'failed', error: `${path} has more than ${FILE_BYTES_MAX} bytes` } as const)
      : targetsIn(path, bytes, defaultPort, egress);
  seen.read = { stamp, look };
  return look;
}

/** Some MiB with its reader of YAML, which most gateways do not need. */
export function loadTargetReader(): Promise<typeof ListedTargets> {
  return import('./listed-targets.ts');
}

/** undefined when it is not a regular file. */
async function stampOf(file: FileHandle): Promise<string | undefined> {
  const found = await file.stat({ bigint: true });
  if (!found.isFile()) return undefined;
  const { dev, ino, size, mtimeNs, ctimeNs } = found;
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

/** undefined when the file is longer. */
async function readUpTo(file: FileHandle, bytesMax: number): Promise<Uint8Array | undefined> {
  const buffer = Buffer.allocUnsafe(64 * 1024);
  const chunks: Buffer[] = [];
  for (let length = 0; ;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, length);
    if (bytesRead === 0) return Buffer.concat(chunks);
    length += bytesRead;
    if (length > bytesMax) return undefined;
    chunks.push(Buffer.from(buffer.subarray(0, bytesRead)));
  }
}
