/**
 * Finds clients that do not read their answers, for a worker without room for a new client. All their requests are
 * answered, so no limit of requests counts them; they are not idle either, because closing them would cut off an
 * answer. Such a client may be closed after a while. Checks all clients, at most once a second. Owns the result of the
 * check.
 */

const LOOK_MS = 1_000;
/** A client whose answers have been unread for this long may be cut off. */
export const UNREAD_MS = 5_000;
/** After a longer pause between two checks, the results of earlier checks are not used. */
const PAUSE_MS_MAX = 60_000;
/** Maximum number of clients that one check finds; others are found by the next check. */
const FOUND_MAX = 1_024;

export interface AnsweredClient {
  /** All its requests are answered, and the system does not have all of the answers yet. */
  readonly isUnread: boolean;
  /** Closes the connection at once, with what the system has for it. Must not throw. */
  cutOff(): void;
}

export class UnreadClients {
  readonly #clients: () => Iterable<AnsweredClient>;
  /** The time at which a client was first found with unread answers; every check since then has found some. */
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
