/**
 * One slot of the Postgres connection pool. It connects when it is first used, and again after the connection is lost.
 * Enforces the time limit for all waits of an operation; postgres-client.ts does a single wait.
 */
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import { assert } from '../../lib/assert.ts';
import { newBudget, type DeadlineBudget } from '../../lib/deadline-budget.ts';
import type { Clock } from '../../lib/clock.ts';
import { isReadOnly } from './postgres-begin.ts';
import { PostgresClient, tooLate, type PostgresAnswer } from './postgres-client.ts';
import { endsConnection, isRefusal, mapPostgresError } from './postgres-errors.ts';
import type { PostgresAddress } from './postgres-tls.ts';
import { OutcomeUnknown, StorageUnavailable, unusableDatabase } from '../storage-errors.ts';

/**
 * Statements faster than this are not charged to the budget of an operation: a long write on a healthy database is not
 * a slow one.
 */
const PROMPT_ANSWER_MS = 50;

export interface PostgresConnectionConfig {
  readonly address: PostgresAddress;
  /** Statements, separated by semicolons, that begin a transaction. */
  readonly begin: string;
  readonly connectTimeoutMs: number;
  /** For one statement. */
  readonly statementTimeoutMs: number;
  /**
   * Limit for all waits of one management call, over all of its operations; prompt answers do not count. undefined:
   * no limit.
   */
  readonly operationTimeoutMs: number | undefined;
  readonly clock: Clock;
}

export class PostgresConnection implements DatabaseConnection {
  readonly #config: PostgresConnectionConfig;
  #live: PostgresClient | undefined;
  /** Waits charged to the operation so far. */
  #budget: DeadlineBudget = newBudget();
  #inTransaction = false;
  /** Resolves after the previous statement: the driver accepts one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(config: PostgresConnectionConfig) {
    this.#config = config;
  }

  /**
   * @param waits waits of the call that the operation belongs to; grows
   * @param sinceMs start of the operation, by the monotonic clock
   */
  startOperation(budget: DeadlineBudget, sinceMs: number): void {
    this.#budget = budget;
    budget.spentMs += this.#config.clock.monotonicMs() - sinceMs;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const result = this.#turn.then(() => this.#execute<R>(query));
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #execute<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      if (this.#inTransaction && this.#usable() === undefined) throw lostConnection();
      const live = this.#usable() ?? (await this.#reconnect());
      const result = await this.#send<R>(live, query.sql, query.parameters.map(storable));
      const numAffectedRows = result.command === 'SELECT' ? undefined : BigInt(result.rowCount ?? 0);
      return { rows: result.rows, ...(numAffectedRows !== undefined && { numAffectedRows }) };
    } catch (error) {
      throw mapPostgresError(error);
    }
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  /** Replaces a connection that was lost while idle: no statement was sent on it. */
  async begin(): Promise<void> {
    try {
      const idle = this.#usable();
      if (idle === undefined || !(await this.#beginOn(idle))) {
        await this.#send(await this.#reconnect(), this.#config.begin);
      }
      this.#inTransaction = true;
    } catch (error) {
      // Some of the statements may have been executed.
      this.discard();
      throw mapPostgresError(error);
    }
  }

  /** False if the connection was lost; throws other errors. */
  async #beginOn(idle: PostgresClient): Promise<boolean> {
    try {
      await this.#send(idle, this.#config.begin);
      return true;
    } catch (error) {
      if (isRefusal(error) || error instanceof StorageUnavailable) throw error;
      return false;
    }
  }

  /**
   * @throws OutcomeUnknown if the connection is lost before the answer, and something may have been stored
   */
  async commit(): Promise<void> {
    const live = this.#usable();
    if (live === undefined) throw lostConnection();
    this.#assertTimeLeft('answer');
    let command: string;
    try {
      ({ command } = await this.#send(live, 'commit'));
    } catch (error) {
      if (isRefusal(error) || isReadOnly(this.#config.begin)) throw mapPostgresError(error);
      throw new OutcomeUnknown(error);
    }
    this.#inTransaction = false;
    // COMMIT of a transaction with a failed statement rolls back without an error.
    assert(command === 'COMMIT', `a transaction with a failed statement must be rolled back, not committed`);
  }

  /** Never throws: the caller reports the error that led to the rollback. */
  async rollback(): Promise<void> {
    const live = this.#usable();
    if (live === undefined || !this.#inTransaction) return;
    try {
      await this.#send(live, 'rollback');
      this.#inTransaction = false;
    } catch {
      this.discard();
    }
  }

  /** A connection that returns to the pool with an open transaction must not be used again. */
  endOperation(): void {
    this.#budget = newBudget();
    if (this.#inTransaction) this.discard();
  }

  discard(): void {
    const live = this.#live;
    this.#live = undefined;
    this.#inTransaction = false;
    live?.drop();
  }

  async close(): Promise<void> {
    const live = this.#usable();
    this.#live = undefined;
    await live?.end(this.#config.connectTimeoutMs);
  }

  #usable(): PostgresClient | undefined {
    return this.#live === undefined || this.#live.isLost ? undefined : this.#live;
  }

  async #reconnect(): Promise<PostgresClient> {
    this.discard();
    const live = new PostgresClient(this.#config.address);
    await this.#bounded(this.#config.connectTimeoutMs, (waitMs) => live.connect(waitMs));
    this.#live = live;
    return live;
  }

  async #send<R>(live: PostgresClient, text: string, values?: unknown[]): Promise<PostgresAnswer<R>> {
    this.#assertTimeLeft('answer');
    const { statementTimeoutMs } = this.#config;
    try {
      return await this.#bounded(statementTimeoutMs, (waitMs) => live.query<R>(text, values, waitMs));
    } catch (error) {
      if (endsConnection(error)) live.markLost();
      throw error;
    }
  }

  #assertTimeLeft(action: string): void {
    if (this.#leftMs() <= 0) throw tooLate(action);
  }

  #leftMs(): number {
    return (this.#config.operationTimeoutMs ?? Infinity) - this.#budget.spentMs;
  }

  /** One wait, limited by `timeoutMs` and by the rest of the operation's time. */
  async #bounded<T>(timeoutMs: number, work: (waitMs: number) => Promise<T>): Promise<T> {
    const budget = this.#budget;
    const startedMs = this.#config.clock.monotonicMs();
    budget.waitingSinceMs = startedMs;
    try {
      return await work(Math.max(0, Math.min(timeoutMs, this.#leftMs())));
    } finally {
      budget.waitingSinceMs = undefined;
      const tookMs = this.#config.clock.monotonicMs() - startedMs;
      if (tookMs > PROMPT_ANSWER_MS) budget.spentMs += tookMs;
    }
  }
}

function lostConnection(): StorageUnavailable {
  return unusableDatabase('the connection to it was lost');
}

/**
 * Replaces NUL, which Postgres cannot store or compare, with a noncharacter. Schemas keep NUL out of stored text, so it
 * occurs only in look-ups, which then find nothing.
 */
function storable(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uffff') : value;
}
