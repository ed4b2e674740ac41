/**
 * The root of the image: the files of an installed Headgate, its Node.js with the shared libraries that it is linked
 * with on this machine and their licences, a user, and folders to write to. There is no shell and no package manager in
 * it.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { systemNoticeOf } from './notice.ts';
import { billText, withSystemPackages, type Bill } from './sbom.ts';
import { librariesOf, systemPackagesOf, type SystemPackage } from './system-packages.ts';
import type { TarEntry } from './tar.ts';

export const IMAGE_USER = 10_001;
export const IMAGE_HOME = '/opt/headgate';
export const DATA_FOLDER = '/var/lib/headgate';

/** The layers of the image, each with its folders. @param files of an installed Headgate (installed-files.ts) */
export function layersOf(files: string): TarEntry[][] {
  const libraries = librariesOf(join(files, 'node/bin/node'));
  const packages = systemPackagesOf(libraries);
  return [baseEntries(files, libraries, packages), programEntries(files, packages)];
}

/** Base of the image: changes with Node.js and the machine only. */
function baseEntries(
  files: string,
  libraries: readonly string[],
  packages: readonly SystemPackage[],
): TarEntry[] {
  return withFolders([
    text('etc/passwd', `root:x:0:0::/:/\nheadgate:x:${IMAGE_USER}:${IMAGE_USER}::${DATA_FOLDER}:/\n`),
    text('etc/group', `root:x:0:\nheadgate:x:${IMAGE_USER}:\n`),
    text('etc/nsswitch.conf', 'hosts: files dns\n'),
    { path: 'tmp', mode: 0o1777 },
    { path: 'proc', mode: 0o555 },
    { path: 'sys', mode: 0o555 },
    { path: 'dev', mode: 0o755 },
    { path: DATA_FOLDER.slice(1), mode: 0o700, owner: IMAGE_USER },
    file(join(files, 'node/bin/node'), `${IMAGE_HOME}/node/bin/node`),
    file(join(files, 'node/LICENSE'), `${IMAGE_HOME}/node/LICENSE`),
    ...libraries.map((path) => file(path, path)),
    ...[...new Set(packages.flatMap(({ texts }) => texts))].map((path) => file(path, path)),
  ]);
}

/** All but Node.js. What the libraries are stands with the rest, in NOTICE and the bill of materials. */
function programEntries(files: string, packages: readonly SystemPackage[]): TarEntry[] {
  const found: TarEntry[] = [];
  for (const path of readdirSync(files, { recursive: true, encoding: 'utf8' })) {
    if (path === 'node' || path.startsWith('node/') || path === 'bin' || path.startsWith('bin/')) continue;
    const source = join(files, path);
    if (statSync(source).isFile()) found.push(file(source, `${IMAGE_HOME}/${path}`));
  }
  const read = (path: string): string => readFileSync(join(files, path), 'utf8');
  const added = (path: string, content: string): TarEntry => text(`${IMAGE_HOME.slice(1)}/${path}`, content);
  const bill = withSystemPackages(JSON.parse(read('sbom.cdx.json')) as Bill, packages);
  found.push(
    added('sbom.cdx.json', billText(bill)),
    added('NOTICE', read('NOTICE') + systemNoticeOf(packages)),
  );
  return withFolders(found);
}

function text(path: string, content: string): TarEntry {
  return { path, mode: 0o644, content: Buffer.from(content) };
}

function file(source: string, path: string): TarEntry {
  const mode = (statSync(source).mode & 0o111) === 0 ? 0o644 : 0o755;
  return { path: path.slice(1), mode, content: readFileSync(source) };
}

/** Adds every folder above an entry that is not there by itself. Of two entries of one path, the later counts. */
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
