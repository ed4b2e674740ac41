/**
 * How long the exporting thread pauses: an export costs about as much as a thousand requests' spans in it, so with much
 * traffic one is made when nearly as much has come as a request takes; with little, at the interval. Pure.
 */

/** Below what a request takes (ring-exporter.ts), as traffic is not even. */
const PACE_BYTES = 1_703_936;
const PAUSE_MS_MIN = 2;

export interface PaceFacts {
  /** Bytes of the latest export. */
  readonly bytes: number;
  /** Time since the export before it. */
  readonly sinceMs: number;
  /** How long it took. */
  readonly exportMs: number;
  /** The longest pause. */
  readonly intervalMs: number;
}

/** @returns milliseconds from the end of that export to the next */
export function pauseFor({ bytes, sinceMs, exportMs, intervalMs }: PaceFacts): number {
  if (bytes === 0) return intervalMs;
  const comesAfterMs = (sinceMs * PACE_BYTES) / bytes;
  return Math.min(intervalMs, Math.max(PAUSE_MS_MIN, comesAfterMs - exportMs));
}
