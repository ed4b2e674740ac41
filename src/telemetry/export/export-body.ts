/** What a request to a collector carries, and how fast it is sent. */

export interface ExportBody {
  /** Of the whole. */
  readonly length: number;
  /** Spans, log records or points in it. */
  readonly items: number;
  /** Bytes as they are sent; those before `end` may be asked for again. Valid until the request has ended. */
  part(start: number, end: number): Uint8Array;
}

/** Asked for before each step, as what waits changes meanwhile. */
export interface SendPace {
  readonly stepBytes: number;
  /** Between two steps; 0: none. */
  readonly pauseMs: number;
}

/**
 * A step takes a tenth to a fifth of a millisecond, so a worker that wants the same processor is never kept from it for
 * longer. Most of a step is the system's copy of the bytes, so smaller ones would cost more and give little.
 */
export const CALM: SendPace = { stepBytes: 196_608, pauseMs: 1 };
/** More has come than an export takes. */
export const HURRIED: SendPace = { stepBytes: 393_216, pauseMs: 1 };
/** The gateway stops, or there is little room left. */
export const AT_ONCE: SendPace = { stepBytes: 1_048_576, pauseMs: 0 };

export function bodyOf(bytes: Uint8Array, items: number): ExportBody {
  return { length: bytes.length, items, part: (start, end) => bytes.subarray(start, end) };
}
