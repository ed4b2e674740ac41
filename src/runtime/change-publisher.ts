/**
 * Brings committed changes to the workers, in the order of their config versions and without waiting for one before
 * the next: workers take them from their queues in that order, so that many writes at once cost one round trip.
 *
 * A change that is not the next for the workers says that an earlier one did not get there, or that another process
 * writes to the database: everything is read again then, so that nothing is missing, and what comes meanwhile waits.
 */
import type { ConfigChange } from '../model/config.ts';
import type { Logger } from '../observe/log.ts';
import type { Repository } from '../storage/repository.ts';

export interface ChangePublisherDeps {
  /** Of the main thread's copy. */
  readonly configVersion: () => number;
  /** Takes over a change before it returns, and resolves when every worker has swapped. */
  readonly apply: (change: ConfigChange) => Promise<void>;
  readonly repository: Pick<Repository, 'loadAll'>;
  readonly log: Logger;
}

export class ChangePublisher {
  readonly #deps: ChangePublisherDeps;
  #reload: Promise<void> | undefined;

  constructor(deps: ChangePublisherDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves when every worker has swapped to a snapshot that contains the change. To be called in the order of the
   * config versions.
   */
  async publish(change: ConfigChange): Promise<void> {
    let reloaded = false;
    while (this.#reload !== undefined) {
      reloaded = await this.#reload.then(
        () => true,
        () => false,
      );
    }
    const known = this.#deps.configVersion();
    if (reloaded && change.configVersion <= known) return;
    if (change.configVersion === known + 1) return this.#deps.apply(change);
    this.#deps.log.warn(
      { known, committed: change.configVersion },
      'config versions were skipped; the whole configuration is read again',
    );
    this.#reload = this.#readAgain().finally(() => (this.#reload = undefined));
    return this.#reload;
  }

  async #readAgain(): Promise<void> {
    await this.#deps.apply(await this.#deps.repository.loadAll());
  }
}
