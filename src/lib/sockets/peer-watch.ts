/**
 * Peers that are gone without a word, such as a notebook with a new address, or a backend whose machine has lost its
 * power. Node.js learns nothing of that while it only writes, and Linux gives up on the connection after a quarter of
 * an hour (`tcp_retries2` of tcp(7)), but its list of connections shows much earlier that the peer does not answer.
 *
 * A peer is gone when it did not answer for its whole patience, by the clock: how often the system repeats something
 * meanwhile depends on the network and its settings. So a peer that does not answer now is looked at again, until it
 * answers or is gone. As the system waits twice as long each time, the peer may have been back for a while: it is gone
 * only when it does not answer the next repetition either.
 *
 * Owns the watched peers. With many connections the list is long, and the system needs a tenth of a second for it: it
 * is read by another thread, in pieces, and for at most a fiftieth of the time. Where there is no such list, no peer
 * is ever gone.
 */
import { createReadStream } from 'node:fs';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { TABLES, UnansweredSockets } from './connection-table.ts';
import { inodeOf } from './socket-inode.ts';

const READ_MS = 1_000;
/** A reading is followed by a rest of so many times its length. */
const REST_TIMES = 50;
/** One that was lost on the way is no sign. */
const COUNT_MIN = 3;
/** Further ones are not watched. */
const WATCHED_MAX = 100_000;

interface Watched {
  readonly socket: Socket;
  readonly patienceMs: number;
  readonly onGone: () => void;
  /** Since when it has not answered; Infinity before the first reading. */
  readonly sinceMs: number;
  /** How often it had not answered at the last reading. */
  readonly count: number;
  /** How often it had not answered when its patience ended; Infinity before that. */
  readonly lateCount: number;
}

/** The pieces of a file. */
export type ReadPieces = (path: string) => AsyncIterable<string>;

const readPieces: ReadPieces = (path) => createReadStream(path, 'latin1') as AsyncIterable<string>;

export class PeerWatch {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #readPieces: ReadPieces;
  #watched: Watched[] = [];
  #isReading = false;
  #restsUntilMs = -Infinity;

  /** @param read for tests */
  constructor(clock: Pick<Clock, 'monotonicMs'>, read: ReadPieces = readPieces) {
    this.#clock = clock;
    this.#readPieces = read;
  }

  /**
   * Looks whether the peer answers.
   * @param onGone called in a later phase of the loop, unless the peer answers meanwhile; must not throw
   */
  watch(socket: Socket, patienceMs: number, onGone: () => void): void {
    if (this.#watched.length >= WATCHED_MAX) return;
    this.#watched.push({ socket, patienceMs, onGone, sinceMs: Infinity, count: 0, lateCount: Infinity });
    this.#plan();
  }

  #plan(): void {
    if (this.#isReading || this.#watched.length === 0) return;
    this.#isReading = true;
    const waitMs = Math.max(0, this.#restsUntilMs - this.#clock.monotonicMs());
    setTimeout(() => void this.#judge(), waitMs).unref();
  }

  async #judge(): Promise<void> {
    const atMs = this.#clock.monotonicMs();
    // Those that are added meanwhile may have been read already.
    const watched = this.#watched;
    this.#watched = [];
    const unanswered = await this.#read();
    const endMs = this.#clock.monotonicMs();
    this.#restsUntilMs = endMs + Math.max(READ_MS, REST_TIMES * (endMs - atMs));
    /** Many streams may share one connection. */
    const counts = new Map<Socket, number>();
    for (const peer of watched) {
      const { socket } = peer;
      if (!unanswered.hasPort(socket.remotePort)) continue;
      const count = counts.get(socket) ?? unanswered.count(inodeOf(socket));
      counts.set(socket, count);
      this.#judgeOne(peer, count, atMs);
    }
    this.#isReading = false;
    this.#plan();
  }

  #judgeOne(peer: Watched, count: number, atMs: number): void {
    // Any answer sets the count back.
    if (count === 0 || count < peer.count) return;
    // A repetition is counted when it is sent: the peer has had a reading's time to answer those of the last one.
    if (peer.count >= COUNT_MIN && peer.count > peer.lateCount) return peer.onGone();
    const sinceMs = Math.min(peer.sinceMs, atMs);
    const isLate = atMs - sinceMs >= peer.patienceMs;
    const lateCount = isLate ? Math.min(peer.lateCount, count) : Infinity;
    this.#watched.push({ ...peer, sinceMs, count, lateCount });
  }

  async #read(): Promise<UnansweredSockets> {
    const unanswered = new UnansweredSockets();
    for (const path of TABLES) {
      let rest = '';
      try {
        for await (const piece of this.#readPieces(path)) {
          const rows = rest + piece;
          const end = rows.lastIndexOf('\n') + 1;
          unanswered.add(rows.slice(0, end));
          rest = rows.slice(end);
        }
      } catch {
        // Not Linux, or no IPv6.
      }
    }
    return unanswered;
  }
}
