/**
 * Backends that have sent bytes that answer no request. Such a backend sees other requests than the gateway: because of
 * a defect, or because a client has made it read one request as two. Its next bytes may arrive after another request,
 * and no proxy can tell that they are not the response to it. So no connection to such a backend is used for a second
 * request until the backend has sent no such bytes for a while. Owns the list of these backends.
 */
import { findHeadEnd } from '../../../http/heads/head-end.ts';

/** How long a backend is on the list. */
export const STRAY_MS = 60_000;
/** Maximum number of backends on the list; the oldest entry is dropped first. */
const BACKENDS_MAX = 10_000;
const CR = 0x0d;
const LF = 0x0a;
const GOODBYE = /^HTTP\/1\.[01] 408[ \r]/;
const GOODBYE_BYTES = 'HTTP/1.1 408 '.length;

export class Strays {
  /** Monotonic milliseconds until which a backend is on the list, by pool key. */
  readonly #untilMs = new Map<string, number>();

  /** @returns whether the backend was not on the list */
  note(poolKey: string, nowMs: number): boolean {
    const isNew = !this.has(poolKey, nowMs);
    this.#untilMs.delete(poolKey);
    this.#untilMs.set(poolKey, nowMs + STRAY_MS);
    if (this.#untilMs.size > BACKENDS_MAX) {
      const oldest = this.#untilMs.keys().next();
      if (oldest.done !== true) this.#untilMs.delete(oldest.value);
    }
    return isNew;
  }

  has(poolKey: string, nowMs: number): boolean {
    if (this.#untilMs.size === 0) return false;
    const untilMs = this.#untilMs.get(poolKey);
    if (untilMs === undefined || untilMs > nowMs) return untilMs !== undefined;
    this.#untilMs.delete(poolKey);
    return false;
  }
}

/**
 * Whether unrequested bytes could be read as a response, or as a part of one. Some servers end a body with an empty
 * line too many (RFC 9112 section 2.2), and some say with a 408 that they close an idle connection (RFC 9110 section
 * 15.5.9).
 */
export function isStray(bytes: Buffer, from: number, to: number): boolean {
  let start = from;
  while (start < to && (bytes[start] === CR || bytes[start] === LF)) start++;
  return start < to && !isGoodbye(bytes, start, to);
}

/** A 408 that is followed only by its own body. */
function isGoodbye(bytes: Buffer, from: number, to: number): boolean {
  if (!GOODBYE.test(bytes.toString('latin1', from, Math.min(to, from + GOODBYE_BYTES)))) return false;
  const end = findHeadEnd(bytes, from, to);
  return end < 0 || !bytes.toString('latin1', end, to).includes('HTTP/1.');
}
