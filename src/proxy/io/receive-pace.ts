/**
 * The minimum pace of a head or a body: bytes per second over any time longer than a grace period. A client may send in
 * bursts and pause for the grace period in between; a client that drips is late. Each byte extends the deadline by its
 * part of a second, to at most the grace period from now, so that a burst at the start does not allow hours of slow
 * sending. Owns the deadline; pauses of the gateway do not count.
 */
import type { ProxyOptions } from '../options.ts';

export class ReceivePace {
  readonly #graceMs: number;
  readonly #msPerByte: number;
  #lateAtMs = Infinity;

  /** @param bytesPerSec above 0 */
  constructor(bytesPerSec: number, graceMs: number) {
    this.#graceMs = graceMs;
    this.#msPerByte = 1_000 / bytesPerSec;
  }

  /** Infinity while the gateway does not wait for the client; on the scale of `Deadlines.nowMs`. */
  get lateAtMs(): number {
    return this.#lateAtMs;
  }

  /** From now on the gateway waits for the client. */
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

/**
 * The pace that a request body must keep; undefined when none is set.
 * @param bytesPerSec value of the policy; undefined: the setting applies
 */
export function bodyPace(
  bytesPerSec: number | undefined,
  { minBodyBytesPerSec, minBodyGraceMs }: ProxyOptions,
): ReceivePace | undefined {
  const pace = bytesPerSec ?? minBodyBytesPerSec;
  return pace === 0 ? undefined : new ReceivePace(pace, minBodyGraceMs);
}
