/**
 * Reads of the configuration that continue while the database is unavailable, from the copy that the workers use. A
 * header of the answer tells when that copy was used. Writes never use it.
 */
import { currentBudget } from '../../lib/deadline-budget.ts';
import type { ConfigReader, Repository } from '../../storage/repository.ts';
import { StorageUnavailable } from '../../storage/storage-errors.ts';

export const STALE_HEADER = 'Headgate-Stale';

export type Reading = Pick<Repository, 'read'>;

/** @param copy throws StorageUnavailable for data that it does not have */
export function readingThroughOutages(repository: Reading, copy: ConfigReader): Reading {
  return {
    async read<T>(work: (reader: ConfigReader) => Promise<T>): Promise<T> {
      try {
        return await repository.read(work);
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) throw error;
        const result = await work(copy);
        const call = currentBudget();
        if (call !== undefined) call.usesCopy = true;
        return result;
      }
    },
  };
}
