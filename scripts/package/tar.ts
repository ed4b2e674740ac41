/**
 * Writes a tar archive (POSIX.1-1988 ustar) whose bytes depend on its entries alone: no times, no names of users, the
 * entries in the order of their paths. Pure.
 */

export interface TarEntry {
  /** Without a slash at the beginning or the end, such as `opt/headgate/LICENSE`. */
  readonly path: string;
  readonly mode: number;
  /** User and group; default 0. */
  readonly owner?: number;
  /** A file with this content; a folder where there is neither this nor `target`. */
  readonly content?: Uint8Array;
  /** A symbolic link to this. */
  readonly target?: string;
}

const BLOCK_BYTES = 512;
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;
/** Eleven octal digits. */
const CONTENT_BYTES_MAX = 8 ** 11 - 1;

/** @throws RangeError for a path or content that the format has no place for */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const parts: Uint8Array[] = [];
  const sorted = entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  for (const entry of sorted) {
    parts.push(headerOf(entry));
    const { content } = entry;
    if (content === undefined) continue;
    parts.push(content, Buffer.alloc((BLOCK_BYTES - (content.byteLength % BLOCK_BYTES)) % BLOCK_BYTES));
  }
  parts.push(Buffer.alloc(2 * BLOCK_BYTES));
  return Buffer.concat(parts);
}

function headerOf({ path, mode, owner = 0, content, target }: TarEntry): Buffer {
  const isFolder = content === undefined && target === undefined;
  const size = content?.byteLength ?? 0;
  if (size > CONTENT_BYTES_MAX)
    throw new RangeError(`Cannot put "${path}" into a tar archive: it has ${size} bytes`);
  const { prefix, name } = splitPath(isFolder ? `${path}/` : path);
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, at: number, digits: number): void =>
    void header.write(`${value.toString(8).padStart(digits, '0')}\0`, at, 'latin1');
  header.write(name, 0, 'utf8');
  octal(mode, 100, 7);
  octal(owner, 108, 7);
  octal(owner, 116, 7);
  octal(size, 124, 11);
  octal(0, 136, 11);
  header.write(isFolder ? '5' : target === undefined ? '0' : '2', 156, 'latin1');
  if (Buffer.byteLength(target ?? '') > NAME_BYTES)
    throw new RangeError(
      `Cannot put "${path}" into a tar archive: its target is longer than ${NAME_BYTES} bytes`,
    );
  header.write(target ?? '', 157, 'utf8');
  header.write('ustar\x0000', 257, 'latin1');
  header.write(prefix, 345, 'utf8');
  // Over the header with spaces in place of the sum.
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** A longer path is cut at a slash: the last part of at most 100 bytes, the first of at most 155. */
function splitPath(path: string): { readonly prefix: string; readonly name: string } {
  if (Buffer.byteLength(path) <= NAME_BYTES) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (name !== '' && Buffer.byteLength(name) <= NAME_BYTES && Buffer.byteLength(prefix) <= PREFIX_BYTES)
      return { prefix, name };
  }
  throw new RangeError(`Cannot put "${path}" into a tar archive: the path is too long`);
}
