/**
 * A folder with those above it, as `mkdir -p` makes it. Not by `mkdirSync` with `recursive`: where a folder that is
 * there says of a new one in it that it does not exist, as `/proc` does, that of Node.js turns in circles for ever.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * @param mode of those that are made; those that are there keep theirs
 * @throws the error of the file system, or one that says in which folder nothing can be made
 */
export function makeFolder(folder: string, mode: number): void {
  if (isFolder(folder)) return;
  const parent = dirname(folder);
  if (!existsSync(parent)) makeFolder(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // By a start at the same time.
    if (isFolder(folder)) return;
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    throw new Error(`nothing can be made in "${parent}"`, { cause: error });
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
