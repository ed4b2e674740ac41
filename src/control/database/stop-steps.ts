/**
 * The stop of a gateway: its parts end in the reverse order of their start. A database that is silent would make each
 * part that still has something to store wait for its own time-outs, one after the other. So those parts share one
 * limit, which begins with the first of them, after the drain of clients. What must not be lost while the database
 * answers slowly (the counts of keys) is a step of its own, without a limit, that gives up when the database fails.
 */
import type { Clock } from '../../lib/clock.ts';
import { withTimeout } from '../../lib/with-timeout.ts';

/** How long a stop waits for the database in all. */
const DATABASE_MS = 3_000;
/** What is left for closing its connections, whatever the other parts have used. */
const CLOSE_MS = 500;

type Step = () => Promise<unknown>;

export class StopSteps {
  readonly #clock: Clock;
  readonly #steps: Step[] = [];
  /** Monotonic; undefined before the first part that needs the database stops. */
  #databaseEndMs: number | undefined;

  /** @param close closes the database, last */
  constructor(clock: Clock, close: Step) {
    this.#clock = clock;
    this.#steps.push(() => withTimeout(Math.max(CLOSE_MS, this.#leftMs()), close()));
  }

  /** Runs before the steps that were added earlier. */
  add(...steps: readonly Step[]): void {
    this.#steps.unshift(...steps);
  }

  /** The same for steps that store something; they run at the same time. */
  addStoring(...steps: readonly Step[]): void {
    this.add(() => withTimeout(this.#leftMs(), Promise.all(steps.map((step) => step()))));
  }

  /**
   * A step that fails prevents no later one: they store what would be lost.
   * @throws the error of the first step that has failed, at the end
   */
  async run(): Promise<void> {
    const ends: Promise<unknown>[] = [];
    for (const step of this.#steps) {
      const end = (async () => step())();
      ends.push(end);
      await end.catch(() => undefined);
    }
    await Promise.all(ends);
  }

  /** Of a start that has failed: the error of the start counts. */
  async undo(): Promise<void> {
    await this.run().catch(() => undefined);
  }

  #leftMs(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#databaseEndMs ??= nowMs + DATABASE_MS;
    return Math.max(0, this.#databaseEndMs - nowMs);
  }
}

/** A step that runs once, however often it is called. */
export function once(step: Step): Step {
  let running: Promise<unknown> | undefined;
  return () => (running ??= step());
}
