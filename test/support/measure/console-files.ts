/**
 * What a browser has to load for a page of the built console: the files that each file imports, from the page itself
 * on. What is imported later, by `import()`, is not among them.
 */
import { globSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

export interface LoadedFile {
  readonly name: string;
  /** As they are sent: with Brotli. */
  readonly bytes: number;
}

/** Of the frame with the sign-in: what index.html names, and what that imports. */
export function firstFiles(folder: string): string[] {
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  const named = [...page.matchAll(/(?:src|href)="\/assets\/([^"]+\.js)"/g)].map(([, name = '']) => name);
  if (named.length === 0) throw new Error(`Cannot find a script in index.html of ${folder}`);
  return closure(folder, named);
}

/** Of one page by the name of its module, such as `overview-page`, without those that are there already. */
export function pageFiles(folder: string, page: string, present: readonly string[]): string[] {
  const [path] = globSync(`assets/${page}-*.js`, { cwd: folder });
  if (path === undefined) throw new Error(`Cannot find the files of ${page} in ${folder}`);
  return closure(folder, [basename(path)]).filter((name) => !present.includes(name));
}

export function withSizes(folder: string, names: readonly string[]): LoadedFile[] {
  return names
    .map((name) => ({ name, bytes: statSync(join(folder, 'assets', `${name}.br`)).size }))
    .toSorted((one, other) => other.bytes - one.bytes);
}

export const bytesOf = (files: readonly LoadedFile[]): number =>
  files.reduce((sum, { bytes }) => sum + bytes, 0);

function closure(folder: string, names: readonly string[]): string[] {
  const found = new Set(names);
  // Grows while it is gone through.
  for (const name of found) {
    for (const imported of importsOf(join(folder, 'assets', name))) found.add(imported);
  }
  return [...found];
}

/** A built file never changes. */
const known = new Map<string, readonly string[]>();

function importsOf(path: string): readonly string[] {
  const imports = known.get(path) ?? readImports(path);
  known.set(path, imports);
  return imports;
}

function readImports(path: string): string[] {
  return parseAst(readFileSync(path, 'utf8')).body.flatMap((statement) => {
    const from = 'source' in statement ? statement.source : null;
    return from === null ? [] : [basename(from.value)];
  });
}
