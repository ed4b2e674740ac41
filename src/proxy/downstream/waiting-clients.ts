/**
 * The idle clients of a worker, ordered by the start of their idle time. If a new client finds no room, the client that
 * has been idle longest is closed. A doubly linked list through the clients themselves, so that a request costs a few
 * assignments. Owns the links.
 */

import type { IncompleteHeads } from './incomplete-heads.ts';

/** Clients tried for one new connection; those that cannot be closed move to the end. */
const ASKED_MAX = 16;

export abstract class WaitingClient {
  /** Neighbours in the list; undefined outside. Only WaitingClients reads them. */
  before: WaitingClient | undefined = undefined;
  after: WaitingClient | undefined = undefined;

  /** Monotonic. */
  abstract readonly waitsSinceMs: number;

  /** Closes the connection at once, without harm to a request; false if that is impossible. Must not throw. */
  abstract giveWay(): boolean;
}

class Ends extends WaitingClient {
  readonly waitsSinceMs = Infinity;

  giveWay(): boolean {
    return false;
  }
}

export class WaitingClients {
  /** Sentinel: before the first and after the last client. */
  readonly #ends: WaitingClient = new Ends();
  readonly #incompleteHeads: IncompleteHeads | undefined;

  /** @param incompleteHeads in which a client that waits no longer has none */
  constructor(incompleteHeads?: IncompleteHeads) {
    this.#incompleteHeads = incompleteHeads;
    this.#ends.before = this.#ends;
    this.#ends.after = this.#ends;
  }

  /** Appends a client, or moves it to the end. */
  add(client: WaitingClient): void {
    this.delete(client);
    const ends = this.#ends;
    const last = ends.before;
    client.before = last;
    client.after = ends;
    if (last !== undefined) last.after = client;
    ends.before = client;
  }

  /** Does nothing for a client that is not in the list. */
  delete(client: WaitingClient): void {
    const { before, after } = client;
    if (before === undefined || after === undefined) return;
    before.after = after;
    after.before = before;
    client.before = undefined;
    client.after = undefined;
    this.#incompleteHeads?.note(client, 0);
  }

  /**
   * Closes the client that has been idle longest; false if none can be closed.
   * @param untilMs only clients that have waited since this time or longer
   */
  makeRoom(untilMs = Infinity): boolean {
    for (let asked = 0; asked < ASKED_MAX; asked++) {
      const longest = this.#ends.after;
      if (longest === undefined || longest === this.#ends || longest.waitsSinceMs > untilMs) return false;
      this.delete(longest);
      if (longest.giveWay()) return true;
      this.add(longest);
    }
    return false;
  }
}
