/**
 * Programs of others that the interoperability tests run, with the versions that they were written for: installed at
 * first use into a folder that outlives the run. Throws with the command when a language is missing.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireProgram } from '../../support/programs/programs.ts';

const SOURCES = import.meta.dirname;
const FOLDER = join(tmpdir(), 'headgate-interop');

const GO_MODULES = {
  client: 'google.golang.org/grpc/interop/client@v1.85.0',
  server: 'google.golang.org/grpc/interop/server@v1.85.0',
  h2spec: 'github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible',
} as const;

const run = (program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void =>
  void execFileSync(program, args, {
    cwd: FOLDER,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });

/** @returns the path of a program that was not there before the run, or is older than the version asked for */
function once(name: string, install: (path: string) => void): string {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, name);
  if (existsSync(path)) return path;
  try {
    install(path);
  } catch (error) {
    rmSync(path, { recursive: true, force: true });
    throw error;
  }
  return path;
}

export function goModule(name: keyof typeof GO_MODULES): string {
  const module = GO_MODULES[name];
  const version = module.slice(module.indexOf('@') + 1);
  const folder = once(`${name}-${version}`, (path) => {
    const go = requireProgram('go', 'golang-go');
    run(go, ['install', module], { GOBIN: path });
  });
  return join(folder, name);
}

/** One of the sources here, compiled once in each run. */
export function goSource(file: string): string {
  const path = join(FOLDER, file.replace('.go', ''));
  mkdirSync(FOLDER, { recursive: true });
  run(requireProgram('go', 'golang-go'), ['build', '-o', path, join(SOURCES, file)]);
  return path;
}

/** The folder of the classes of one of the sources here. */
export function javaSource(file: string): string {
  const path = join(FOLDER, 'classes');
  mkdirSync(path, { recursive: true });
  run(requireProgram('javac', 'default-jdk-headless'), ['-d', path, join(SOURCES, file)]);
  return path;
}

/** The folder with the packages of npm in `node_modules`. */
export function npmPackages(...packages: readonly string[]): string {
  return once(`npm-${packages.join('-').replaceAll(/[^\w.-]/g, '')}`, (path) => {
    mkdirSync(path);
    run(requireProgram('npm'), ['install', '--prefix', path, '--no-save', '--silent', ...packages]);
  });
}

/** The path of a source here. */
export const source = (file: string): string => join(SOURCES, file);

/** The interpreter of an environment of Python with these packages. */
function pythonPackages(...packages: readonly string[]): string {
  const folder = once(`python-${packages.join('-').replaceAll(/[^\w.-]/g, '')}`, (path) => {
    run(requireProgram('python3', 'python3-venv'), ['-m', 'venv', path]);
    run(join(path, 'bin/python'), ['-m', 'pip', 'install', '-q', ...packages]);
  });
  return join(folder, 'bin/python');
}

export const grpcioPython = (): string => pythonPackages('grpcio==1.85.1', 'grpcio-tools==1.85.1');
export const connectPackages = (): string =>
  npmPackages('@connectrpc/connect@2.2.0', '@connectrpc/connect-node@2.2.0', '@bufbuild/protobuf@2.17.0');

/** testing.proto compiled: a folder with modules of Python, and `testing.binpb`, which describes it to others. */
export function compiledProto(): string {
  const path = join(FOLDER, 'proto');
  mkdirSync(path, { recursive: true });
  run(grpcioPython(), [
    '-m',
    'grpc_tools.protoc',
    `-I${SOURCES}`,
    `--python_out=${path}`,
    `--grpc_python_out=${path}`,
    `--descriptor_set_out=${join(path, 'testing.binpb')}`,
    'testing.proto',
  ]);
  return path;
}
