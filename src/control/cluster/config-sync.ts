/**
 * Sends the configuration of the database to the workers of this node, in order and without a gap: writes made here, and
 * writes of other nodes, of which only the difference is loaded. A change is sent without waiting for the workers'
 * answers to the changes before it; they handle messages in order, so many concurrent writes cost one round trip. A
 * change that has to be loaded delays the changes behind it.
 *
 * A write that does not follow directly on the last one means that other nodes wrote before it, or that an earlier write
 * did not arrive; what is missing is then loaded with it. The caller decides when to look for changes of other nodes.
 */
import type { ConfigChange, ConfigPosition } from '../../model/config.ts';
import type { Logger } from '../../observe/log.ts';
import type { Repository } from '../../storage/repository.ts';
import type { ConfigState } from './config-state.ts';

export interface ConfigSyncDeps {
  readonly repository: Pick<Repository, 'loadSince'>;
  readonly state: ConfigState;
  /** Takes over a change before it returns, and resolves when every worker obeys it. */
  readonly apply: (change: ConfigChange) => Promise<void>;
  /** Before a change is applied. */
  readonly onChange: (change: ConfigChange) => void;
  /** All workers obey this version. */
  readonly onApplied: (configVersion: number) => void;
  readonly log: Logger;
}

/** A change is on its way; settles when all workers obey it. Wrapped, so that returning it does not wait. */
interface Begun {
  readonly live: Promise<void>;
}

export class ConfigSync {
  readonly #deps: ConfigSyncDeps;
  /** Settles when the step before has handed its change on. */
  #last: Promise<unknown> = Promise.resolve();
  /** The change that was handed on last. */
  #live: Promise<void> = Promise.resolve();
  /** Changes that were handed on, and the latest of them that is obeyed. */
  #begun = 0;
  #obeyed = 0;
  /** It was told that the database is empty. */
  #isEmpty = false;
  /** A look for changes that has not begun. */
  #waiting: Promise<void> | undefined;

  constructor(deps: ConfigSyncDeps) {
    this.#deps = deps;
  }

  /** What the workers have been given. */
  get position(): ConfigPosition {
    return this.#deps.state.position;
  }

  /**
   * Resolves when all workers obey a write of this node.
   * @param change as it was committed; to be called in the order of the commits
   */
  publish(change: ConfigChange): Promise<void> {
    return this.#next(async () => {
      const { configVersion, changeId } = this.position;
      // A look for changes may have been faster.
      if (configVersion === change.configVersion && changeId === change.changeId) return { live: this.#live };
      const { after } = change;
      const isNext = after?.configVersion === configVersion && after.changeId === changeId;
      return isNext ? this.#apply(change) : this.#load();
    });
  }

  /** Puts a configuration in place of all that was. */
  replace(change: ConfigChange): Promise<void> {
    return this.#next(async () => this.#apply(change));
  }

  /** Resolves when all workers obey what the database held after the call; rejects when it could not be read. */
  catchUp(): Promise<void> {
    this.#waiting ??= this.#next(() => {
      this.#waiting = undefined;
      return this.#load();
    });
    return this.#waiting;
  }

  #next(step: () => Promise<Begun>): Promise<void> {
    const begun = this.#last.then(step);
    this.#last = begun.catch(() => undefined);
    return begun.then(({ live }) => live);
  }

  async #load(): Promise<Begun> {
    const { repository, log } = this.#deps;
    const known = this.position;
    const change = await repository.loadSince(known);
    if (change === undefined) return { live: this.#live };
    const wasEmpty = this.#isEmpty;
    this.#isEmpty = isEmptied(change, known);
    if (this.#isEmpty) {
      const text = 'the database is empty; traffic is served as before, until the database is restored';
      if (!wasEmpty) log.error({ known: known.configVersion }, text);
      return { live: this.#live };
    }
    if (change.reset) {
      log.warn(
        { known: known.configVersion, database: change.configVersion },
        'the whole configuration was read again: the log of changes does not lead on from what was known',
      );
    }
    return this.#apply(change);
  }

  #apply(change: ConfigChange): Begun {
    const { apply, onChange, onApplied } = this.#deps;
    this.#begun += 1;
    const place = this.#begun;
    onChange(change);
    this.#live = apply(change).then(() => {
      // One that was not answered in time may be over later than the next.
      if (place < this.#obeyed) return;
      this.#obeyed = place;
      onApplied(change.configVersion);
    });
    this.#live.catch(() => undefined);
    return { live: this.#live };
  }
}

/** Version 0 means that the database was replaced by a new one: deleting records never lowers the version. */
function isEmptied(change: { readonly configVersion: number }, known: ConfigPosition): boolean {
  return change.configVersion === 0 && known.configVersion > 0;
}
