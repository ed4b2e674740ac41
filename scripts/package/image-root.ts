/**
 * The root of the image: the files of an installed Headgate, its Node.js with the shared libraries that it is linked
 * with on this machine, a user, and folders to write to. There is no shell and no package manager in it.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { TarEntry } from './tar.ts';

export const IMAGE_USER = 10_001;
export const IMAGE_HOME = '/opt/headgate';
export const DATA_FOLDER = '/var/lib/headgate';

/** Base of the image: changes with Node.js and the machine only. */
export function baseEntries(files: string): TarEntry[] {
  const node = join(files, 'node/bin/node');
  const libraries = librariesOf(node);
  const text = (path: string, content: string): TarEntry => ({
    path,
    mode: 0o644,
    content: Buffer.from(content),
  });
  return withFolders([
    text('etc/passwd', `root:x:0:0::/:/\nheadgate:x:${IMAGE_USER}:${IMAGE_USER}::${DATA_FOLDER}:/\n`),
    text('etc/group', `root:x:0:\nheadgate:x:${IMAGE_USER}:\n`),
    text('etc/nsswitch.conf', 'hosts: files dns\n'),
    { path: 'tmp', mode: 0o1777 },
    { path: 'proc', mode: 0o555 },
    { path: 'sys', mode: 0o555 },
    { path: 'dev', mode: 0o755 },
    { path: DATA_FOLDER.slice(1), mode: 0o700, owner: IMAGE_USER },
    file(node, `${IMAGE_HOME}/node/bin/node`),
    file(join(files, 'node/LICENSE'), `${IMAGE_HOME}/node/LICENSE`),
    ...libraries.map((path) => file(path, path)),
    ...licencesOf(libraries),
  ]);
}

/** All but Node.js. */
export function programEntries(files: string): TarEntry[] {
  const found: TarEntry[] = [];
  for (const path of readdirSync(files, { recursive: true, encoding: 'utf8' })) {
    if (path === 'node' || path.startsWith('node/') || path === 'bin' || path.startsWith('bin/')) continue;
    const source = join(files, path);
    if (statSync(source).isFile()) found.push(file(source, `${IMAGE_HOME}/${path}`));
  }
  return withFolders(found);
}

function file(source: string, path: string): TarEntry {
  const mode = (statSync(source).mode & 0o111) === 0 ? 0o644 : 0o755;
  return { path: path.slice(1), mode, content: readFileSync(source) };
}

/** Adds every folder above an entry that is not there by itself. */
function withFolders(entries: readonly TarEntry[]): TarEntry[] {
  const found = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries) {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth += 1) {
      const folder = parts.slice(0, depth).join('/');
      if (!found.has(folder)) found.set(folder, { path: folder, mode: 0o755 });
    }
  }
  return [...found.values()];
}

/** Under the paths by which the loader finds them, itself included (ldd(1)). */
function librariesOf(program: string): string[] {
  const lines = execFileSync('ldd', [program], { encoding: 'utf8' }).split('\n');
  const paths = lines
    .map((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1])
    .filter((path) => path !== undefined);
  if (paths.length === 0) throw new Error(`Cannot find the libraries of ${program}: ldd names none`);
  return paths;
}

/** The copyright files of the Debian packages that the libraries come from; none on another system. */
function licencesOf(libraries: readonly string[]): TarEntry[] {
  const found = new Map<string, TarEntry>();
  for (const library of libraries) {
    const owner = ownerOf(library);
    const path = `/usr/share/doc/${owner}/copyright`;
    if (owner !== undefined && existsSync(path)) found.set(path, file(path, path));
  }
  return [...found.values()];
}

function ownerOf(library: string): string | undefined {
  try {
    const said = execFileSync('dpkg', ['--search', `*/${basename(realpathSync(library))}`], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return said.split(':')[0];
  } catch {
    return undefined;
  }
}
