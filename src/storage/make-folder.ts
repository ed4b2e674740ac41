/**
 * Makes a folder and its missing parents, like `mkdir -p`. `mkdirSync` with `recursive` is not used: it loops forever
 * where an existing folder reports ENOENT for a new one in it, as `/proc` does.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from '../lib/error-message.ts';

/**
 * @param mode mode of new folders; existing folders keep theirs
 * @throws the error of the file system, or an error that names the folder in which nothing can be created
 */
export function makeFolder(folder: string, mode: number): void {
  if (isFolder(folder)) return;
  const parent = dirname(folder);
  if (!existsSync(parent)) makeFolder(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another start created it at the same time.
    if (isFolder(folder)) return;
    if (systemCode(error) !== 'ENOENT') throw error;
    throw new Error(`nothing can be created in "${parent}"`, { cause: error });
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
