/**
 * Programs that tests run as clients and backends, found on PATH or else the test fails with the command that
 * installs them; run in a small environment of their own, so that nothing of the developer's settings (proxies,
 * credential helpers, aliases) changes the outcome.
 */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface Finished {
  /** null after a signal. */
  readonly code: number | null;
  /** latin1, so that every byte survives. */
  readonly stdout: string;
  readonly stderr: string;
}

/** The program's path. Throws with the command to run when it is missing. */
export function requireProgram(name: string, debianPackage: string = name): string {
  const found = findProgram(name);
  if (found !== undefined) return found;
  throw new Error(
    `The tests need ${name}, which is not on PATH. Install it: apt-get install -y ${debianPackage}`,
  );
}

export function findProgram(name: string): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

/** PATH, a home folder and a plain locale; nothing else. */
export function plainEnvironment(home: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: home, LANG: 'C', LC_ALL: 'C' };
}

export function finished(child: ChildProcess): Promise<Finished> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('latin1').on('data', (chunk: string) => (stdout += chunk));
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) => done({ code, stdout, stderr }));
  });
}

export function run(program: string, args: readonly string[], options: SpawnOptions = {}): Promise<Finished> {
  return finished(spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options }));
}
