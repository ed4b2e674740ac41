/**
 * Files that settings name, such as a certificate and its key: read again when one of them changes (checked once a
 * second by times, inode and size) or on request. Files that belong together are replaced one after the other: while
 * they cannot be used together, what was read before stays in use, and reading is retried.
 */
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import { stampOf } from './certificate-folder.ts';

/** Interval of checks for changed files. */
const POLL_MS = 1_000;

export interface FileWatchDeps {
  readonly paths: readonly string[];
  /** Reads all of them and puts them into use. @returns why they cannot be used; undefined when they are in use */
  readonly load: () => Promise<string | undefined>;
  /** Called once for each reason. */
  readonly onFailed: (reason: string) => void;
  readonly clock: Clock;
  /** For tests; milliseconds. */
  readonly pollMs?: number | undefined;
}

export interface FailedFiles {
  readonly reason: string;
  readonly sinceMs: number;
}

export class FileWatch {
  readonly #deps: FileWatchDeps;
  /** State of the files that are in use; '' if unknown. */
  #stamp = '';
  #failed: FailedFiles | undefined;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;

  constructor(deps: FileWatchDeps) {
    this.#deps = deps;
  }

  /** Why the present files are not in use; undefined when they are. */
  get failed(): FailedFiles | undefined {
    return this.#failed;
  }

  /** @param onTick called before each check */
  start(onTick: () => void = () => undefined): void {
    this.#timer = setInterval(() => {
      onTick();
      void this.check();
    }, this.#deps.pollMs ?? POLL_MS).unref();
  }

  /** Also waits for a check under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#checking;
  }

  /** Reads the files again, whether or not they changed. */
  async reload(): Promise<void> {
    await this.#checking;
    this.#stamp = '';
    await this.check();
  }

  /** Reads the files if they have changed; never rejects. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  async #check(): Promise<void> {
    // Computed before reading: the next check then sees a change made meanwhile.
    const stamp = (await Promise.all(this.#deps.paths.map(stampOf))).join(' ');
    if (stamp === this.#stamp) return;
    const reason = await this.#deps.load().catch(messageOf);
    if (reason !== undefined) return this.#fail(reason);
    this.#stamp = stamp;
    this.#failed = undefined;
  }

  /** The stamp does not change, so the next check tries again. */
  #fail(reason: string): void {
    const before = this.#failed;
    if (before?.reason === reason) return;
    this.#failed = { reason, sinceMs: before?.sinceMs ?? this.#deps.clock.nowMs() };
    this.#deps.onFailed(reason);
  }
}
