/** Writes files that a command line names. `-` is no name here: what goes to standard output has no option for it. */
import { closeSync, fchmodSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { systemReason } from '../lib/error-message.ts';
import { CliError } from './io.ts';

/** @throws CliError */
export function assertFileName(path: string): void {
  if (path === '-') throw new CliError('Cannot write "-": expected the name of a file, such as ./out');
}

/**
 * @param access `private` also makes an existing file private before it writes anything, since a file keeps its mode
 * @throws CliError when the file cannot be written
 */
export function writeOutputFile(path: string, text: string, access: 'private' | 'usual'): void {
  assertFileName(path);
  let file: number | undefined;
  try {
    file = openSync(path, 'w', access === 'private' ? 0o600 : 0o666);
    if (access === 'private' && fstatSync(file).isFile()) fchmodSync(file, 0o600);
    writeFileSync(file, text);
  } catch (error) {
    throw new CliError(`Cannot write ${path}: ${systemReason(error)}`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
