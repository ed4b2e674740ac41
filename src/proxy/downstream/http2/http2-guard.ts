/**
 * Budgets of an HTTP/2 client beyond its requests: frames that are cheap to send and have no effect (PING, SETTINGS,
 * PRIORITY, WINDOW_UPDATE, empty DATA …), and streams that are begun and cancelled (CVE-2023-44487; CVE-2025-8671,
 * where the client makes the server cancel). Each budget refills with time; a client that has exceeded one is
 * disconnected with ENHANCE_YOUR_CALM. Owns the budgets of one connection.
 */

/** A token bucket of `burst` that refills with `perSecond`. */
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

  /** Returns false when more was spent than was available. A negative cost is a refund. */
  spend(cost: number, nowMs: number): boolean {
    const refill = ((nowMs - this.#atMs) * this.#perSecond) / 1000;
    this.#atMs = nowMs;
    const available = Math.min(this.#burst, this.#left + refill);
    this.#left = Math.min(this.#burst, available - cost);
    return this.#left >= 0;
  }

  /** Gives back a part of the budget for useful traffic. */
  earn(amount: number): void {
    this.#left = Math.min(this.#burst, this.#left + amount);
  }
}

/** Streams that end in RST_STREAM, from either side. A browser that leaves a page cancels up to 100 at once. */
export const RESETS_BURST = 200;
export const RESETS_PER_SECOND = 33;
/** PING and SETTINGS. */
export const CONTROL_BURST = 1_000;
const CONTROL_PER_SECOND = 100;
/**
 * Measuring a path's bandwidth, as gRPC does, takes a PING per round trip as long as data arrives, which may be
 * thousands a second: a peer that receives data may send that many.
 */
const CONTROL_PER_MESSAGE = 2;
const BYTES_PER_CONTROL = 16 * 1024;
/** Received bytes that belong to no request. */
export const IDLE_BYTES_BURST = 1024 * 1024;
export const IDLE_BYTES_PER_SECOND = 64 * 1024;
/** Allowance for WINDOW_UPDATE frames (13 bytes), which a client sends while it reads a response. */
const BYTES_PER_IDLE_BYTE = 16;
/** Head of a frame (RFC 9113 section 4.1). */
const FRAME_HEAD_BYTES = 9;
/**
 * The smallest amount that a stream of messages (gRPC or WebSocket) sends at once; the headers of smaller frames
 * count.
 */
const MESSAGE_BYTES_MIN = 5;
/** Frame headers, priority, padding and a generous HPACK block of one request, in addition to its fields. */
const REQUEST_BYTES = 1024;

export class Http2Guard {
  readonly #resets: Budget;
  readonly #control: Budget;
  readonly #idleBytes: Budget;
  /** Bytes of requests and responses since the start. */
  #earnedBytes = 0;
  /** Other bytes at the last check. */
  #idleSeen = 0;

  constructor(nowMs: number) {
    this.#resets = new Budget(RESETS_BURST, RESETS_PER_SECOND, nowMs);
    this.#control = new Budget(CONTROL_BURST, CONTROL_PER_SECOND, nowMs);
    this.#idleBytes = new Budget(IDLE_BYTES_BURST, IDLE_BYTES_PER_SECOND, nowMs);
  }

  /** A head or trailers arrived. @param bytes length of their encoded form */
  onHead(bytes: number): void {
    this.#earnedBytes += REQUEST_BYTES + bytes;
    this.#control.earn(CONTROL_PER_MESSAGE);
  }

  /** A frame of a body was read. */
  onBodyReceived(bytes: number): void {
    const head = bytes < MESSAGE_BYTES_MIN ? 0 : FRAME_HEAD_BYTES;
    this.#earnedBytes += head + bytes + bytes / BYTES_PER_IDLE_BYTE;
  }

  onBodySent(bytes: number): void {
    this.#earnedBytes += bytes / BYTES_PER_IDLE_BYTE;
    this.#control.earn(1 + bytes / BYTES_PER_CONTROL);
  }

  /** The gateway does not read the rest of a body. @param bytes number of bytes that may be on their way */
  onBodyUnwanted(bytes: number): void {
    this.#earnedBytes += bytes;
  }

  /** Each of these three methods returns false when the client has exceeded the budget. */
  allowsReset(nowMs: number): boolean {
    return this.#resets.spend(1, nowMs);
  }

  allowsControl(nowMs: number): boolean {
    return this.#control.spend(1, nowMs);
  }

  /**
   * @param bytesRead all bytes received on the connection
   * @param bytesWaiting bytes of bodies that `onBodyReceived` has not reported yet
   */
  allowsBytes(bytesRead: number, bytesWaiting: number, nowMs: number): boolean {
    const idle = bytesRead - this.#earnedBytes - bytesWaiting;
    const cost = idle - this.#idleSeen;
    this.#idleSeen = idle;
    return this.#idleBytes.spend(cost, nowMs);
  }
}
