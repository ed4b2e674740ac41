/**
 * Deadlines of connections, swept by one timer per worker instead of one timer each: setting a deadline is one
 * assignment. Also the coarse clock of the traffic path: `nowMs` is at most one sweep old.
 */
import type { Clock } from '../../lib/clock.ts';

const SWEEP_MS = 50;
/** After this many expired deadlines other work runs first: thousands may expire at the same moment. */
const EXPIRED_PER_TURN_MAX = 200;

export interface Expiring {
  /** On the scale of `Deadlines.nowMs`; Infinity for none. */
  deadlineMs: number;
  /** Called once the deadline has passed; must move the deadline or leave the set. */
  onDeadline(): void;
}

export class Deadlines {
  /** Monotonic milliseconds at the last sweep. */
  nowMs: number;
  readonly #clock: Clock;
  readonly #members = new Set<Expiring>();
  #timer: NodeJS.Timeout | undefined;
  #isBehind = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.nowMs = clock.monotonicMs();
  }

  start(): void {
    // Otherwise the time in which a worker reads its configuration would shorten its first deadlines.
    this.nowMs = this.#clock.monotonicMs();
    this.#timer ??= setInterval(() => this.sweep(), SWEEP_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  add(member: Expiring): void {
    this.#members.add(member);
  }

  delete(member: Expiring): void {
    this.#members.delete(member);
  }

  /**
   * Calls all members whose deadline has passed, over several loop ticks if necessary. Members may be added and removed
   * meanwhile.
   */
  sweep(): void {
    this.nowMs = this.#clock.monotonicMs();
    let expired = 0;
    for (const member of this.#members) {
      if (member.deadlineMs > this.nowMs) continue;
      if (expired === EXPIRED_PER_TURN_MAX) return this.#sweepOn();
      expired += 1;
      member.onDeadline();
    }
  }

  #sweepOn(): void {
    if (this.#isBehind) return;
    this.#isBehind = true;
    setImmediate(() => {
      this.#isBehind = false;
      this.sweep();
    });
  }
}
