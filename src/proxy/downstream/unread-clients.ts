/**
 * Finds clients that do not read their answers, for a worker without room for a new client: each request is answered,
 * so that no limit of requests counts them, and they are not idle, since closing them would cut an answer. Only those
 * that were so for a while give way. Looks at all clients, at most once a second. Owns what it has found.
 */

const LOOK_MS = 1_000;
/** A client that has been seen so for this long may be cut off. */
export const UNREAD_MS = 5_000;
/** After a longer pause between two looks, the earlier ones say nothing. */
const PAUSE_MS_MAX = 60_000;
/** Clients that one look finds at most; others are found by the next one. */
const FOUND_MAX = 1_024;

export interface AnsweredClient {
  /** All its requests are answered, and the system does not have all of the answers yet. */
  readonly isUnread: boolean;
  /** Closes the connection at once, with what the system has for it. Must not throw. */
  cutOff(): void;
}

export class UnreadClients {
  readonly #clients: () => Iterable<AnsweredClient>;
  /** When a client was first seen with unread answers, since when no look has seen it without. */
  #sinceMs = new WeakMap<AnsweredClient, number>();
  #lookedAtMs = -Infinity;
  readonly #found: AnsweredClient[] = [];

  constructor(clients: () => Iterable<AnsweredClient>) {
    this.#clients = clients;
  }

  /** Cuts a client off; false if there is none. @param nowMs monotonic */
  makeRoom(nowMs: number): boolean {
    if (this.#found.length === 0 && nowMs - this.#lookedAtMs >= LOOK_MS) this.#look(nowMs);
    for (let client = this.#found.pop(); client !== undefined; client = this.#found.pop()) {
      if (!client.isUnread) continue;
      client.cutOff();
      return true;
    }
    return false;
  }

  #look(nowMs: number): void {
    if (nowMs - this.#lookedAtMs > PAUSE_MS_MAX) this.#sinceMs = new WeakMap();
    this.#lookedAtMs = nowMs;
    for (const client of this.#clients()) {
      const sinceMs = this.#sinceMs.get(client);
      if (!client.isUnread) this.#sinceMs.delete(client);
      else if (sinceMs === undefined) this.#sinceMs.set(client, nowMs);
      else if (nowMs - sinceMs >= UNREAD_MS && this.#found.length < FOUND_MAX) this.#found.push(client);
    }
  }
}
