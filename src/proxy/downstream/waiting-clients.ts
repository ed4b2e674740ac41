/**
 * The clients of a worker that are between requests, in the order in which they became idle. When a new client finds no
 * room, the longest idle one is closed. A doubly linked list through the clients themselves, so that a request costs a
 * few assignments. Owns the links.
 */

/** Clients tried for one new connection; those that cannot be closed move to the end. */
const ASKED_MAX = 16;

export abstract class WaitingClient {
  /** Neighbours in the list; undefined outside. WaitingClients alone looks at them. */
  before: WaitingClient | undefined = undefined;
  after: WaitingClient | undefined = undefined;

  /** Closes the connection at once, without harm to a request; false when that cannot be done. Must not throw. */
  abstract giveWay(): boolean;
}

class Ends extends WaitingClient {
  giveWay(): boolean {
    return false;
  }
}

export class WaitingClients {
  /** Before the first and after the last. */
  readonly #ends: WaitingClient = new Ends();

  constructor() {
    this.#ends.before = this.#ends;
    this.#ends.after = this.#ends;
  }

  /** At the end; a client that is in the list already moves there. */
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
  }

  /** Closes the connection of the client that has waited longest; false when none can be closed. */
  makeRoom(): boolean {
    for (let asked = 0; asked < ASKED_MAX; asked++) {
      const longest = this.#ends.after;
      if (longest === undefined || longest === this.#ends) return false;
      this.delete(longest);
      if (longest.giveWay()) return true;
      this.add(longest);
    }
    return false;
  }
}
