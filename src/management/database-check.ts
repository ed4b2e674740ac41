/**
 * Whether the database can be read and written, for health and readiness, with a log line whenever that changes.
 * Reads are tested every few seconds and on request; writes only on request or after a failed write, because they
 * wait for the disk. Slow writes are not a problem of the database; refused writes are. An answer does not wait for
 * long writes of other callers: it uses the last result, and a later answer uses the new one.
 *
 * A test write is small, and may pass where no other does: on a full disk a table that has to grow cannot, one with
 * free space can be changed; and of several tables one may be missing or damaged. So a write that was refused for such
 * a reason counts for a while, unless the test write fails as well.
 */
import type { Clock } from '../lib/clock.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { messageOf } from '../lib/error-message.ts';
import type { Repository } from '../storage/repository.ts';
import { StatementRefused, StorageUnavailable, unusableDatabase } from '../storage/storage-errors.ts';

/** A database that has not answered by then is reported as down. */
const PING_TIMEOUT_MS = 2_000;
/** An answer does not wait longer for a test write, which continues; probes often wait a second. */
const WRITE_WAIT_MS = 500;
const WATCH_MS = 5_000;
/** A successful test write is valid for this time, a failed one for less. */
const WRITABLE_MS = 5_000;
const UNWRITABLE_MS = 500;
/** How long a write that was refused counts, if no other is tried. */
const REFUSED_MS = 60_000;
/** A successful write this long after it shows that all writes pass again, and not only some. */
const PASSES_MS = 5_000;

export interface DatabaseProblem {
  /** `error`: it cannot be read. `degraded`: it cannot be written. */
  readonly db: 'error' | 'degraded';
  /** For anonymous callers: contains no path and no host. */
  readonly reason: string;
  /** The same for signed-in callers; undefined if it says no more. */
  readonly detail?: string | undefined;
}

type Checked = Pick<Repository, 'ping' | 'pingWrite' | 'assertPrivileges'>;

interface Log {
  error(fields: object, text: string): void;
  info(text: string): void;
}

export class DatabaseCheck {
  readonly #repository: Checked;
  readonly #clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  readonly #log: Log;
  #db: DatabaseProblem['db'] | 'ok' = 'ok';
  #unwritable: DatabaseProblem | undefined;
  #writableUntilMs = -Infinity;
  /** The last write that was refused, though the test write passes. */
  #refused: { readonly error: StatementRefused; readonly atMs: number } | undefined;
  /** The test write under way. */
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** Unix milliseconds: when the database was found to be as it is now. */
  #foundAtMs: number;

  /** @param isDown whether the database is already known, and logged, to be down */
  constructor(repository: Checked, clock: Pick<Clock, 'monotonicMs' | 'nowMs'>, log: Log, isDown = false) {
    this.#repository = repository;
    this.#clock = clock;
    this.#log = log;
    this.#foundAtMs = clock.nowMs();
    if (isDown) this.#db = 'error';
  }

  start(): void {
    this.#timer = setInterval(() => void this.#watch(), WATCH_MS).unref();
  }

  /** What a test under way finds afterwards is not logged: the database is about to be closed. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  /** Call it after a failed write. */
  suspect(error: StorageUnavailable): void {
    if (error instanceof StatementRefused) this.#refused = { error, atMs: this.#clock.monotonicMs() };
    this.#writableUntilMs = -Infinity;
    void this.problem();
  }

  /** Call it after a successful write: earlier findings no longer count. */
  wrote(): void {
    if (this.#unwritable === undefined) return;
    this.#writableUntilMs = -Infinity;
    if (this.#refused !== undefined && this.#sinceMs(this.#refused) >= PASSES_MS) this.#refused = undefined;
  }

  /** undefined when the database works. Never rejects. */
  async problem(): Promise<DatabaseProblem | undefined> {
    return (await this.#look()) ?? (await this.#lookAtWriting());
  }

  /** Since when it has the problem that it has, Unix milliseconds; undefined when there is none. */
  get problemSinceMs(): number | undefined {
    return this.#db === 'ok' ? undefined : this.#foundAtMs;
  }

  /** Also notices what needs no test write: a privilege that was revoked, and that writing works again. */
  async #watch(): Promise<void> {
    if ((await this.#look()) !== undefined) return;
    const isLacking = (await outcomeOf(this.#repository.assertPrivileges())) instanceof StatementRefused;
    if (isLacking) this.#writableUntilMs = -Infinity;
    if (isLacking || this.#unwritable !== undefined) await this.#lookAtWriting();
  }

  async #look(): Promise<DatabaseProblem | undefined> {
    const error = await withTimeout(PING_TIMEOUT_MS, outcomeOf(this.#repository.ping()));
    if (error === null) {
      if (this.#db === 'error') this.#note('ok', undefined);
      return undefined;
    }
    const late = unusableDatabase(`no answer within ${PING_TIMEOUT_MS} ms`);
    this.#note('error', error ?? late);
    const why = error instanceof StorageUnavailable ? error.reason : undefined;
    const reason = why === undefined ? 'The database does not answer' : `The database cannot be used: ${why}`;
    return { db: 'error', reason };
  }

  async #lookAtWriting(): Promise<DatabaseProblem | undefined> {
    if (this.#clock.monotonicMs() < this.#writableUntilMs) return this.#unwritable;
    this.#writing ??= this.#tryWriting();
    await withTimeout(WRITE_WAIT_MS, this.#writing);
    return this.#unwritable;
  }

  /** Never rejects. */
  async #tryWriting(): Promise<void> {
    const test = this.#repository.assertPrivileges().then(() => this.#repository.pingWrite());
    const found = await outcomeOf(test);
    this.#writing = undefined;
    // A test write that fails will also show when the database can be written again.
    if (found !== null || (this.#refused !== undefined && this.#sinceMs(this.#refused) >= REFUSED_MS))
      this.#refused = undefined;
    const error = found ?? this.#refused?.error ?? null;
    this.#unwritable = error === null ? undefined : unwritable(error);
    this.#writableUntilMs = this.#clock.monotonicMs() + (error === null ? WRITABLE_MS : UNWRITABLE_MS);
    this.#note(error === null ? 'ok' : 'degraded', error);
  }

  #sinceMs({ atMs }: { readonly atMs: number }): number {
    return this.#clock.monotonicMs() - atMs;
  }

  #note(db: DatabaseProblem['db'] | 'ok', error: unknown): void {
    if (this.#isStopped || db === this.#db) return;
    this.#db = db;
    this.#foundAtMs = this.#clock.nowMs();
    const reason = messageOf(error);
    if (db === 'ok') this.#log.info('the database can be used again');
    else if (db === 'error') this.#log.error({ reason }, 'the database cannot be used');
    else this.#log.error({ reason }, 'the database cannot be written');
  }
}

function unwritable(error: unknown): DatabaseProblem {
  const what = 'The database cannot be written';
  const { reason, problem } = error instanceof StorageUnavailable ? error : {};
  return {
    db: 'degraded',
    reason: reason === undefined ? what : `${what}: ${reason}`,
    ...(error instanceof StatementRefused && problem !== undefined && { detail: `${what}: ${problem}` }),
  };
}

/** null when it succeeded. */
function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error ?? new Error('unknown failure'),
  );
}
