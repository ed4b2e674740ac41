/**
 * A Kysely dialect over connections to Postgres: a small pool with a bounded queue. The timeout of an operation starts
 * with its call, or with the earlier operations of the same management call (lib/deadline-budget.ts). Knows nothing of
 * Headgate's tables. postgres-connection.ts is one connection.
 */
import {
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
} from 'kysely';
import { currentBudget, newBudget, type DeadlineBudget } from '../../lib/deadline-budget.ts';
import { tooLate } from './postgres-client.ts';
import { PostgresConnection, type PostgresConnectionConfig } from './postgres-connection.ts';
import { unusableDatabase } from '../storage-errors.ts';

/** Callers that may wait for a connection; more are refused. */
const WAITERS_MAX = 10_000;
/** How long a caller waits for a connection if its operation has no timeout. */
const ACQUIRE_TIMEOUT_MS = 15_000;

export interface PostgresDialectConfig extends PostgresConnectionConfig {
  readonly connectionsMax: number;
  /** Idle connections are closed after this time. */
  readonly idleTimeoutMs: number;
}

export function postgresDialect(config: PostgresDialectConfig): Dialect {
  return {
    createDriver: () => new PostgresPool(config),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
  };
}

interface Waiter {
  readonly budget: DeadlineBudget;
  readonly sinceMs: number;
  readonly resolve: (connection: PostgresConnection) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

class PostgresPool implements Driver {
  readonly #config: PostgresDialectConfig;
  readonly #idle: { readonly connection: PostgresConnection; readonly timer: NodeJS.Timeout }[] = [];
  readonly #waiters: Waiter[] = [];
  /** Connections in use or idle. */
  #count = 0;
  #closed = false;
  #drained: (() => void) | undefined;

  constructor(config: PostgresDialectConfig) {
    this.#config = config;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    if (this.#closed) throw unusableDatabase('it is closed');
    const budget = currentBudget() ?? newBudget();
    // A connection that arrives after its caller's timeout would be lost.
    if (this.#leftMs(budget) <= 0) throw tooLate('answer');
    const sinceMs = this.#config.clock.monotonicMs();
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      clearTimeout(idle.timer);
      idle.connection.startOperation(budget, sinceMs);
      return idle.connection;
    }
    if (this.#count < this.#config.connectionsMax) {
      this.#count += 1;
      const connection = new PostgresConnection(this.#config);
      connection.startOperation(budget, sinceMs);
      return connection;
    }
    if (this.#waiters.length >= WAITERS_MAX)
      throw unusableDatabase(`${WAITERS_MAX} callers already wait for it`);
    return this.#wait(budget, sinceMs);
  }

  #leftMs({ spentMs }: DeadlineBudget): number {
    return (this.#config.operationTimeoutMs ?? Infinity) - spentMs;
  }

  async #wait(budget: DeadlineBudget, sinceMs: number): Promise<PostgresConnection> {
    const leftMs = this.#leftMs(budget);
    const timeoutMs = leftMs === Infinity ? ACQUIRE_TIMEOUT_MS : leftMs;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        budget.spentMs += timeoutMs;
        reject(unusableDatabase(`it was busy for ${Math.round(timeoutMs)} ms`));
      }, timeoutMs);
      const waiter: Waiter = { budget, sinceMs, resolve, reject, timer };
      this.#waiters.push(waiter);
    });
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    if (!(connection instanceof PostgresConnection)) return;
    connection.endOperation();
    const next = this.#waiters.shift();
    if (next !== undefined) {
      give(connection, next);
    } else if (this.#closed) {
      await this.#close(connection);
    } else {
      this.#rest(connection);
    }
  }

  #rest(connection: PostgresConnection): void {
    const timer = setTimeout(() => {
      this.#idle.splice(
        this.#idle.findIndex((entry) => entry.connection === connection),
        1,
      );
      void this.#close(connection);
    }, this.#config.idleTimeoutMs);
    timer.unref();
    this.#idle.push({ connection, timer });
  }

  async beginTransaction(connection: PostgresConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    await connection.commit();
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    await connection.rollback();
  }

  /** Refuses waiting callers, lets callers with a connection finish, and closes everything. */
  async destroy(): Promise<void> {
    this.#closed = true;
    for (const waiter of this.#waiters.splice(0)) {
      clearTimeout(waiter.timer);
      waiter.reject(unusableDatabase('it is closed'));
    }
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    if (this.#count === 0) return;
    for (const { connection, timer } of this.#idle.splice(0)) {
      clearTimeout(timer);
      void this.#close(connection);
    }
    await drained;
  }

  /** Never rejects. */
  async #close(connection: PostgresConnection): Promise<void> {
    await connection.close();
    // A caller may have queued while this connection was closing.
    const next = this.#waiters.shift();
    if (next !== undefined) return give(new PostgresConnection(this.#config), next);
    this.#count -= 1;
    if (this.#count === 0) this.#drained?.();
  }
}

function give(connection: PostgresConnection, { budget, sinceMs, resolve, timer }: Waiter): void {
  clearTimeout(timer);
  connection.startOperation(budget, sinceMs);
  resolve(connection);
}
