/**
 * Which npm packages are in what users install, with version, licence and the text of it: those that the bundle is made
 * of (build.ts lists them), those that it leaves outside, and those of the console.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAllowedLicence } from './licence-rules.ts';

export interface ShippedPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly licence: string;
  /** What its licence file says, and its notice file where it has one. */
  readonly texts: readonly string[];
  /** Subresource integrity of its tarball in the registry, such as `sha512-…`. */
  readonly integrity: string;
}

/** Loaded from its own files at run time, as it reads more of them: the API explorer. */
export const OUTSIDE_OF_THE_BUNDLE = ['@fastify/swagger', '@fastify/swagger-ui'];
/** They build the console and are not in it. */
const CONSOLE_TOOLS = ['@vitejs/plugin-react', 'vite'];

interface LockEntry {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}
type Lock = ReadonlyMap<string, LockEntry>;

/** @param folder with a package-lock.json of version 3 */
export function readLock(folder: string): Lock {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockEntry>;
  };
  return new Map(Object.entries(packages));
}

/**
 * Folders of packages and all that they depend on, as Node.js resolves them. Throws where the lock file is incomplete.
 */
export function closureOf(names: readonly string[], lock: Lock): string[] {
  const found = new Set<string>();
  const add = (name: string, from: string): void => {
    const folder = resolveFrom(name, from, lock);
    if (folder === undefined)
      throw new Error(`package-lock.json has no ${name}, which ${from || 'the project'} needs`);
    if (found.has(folder)) return;
    found.add(folder);
    for (const needed of Object.keys(lock.get(folder)?.dependencies ?? {})) add(needed, folder);
  };
  for (const name of names) add(name, '');
  return [...found].sort();
}

function resolveFrom(name: string, from: string, lock: Lock): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (lock.has(candidate)) return candidate;
    if (folder === '') return undefined;
  }
}

/**
 * All of them, sorted by name, each version once.
 * @param root the checkout, with all packages and those of its console installed
 * @param bundled folders that build.ts has listed
 * @throws Error naming every package without a licence text, or with a licence that may not be shipped
 */
export function shippedPackages(root: string, bundled: readonly string[]): ShippedPackage[] {
  const consoleFolder = join(root, 'console');
  const own = readLock(root);
  const console = readLock(consoleFolder);
  const direct = Object.keys(console.get('')?.dependencies ?? {}).filter(
    (name) => !CONSOLE_TOOLS.includes(name),
  );
  const found = [
    ...[...bundled, ...closureOf(OUTSIDE_OF_THE_BUNDLE, own)].map((path) => describe(root, path, own)),
    ...closureOf(direct, console).map((path) => describe(consoleFolder, path, console)),
  ];
  const problems = found.flatMap(problemsOf);
  if (problems.length > 0) throw new Error(`Cannot ship these packages:\n${problems.join('\n')}`);
  const once = new Map(found.map((item) => [`${item.name}@${item.version}`, item]));
  return [...once.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
}

/** npm leaves the licence out of the lock file for some packages that have it in their own file. */
function describe(root: string, path: string, lock: Lock): ShippedPackage {
  const { version = '', license, integrity = '' } = lock.get(path) ?? {};
  const folder = join(root, path);
  const own = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string;
    license?: string;
  };
  return {
    name: own.name,
    version,
    licence: license ?? own.license ?? '',
    texts: licenceTexts(folder),
    integrity,
  };
}

function licenceTexts(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /^(?:licen[cs]e|copying|notice)(?:[.-]|$)/i.test(entry.name))
    .map(({ name }) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim())
    .sort();
}

function problemsOf({ name, version, licence, integrity }: ShippedPackage): string[] {
  const at = `${name}@${version}`;
  return [
    ...(isAllowedLicence(licence)
      ? []
      : [`${at}: its licence is ${JSON.stringify(licence)}, which is not in the list`]),
    ...(version === '' || integrity === '' ? [`${at}: package-lock.json does not say what it is`] : []),
  ];
}
