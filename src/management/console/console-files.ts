/**
 * The built console in memory: read once at the start, so that no name from a client ever becomes a path, and a
 * build that is replaced on disk does not break the pages of a running gateway.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';

export type ContentCoding = 'br' | 'gzip' | 'identity';

export interface ConsoleFile {
  readonly type: string;
  /** Its name contains a hash of its content, so that it never changes. */
  readonly isImmutable: boolean;
  readonly entityTag: string;
  readonly bytes: Readonly<Partial<Record<ContentCoding, Buffer>>> & { readonly identity: Buffer };
}

/** By path below the origin, such as `/assets/index-abc.js`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

export const INDEX_PATH = '/index.html';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
const CODINGS: readonly (readonly [ContentCoding, string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
];
const BYTES_MAX = 64 * 1024 * 1024;

/** @throws Error when the folder cannot be read, or contains no console */
export async function readConsoleFiles(folder: string): Promise<ConsoleFiles> {
  const names = (await readdir(folder, { recursive: true })).sort();
  const known = new Set(names);
  const files = new Map<string, ConsoleFile>();
  let total = 0;
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined || !(await stat(join(folder, name))).isFile()) continue;
    const file = await readOne(folder, name, type, known);
    total += Object.values(file.bytes).reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (total > BYTES_MAX) throw new Error(`more than ${BYTES_MAX / 1_048_576} MiB of files`);
    files.set(`/${name.split(sep).join('/')}`, file);
  }
  if (!files.has(INDEX_PATH)) throw new Error('it has no index.html');
  return files;
}

async function readOne(
  folder: string,
  name: string,
  type: string,
  known: ReadonlySet<string>,
): Promise<ConsoleFile> {
  const identity = await readFile(join(folder, name));
  const coded: Partial<Record<ContentCoding, Buffer>> = {};
  for (const [coding, suffix] of CODINGS) {
    if (known.has(`${name}${suffix}`)) coded[coding] = await readFile(join(folder, `${name}${suffix}`));
  }
  const digest = createHash('sha256').update(identity).digest('base64url').slice(0, 22);
  return {
    type,
    isImmutable: name.startsWith(`assets${sep}`),
    entityTag: `"${digest}"`,
    bytes: { ...coded, identity },
  };
}
