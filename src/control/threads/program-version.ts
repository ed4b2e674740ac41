/**
 * The version of the program according to its files. An upgrade of a package replaces the files of a gateway that runs,
 * and a thread that starts from the new files would not understand the main thread, nor the memory that they share.
 */
import { readFileSync } from 'node:fs';

/** @param program URL of a program in the folder of main.ts */
export function programVersion(program: string): string {
  const text = readFileSync(new URL('../package.json', program), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/**
 * Why no thread of the running version can start from the files; undefined if they are of this version.
 * @param running version of the main thread
 * @throws Error if the files cannot be read
 */
export function versionProblem(program: string, running: string): string | undefined {
  const found = programVersion(program);
  if (found === running) return undefined;
  return `this gateway has version ${running}, but its files have version ${found}: restart it to finish the upgrade`;
}

/**
 * For the programs of threads.
 * @throws Error if the files are of another version
 */
export function requireVersion(program: string, running: string): void {
  const problem = versionProblem(program, running);
  if (problem !== undefined) throw new Error(problem);
}
