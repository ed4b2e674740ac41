/** The Git commit that files come from, for the history of the configuration. */
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { CliError } from '../io.ts';

const TIMEOUT_MS = 5_000;
const COMMIT = /^[0-9a-f]{7,64}$/;

/**
 * @param given commit from the command line
 * @param paths of the files; the first one decides, and `-` stands for the working folder
 * @returns undefined without Git, or outside of a repository
 */
export function gitCommit(given: string | undefined, paths: readonly string[]): string | undefined {
  if (given !== undefined) {
    const commit = given.toLowerCase();
    if (COMMIT.test(commit)) return commit;
    throw new CliError(`--commit "${given}" must be 7 to 64 hexadecimal digits`);
  }
  try {
    const args = ['-C', folderOf(paths[0] ?? '.'), 'rev-parse', '--verify', 'HEAD'];
    const text = execFileSync('git', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: TIMEOUT_MS,
    }).trim();
    return COMMIT.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

function folderOf(path: string): string {
  if (path === '-') return '.';
  return statSync(path).isDirectory() ? path : dirname(resolve(path));
}
