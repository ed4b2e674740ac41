/**
 * Sends found targets to the workers: one message is under way at a time, for a bounded number of revisions, and later
 * changes are joined into the next. A message has the targets found by the time it is sent, so it is never older than
 * what a worker has. Owns the ids of the revisions that must be sent.
 */

/** Limit of the revisions in one message. */
const REVISIONS_MAX = 200;

/** By revision id: the pools whose target is gone. Resolves when every worker has applied it. */
export type Publish = (found: ReadonlyMap<string, readonly string[]>) => Promise<void>;

export class TargetPublisher {
  readonly #publish: Publish;
  readonly #pending = new Map<string, Set<string>>();
  #isBusy = false;

  constructor(publish: Publish) {
    this.#publish = publish;
  }

  add(found: ReadonlyMap<string, readonly string[]>): void {
    for (const [id, pools] of found) {
      const known = this.#pending.get(id);
      if (known === undefined) this.#pending.set(id, new Set(pools));
      else for (const pool of pools) known.add(pool);
    }
    if (!this.#isBusy) void this.#drain();
  }

  async #drain(): Promise<void> {
    this.#isBusy = true;
    while (this.#pending.size > 0) {
      const some = new Map<string, readonly string[]>();
      for (const [id, pools] of this.#pending) {
        some.set(id, [...pools]);
        this.#pending.delete(id);
        if (some.size === REVISIONS_MAX) break;
      }
      await this.#publish(some);
    }
    this.#isBusy = false;
  }
}
