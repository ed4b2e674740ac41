/**
 * Group commit: writes that are there at the same time share one transaction, each within a savepoint of its own, and
 * so one wait for the disk. For its caller a write is as if it were alone: it sees what those before it have written,
 * a failure of its own undoes it alone, and it is answered when the transaction is durable. What concerns the
 * transaction as a whole (no room, no database) concerns all writes in it: then nothing of any has happened.
 *
 * Owns the queue of writes between their call and their transaction.
 */
import { sql, type Kysely } from 'kysely';
import { StorageUnavailable } from '../repository.ts';
import type { Tables } from './schema.ts';

/** Writes of one transaction, at most: it holds the main thread meanwhile. */
export const WRITES_AT_ONCE = 16;

export interface QueuedWrite {
  /** Throws to be undone. */
  readonly run: (db: Kysely<Tables>) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type InTransaction = (work: (db: Kysely<Tables>) => Promise<void>) => Promise<void>;
/** Settles a write once the transaction is durable. */
type Outcome = () => void;

export class WriteGroups {
  readonly #inTransaction: InTransaction;
  readonly #queue: QueuedWrite[] = [];
  #running = false;

  /** @param inTransaction commits when the work is done, rolls back when it throws; may run the work again */
  constructor(inTransaction: InTransaction) {
    this.#inTransaction = inTransaction;
  }

  /** In order of calling. */
  add<T>(run: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ run, resolve: resolve as (value: unknown) => void, reject });
      if (this.#running) return;
      this.#running = true;
      // Not now: whoever calls in the same turn is to be part of it.
      queueMicrotask(() => void this.#runAll());
    });
  }

  async #runAll(): Promise<void> {
    while (this.#queue.length > 0) await this.#runGroup(this.#queue.splice(0, WRITES_AT_ONCE));
    this.#running = false;
  }

  /** Never rejects. Settles in the order of the group. */
  async #runGroup(group: readonly QueuedWrite[]): Promise<void> {
    const [only] = group;
    let outcomes: Outcome[] = [];
    try {
      await this.#inTransaction(async (db) => {
        outcomes = [];
        if (group.length === 1 && only !== undefined) outcomes.push(await runAlone(db, only));
        else for (const write of group) outcomes.push(await runInSavepoint(db, write));
      });
    } catch (error) {
      for (const { reject } of group) reject(error);
      return;
    }
    for (const settle of outcomes) settle();
  }
}

async function runAlone(db: Kysely<Tables>, { run, resolve }: QueuedWrite): Promise<Outcome> {
  const value = await run(db);
  return () => resolve(value);
}

async function runInSavepoint(db: Kysely<Tables>, { run, resolve, reject }: QueuedWrite): Promise<Outcome> {
  await sql`savepoint this_write`.execute(db);
  let outcome: Outcome;
  try {
    const value = await run(db);
    outcome = () => resolve(value);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    await sql`rollback to this_write`.execute(db);
    outcome = () => reject(error);
  }
  await sql`release this_write`.execute(db);
  return outcome;
}
