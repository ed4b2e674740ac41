/**
 * Vitest's global set-up: makes the program that the tests start the one that `npm start` runs, bundled once for the
 * whole run, and builds the console. Where no bundle can be made (the sources change meanwhile), the tests run the
 * sources, as a start does. Owns a folder for what the test files of a run share, which is removed at its end.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Tells the tests' processes which file to run; see gateway.ts. */
export const PROGRAM_VARIABLE = 'HEADGATE_TEST_PROGRAM';
/** Folder of the built console, for the tests that open it; empty where it could not be built. */
export const CONSOLE_VARIABLE = 'HEADGATE_TEST_CONSOLE';
/** Names the folder that all test files of a run share. */
export const RUN_FOLDER_VARIABLE = 'HEADGATE_TEST_RUN_FOLDER';

const ROOT = resolve(import.meta.dirname, '../../..');
const FIND_PROGRAM =
  '. scripts/prepare.sh && . scripts/build.sh && . scripts/console.sh && printf "%s\\n" "$PROGRAM" "$CONSOLE"';

/** Called for each project. @returns the end of the run, for the first */
export default function setup(): () => void {
  const found = execFileSync('sh', ['-euc', FIND_PROGRAM], {
    cwd: ROOT,
    env: { ...process.env, ROOT },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [program, console] = found.split('\n');
  process.env[PROGRAM_VARIABLE] = program;
  process.env[CONSOLE_VARIABLE] = console;
  if (process.env[RUN_FOLDER_VARIABLE] !== undefined) return () => undefined;
  const folder = mkdtempSync(join(tmpdir(), 'headgate-tests-'));
  process.env[RUN_FOLDER_VARIABLE] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
