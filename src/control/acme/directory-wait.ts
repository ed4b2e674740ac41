/**
 * How long all orders wait after the ACME directory could not be used: one second at first, twice as long after each
 * further failure, at most ten minutes, and at least as long as the directory asks for (Retry-After). Owns the time
 * until which orders wait, and the problem that operators see.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import type { DirectoryUnavailable } from './directory-http.ts';

const WAIT_MS = { first: 1_000, max: 600_000 };
/** Further doublings change nothing, since the wait has reached its maximum. */
const DOUBLINGS_MAX = 20;

interface DirectoryWaitDeps {
  /** `answers` counts the answers of the directory, of any kind. */
  readonly client: { readonly answers: number };
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Pick<Logger, 'warn'>;
}

export class DirectoryWait {
  readonly #deps: DirectoryWaitDeps;
  /** On the monotonic clock. */
  #untilMs = -Infinity;
  /** Failures in a row. */
  #failures = 0;
  #answersBefore = 0;
  #problem: string | undefined;

  constructor(deps: DirectoryWaitDeps) {
    this.#deps = deps;
  }

  /** Why the directory cannot be used; undefined when it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get isWaiting(): boolean {
    return this.#deps.clock.monotonicMs() < this.#untilMs;
  }

  worked(): void {
    this.#failures = 0;
    this.#problem = undefined;
  }

  failed({ message, retryAfterMs }: Pick<DirectoryUnavailable, 'message' | 'retryAfterMs'>): void {
    const { client, clock, log } = this.#deps;
    // Orders that run at the same time fail together.
    const isNew = !this.isWaiting;
    // A directory that answers some requests is not asked less and less often.
    if (client.answers > this.#answersBefore) this.#failures = 0;
    this.#answersBefore = client.answers;
    if (isNew || this.#failures === 0) this.#failures += 1;
    const ownMs = WAIT_MS.first * 2 ** Math.min(this.#failures - 1, DOUBLINGS_MAX);
    const waitMs = Math.min(Math.max(ownMs, retryAfterMs ?? 0), WAIT_MS.max);
    this.#untilMs = Math.max(this.#untilMs, clock.monotonicMs() + waitMs);
    if (message !== this.#problem) {
      log.warn({ reason: message, retry_in_ms: waitMs }, 'the ACME directory cannot be used');
    }
    this.#problem = message;
  }
}
