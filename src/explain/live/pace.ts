/** Admits some of a stream of events at an average rate, spread over time after a short burst (GCRA). Pure. */

/** Events that may come at once before they are spread, as time at the rate. */
const BURST_MS = 500;

export class Pace {
  readonly #intervalMs: number;
  /** When the events so far are paid for. */
  #paidAtMs = -Infinity;

  constructor(perSecond: number) {
    this.#intervalMs = 1000 / perSecond;
  }

  /** Whether the next event would be admitted. */
  isOpen(nowMs: number): boolean {
    return nowMs >= this.#paidAtMs - BURST_MS;
  }

  /** Whether there were fewer events than it admits, for some time. */
  isIdle(nowMs: number): boolean {
    return nowMs >= this.#paidAtMs;
  }

  /** @param nowMs does not go back by much */
  admits(nowMs: number): boolean {
    if (!this.isOpen(nowMs)) return false;
    this.#paidAtMs = Math.max(this.#paidAtMs, nowMs) + this.#intervalMs;
    return true;
  }
}
