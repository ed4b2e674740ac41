/**
 * Sends the configuration of the database to the workers of this node, in order and without gaps: writes made here, and
 * writes of other nodes, of which only the difference is loaded. A change is sent without waiting for the workers'
 * answers to earlier changes. Workers handle messages in order, so many concurrent writes cost one round trip. A change
 * that must be loaded, or that the workers must prepare because it is large, delays the changes behind it.
 *
 * If a write does not directly follow the last one, other nodes wrote before it, or an earlier write did not arrive;
 * the missing changes are loaded with it. The caller decides when to look for changes of other nodes.
 */
import type { ConfigChange, ConfigPosition } from '../../model/config.ts';
import type { Logger } from '../../observe/log.ts';
import type { Repository } from '../../storage/repository.ts';
import type { ConfigState } from './config-state.ts';

export interface ConfigSyncDeps {
  readonly repository: Pick<Repository, 'loadSince' | 'position'>;
  readonly state: ConfigState;
  /**
   * Prepares the change, which takes seconds if much has to be compiled.
   * @returns applies the change: accepts it before it returns, and resolves when every worker has applied it
   */
  readonly prepare: (change: ConfigChange) => Promise<() => Promise<void>>;
  /** Before a change is applied. */
  readonly onChange: (change: ConfigChange) => void;
  /** All workers have applied this version. */
  readonly onApplied: (configVersion: number) => void;
  readonly log: Logger;
}

/**
 * A sent change; settles when all workers have applied it. Wrapped in an object, so that returning it does not wait.
 */
interface Begun {
  readonly live: Promise<void>;
}

export class ConfigSync {
  readonly #deps: ConfigSyncDeps;
  /** Settles when the previous step has sent its change. */
  #last: Promise<unknown> = Promise.resolve();
  /** The last change that was sent. */
  #live: Promise<void> = Promise.resolve();
  /** Changes that were sent, and the latest of them that is applied. */
  #begun = 0;
  #obeyed = 0;
  /** The empty database was logged. */
  #isEmpty = false;
  /** A requested look for changes that has not started. */
  #waiting: Promise<void> | undefined;

  constructor(deps: ConfigSyncDeps) {
    this.#deps = deps;
  }

  /** The version that the workers were sent. */
  get position(): ConfigPosition {
    return this.#deps.state.position;
  }

  /**
   * Resolves when all workers have applied a write of this node.
   * @param change as it was committed; call it in the order of the commits
   */
  publish(change: ConfigChange): Promise<void> {
    return this.#next(async () => {
      const { configVersion, changeId } = this.position;
      // A look for changes may have loaded it already.
      if (configVersion === change.configVersion && changeId === change.changeId) return { live: this.#live };
      const { after } = change;
      const isNext = after?.configVersion === configVersion && after.changeId === changeId;
      return isNext ? this.#apply(change) : this.#load();
    });
  }

  /** Replaces the whole configuration. */
  replace(change: ConfigChange): Promise<void> {
    return this.#next(async () => this.#apply(change));
  }

  /** Resolves when all workers have applied the state of the database as of the call; rejects if it cannot be read. */
  catchUp(): Promise<void> {
    this.#waiting ??= this.#next(() => {
      this.#waiting = undefined;
      return this.#load();
    });
    return this.#waiting;
  }

  /**
   * As `catchUp`, but leaves a database with an older version alone: a standby may be behind. Writes do not wait for
   * the question.
   */
  async catchUpIfNewer(): Promise<void> {
    const { configVersion } = await this.#deps.repository.position();
    if (configVersion > this.position.configVersion) await this.catchUp();
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
      const text = 'the database is empty; traffic is served as before until the database is restored';
      if (!wasEmpty) log.error({ known: known.configVersion }, text);
      return { live: this.#live };
    }
    if (change.reset) {
      log.warn(
        { known: known.configVersion, database: change.configVersion },
        'the whole configuration was read again: the log of changes does not cover the difference',
      );
    }
    return this.#apply(change);
  }

  async #apply(change: ConfigChange): Promise<Begun> {
    const { prepare, onChange, onApplied } = this.#deps;
    const apply = await prepare(change);
    this.#begun += 1;
    const place = this.#begun;
    onChange(change);
    this.#live = apply().then(() => {
      // An earlier change that timed out may finish after a later one.
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
