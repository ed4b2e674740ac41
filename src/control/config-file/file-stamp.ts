/**
 * Detects whether the files of a configuration may have changed, from their metadata and without reading them:
 * device, inode, size and times of each file behind all links. A write in place, a rename onto a file, and a link
 * that leads elsewhere, as in a mounted ConfigMap, each change some of these.
 */
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  FILES_MAX,
  FOLDER_DEPTH_MAX,
  FOLDERS_MAX,
  isConfigurationFile,
} from '../../declaration/read-files.ts';

export interface FileStamp {
  readonly text: string;
  /** Folders in which a change would be visible. */
  readonly folders: readonly string[];
}

/**
 * @param path a file or a folder
 * @param referenced further files that the configuration names
 */
export async function stampOf(path: string, referenced: readonly string[]): Promise<FileStamp> {
  const hash = createHash('sha256');
  const folders = new Set([dirname(path)]);
  let count = 0;
  let folderCount = 0;
  const add = async (at: string, depth: number): Promise<void> => {
    const found = await stat(at, { bigint: true }).catch(codeOf);
    if (typeof found === 'string') {
      hash.update(`${at} ${found}\n`);
      return;
    }
    const { dev, ino, size, mtimeNs, ctimeNs } = found;
    if (!found.isDirectory()) {
      count += 1;
      hash.update(`${at} ${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}\n`);
      return;
    }
    // The files in a folder count, but not its own times, which an editor's temporary file changes.
    hash.update(`${at} ${dev} ${ino}\n`);
    folders.add(at);
    folderCount += 1;
    if (depth > FOLDER_DEPTH_MAX || folderCount > FOLDERS_MAX) return;
    const names = await readdir(at).catch(codeOf);
    if (typeof names === 'string') {
      hash.update(`${at} ${names}\n`);
      return;
    }
    for (const name of names.sort()) {
      if (count > FILES_MAX) return;
      if (name.startsWith('.')) continue;
      const below = join(at, name);
      if (isConfigurationFile(name) || (await isFolder(below))) await add(below, depth + 1);
    }
  };
  await add(path, 0);
  for (const file of referenced) await add(file, FOLDER_DEPTH_MAX + 1);
  return { text: hash.digest('hex'), folders: [...folders] };
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() === true;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown';
}
