/**
 * Whether a peer is gone without a word, such as a notebook with a new address, for a caller that needs to know it at
 * once and asks seldom. The traffic path, which can wait, has peer-watch.ts.
 *
 * Reads the connections of the system at most once a second, and for at most a hundredth of the time: with many
 * connections the list is long, and the thread waits for it. Where that is impossible, and while what was read is old,
 * all peers are taken to be there.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { TABLES, UnansweredSockets } from './connection-table.ts';
import { inodeOf } from './socket-inode.ts';

const READ_MS = 1_000;
/** A reading that took long is followed by a rest of so many times its length. */
const REST_TIMES = 100;
/** Six seconds at least, as a rule: each wait is twice as long as the one before, and the first is 200 ms or more. */
export const SECONDS = 5;

export class UnansweredPeers {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #readTable: (path: string) => string;
  #unanswered = new UnansweredSockets();
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
    return this.#unanswered.count(inode) >= repetitions;
  }

  #read(nowMs: number): void {
    this.#readAtMs = nowMs;
    this.#unanswered = new UnansweredSockets();
    for (const path of TABLES) {
      try {
        this.#unanswered.add(this.#readTable(path));
      } catch {
        // Not Linux, or no IPv6.
      }
    }
    const endMs = this.#clock.monotonicMs();
    this.#restsUntilMs = endMs + REST_TIMES * (endMs - nowMs);
  }
}
