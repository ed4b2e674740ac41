/**
 * Limits how long reading pauses for a client that has sent too many requests ahead. During the pause the gateway would
 * not notice that the client disconnects, and would keep the exchange and a backend connection until a timeout. So
 * after a moment reading continues and drops the bytes; the connection closes after the current response, and the
 * client may resend unanswered requests (RFC 9112 section 9.3.2). Owns the time limit of one connection.
 */
import type { Deadlines, Expiring } from '../resilience/deadlines.ts';
import { SENT_AHEAD_MS } from '../options.ts';

export interface AheadClient {
  /** The exchange during which reading has paused; undefined while the connection is read. */
  readonly unseen: object | undefined;
  /** Continues reading and drops the bytes. */
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
    // Another exchange has its own time limit.
    else this.watch();
  }
}
