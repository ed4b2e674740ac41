/**
 * The npm package of Node.js that packages bring, for the processor of this machine or another one. npm installs only
 * that of this machine; the other is fetched in the version of package-lock.json, whose digest it must have.
 *
 *   node-package.ts <processor> <folder>   prints the folder of the package: that in node_modules, or one in <folder>
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readElf } from './elf.ts';
import { nodeRuntimeOf, type NodeRuntime } from './node-components.ts';
import { readLock } from '../shipped-packages.ts';

const ROOT = join(import.meta.dirname, '../../..');

function nodePackageOf(processor: string, folder: string): string {
  const name = `node-linux-${processor}`;
  const place = `node_modules/${name}`;
  const locked = readLock(ROOT).get(place);
  if (locked === undefined) throw new Error(`Cannot package for "${processor}": expected x64 or arm64`);
  const installed = join(ROOT, place);
  if (existsSync(join(installed, 'bin/node'))) return installed;
  const archive = fetched(`${name}@${locked.version}`, folder);
  const digest = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (digest !== locked.integrity)
    throw new Error(`Cannot package ${name}: its digest is ${digest}, and package-lock.json has another one`);
  execFileSync('tar', ['-xzf', archive, '-C', folder]);
  return resolve(folder, 'package');
}

function fetched(name: string, folder: string): string {
  const printed = execFileSync('npm', ['pack', name, '--silent'], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return resolve(folder, printed.trim());
}

/**
 * What a package of Node.js contains. The one of another processor cannot be asked; the same version on this processor
 * is built from the same sources.
 * @param folder of the package
 */
export function runtimeOfPackage(folder: string): NodeRuntime {
  const program = join(folder, 'bin/node');
  if (readElf(program).machine === process.arch) return nodeRuntimeOf(program);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  if (process.version !== `v${version}`)
    throw new Error(
      `Cannot tell what is in Node.js ${version} for another processor: expected the same version here, not ${process.version}`,
    );
  return nodeRuntimeOf(process.execPath);
}

if (import.meta.main) {
  const [processor, folder] = process.argv.slice(2);
  if (processor === undefined || folder === undefined)
    throw new Error(
      'Cannot find Node.js: the arguments must be a processor and a folder for what is fetched',
    );
  process.stdout.write(`${nodePackageOf(processor, folder)}\n`);
}
