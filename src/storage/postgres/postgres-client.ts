/**
 * One client of the driver `pg` with its own timeouts: on a timeout it destroys the socket, so that a frozen or
 * unreachable server does not delay its caller further. The only file that uses the driver. Reconnecting is the
 * caller's task.
 */
import { Socket } from 'node:net';
import pg from 'pg';
import { systemCode } from '../../lib/error-message.ts';
import { StorageRefused, type StorageUnavailable, unusableDatabase } from '../storage-errors.ts';
import type { PostgresAddress } from './postgres-tls.ts';

/** Object identifier of bigint, which the driver returns as text by default. */
const INT8 = 20;
const APPLICATION_NAME = 'headgate';

export interface PostgresAnswer<R> {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: R[];
}

export class PostgresClient {
  readonly #client: pg.Client;
  readonly #socket: Socket;
  #lost = false;

  /**
   * Creates a client that is not connected yet.
   * @throws StorageRefused if the address is invalid
   */
  constructor({ url, tls, givenBy }: PostgresAddress) {
    const socket = new Socket();
    this.#socket = socket;
    try {
      this.#client = new pg.Client({
        connectionString: url,
        application_name: APPLICATION_NAME,
        keepAlive: true,
        stream: () => socket,
        types: { getTypeParser: typeParser },
        ssl: tls?.() ?? false,
      });
    } catch (error) {
      if (error instanceof StorageRefused) throw error;
      // Omits the text, which may contain the URL and its password.
      const code = systemCode(error);
      throw new StorageRefused(
        code === 'ERR_INVALID_URL'
          ? `Cannot use ${givenBy}: it is not a URL; expected postgres://user:password@host:port/database, with each of / ? # @ : % in the password percent-encoded (/ is %2F)`
          : `Cannot use ${givenBy}: its parameters cannot be used${code && ` (${code})`}; expected postgres://user:password@host:port/database`,
      );
    }
    this.#client.on('error', () => this.drop());
    this.#client.on('end', () => this.drop());
  }

  /** True once the client is unusable. */
  get isLost(): boolean {
    return this.#lost;
  }

  connect(timeoutMs: number): Promise<unknown> {
    return this.#bounded(this.#client.connect(), timeoutMs, 'accept a connection');
  }

  /** Text without values may contain several statements; the result is the result of the last one. */
  async query<R>(text: string, values: unknown[] | undefined, timeoutMs: number): Promise<PostgresAnswer<R>> {
    const sent = values === undefined ? this.#client.query(text) : this.#client.query(text, values);
    const result: unknown = await this.#bounded(sent, timeoutMs, 'answer');
    return (Array.isArray(result) ? result.at(-1) : result) as PostgresAnswer<R>;
  }

  /** Receives payloads of NOTIFY on the channels that the connection listens to. */
  onNotification(listener: (payload: string) => void): void {
    this.#client.on('notification', ({ payload }) => listener(payload ?? ''));
  }

  /** Called once, when the connection is lost or closed. */
  onEnd(listener: () => void): void {
    this.#socket.once('close', listener);
  }

  /** The client must not be used afterwards. */
  markLost(): void {
    this.#lost = true;
  }

  /** Closes without notifying the server, which rolls back an open transaction. */
  drop(): void {
    this.#lost = true;
    this.#socket.destroy();
  }

  /** Closes after notifying the server. Never rejects. */
  async end(timeoutMs: number): Promise<void> {
    this.#lost = true;
    const timer = setTimeout(() => this.#socket.destroy(), timeoutMs);
    await this.#client.end().catch(() => undefined);
    clearTimeout(timer);
    this.#socket.destroy();
  }

  /** The result of `work`; ends the connection on a timeout. */
  async #bounded<T>(work: Promise<T>, timeoutMs: number, action: string): Promise<T> {
    const { promise: tooLong, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      this.drop();
      reject(tooLate(action));
    }, timeoutMs);
    // The loser of the race may reject later; ignore its error.
    work.catch(() => undefined);
    try {
      return await Promise.race([work, tooLong]);
    } finally {
      clearTimeout(timer);
    }
  }
}

export function tooLate(action: string): StorageUnavailable {
  return unusableDatabase(`it did not ${action} in time`);
}

/** The driver's default parsers, except for bigint: counts, times and config versions are far below 2^53. */
const typeParser: typeof pg.types.getTypeParser = ((oid: number, format?: 'text') =>
  oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;
