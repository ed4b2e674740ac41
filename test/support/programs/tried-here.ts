/**
 * Tests of packages that need programs and rights which not every machine has. `npm test` says which package it has not
 * tried, why, and how to try it (scripts/test-report.ts prints it before the closing line); `npm run test:packages`
 * fails in that case.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { findProgram } from './programs.ts';

declare module 'vitest' {
  interface TaskMeta {
    notTried?: string;
  }
}

/** Of `npm run test:packages`: everything must be tried, and the network may be used. */
export const TRIES_ALL = process.env['HEADGATE_TEST_PACKAGES'] === 'all';

/**
 * Skips a test that something is missing for, and notes that for the end of the output.
 * @param missing what the machine lacks, such as `it needs root`
 * @param file of the tests, from the root of the checkout
 * @returns the note, where everything must be tried
 */
export function noteNotTried(
  { task, skip }: TestContext,
  what: string,
  missing: string | undefined,
  file: string,
): string | undefined {
  if (missing === undefined) return undefined;
  const text = `${what}: ${missing}. As soon as that is there, try it with: npm test -- ${file}`;
  if (TRIES_ALL) return text;
  task.meta.notTried = text;
  return skip(text);
}

/** What a started image or a root of its own needs: the mounts that the tests make. The rest is undone with them. */
const MOUNTS = `mount -t tmpfs tmpfs "$0" && mkdir "$0/proc" && mount -t proc proc "$0/proc" &&
mount --bind /dev "$0/proc" && mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"`;

/** Why no program can be started in a root of its own here; undefined where it can. */
export function missingForRoots(...programs: readonly string[]): string | undefined {
  const absent = ['unshare', 'chroot', 'tar', ...programs].filter(
    (program) => findProgram(program) === undefined,
  );
  if (absent.length > 0) return `it needs ${absent.join(' and ')} on PATH`;
  if (process.getuid?.() !== 0) return 'it needs root';
  const folder = mkdtempSync(join(tmpdir(), 'headgate-mounts-'));
  try {
    execFileSync('unshare', ['--mount', '--uts', '--ipc', 'sh', '-ec', MOUNTS, folder], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'it needs the right to make namespaces and mounts (CAP_SYS_ADMIN)';
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
