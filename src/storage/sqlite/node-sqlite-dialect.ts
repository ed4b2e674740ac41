/**
 * A Kysely dialect over `node:sqlite`: a small pool of connections, transactions with a configurable BEGIN, and a
 * cache of prepared statements per connection. `node:sqlite` is synchronous, so a statement blocks its thread; callers
 * wait only for a free connection. A long transaction lets other work of the thread run between its statements. Knows
 * nothing of Headgate's tables.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryResult,
} from 'kysely';
import type { Clock } from '../../lib/clock.ts';

/** Prepared statements per connection; the least recently used one is evicted first. */
const STATEMENTS_MAX = 256;
/** Callers that may wait for a connection; more are refused. */
const WAITERS_MAX = 10_000;
/** How long a caller waits for a connection. */
const ACQUIRE_TIMEOUT_MS = 15_000;
/** How long to retry while another process holds the lock. */
export const LOCK_WAIT_MS = 3_000;
const LOCK_RETRY_DELAY_MS = 20;
/** After this time, a transaction lets the event loop turn before its next statement. */
const TURN_MS = 10;

export interface NodeSqliteDialectConfig {
  /** Opens one connection; called again for further ones up to `connectionsMax`. */
  readonly open: () => DatabaseSync;
  readonly connectionsMax: number;
  /**
   * `begin immediate` takes the write lock first, so that a transaction never fails half-way because it cannot get the
   * lock.
   */
  readonly begin: 'begin' | 'begin immediate';
  /** True when a connection whose state is unknown may be replaced by a new one (not so in memory). */
  readonly replaceBroken: boolean;
  /** Turns an error of the driver into one that the caller understands. */
  readonly mapError: (error: unknown) => unknown;
  /** True when the error says that another connection holds the lock. */
  readonly isBusy: (error: unknown) => boolean;
  /** Creates the error for "no connection available". */
  readonly unavailable: (reason: string) => Error;
  readonly clock: Clock;
}

export function nodeSqliteDialect(config: NodeSqliteDialectConfig): Dialect {
  return {
    createDriver: () => new NodeSqliteDriver(config),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new PooledSqliteAdapter(),
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
  };
}

/** The driver below manages connections itself, so Kysely's own lock is not needed. */
class PooledSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

interface Waiter {
  readonly resolve: (connection: NodeSqliteConnection) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

class NodeSqliteDriver implements Driver {
  readonly #config: NodeSqliteDialectConfig;
  readonly #idle: NodeSqliteConnection[] = [];
  readonly #waiters: Waiter[] = [];
  #openCount = 0;
  #closed = false;
  #drained: (() => void) | undefined;

  constructor(config: NodeSqliteDialectConfig) {
    this.#config = config;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<NodeSqliteConnection> {
    if (this.#closed) throw this.#config.unavailable('it is closed');
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#openCount < this.#config.connectionsMax) return this.#open();
    if (this.#waiters.length >= WAITERS_MAX) {
      throw this.#config.unavailable(`${WAITERS_MAX} callers already wait for it`);
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(this.#config.unavailable(`it was busy for ${ACQUIRE_TIMEOUT_MS} ms`));
      }, ACQUIRE_TIMEOUT_MS);
      const waiter: Waiter = { resolve, reject, timer };
      this.#waiters.push(waiter);
    });
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    if (!(connection instanceof NodeSqliteConnection)) return;
    if (connection.broken && this.#config.replaceBroken) {
      this.#discard(connection);
      this.#serveNextWithNew();
      return;
    }
    const next = this.#waiters.shift();
    if (next !== undefined) {
      clearTimeout(next.timer);
      next.resolve(connection);
    } else if (this.#closed) {
      this.#discard(connection);
    } else {
      this.#idle.push(connection);
    }
  }

  async beginTransaction(connection: NodeSqliteConnection): Promise<void> {
    connection.rollbackIfOpen();
    // SQLite's own busy timeout would block the thread, which may also run the holder of the lock. The limit is a time,
    // not a number of attempts, since each attempt takes longer on a busy machine.
    const endMs = this.#config.clock.monotonicMs() + LOCK_WAIT_MS;
    for (;;) {
      const isLast = this.#config.clock.monotonicMs() >= endMs;
      try {
        connection.begin(this.#config.begin);
        return;
      } catch (error) {
        if (isLast || !this.#config.isBusy(error)) throw this.#config.mapError(error);
      }
      await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_DELAY_MS));
    }
  }

  async commitTransaction(connection: NodeSqliteConnection): Promise<void> {
    try {
      connection.commit();
    } catch (error) {
      throw this.#config.mapError(error);
    }
  }

  /** Never throws: the error that led to the rollback is the one to report. */
  async rollbackTransaction(connection: NodeSqliteConnection): Promise<void> {
    connection.rollbackIfOpen();
  }

  /** Refuses waiting callers, lets callers with a connection finish, and closes everything. */
  async destroy(): Promise<void> {
    this.#closed = true;
    for (const waiter of this.#waiters.splice(0)) {
      clearTimeout(waiter.timer);
      waiter.reject(this.#config.unavailable('it is closed'));
    }
    for (const connection of this.#idle.splice(0)) this.#discard(connection);
    if (this.#openCount === 0) return;
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
  }

  #open(): NodeSqliteConnection {
    this.#openCount += 1;
    try {
      return new NodeSqliteConnection(this.#config.open(), this.#config);
    } catch (error) {
      this.#openCount -= 1;
      throw this.#config.mapError(error);
    }
  }

  #serveNextWithNew(): void {
    const next = this.#waiters.shift();
    if (next === undefined) return;
    clearTimeout(next.timer);
    try {
      next.resolve(this.#open());
    } catch (error) {
      next.reject(error);
      // No connection is left that could be released to the other waiters: each makes its own attempt.
      if (this.#openCount === 0) this.#serveNextWithNew();
    }
  }

  #discard(connection: NodeSqliteConnection): void {
    connection.close();
    this.#openCount -= 1;
    if (this.#openCount === 0) this.#drained?.();
  }
}

interface CachedStatement {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
  /** Names of its columns in this version of the schema. */
  names: readonly string[];
  schemaVersion: number;
}

/** The schema may change at any moment: read the columns each time. */
const UNKNOWN_SCHEMA = -1;

class NodeSqliteConnection implements DatabaseConnection {
  readonly #db: DatabaseSync;
  readonly #config: NodeSqliteDialectConfig;
  readonly #statements = new Map<string, CachedStatement>();
  /** Valid from the beginning of a transaction to its end or to the next statement that may change the schema. */
  #schemaVersion = UNKNOWN_SCHEMA;
  #turnEndsMs = Infinity;
  /** True when a rollback failed: the state of the connection is unknown. */
  broken = false;

  constructor(db: DatabaseSync, config: NodeSqliteDialectConfig) {
    this.#db = db;
    this.#config = config;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#config.clock.monotonicMs() >= this.#turnEndsMs) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#beginTurn();
    }
    // Spread, never passed as an array: node:sqlite reads a leading object as named parameters.
    const parameters = query.parameters as readonly SQLInputValue[];
    try {
      const cached = this.#prepare(query.sql);
      if (cached.returnsRows)
        return { rows: this.#toObjects<R>(cached, cached.statement.all(...parameters)) };
      if (!CHANGES_ROWS.test(query.sql)) this.#schemaVersion = UNKNOWN_SCHEMA;
      const { changes, lastInsertRowid } = cached.statement.run(...parameters);
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
    } catch (error) {
      throw this.#config.mapError(error);
    }
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    // Not in chunks: node:sqlite must not be used for anything else while an iterator is open.
    yield await this.executeQuery<R>(query);
  }

  /** Throws the driver's own error. */
  begin(sql: string): void {
    this.#db.exec(sql);
    this.#beginTurn();
    this.#schemaVersion = Number(this.#prepare('pragma schema_version').statement.all().flat()[0]);
  }

  /** Throws the driver's own error. */
  commit(): void {
    this.#schemaVersion = UNKNOWN_SCHEMA;
    this.#db.exec('commit');
  }

  rollbackIfOpen(): void {
    this.#schemaVersion = UNKNOWN_SCHEMA;
    try {
      // On a full disk or an I/O error SQLite has rolled back by itself.
      if (this.#db.isTransaction) this.#db.exec('rollback');
    } catch {
      this.broken = true;
    }
  }

  close(): void {
    this.#statements.clear();
    try {
      this.#db.close();
    } catch {
      // Already closed, or the file is unusable: nothing is left to release.
    }
  }

  #beginTurn(): void {
    this.#turnEndsMs = this.#config.clock.monotonicMs() + TURN_MS;
  }

  #prepare(sql: string): CachedStatement {
    const cached = this.#statements.get(sql);
    if (cached !== undefined) {
      this.#statements.delete(sql);
      this.#statements.set(sql, cached);
      return cached;
    }
    const statement = this.#db.prepare(sql);
    const returnsRows = statement.columns().length > 0;
    const entry = { statement, returnsRows, names: [], schemaVersion: UNKNOWN_SCHEMA };
    statement.setReturnArrays(true);
    if (this.#statements.size >= STATEMENTS_MAX) {
      const oldest = this.#statements.keys().next().value;
      if (oldest !== undefined) this.#statements.delete(oldest);
    }
    this.#statements.set(sql, entry);
    return entry;
  }

  /**
   * Converts rows to plain objects. The driver's own row objects have no prototype and are slow to copy and read; plain
   * objects make reading a record three times as fast. Columns may differ after another process changed the schema.
   * Reading the column names costs more than most statements, so it is done once per version of the schema.
   * @param rows arrays: the statement is set to return arrays, which the driver's types do not express
   */
  #toObjects<R>(cached: CachedStatement, rows: readonly unknown[]): R[] {
    if (rows.length === 0) return [];
    if (this.#schemaVersion === UNKNOWN_SCHEMA || cached.schemaVersion !== this.#schemaVersion) {
      cached.names = cached.statement.columns().map(({ name }) => name);
      cached.schemaVersion = this.#schemaVersion;
    }
    const { names } = cached;
    return (rows as readonly (readonly unknown[])[]).map((values) => {
      const row: Record<string, unknown> = {};
      for (let index = 0; index < names.length; index++) row[names[index] as string] = values[index];
      return row as R;
    });
  }
}

/** Statements that return no rows and do not change the schema. */
const CHANGES_ROWS = /^\s*(?:insert|update|delete|savepoint|release|rollback to)\b/i;
