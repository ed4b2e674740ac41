/**
 * Peers that are gone without a word, such as a notebook with a new address, or a backend whose machine has lost its
 * power. Node.js learns nothing of that while it only writes, and Linux gives up on the connection after a quarter of
 * an hour (`tcp_retries2` of tcp(7)). But the system knows much earlier: it sends the same bytes again and again
 * (`/proc/net/tcp`, proc_net(5)).
 *
 * Reads the connections of the system at most once a second. Where that is impossible, all peers are taken to be there.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
const READ_MS = 1_000;
/** Six seconds at least: each wait is twice as long as the one before, and the first is 200 ms or more. */
const REPETITIONS = 5;
/** That the timer of a connection is the one for repetitions. */
const REPEATS = '01:';

export class UnansweredPeers {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #readTable: (path: string) => string;
  #inodes: ReadonlySet<string> = new Set();
  #readAtMs = -Infinity;

  /** @param readTable for tests */
  constructor(
    clock: Pick<Clock, 'monotonicMs'>,
    readTable: (path: string) => string = (path) => readFileSync(path, 'latin1'),
  ) {
    this.#clock = clock;
    this.#readTable = readTable;
  }

  /** Whether the peer of a connection has acknowledged nothing for seconds although it was sent something. */
  has(socket: Socket): boolean {
    const inode = inodeOf(socket);
    if (inode === undefined) return false;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#readAtMs >= READ_MS) {
      this.#readAtMs = nowMs;
      this.#inodes = new Set(TABLES.flatMap((path) => this.#unansweredIn(path)));
    }
    return this.#inodes.has(inode);
  }

  #unansweredIn(path: string): string[] {
    try {
      const rows = this.#readTable(path).split('\n').slice(1);
      return rows.flatMap((row) => {
        const [, , , , , timer = '', repetitions = '', , , inode = ''] = row.trim().split(/\s+/);
        return timer.startsWith(REPEATS) && parseInt(repetitions, 16) >= REPETITIONS ? [inode] : [];
      });
    } catch {
      // Not Linux, or no IPv6.
      return [];
    }
  }
}

/** Node.js has no public name for the descriptor of a socket. */
function inodeOf(socket: Socket): string | undefined {
  const { fd } = (Reflect.get(socket, '_handle') ?? {}) as { readonly fd?: number };
  if (fd === undefined || fd < 0) return undefined;
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
  } catch {
    return undefined;
  }
}
