/**
 * The least pace of a head or a body that the gateway waits for: so many bytes a second, over any stretch of time longer
 * than a grace. A client that keeps it may send in bursts and pause for the grace in between; one that drips is late.
 * Each byte buys its part of a second, and no more than the grace can be saved up, so that a burst at the start does not
 * pay for hours. Owns when the client is late; the time of a pause that is not the client's does not count.
 */
export class ReceivePace {
  readonly #graceMs: number;
  readonly #msPerByte: number;
  #lateAtMs = Infinity;

  /** @param bytesPerSec above 0 */
  constructor(bytesPerSec: number, graceMs: number) {
    this.#graceMs = graceMs;
    this.#msPerByte = 1_000 / bytesPerSec;
  }

  /** Infinity while the client is not waited for; on the scale of `Deadlines.nowMs`. */
  get lateAtMs(): number {
    return this.#lateAtMs;
  }

  /** From now on the client is waited for. */
  start(nowMs: number): void {
    this.#lateAtMs = nowMs + this.#graceMs;
  }

  stop(): void {
    this.#lateAtMs = Infinity;
  }

  received(bytes: number, nowMs: number): void {
    const latest = nowMs + this.#graceMs;
    this.#lateAtMs = Math.min(latest, this.#lateAtMs + bytes * this.#msPerByte);
  }
}
