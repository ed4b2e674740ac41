/**
 * The files of a declared configuration: a path may name a file or a folder, of which every `.yaml`, `.yml` and `.json`
 * file counts, folders below included, in the order of their names. Hidden files do not count: editors and mounted
 * ConfigMaps keep copies there. Owns the bounds on how much is read.
 */
import { fileProblem } from './field-lines.ts';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemReason } from '../lib/error-message.ts';
import { readBoundedFile } from './bounded-file.ts';
import { DOCUMENT_BYTES_MAX, readDocument, type DeclaredDocument, type Problem } from './yaml-reader.ts';

/** Limit of files: a folder with more is probably not one of configurations. */
export const FILES_MAX = 5_000;
/** Limit of folders: links can multiply a few folders without end. */
export const FOLDERS_MAX = 1_000;
/** Limit of nesting: deeper folders are not read. */
export const FOLDER_DEPTH_MAX = 16;
const REFERENCED_FILE_BYTES_MAX = 1024 * 1024;

/** @param paths files and folders; `-` is standard input */
export function readFiles(
  paths: readonly string[],
  readStdin: () => Uint8Array,
): { readonly documents: readonly DeclaredDocument[]; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const documents: DeclaredDocument[] = [];
  const whole = (file: string, detail: string): void => {
    problems.push(fileProblem(file, detail));
  };
  const read = (file: string, bytes: Uint8Array): void => {
    const result = readDocument(file, bytes);
    if ('locate' in result) documents.push(result);
    else problems.push(...result);
  };
  const readOne = (file: string): void => {
    const bounded = readBoundedFile(file, DOCUMENT_BYTES_MAX);
    if ('problem' in bounded) whole(file, `cannot be read: ${bounded.problem}`);
    else read(file, bounded.bytes);
  };
  for (const path of paths) {
    if (path === '-') {
      read('<stdin>', readStdin());
      continue;
    }
    try {
      const files = statSync(path).isDirectory() ? filesBelow(path) : [path];
      if (files.length === 0) whole(path, 'has no .yaml, .yml or .json file');
      if (files.length > FILES_MAX) whole(path, `has more than ${FILES_MAX} files`);
      else for (const file of files) readOne(file);
    } catch (error) {
      if (error instanceof TooManyFolders) whole(path, `has more than ${FOLDERS_MAX} folders below it`);
      else whole(path, `cannot be read: ${systemReason(error)}`);
    }
  }
  return { documents, problems };
}

class TooManyFolders extends Error {}

/** Whether a file in a folder counts. */
export function isConfigurationFile(name: string): boolean {
  return /\.(?:ya?ml|json)$/.test(name);
}

/** @param walk the number of folders and files so far */
function filesBelow(folder: string, depth = 0, walk = { folders: 0 }): string[] {
  if (depth > FOLDER_DEPTH_MAX) return [];
  walk.folders += 1;
  if (walk.folders > FOLDERS_MAX) throw new TooManyFolders();
  const found: string[] = [];
  for (const name of readdirSync(folder).sort()) {
    if (name.startsWith('.') || found.length > FILES_MAX) continue;
    const path = join(folder, name);
    // Follows links, which is how mounted ConfigMaps give their files.
    const kind = statSync(path);
    if (kind.isDirectory()) found.push(...filesBelow(path, depth + 1, walk));
    else if (kind.isFile() && isConfigurationFile(name)) found.push(path);
  }
  return found;
}

/** The path of the file that `${file:path}` names. */
export function referencedPath(path: string, base: string): string {
  return resolve(base === '<stdin>' ? '.' : dirname(base), path);
}

/** The content of the file that `${file:path}` names. */
export function readReferenced(
  path: string,
  base: string,
): { readonly text: string } | { readonly problem: string } {
  try {
    const read = readBoundedFile(referencedPath(path, base), REFERENCED_FILE_BYTES_MAX);
    if ('problem' in read) return read;
    const text = new TextDecoder('utf-8', { fatal: true }).decode(read.bytes);
    return { text: text.replace(/\r?\n$/, '') };
  } catch (error) {
    return { problem: error instanceof TypeError ? 'it is not UTF-8' : systemReason(error) };
  }
}
