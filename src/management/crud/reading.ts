/**
 * Reads of the configuration that go on while the database is away, from the copy that the workers serve by. The
 * answer to a call that was read from there says so in a header. Writes never come here.
 */
import { currentBudget } from '../../lib/deadline-budget.ts';
import { StorageUnavailable, type ConfigReader, type Repository } from '../../storage/repository.ts';

export const STALE_HEADER = 'Headgate-Stale';

export type Reading = Pick<Repository, 'read'>;

/** @param copy throws StorageUnavailable for what it has not */
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
