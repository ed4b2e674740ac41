/**
 * The shared libraries that a program is linked with on this machine, and the Debian packages that they come from, with
 * version, licence and the files with its text: what the image takes from the machine that makes it. A library of
 * unknown origin or licence is an error. dpkg is asked, so this works on Debian and its relatives only.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { SYSTEM_LIBRARIES } from './licence-rules.ts';
import { readElf } from './node/elf.ts';

export interface SystemPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** Name and version of the source package. */
  readonly source: string;
  /** SPDX expression. */
  readonly licence: string;
  /** Of the distribution, such as `debian` and `12` (os-release(5)). */
  readonly vendor: string;
  readonly release: string;
  /** Its copyright file, then the licences that it refers to. */
  readonly texts: readonly string[];
}

/** Of Debian's architectures: where their libraries lie, and what they are called by dpkg. */
const PLACES = {
  x64: { triplet: 'x86_64-linux-gnu', debian: 'amd64' },
  arm64: { triplet: 'aarch64-linux-gnu', debian: 'arm64' },
} as const;

/**
 * Under the paths by which the loader finds them, itself included. They may be for another processor, where Debian has
 * its libraries on this machine, too.
 */
export function librariesOf(program: string): string[] {
  const { machine, interpreter, needed } = readElf(program);
  if (interpreter === undefined) throw new Error(`Cannot find the libraries of ${program}: it has no loader`);
  const { triplet, debian } = PLACES[machine];
  const folders = [`/lib/${triplet}`, `/usr/lib/${triplet}`];
  const found = new Map<string, string>([[basename(interpreter), interpreter]]);
  const missing = new Set<string>(existsSync(interpreter) ? [] : [interpreter]);
  const waiting = [...needed];
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (found.has(name)) continue;
    const path = folders.map((folder) => `${folder}/${name}`).find((each) => existsSync(each));
    if (path === undefined) {
      missing.add(name);
      continue;
    }
    found.set(name, path);
    waiting.push(...readElf(path).needed);
  }
  if (missing.size === 0) return [...found.values()];
  const packages = Object.keys(SYSTEM_LIBRARIES).map((name) => `${name}:${debian}`);
  const install = `dpkg --add-architecture ${debian} && apt-get update && apt-get install ${packages.join(' ')}`;
  throw new Error(
    `Cannot find libraries for ${machine} that Node.js needs: ${[...missing].join(', ')}. As root: ${install}`,
  );
}

/** Sorted by name. @throws Error naming each library or package that may not be shipped, with the reason */
export function systemPackagesOf(libraries: readonly string[]): SystemPackage[] {
  const owners = new Map(libraries.map((library) => [library, ownPaths(library)]));
  const packageByPath = searchPaths([...owners.values()].flat());
  const names = new Set<string>();
  const problems: string[] = [];
  for (const [library, paths] of owners) {
    const name = paths.map((path) => packageByPath.get(path)).find((found) => found !== undefined);
    if (name === undefined) problems.push(`${library}: it belongs to no Debian package (dpkg --search)`);
    else names.add(name);
  }
  const { vendor, release } = distribution();
  const found = [...names].sort().map((name) => ({ ...describe(name), vendor, release }));
  problems.push(...found.flatMap(problemsOf));
  if (problems.length > 0)
    throw new Error(`Cannot ship these libraries of this machine:\n${problems.join('\n')}`);
  return found;
}

/** A library is known to dpkg by its path in the package: before or after links such as /lib are followed. */
function ownPaths(library: string): string[] {
  const real = realpathSync(library);
  return [...new Set([library, real, real.replace(/^\/usr\//, '/'), `/usr${library}`])];
}

function searchPaths(paths: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  // Such as `libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6`; the names of several packages have commas between them.
  for (const [, name = '', path = ''] of dpkgQuery('--search', ...paths).matchAll(
    /^(?!diversion )([^\s,]+?)(?:, .*)?: (\/.*)$/gm,
  ))
    found.set(path, name);
  return found;
}

/** Paths that it does not find are missing from what it prints. */
function dpkgQuery(...args: readonly string[]): string {
  try {
    return execFileSync('dpkg-query', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch (error) {
    const { code, stdout } = error as NodeJS.ErrnoException & { readonly stdout?: string };
    if (code === 'ENOENT')
      throw new Error(
        'Cannot tell which packages the libraries of Node.js come from: dpkg-query is not on PATH. Make the image on Debian or Ubuntu.',
        { cause: error },
      );
    return stdout ?? '';
  }
}

function describe(name: string): Omit<SystemPackage, 'vendor' | 'release'> {
  const format = '${Package}\\t${Version}\\t${Architecture}\\t${source:Package} ${source:Version}';
  const [own = '', version = '', architecture = '', source = ''] = dpkgQuery(
    '--show',
    `--showformat=${format}`,
    name,
  ).split('\t');
  const copyright = `/usr/share/doc/${own}/copyright`;
  return {
    name: own,
    version,
    architecture,
    source,
    licence: SYSTEM_LIBRARIES[own]?.licence ?? '',
    texts: [copyright, ...(existsSync(copyright) ? licencesNamedIn(readFileSync(copyright, 'utf8')) : [])],
  };
}

/** Sorted. A path at the end of a sentence has its full stop behind it. */
export function licencesNamedIn(copyright: string): string[] {
  const paths = copyright.match(/\/usr\/share\/common-licenses\/[\w.+-]*[\w+]/g) ?? [];
  return [...new Set(paths)].sort();
}

function problemsOf({ name, version, texts }: SystemPackage): string[] {
  const at = `${name} ${version}`;
  const exception = SYSTEM_LIBRARIES[name];
  if (exception === undefined)
    return [`${at}: its licence is not known; SYSTEM_LIBRARIES in licence-rules.ts has those that are`];
  const missing = texts.filter((path) => !existsSync(path));
  if (missing.length > 0) return missing.map((path) => `${at}: ${path}, a text of its licence, is missing`);
  const [copyright = ''] = texts;
  return exception.says.test(readFileSync(copyright, 'utf8').replaceAll(/\s+/g, ' '))
    ? []
    : [`${at}: ${copyright} does not say that it is under ${exception.licence}`];
}

/** os-release(5). */
function distribution(): { readonly vendor: string; readonly release: string } {
  const text = readFileSync('/etc/os-release', 'utf8');
  const value = (key: string): string => new RegExp(`^${key}="?([^"\n]*)`, 'm').exec(text)?.[1] ?? '';
  return { vendor: value('ID'), release: value('VERSION_ID') };
}
