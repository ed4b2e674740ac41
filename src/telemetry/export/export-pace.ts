/**
 * How long the exporting thread pauses. An export has a fixed cost of about a thousand requests' spans. With much
 * traffic, an export is therefore made when almost a full request has arrived; with little traffic, at the interval.
 * Pure.
 */

/** Less than the size of a request (ring-exporter.ts), because traffic varies. */
const PACE_BYTES = 1_703_936;
const PAUSE_MS_MIN = 2;

export interface PaceFacts {
  /** Bytes in the latest export. */
  readonly bytes: number;
  /** Time since the previous export. */
  readonly sinceMs: number;
  /** Duration of the latest export. */
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
