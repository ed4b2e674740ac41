/**
 * One client of the driver `pg`, with the end of every wait in our own hands: when a time-out comes the socket is
 * destroyed, so that a server that is frozen or out of reach costs its caller the time-out and nothing more. The only
 * file that knows the driver. When to connect, and what to do after a loss, is for others to decide.
 */
import { Socket } from 'node:net';
import pg from 'pg';
import { StorageRefused, StorageUnavailable } from '../repository.ts';
import type { PostgresAddress } from './postgres-tls.ts';

/** Object identifier of the type bigint, which the driver returns as text by default. */
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
   * Not yet connected.
   * @throws StorageRefused when the address cannot be used
   */
  constructor({ url, tls }: PostgresAddress) {
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
      // Without its text, which may repeat the URL and with it the password.
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      throw new StorageRefused(
        `Cannot use GATEWAY_DATABASE_URL: its parameters cannot be used${code}; expected postgres://user:password@host:port/database`,
      );
    }
    this.#client.on('error', () => this.drop());
    this.#client.on('end', () => this.drop());
  }

  /** True when it cannot be used any more. */
  get isLost(): boolean {
    return this.#lost;
  }

  connect(timeoutMs: number): Promise<unknown> {
    return this.#bounded(this.#client.connect(), timeoutMs, 'be reached');
  }

  /** Several statements may stand in a text without values; the answer is that of the last one. */
  async query<R>(text: string, values: unknown[] | undefined, timeoutMs: number): Promise<PostgresAnswer<R>> {
    const sent = values === undefined ? this.#client.query(text) : this.#client.query(text, values);
    const result: unknown = await this.#bounded(sent, timeoutMs, 'answer');
    return (Array.isArray(result) ? result.at(-1) : result) as PostgresAnswer<R>;
  }

  /** Payloads of NOTIFY on the channels that the connection listens to. */
  onNotification(listener: (payload: string) => void): void {
    this.#client.on('notification', ({ payload }) => listener(payload ?? ''));
  }

  /** Called once, when the connection is lost or closed. */
  onEnd(listener: () => void): void {
    this.#socket.once('close', listener);
  }

  /** Not to be used again. */
  markLost(): void {
    this.#lost = true;
  }

  /** Without a word to the server, which rolls back what was open. */
  drop(): void {
    this.#lost = true;
    this.#socket.destroy();
  }

  /** Takes its leave of the server. Never rejects. */
  async end(timeoutMs: number): Promise<void> {
    this.#lost = true;
    const timer = setTimeout(() => this.#socket.destroy(), timeoutMs);
    await this.#client.end().catch(() => undefined);
    clearTimeout(timer);
    this.#socket.destroy();
  }

  /** What `work` gives, or the end of the connection when it takes too long. */
  async #bounded<T>(work: Promise<T>, timeoutMs: number, action: string): Promise<T> {
    const { promise: tooLong, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      this.drop();
      reject(tooLate(action));
    }, timeoutMs);
    // The loser of the race may reject later; its error is ignored.
    work.catch(() => undefined);
    try {
      return await Promise.race([work, tooLong]);
    } finally {
      clearTimeout(timer);
    }
  }
}

export function tooLate(action: string): StorageUnavailable {
  return new StorageUnavailable(`Cannot use the database: it did not ${action} in time`);
}

/** As the driver has it, but for bigint: counts, times and config versions are far below 2^53. */
const typeParser: typeof pg.types.getTypeParser = ((oid: number, format?: 'text') =>
  oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;
