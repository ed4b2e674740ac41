/**
 * Lets writes through until another process takes over. That process reads the configuration as soon as the management
 * port is free, so writes that are under way have to end before; those that have not begun are refused. Owns the
 * writes under way.
 */
import { withTimeout } from '../../lib/with-timeout.ts';
import { unusableDatabase } from '../../storage/storage-errors.ts';
import { fail, type Failure } from '../api/failure.ts';

export const HANDING_OVER = 'Another gateway process is taking over; try again';
/** Less than the new process waits for the port (control/takeover/takeover.ts). */
const WRITES_MS = 10_000;

export class WriteGate {
  readonly #writesMs: number;
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;
  #isOver = false;

  /** @param writesMs for tests */
  constructor(writesMs = WRITES_MS) {
    this.#writesMs = writesMs;
  }

  /** Runs the write; a failure that may be tried again when another process takes over. */
  async run<T>(write: () => Promise<T>): Promise<T | Failure> {
    if (this.#isClosed) return fail('handing_over', HANDING_OVER);
    const running = write();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Resolves when no write is under way, or after some seconds: from then on `assertOpen` refuses. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await withTimeout(this.#writesMs, Promise.allSettled(this.#running));
    this.#isOver = this.#isClosed;
  }

  /** Call it right before a write is committed. @throws StorageUnavailable when the write has taken too long */
  assertOpen(): void {
    if (this.#isOver) throw unusableDatabase('another gateway process is taking over');
  }

  reopen(): void {
    this.#isClosed = false;
    this.#isOver = false;
  }
}
