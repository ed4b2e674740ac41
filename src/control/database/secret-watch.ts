/**
 * Looks after the start whether the keys of this gateway decrypt what the database holds. A start refuses secrets of
 * policies that it cannot decrypt; webhooks, history and certificates of ACME are reported here, since no request is
 * let in without them. Looks again while something cannot be decrypted. Owns the result.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { counted } from '../../lib/text/counted.ts';
import type { Logger } from '../../observe/log.ts';
import type { Repository } from '../../storage/repository.ts';
import type { SealedCount } from '../../storage/secret-store.ts';

const AGAIN_MS = 60_000;

export interface SecretWatchDeps {
  readonly repository: Pick<Repository, 'secrets'>;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
  /** For tests; milliseconds. */
  readonly againMs?: number;
}

export class SecretWatch {
  readonly #deps: SecretWatchDeps;
  readonly #stopping = new AbortController();
  #problem: string | undefined;

  constructor(deps: SecretWatchDeps) {
    this.#deps = deps;
  }

  /** What cannot be decrypted and what to do about it; undefined: nothing is known to be unreadable. */
  get problem(): string | undefined {
    return this.#problem;
  }

  start(): void {
    void this.#lookUntilReadable();
  }

  /** Does not wait for a look that is under way: it changes nothing. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Never rejects. */
  async #lookUntilReadable(): Promise<void> {
    const { againMs = AGAIN_MS } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted && !(await this.#look()))
      await pause(againMs, undefined, { signal, ref: false }).catch(() => undefined);
  }

  /** Returns whether everything can be decrypted. Never rejects. */
  async #look(): Promise<boolean> {
    const { repository, log } = this.#deps;
    try {
      const { secrets } = repository;
      const unreadable = unreadableText(await secrets.count());
      const problem = unreadable && `${unreadable}: ${unreadableFix(secrets.keyName)}`;
      if (this.#stopping.signal.aborted) return true;
      if (problem !== undefined && problem !== this.#problem)
        log.warn({ problem }, 'secrets cannot be decrypted');
      if (problem === undefined && this.#problem !== undefined)
        log.info('all secrets can be decrypted again');
      this.#problem = problem;
      return problem === undefined;
    } catch (error) {
      // An outage of the database is reported elsewhere.
      log.debug({ err: error }, 'the secrets of the database cannot be looked at');
      return false;
    }
  }
}

/** undefined: all can be decrypted. */
export function unreadableText(counts: readonly SealedCount[]): string | undefined {
  const unreadable = counts.filter(({ state }) => state === 'unreadable');
  const total = unreadable.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return undefined;
  const places = new Set(unreadable.map(({ place }) => place));
  return `${counted(total, 'stored value', 'stored values')} cannot be decrypted (${[...places].join(', ')})`;
}

/** @param keyName the source of the keys */
export function unreadableFix(keyName: string): string {
  return `add the key with which they were encrypted to ${keyName}, behind the first one, and run headgate secrets rekey`;
}
