/** The body of a request to a collector, and how fast it is sent. */

export interface ExportBody {
  /** Bytes of the whole body. */
  readonly length: number;
  /** Spans, log records or points in the body. */
  readonly items: number;
  /** The bytes from `start` to `end`, in pieces that are valid until the request has ended. */
  parts(start: number, end: number): readonly Uint8Array[];
}

/** How fast a body is sent. Read before each step, because the amount of waiting data changes. */
export interface SendPace {
  readonly stepBytes: number;
  /** Pause between two steps; 0: none. */
  readonly pauseMs: number;
}

/**
 * A step takes a tenth to a fifth of a millisecond, so a worker that wants the same processor is never kept from it for
 * longer. Most of a step is the system's copy of the bytes, so smaller ones would cost more and give little.
 */
export const CALM: SendPace = { stepBytes: 196_608, pauseMs: 1 };
/** The pace while more arrives than one export carries. */
export const HURRIED: SendPace = { stepBytes: 393_216, pauseMs: 1 };
/** The pace while the gateway stops, or when little room is left. */
export const AT_ONCE: SendPace = { stepBytes: 1_048_576, pauseMs: 0 };

export function bodyOf(bytes: Uint8Array, items: number): ExportBody {
  return { length: bytes.length, items, parts: (start, end) => [bytes.subarray(start, end)] };
}
