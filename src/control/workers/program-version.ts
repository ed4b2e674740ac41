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
 * For the programs of threads.
 * @param running version of the main thread
 * @throws Error if the files are of another version
 */
export function requireVersion(program: string, running: string): void {
  const found = programVersion(program);
  if (found === running) return;
  throw new Error(
    `this gateway has version ${running}, but its files have version ${found}: restart it to finish the upgrade`,
  );
}
