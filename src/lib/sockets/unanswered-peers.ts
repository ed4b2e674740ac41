/**
 * Peers that are gone without a word, such as a notebook with a new address, or a backend whose machine has lost its
 * power. Node.js learns nothing of that while it only writes, and Linux gives up on the connection after a quarter of
 * an hour (`tcp_retries2` of tcp(7)). But the system knows much earlier: it sends the same bytes again and again
 * (`/proc/net/tcp`, proc_net(5)).
 *
 * Reads the connections of the system at most once a second, and for at most a hundredth of the time: with many
 * connections the list is long, and the thread waits for it. Where that is impossible, and while what was read is old,
 * all peers are taken to be there.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
const READ_MS = 1_000;
/** A reading that took long is followed by a rest of so many times its length. */
const REST_TIMES = 100;
/** Six seconds at least: each wait is twice as long as the one before, and the first is 200 ms or more. */
export const SECONDS = 5;
/** 51 seconds at least. */
export const ABOUT_A_MINUTE = 8;
/** A row whose timer is the one for repetitions: their number, and the inode of the socket. */
const REPEATING = / 01:[\dA-F]{8} ([\dA-F]{8}) +\d+ +\d+ (\d+)/g;

export class UnansweredPeers {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #readTable: (path: string) => string;
  /** How often each socket has repeated its bytes. */
  #repetitions: ReadonlyMap<string, number> = new Map();
  #readAtMs = -Infinity;
  #restsUntilMs = -Infinity;

  /** @param readTable for tests */
  constructor(
    clock: Pick<Clock, 'monotonicMs'>,
    readTable: (path: string) => string = (path) => readFileSync(path, 'latin1'),
  ) {
    this.#clock = clock;
    this.#readTable = readTable;
  }

  /**
   * Whether the peer of a connection has acknowledged nothing although it was sent something.
   * @param repetitions after which that is so, such as `SECONDS`
   */
  has(socket: Socket, repetitions: number): boolean {
    const inode = inodeOf(socket);
    if (inode === undefined) return false;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#readAtMs >= READ_MS) {
      if (nowMs < this.#restsUntilMs) return false;
      this.#read(nowMs);
    }
    return (this.#repetitions.get(inode) ?? 0) >= repetitions;
  }

  #read(nowMs: number): void {
    this.#readAtMs = nowMs;
    this.#repetitions = new Map(TABLES.flatMap((path) => this.#repeatingIn(path)));
    const endMs = this.#clock.monotonicMs();
    this.#restsUntilMs = endMs + REST_TIMES * (endMs - nowMs);
  }

  #repeatingIn(path: string): [inode: string, repetitions: number][] {
    try {
      const rows = [...this.#readTable(path).matchAll(REPEATING)];
      return rows.map(([, repetitions = '', inode = '']) => [inode, parseInt(repetitions, 16)]);
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
