/**
 * One place of a pool for a connection to Postgres: it connects when it is first used, and again when the connection
 * was lost. Every wait has an end: when it comes, the socket is destroyed, so that a server that is frozen or out of
 * reach costs its caller the time-out and nothing more. The only file that knows the driver `pg`.
 */
import { Socket } from 'node:net';
import pg from 'pg';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import { assert } from '../kernel/assert.ts';
import type { Clock } from '../kernel/clock.ts';
import { endsConnection, isRefusal, mapPostgresError } from './postgres-errors.ts';
import { StorageRefused, StorageUnavailable } from './repository.ts';

/** Object identifier of the type bigint, which the driver returns as text when nobody says otherwise. */
const INT8 = 20;
/**
 * An answer that comes this fast, and the work in between, do not count against the operation's time: a long write on
 * a database in good health is not a slow one.
 */
const PROMPT_ANSWER_MS = 50;
const APPLICATION_NAME = 'headgate';

export interface PostgresConnectionConfig {
  /** A connection URI; its query carries the TLS parameters (`sslmode`, `sslrootcert`, `sslcert`, `sslkey`). */
  readonly url: string;
  /** Statements, separated by semicolons, that begin a transaction. */
  readonly begin: string;
  readonly connectTimeoutMs: number;
  /** For one statement. */
  readonly statementTimeoutMs: number;
  /** For all that one operation waits from the call on, but for prompt answers; undefined: no such limit. */
  readonly operationTimeoutMs: number | undefined;
  readonly clock: Clock;
}

interface Live {
  readonly client: pg.Client;
  readonly socket: Socket;
  /** Set when it cannot be used any more. */
  lost: boolean;
}

export class PostgresConnection implements DatabaseConnection {
  readonly #config: PostgresConnectionConfig;
  #live: Live | undefined;
  /** What is left of the operation's time. */
  #leftMs = Infinity;
  #inTransaction = false;
  /** The end of the statement before: the driver takes one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(config: PostgresConnectionConfig) {
    this.#config = config;
  }

  /** @param sinceMs when the operation was asked for, by the monotonic clock */
  startOperation(sinceMs: number): void {
    const waitedMs = this.#config.clock.monotonicMs() - sinceMs;
    this.#leftMs = (this.#config.operationTimeoutMs ?? Infinity) - waitedMs;
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

  /** A connection that was lost while it lay idle is replaced: nothing has happened on it yet. */
  async begin(): Promise<void> {
    try {
      const idle = this.#usable();
      if (idle === undefined || !(await this.#beginOn(idle))) {
        await this.#send(await this.#reconnect(), this.#config.begin);
      }
      this.#inTransaction = true;
    } catch (error) {
      // A part of the statements may have been executed.
      this.discard();
      throw mapPostgresError(error);
    }
  }

  /** False when the connection had been lost, and only that. */
  async #beginOn(idle: Live): Promise<boolean> {
    try {
      await this.#send(idle, this.#config.begin);
      return true;
    } catch (error) {
      if (isRefusal(error) || error instanceof StorageUnavailable) throw error;
      return false;
    }
  }

  /**
   * @throws StorageUnavailable that says so when the connection was lost before the answer came: then nobody knows
   * whether the transaction took place
   */
  async commit(): Promise<void> {
    const live = this.#usable();
    if (live === undefined) throw lostConnection();
    this.#assertTimeLeft('answer');
    let command: string;
    try {
      ({ command } = await this.#send(live, 'commit'));
    } catch (error) {
      if (isRefusal(error)) throw mapPostgresError(error);
      throw new StorageUnavailable(
        'Cannot tell whether the write was stored: the connection to the database was lost before it answered; expected the caller to read before trying again',
        error,
      );
    }
    this.#inTransaction = false;
    // A transaction in which a statement had failed ends in a rollback, without an error.
    assert(command === 'COMMIT', `a transaction with a failed statement was to be given up, not committed`);
  }

  /** Never throws: the error that led to the rollback is the one to report. */
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

  /** What comes back into the pool with a transaction open must not be used again. */
  endOperation(): void {
    this.#leftMs = Infinity;
    if (this.#inTransaction) this.discard();
  }

  /** Without a word to the server, which rolls back what was open. */
  discard(): void {
    const live = this.#live;
    this.#live = undefined;
    this.#inTransaction = false;
    if (live === undefined) return;
    live.lost = true;
    live.socket.destroy();
  }

  async close(): Promise<void> {
    const live = this.#usable();
    this.#live = undefined;
    if (live === undefined) return;
    live.lost = true;
    const timer = setTimeout(() => live.socket.destroy(), this.#config.connectTimeoutMs);
    await live.client.end().catch(() => undefined);
    clearTimeout(timer);
    live.socket.destroy();
  }

  #usable(): Live | undefined {
    return this.#live === undefined || this.#live.lost ? undefined : this.#live;
  }

  async #reconnect(): Promise<Live> {
    this.discard();
    const socket = new Socket();
    let client: pg.Client;
    try {
      client = new pg.Client({
        connectionString: this.#config.url,
        application_name: APPLICATION_NAME,
        keepAlive: true,
        stream: () => socket,
        types: { getTypeParser: typeParser },
      });
    } catch (error) {
      // Without its text, which may repeat the URL and with it the password.
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      throw new StorageRefused(
        `Cannot use GATEWAY_DATABASE_URL: its parameters cannot be used${code}; expected postgres://user:password@host:port/database and TLS files that exist`,
      );
    }
    const live: Live = { client, socket, lost: false };
    const onLost = (): void => {
      live.lost = true;
    };
    client.on('error', onLost);
    client.on('end', onLost);
    await this.#bounded(live, client.connect(), this.#config.connectTimeoutMs, 'be reached');
    this.#live = live;
    return live;
  }

  async #send<R>(live: Live, text: string, values?: unknown[]): Promise<Answer<R>> {
    this.#assertTimeLeft('answer');
    const sent = values === undefined ? live.client.query(text) : live.client.query(text, values);
    try {
      const result = await this.#bounded(live, sent, this.#config.statementTimeoutMs, 'answer');
      // Several statements in one text have several results.
      const last = Array.isArray(result) ? (result as (typeof result)[]).at(-1) : result;
      return last as Answer<R>;
    } catch (error) {
      if (endsConnection(error)) live.lost = true;
      throw error;
    }
  }

  #assertTimeLeft(action: string): void {
    if (this.#leftMs <= 0) throw tooLate(action);
  }

  /** What `work` gives, or the end of the connection when it takes too long. */
  async #bounded<T>(live: Live, work: Promise<T>, timeoutMs: number, action: string): Promise<T> {
    const startedMs = this.#config.clock.monotonicMs();
    const waitMs = Math.max(0, Math.min(timeoutMs, this.#leftMs));
    const { promise: tooLong, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      live.lost = true;
      live.socket.destroy();
      reject(tooLate(action));
    }, waitMs);
    // Whichever loses the race may fail later, with nobody to hear of it.
    work.catch(() => undefined);
    try {
      return await Promise.race([work, tooLong]);
    } finally {
      clearTimeout(timer);
      const tookMs = this.#config.clock.monotonicMs() - startedMs;
      if (tookMs > PROMPT_ANSWER_MS) this.#leftMs -= tookMs;
    }
  }
}

function tooLate(action: string): StorageUnavailable {
  return new StorageUnavailable(`Cannot use the database: it did not ${action} in time`);
}

function lostConnection(): StorageUnavailable {
  return new StorageUnavailable('Cannot use the database: the connection to it was lost');
}

interface Answer<R> {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: R[];
}

/** As the driver has it, but for bigint: counts and config versions are far below 2^53. */
const typeParser: typeof pg.types.getTypeParser = ((oid: number, format?: 'text') =>
  oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;

/**
 * Postgres cannot hold NUL in a text, and refuses to compare with one. Schemas keep it out of what is stored, so it
 * comes in look-ups only: it is replaced by a noncharacter, which is found as little.
 */
function storable(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uffff') : value;
}
