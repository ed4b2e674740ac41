/** Finds the process that keeps others from a SQLite database, by proc(5): Node.js cannot ask the kernel for locks. */
import { readFileSync, statSync } from 'node:fs';

/** What SQLite locks in a database: one byte for each purpose, then those of all readers (its os.h). */
const PENDING_BYTE = 0x40000000;
const LAST_BYTE = PENDING_BYTE + 511;

/** The process that has locked a database so that no other process can open it; undefined if none can be seen. */
export function exclusiveHolder(path: string): number | undefined {
  try {
    return holderIn(readFileSync('/proc/locks', 'utf8'), statSync(path, { bigint: true }));
  } catch {
    return undefined;
  }
}

interface FileIds {
  readonly dev: bigint;
  readonly ino: bigint;
}

/** @param locks the text of /proc/locks: `1: POSIX ADVISORY WRITE 812 fe:01:4711 1073741824 1073742335` */
export function holderIn(locks: string, { dev, ino }: FileIds): number | undefined {
  const file = `${hex(majorOf(dev))}:${hex(minorOf(dev))}:${ino}`;
  for (const line of locks.split('\n')) {
    // Other lines, after an arrow, are of processes that wait.
    const [, kind, , mode, pid = '', id, first, last] = line.trim().split(/\s+/);
    if (kind !== 'POSIX' || mode !== 'WRITE' || id !== file || Number(pid) <= 0) continue;
    // A lock of one byte belongs to a writer, which is soon done: readers and the start wait for it.
    const isOfReaders = Number(first) > PENDING_BYTE + 1 && Number(last) > Number(first);
    const isOfAll = Number(first) <= PENDING_BYTE && (last === 'EOF' || Number(last) >= LAST_BYTE);
    if (isOfReaders || isOfAll) return Number(pid);
  }
  return undefined;
}

/** As the C library takes a device number apart (makedev(3)). */
function majorOf(dev: bigint): bigint {
  return ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & 0xfffff000n);
}
function minorOf(dev: bigint): bigint {
  return (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n);
}
function hex(number: bigint): string {
  return number.toString(16).padStart(2, '0');
}
