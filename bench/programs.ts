/**
 * The programs that the bench starts or loads with, found on PATH. What is missing stops the bench with the one
 * command that installs it; a peer that is optional is left out with a note instead.
 */
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

interface Program {
  readonly name: string;
  readonly debianPackages: readonly string[];
}

const REQUIRED: readonly Program[] = [
  { name: 'nginx', debianPackages: ['nginx-light', 'libnginx-mod-http-lua'] },
  { name: 'haproxy', debianPackages: ['haproxy'] },
  { name: 'wrk', debianPackages: ['wrk'] },
  { name: 'redis-server', debianPackages: ['redis-server'] },
  { name: 'taskset', debianPackages: ['util-linux'] },
  { name: 'chrt', debianPackages: ['util-linux'] },
];

/** Debian's place for modules; a module that nginx has built in needs no file. */
const NGINX_MODULES = '/usr/lib/nginx/modules';
export const LUA_MODULES: readonly string[] = ['ndk_http_module.so', 'ngx_http_lua_module.so'].map((file) =>
  join(NGINX_MODULES, file),
);

/** Folders beside PATH in which Debian keeps servers. */
const SERVER_FOLDERS = ['/usr/sbin', '/sbin'];

export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...SERVER_FOLDERS];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** The path of a program that `assertPrograms` has found. */
export function programPath(name: string): string {
  const found = findProgram(name);
  if (found === undefined) throw new Error(`${name} is not on PATH`);
  return found;
}

/** Throws with the command to run when something is missing. */
export function assertPrograms(): void {
  const missing = REQUIRED.filter(({ name }) => findProgram(name) === undefined);
  const packages = missing.flatMap(({ debianPackages }) => debianPackages);
  const names = missing.map(({ name }) => name);
  if (!LUA_MODULES.every((file) => existsSync(file))) {
    names.push('the Lua module of nginx');
    packages.push('libnginx-mod-http-lua');
  }
  if (names.length === 0) return;
  const command = `apt-get install -y --no-install-recommends ${[...new Set(packages)].join(' ')}`;
  throw new Error(`The bench needs ${names.join(', ')}. Install with: ${command}`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
