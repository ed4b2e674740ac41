/**
 * A client that has sent more requests ahead than are held is not read any further, so that its end is not seen: one
 * that goes away would hold its exchange, and a connection of the backend, until a time-out. When that has lasted for a
 * moment, reading goes on and drops what comes; the connection closes after the answer under way, after which a client
 * may send again what was not answered (RFC 9112 section 9.3.2). Owns the time of one connection.
 */
import type { Deadlines, Expiring } from '../resilience/deadlines.ts';
import { SENT_AHEAD_MS } from '../options.ts';

export interface AheadClient {
  /** The exchange behind which so much has been sent that reading has paused; undefined when it goes on. */
  readonly unseen: object | undefined;
  /** Goes on reading, and keeps nothing of it. */
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
    // Another one, which has its own time.
    else this.watch();
  }
}
