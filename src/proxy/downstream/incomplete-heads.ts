/**
 * The clients of a worker whose request head has begun and is not complete, with the bytes that wait for the rest. All
 * of them together are bounded: beyond it, a client that has sent more than most others gives way, the oldest one of
 * those that are looked at. Owns the counts.
 */

/** Clients that are looked at when there is no room. */
const LOOKED_AT_MAX = 64;

export interface IncompleteClient {
  /** Closes the connection at once; false if that is impossible. Must not throw. */
  giveWay(): boolean;
}

export class IncompleteHeads {
  readonly #bytesMax: number;
  readonly #onGaveWay: () => void;
  #bytes = 0;
  /** In the order in which their heads began. */
  readonly #clients = new Map<IncompleteClient, number>();

  constructor(bytesMax: number, onGaveWay: () => void) {
    this.#bytesMax = bytesMax;
    this.#onGaveWay = onGaveWay;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What the client has sent of its incomplete head; 0 when it has none. */
  note(client: IncompleteClient, bytes: number): void {
    if (bytes === 0) return this.#delete(client);
    this.#bytes += bytes - (this.#clients.get(client) ?? 0);
    this.#clients.set(client, bytes);
    while (this.#bytes > this.#bytesMax && this.#makeRoom());
  }

  #delete(client: IncompleteClient): void {
    if (this.#clients.size === 0) return;
    this.#bytes -= this.#clients.get(client) ?? 0;
    this.#clients.delete(client);
  }

  /** The first that has as much as the mean of all, or the one that has the most of those that are looked at. */
  #makeRoom(): boolean {
    const mean = this.#bytes / this.#clients.size;
    let most: IncompleteClient | undefined;
    let mostBytes = -1;
    let left = LOOKED_AT_MAX;
    for (const [client, bytes] of this.#clients) {
      if (bytes > mostBytes) [most, mostBytes] = [client, bytes];
      if (bytes >= mean || --left === 0) break;
    }
    if (most === undefined) return false;
    // Also if it cannot give way now, since then it is not asked again.
    this.#delete(most);
    if (most.giveWay()) this.#onGaveWay();
    return true;
  }
}
