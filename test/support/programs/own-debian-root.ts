/**
 * A root folder with a few packages of this Debian system and what they depend on, copied from its own files, for tests
 * that install the Debian package without a mirror. dpkg knows them in that root, so it checks what a package depends
 * on. They are not set up: what their scripts write at an install is missing, but for the files below.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A shell with dpkg and the programs that it starts. */
const BASE = ['base-files', 'coreutils', 'dash', 'diffutils', 'dpkg', 'libc-bin', 'tar'];
/** Links to folders of /usr since Debian 12. */
const MERGED = ['bin', 'sbin', 'lib', 'lib64'];
const LEFT_OUT = /^\/usr\/share\/(?:doc|i18n|info|lintian|locale|man|zoneinfo)\//;
const TEXT_BYTES_MAX = 64 * 1_048_576;

/** @param path of the root, which must not exist. @param packages beyond dpkg and a shell */
export function copyDebianRoot(path: string, packages: readonly string[]): void {
  const names = closureOf([...BASE, ...packages]);
  for (const folder of ['usr', 'etc', 'var/log', 'var/lib/dpkg/info', 'var/lib/dpkg/updates'])
    mkdirSync(join(path, folder), { recursive: true });
  const isMerged = (name: string): boolean =>
    lstatSync(`/${name}`, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  for (const name of MERGED.filter(isMerged)) {
    mkdirSync(join(path, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(path, name));
  }
  copyFiles(filesOf(names), path);
  if (!existsSync(join(path, 'bin/sh'))) symlinkSync('dash', join(path, 'bin/sh'));
  const database = 'var/lib/dpkg';
  writeFileSync(join(path, database, 'status'), query('--status', ...names));
  for (const name of names)
    copyFileSync(join('/', database, `info/${name}.list`), join(path, database, `info/${name}.list`));
  // What base-passwd and passwd make when they are set up.
  writeFileSync(join(path, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  writeFileSync(join(path, 'etc/shadow'), 'root:*:20000:0:99999:7:::\n', { mode: 0o640 });
  writeFileSync(join(path, 'etc/group'), 'root:x:0:\n');
}

function query(...args: readonly string[]): string {
  return execFileSync('dpkg-query', args, { encoding: 'utf8', maxBuffer: TEXT_BYTES_MAX });
}

/** With all that they depend on; of alternatives the first that is installed. */
function closureOf(packages: readonly string[]): string[] {
  const format = '${Package}\\t${binary:Package}\\t${Architecture}\\t${Pre-Depends}, ${Depends}\\n';
  const own = execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim();
  const installed = new Map(
    query('--show', `--showformat=${format}`)
      .split('\n')
      .map((line) => line.split('\t'))
      .filter(([, , architecture = '']) => [own, 'all'].includes(architecture))
      .map(([name = '', full = '', , depends = '']) => [name, { full, depends }]),
  );
  const found = new Set<string>();
  const add = (name: string): void => {
    if (found.has(name)) return;
    found.add(name);
    for (const group of (installed.get(name)?.depends ?? '').split(',')) {
      const names = group.split('|').map((one) => one.trim().split(/[\s:]/)[0] ?? '');
      const first = names.find((one) => installed.has(one));
      if (first !== undefined) add(first);
    }
  };
  for (const name of packages) {
    if (!installed.has(name)) throw new Error(`The package ${name} is not installed on this machine`);
    add(name);
  }
  return [...found].map((name) => installed.get(name)?.full ?? name);
}

function filesOf(packages: readonly string[]): string[] {
  const listed = query('--listfiles', ...packages).split('\n');
  const merged = new RegExp(`^/(?=(?:${MERGED.join('|')})/)`);
  const paths = listed
    .filter((path) => path.startsWith('/') && path !== '/.' && !LEFT_OUT.test(path))
    // `/lib/x` is `/usr/lib/x` where the first is a link.
    .map((path) => (existsSync(path.replace(merged, '/usr/')) ? path.replace(merged, '/usr/') : path))
    .filter((path) => !MERGED.includes(path.slice(1)))
    .filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
  return [...new Set(paths)].sort();
}

function copyFiles(paths: readonly string[], root: string): void {
  const list = join(root, 'files.txt');
  writeFileSync(list, paths.map((path) => `.${path}\n`).join(''));
  const copy = 'tar -C / --no-recursion --files-from="$0/files.txt" -cf - | tar -C "$0" -xpf -';
  execFileSync('sh', ['-ec', `${copy} && rm "$0/files.txt"`, root], { stdio: 'pipe' });
}
