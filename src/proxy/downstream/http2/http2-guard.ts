/**
 * What a client of HTTP/2 may cost beyond its requests: frames that are cheap to send and bring nothing (PING,
 * SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA …), and streams that are begun and thrown away (CVE-2023-44487, and
 * CVE-2025-8671, where the client makes the server do the throwing). Each is a budget that refills with time; who
 * has used one up is sent away with ENHANCE_YOUR_CALM. Owns the budgets of one connection.
 */

/** A bucket of `burst` that refills with `perSecond`. */
export class Budget {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #atMs: number;

  constructor(burst: number, perSecond: number, nowMs: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
    this.#atMs = nowMs;
  }

  /** False once more was spent than there was. A negative cost is a refund. */
  spend(cost: number, nowMs: number): boolean {
    const refill = ((nowMs - this.#atMs) * this.#perSecond) / 1000;
    this.#atMs = nowMs;
    const available = Math.min(this.#burst, this.#left + refill);
    this.#left = Math.min(this.#burst, available - cost);
    return this.#left >= 0;
  }
}

/** Streams that end in RST_STREAM, from either side. A browser that leaves a page cancels up to 100 at once. */
export const RESETS_BURST = 200;
export const RESETS_PER_SECOND = 33;
/** PING and SETTINGS; measuring a path's bandwidth takes a PING per round trip. */
export const CONTROL_BURST = 1_000;
export const CONTROL_PER_SECOND = 100;
/** Bytes received that belong to no request. */
export const IDLE_BYTES_BURST = 1024 * 1024;
export const IDLE_BYTES_PER_SECOND = 64 * 1024;
/** Reading a response costs its client a WINDOW_UPDATE of 13 bytes now and then, and so does everything it sends. */
const BYTES_PER_IDLE_BYTE = 16;
/** Frame headers, priority, padding and a generous HPACK block of one request, beside its fields. */
const REQUEST_BYTES = 1024;
/** A client may have sent this much of a body before it learns that the body is not read. */
export const UNWANTED_BODY_BYTES = 64 * 1024;

export class Http2Guard {
  readonly #resets: Budget;
  readonly #control: Budget;
  readonly #idleBytes: Budget;
  /** Bytes that requests and responses account for, since the beginning. */
  #earnedBytes = 0;
  /** The rest, as of the last look. */
  #idleSeen = 0;

  constructor(nowMs: number) {
    this.#resets = new Budget(RESETS_BURST, RESETS_PER_SECOND, nowMs);
    this.#control = new Budget(CONTROL_BURST, CONTROL_PER_SECOND, nowMs);
    this.#idleBytes = new Budget(IDLE_BYTES_BURST, IDLE_BYTES_PER_SECOND, nowMs);
  }

  /** A request came; `fields` as they were decoded. */
  onRequest(fields: readonly string[]): void {
    let bytes = REQUEST_BYTES;
    for (const text of fields) bytes += text.length + 2;
    this.#earnedBytes += bytes;
  }

  onBodyReceived(bytes: number): void {
    this.#earnedBytes += bytes + bytes / BYTES_PER_IDLE_BYTE;
  }

  onBodySent(bytes: number): void {
    this.#earnedBytes += bytes / BYTES_PER_IDLE_BYTE;
  }

  /** The gateway did not want the rest of a body. */
  onBodyUnwanted(): void {
    this.#earnedBytes += UNWANTED_BODY_BYTES;
  }

  /** This one and the next two: false when the client has gone too far. */
  allowsReset(nowMs: number): boolean {
    return this.#resets.spend(1, nowMs);
  }

  allowsControl(nowMs: number): boolean {
    return this.#control.spend(1, nowMs);
  }

  /**
   * @param bytesRead all bytes that were ever received on the connection
   * @param bytesWaiting those of bodies that were not told of by `onBodyReceived` yet
   */
  allowsBytes(bytesRead: number, bytesWaiting: number, nowMs: number): boolean {
    const idle = bytesRead - this.#earnedBytes - bytesWaiting;
    const cost = idle - this.#idleSeen;
    this.#idleSeen = idle;
    return this.#idleBytes.spend(cost, nowMs);
  }
}
