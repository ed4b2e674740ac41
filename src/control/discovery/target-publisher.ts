/**
 * Sends found targets to the workers: one message is under way at a time, for a bounded number of revisions, and later
 * changes are joined into the next. A message has the targets found by the time it is sent, so it is never older than
 * what a worker has. What could not be sent is sent again. Owns the ids of the revisions that must be sent.
 */

import type { Logger } from '../../observe/log.ts';

/** Limit of the revisions in one message. */
const REVISIONS_MAX = 200;
const RETRY_MS = 1_000;

/** By revision id: the pools whose target is gone. Resolves when every worker has applied it. */
export type Publish = (found: ReadonlyMap<string, readonly string[]>) => Promise<void>;

export class TargetPublisher {
  readonly #publish: Publish;
  readonly #log: Pick<Logger, 'error'>;
  readonly #pending = new Map<string, Set<string>>();
  #isBusy = false;
  #retry: NodeJS.Timeout | undefined;
  /** Whether a failure was logged since a message was last sent. */
  #saidFailed = false;

  constructor(publish: Publish, log: Pick<Logger, 'error'>) {
    this.#publish = publish;
    this.#log = log;
  }

  add(found: ReadonlyMap<string, readonly string[]>): void {
    this.#join(found);
    if (!this.#isBusy) void this.#drain();
  }

  /** Sends nothing again. */
  stop(): void {
    clearTimeout(this.#retry);
  }

  #join(found: ReadonlyMap<string, readonly string[]>): void {
    for (const [id, pools] of found) {
      const known = this.#pending.get(id);
      if (known === undefined) this.#pending.set(id, new Set(pools));
      else for (const pool of pools) known.add(pool);
    }
  }

  /** Never rejects. */
  async #drain(): Promise<void> {
    clearTimeout(this.#retry);
    this.#isBusy = true;
    while (this.#pending.size > 0) {
      const some = new Map<string, readonly string[]>();
      for (const [id, pools] of this.#pending) {
        some.set(id, [...pools]);
        this.#pending.delete(id);
        if (some.size === REVISIONS_MAX) break;
      }
      if (!(await this.#send(some))) break;
    }
    this.#isBusy = false;
  }

  /** False if it failed, which is a defect. */
  async #send(some: ReadonlyMap<string, readonly string[]>): Promise<boolean> {
    try {
      await this.#publish(some);
      this.#saidFailed = false;
      return true;
    } catch (error) {
      this.#join(some);
      if (!this.#saidFailed) this.#log.error({ err: error }, 'cannot send discovered targets to the workers');
      this.#saidFailed = true;
      this.#retry = setTimeout(() => void this.#drain(), RETRY_MS).unref();
      return false;
    }
  }
}
