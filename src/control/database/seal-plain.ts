/**
 * Encrypts what an older version has stored as it is, after the start. A gateway of that version that is taken over
 * reads it until it ends, and goes on if the takeover fails. Owns the wait for that.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../observe/log.ts';
import type { Repository } from '../../storage/repository.ts';

const LOOK_MS = 250;

/**
 * Resolves when it is done, or has to wait. Never rejects.
 * @param isAlone whether no other gateway reads the database, and it can be used
 * @returns ends the wait; never rejects
 */
export async function sealPlainOnce(
  repository: Pick<Repository, 'secrets'>,
  isAlone: () => boolean,
  log: Pick<Logger, 'warn'>,
): Promise<() => Promise<void>> {
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
  if (isAlone()) {
    await seal();
    return async () => undefined;
  }
  const sealed = sealLater();
  return async () => {
    stopping.abort();
    await sealed;
  };
}
