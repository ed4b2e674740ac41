/**
 * The queue of writes before the database. Writes run in groups. Callers take turns (write-turns.ts), and the writes of
 * one caller to one app run in order of arrival. A group is one transaction, so its writes share one wait for the disk
 * (group commit). Within a group each write has its own savepoint: it sees the writes before it, its own failure undoes
 * only this write, and it settles when the transaction is durable. A failure of the transaction as a whole (disk full,
 * database gone) fails every write in it; nothing of any of them has happened then.
 *
 * While the database is locked, each transaction waits for seconds before it fails. A write that was already waiting
 * during such a transaction fails with it; otherwise the wait would grow with the length of the queue. If the call of
 * a waiting write has a deadline budget, the time that the queue waited for a slow database is charged to it; the time
 * behind other writes on a fast database is not. It fails once its budget is used up, also behind a write that goes on.
 */
import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../../lib/clock.ts';
import { currentBudget, newBudget, withBudget, type DeadlineBudget } from '../../../lib/deadline-budget.ts';
import { OutcomeUnknown, StorageUnavailable, unusableDatabase } from '../../storage-errors.ts';
import type { Tables } from '../kysely-tables.ts';
import { WriteTurns } from './write-turns.ts';

/** Writes of one transaction. It holds the main thread meanwhile. */
export const GROUP_WRITES_MAX = 16;
export const WAITING_WRITES_MAX = 10_000;
/** A group begins no further write after this time: everything else on the main thread waits for its end. */
const GROUP_MS = 50;
/** A database failure that took this long was a wait for something: a lock, a disk. */
const SLOW_FAILURE_MS = 1_000;
/** A group that spent this much of a budget has met a slow database, not only a busy one. */
const SLOW_GROUP_MS = 500;

const CHECK_MS = 100;
const LATE = 'it did not answer in time';

/** Runs `work` in a transaction: commits when it resolves, rolls back when it rejects. May run it again. */
type InTransaction = (work: (db: Kysely<Tables>) => Promise<void>) => Promise<void>;

export interface WriteQueueOptions {
  readonly inTransaction: InTransaction;
  readonly clock: Clock;
  /** 1: each write is a transaction. */
  readonly groupWritesMax?: number;
  /** Clock of the budgets of waiting writes; absent: they have no limit. */
  readonly timeoutMs?: number | undefined;
}

interface QueuedWrite {
  /** In the order of arrival. */
  readonly number: number;
  readonly sinceMs: number;
  /** Of its call, if that has one. */
  readonly budget: DeadlineBudget | undefined;
  /** The budget to which the wait of this write is charged: that of its call, or a separate one. */
  readonly account: DeadlineBudget;
  /** Throws to undo the write. */
  readonly run: (db: Kysely<Tables>) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Settles a write once its transaction is durable. */
type Outcome = () => void;

interface GroupResult {
  /** Of the database, if there was one. */
  readonly failure: StorageUnavailable | undefined;
  /** Not begun, because the group took long. */
  readonly left: readonly QueuedWrite[];
}

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  /** In the order of arrival. */
  #waiting: QueuedWrite[] = [];
  readonly #turns = new WriteTurns();
  #isRunning = false;
  /** Number of the last write that arrived. */
  #last = 0;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  add<T>(run: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    const sinceMs = this.#options.clock.monotonicMs();
    return new Promise<T>((resolve, reject) => {
      if (this.#waiting.length >= WAITING_WRITES_MAX) {
        reject(unusableDatabase(`${WAITING_WRITES_MAX} writes are waiting`));
        return;
      }
      const budget = currentBudget();
      const account = budget ?? newBudget();
      const settle = { resolve: resolve as (value: unknown) => void, reject };
      this.#waiting.push({ number: ++this.#last, sinceMs, budget, account, run, ...settle });
      if (this.#isRunning) return;
      this.#isRunning = true;
      void withBudget(undefined, () => this.#runAll());
    });
  }

  async #runAll(): Promise<void> {
    const { clock, groupWritesMax = GROUP_WRITES_MAX, timeoutMs } = this.#options;
    while (this.#waiting.length > 0) {
      // Lets requests of the same turn of the event loop join the group, and lets other work run between groups.
      await new Promise((done) => setImmediate(done));
      const group = this.#turns.next(this.#waiting, groupWritesMax);
      const taken = new Set(group);
      this.#waiting = this.#waiting.filter((write) => !taken.has(write));
      const last = this.#last;
      const startedMs = clock.monotonicMs();
      const spentMs = group.map(spentBy);
      const check =
        timeoutMs === undefined
          ? undefined
          : setInterval(() => this.#failLate(group, spentMs, timeoutMs), CHECK_MS);
      const { failure, left } = await this.#runGroup(group);
      clearInterval(check);
      if (left.length > 0)
        this.#waiting = [...left, ...this.#waiting].sort((one, other) => one.number - other.number);
      const endedMs = clock.monotonicMs();
      if (failure !== undefined && endedMs - startedMs >= SLOW_FAILURE_MS) {
        // Unlike the group, those that wait were certainly not stored.
        const certain = failure instanceof OutcomeUnknown ? unusableDatabase(LATE, failure) : failure;
        this.#failAll(({ number }) => number <= last, certain);
      }
      const waitedMs = waitOf(group, spentMs, endedMs);
      if (failure !== undefined || waitedMs >= SLOW_GROUP_MS) this.#chargeWaiting(waitedMs, endedMs);
    }
    this.#isRunning = false;
  }

  /** Charges the wait of a group to the waiting writes, to each from the time of its arrival. */
  #chargeWaiting(waitedMs: number, nowMs: number): void {
    for (const { budget, sinceMs } of this.#waiting) {
      if (budget !== undefined) budget.spentMs += Math.min(waitedMs, nowMs - sinceMs);
    }
  }

  /** Fails the writes whose budgets would be used up by what the group under way waits for. */
  #failLate(group: readonly QueuedWrite[], spentMs: readonly number[], timeoutMs: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    const waitMs = waitOf(group, spentMs, nowMs);
    if (waitMs < SLOW_GROUP_MS) return;
    const isLate = ({ budget, sinceMs }: QueuedWrite): boolean =>
      budget !== undefined && budget.spentMs + Math.min(waitMs, nowMs - sinceMs) >= timeoutMs;
    if (this.#waiting.some(isLate)) this.#failAll(isLate, unusableDatabase(LATE));
  }

  /** Fails these waiting writes. */
  #failAll(isMeant: (write: QueuedWrite) => boolean, failure: StorageUnavailable): void {
    for (const write of this.#waiting.splice(0)) {
      if (isMeant(write)) write.reject(failure);
      else this.#waiting.push(write);
    }
  }

  /** Never rejects. Settles the writes in order, but for those that it leaves. */
  async #runGroup(group: readonly QueuedWrite[]): Promise<GroupResult> {
    const { clock } = this.#options;
    const isAlone = group.length === 1;
    let outcomes: Outcome[] = [];
    let left: readonly QueuedWrite[] = [];
    try {
      await withBudget(isAlone ? group[0]?.account : undefined, () =>
        this.#options.inTransaction(async (db) => {
          outcomes = [];
          left = [];
          const endMs = clock.monotonicMs() + GROUP_MS;
          for (const [index, write] of group.entries()) {
            if (index > 0 && clock.monotonicMs() >= endMs) {
              left = group.slice(index);
              break;
            }
            this.#turns.taken(write.account.party);
            outcomes.push(await (isAlone ? run(db, write) : runInSavepoint(db, write)));
          }
        }),
      );
    } catch (error) {
      for (const { reject } of group.slice(0, group.length - left.length)) reject(error);
      return { failure: error instanceof StorageUnavailable ? error : undefined, left };
    }
    for (const settle of outcomes) settle();
    return { failure: undefined, left };
  }
}

/** How long a group has waited for the database. @param spentMs budget that each of its writes had spent before */
function waitOf(group: readonly QueuedWrite[], spentMs: readonly number[], nowMs: number): number {
  const waits = group.map(({ account: { spentMs: spent, waitingSinceMs = nowMs } }, index) => {
    return spent - (spentMs[index] ?? 0) + nowMs - waitingSinceMs;
  });
  return Math.max(...waits);
}

function spentBy({ account }: QueuedWrite): number {
  return account.spentMs;
}

async function run(db: Kysely<Tables>, write: QueuedWrite): Promise<Outcome> {
  const value = await withBudget(write.account, () => write.run(db));
  return () => write.resolve(value);
}

async function runInSavepoint(db: Kysely<Tables>, write: QueuedWrite): Promise<Outcome> {
  await sql`savepoint this_write`.execute(db);
  let outcome: Outcome;
  try {
    outcome = await run(db, write);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    await sql`rollback to this_write`.execute(db);
    outcome = () => write.reject(error);
  }
  await sql`release this_write`.execute(db);
  return outcome;
}
