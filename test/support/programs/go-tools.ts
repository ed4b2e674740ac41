/** Programs and files of Go modules, in the versions named here: built once, in a folder that outlives the tests. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireProgram } from './programs.ts';

const FOLDER = join(tmpdir(), 'headgate-go-tools');
/** Helm alone takes more than ten minutes where others use both processors. */
const BUILD_TIMEOUT_MS = 1_800_000;

function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { ...process.env, GOFLAGS: '-mod=mod', ...more };
}

/** The path of a program, such as of `sigs.k8s.io/kustomize/kustomize/v5@v5.7.1`. */
export function goProgram(name: string, module: string): string {
  const version = module.slice(module.lastIndexOf('@') + 1);
  const path = join(FOLDER, `${name}-${version}`);
  if (existsSync(path)) return path;
  const go = requireProgram('go', 'golang-go');
  const building = join(FOLDER, `building-${process.pid}`);
  mkdirSync(building, { recursive: true });
  try {
    execFileSync(go, ['install', module], {
      cwd: building,
      env: environment({ GOBIN: building }),
      stdio: 'pipe',
      timeout: BUILD_TIMEOUT_MS,
    });
    renameSync(join(building, name), path);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return path;
}

/**
 * The path of a program that `go install` refuses, since the module it comes from replaces others by folders of its
 * own.
 * @param version of its file
 * @param goMod text of a go.mod that requires everything with its version
 * @param flags of the linker
 */
export function goProgramWith(
  name: string,
  version: string,
  place: string,
  goMod: string,
  flags = '',
): string {
  const path = join(FOLDER, `${name}-${version}`);
  if (existsSync(path)) return path;
  const building = join(FOLDER, `building-${process.pid}`);
  mkdirSync(building, { recursive: true });
  try {
    writeFileSync(join(building, 'go.mod'), goMod);
    execFileSync(
      requireProgram('go', 'golang-go'),
      ['build', '-ldflags', `-s -w ${flags}`, '-o', name, place],
      {
        cwd: building,
        env: environment(),
        stdio: 'pipe',
        timeout: BUILD_TIMEOUT_MS,
      },
    );
    renameSync(join(building, name), path);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return path;
}

/** The folder of a module's files, such as of `k8s.io/kubernetes@v1.34.1`. */
export function goModule(module: string): string {
  mkdirSync(FOLDER, { recursive: true });
  const told = execFileSync(requireProgram('go', 'golang-go'), ['mod', 'download', '-json', module], {
    cwd: FOLDER,
    env: environment(),
    encoding: 'utf8',
    timeout: BUILD_TIMEOUT_MS,
  });
  const { Dir } = JSON.parse(told) as { Dir?: string };
  if (Dir === undefined) throw new Error(`Cannot get the module ${module}: ${told}`);
  return Dir;
}
