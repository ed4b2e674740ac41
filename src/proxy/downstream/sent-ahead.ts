/**
 * Limits how long reading pauses for a client that has sent too many requests ahead. While it pauses, the gateway does not
 * notice when the client goes away, which would hold the exchange and a connection to the backend until a time-out. So
 * after a moment reading goes on and drops what comes; the connection closes after the current answer, and the client
 * may send again what was not answered (RFC 9112 section 9.3.2). Owns the time limit of one connection.
 */
import type { Deadlines, Expiring } from '../resilience/deadlines.ts';
import { SENT_AHEAD_MS } from '../options.ts';

export interface AheadClient {
  /** The exchange during which reading has paused; undefined while the connection is read. */
  readonly unseen: object | undefined;
  /** Goes on reading and drops the bytes. */
  dropAhead(): void;
}

export class SentAhead implements Expiring {
  deadlineMs = 0;
  readonly #client: AheadClient;
  readonly #deadlines: Deadlines;
  #exchange: object | undefined;

  constructor(client: AheadClient, deadlines: Deadlines) {
    this.#client = client;
    this.#deadlines = deadlines;
  }

  /** May be called again. */
  watch(): void {
    if (this.#exchange !== undefined) return;
    this.#exchange = this.#client.unseen;
    if (this.#exchange === undefined) return;
    this.deadlineMs = this.#deadlines.nowMs + SENT_AHEAD_MS;
    this.#deadlines.add(this);
  }

  onDeadline(): void {
    const { unseen } = this.#client;
    const isSame = unseen === this.#exchange;
    this.#deadlines.delete(this);
    this.#exchange = undefined;
    if (unseen === undefined) return;
    if (isSame) this.#client.dropAhead();
    // Another exchange, with a time limit of its own.
    else this.watch();
  }
}
