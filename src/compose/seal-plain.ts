/**
 * Encrypts what an older version has stored as it is, after the start. A gateway of that version that is taken over
 * reads it until it ends, and goes on if the takeover fails. Owns the wait for that.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../observe/log.ts';
import type { Repository } from '../storage/repository.ts';

const LOOK_MS = 250;

/**
 * @param isAlone whether no other gateway reads the database, and it can be used
 * @returns `begun` resolves when it is done, or has to wait; `stop` ends the wait. Neither rejects
 */
export function sealPlainOnce(
  repository: Pick<Repository, 'secrets'>,
  isAlone: () => boolean,
  log: Pick<Logger, 'warn'>,
): { readonly begun: Promise<void>; readonly stop: () => Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const seal = async (): Promise<void> => {
    try {
      await repository.secrets.sealPlain?.();
    } catch (error) {
      log.warn(
        { err: error },
        'what an older version stored as plain text is not encrypted yet; the next start tries it again',
      );
    }
  };
  const sealLater = async (): Promise<void> => {
    while (!signal.aborted && !isAlone())
      await delay(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    if (!signal.aborted) await seal();
  };
  const isAtOnce = isAlone();
  const done = isAtOnce ? seal() : sealLater();
  return {
    begun: isAtOnce ? done : Promise.resolve(),
    stop: async () => {
      stopping.abort();
      await done;
    },
  };
}
