/** Thresholds: days before an end at which an event is recorded. Pure functions. */

export const DAY_MS = 86_400_000;

/** The smallest threshold that is reached; undefined when the end is further away, or has passed. */
export function reachedThreshold(
  endMs: number,
  nowMs: number,
  thresholds: readonly number[],
): number | undefined {
  if (endMs <= nowMs) return undefined;
  const reached = thresholds.filter((days) => endMs - nowMs <= days * DAY_MS);
  return reached.length === 0 ? undefined : Math.min(...reached);
}

/** Whole days, rounded to zero. */
export function wholeDays(ms: number): number {
  return Math.trunc(ms / DAY_MS) + 0;
}

/** From after `after` up to and including `upTo`; Unix milliseconds. */
export interface Span {
  readonly after: number;
  readonly upTo: number;
}

/**
 * The spans of ends that have reached a threshold, or have passed, since the last check. Each end is in one
 * span only: that of the smallest threshold it has reached.
 * @param sinceMs time of the last check; undefined: there was none, and every future end within the thresholds
 * counts
 */
export function crossedSpans(
  sinceMs: number | undefined,
  nowMs: number,
  thresholds: readonly number[],
): Span[] {
  const spans: Span[] = [];
  let leastMs = nowMs;
  if (sinceMs !== undefined) spans.push({ after: Math.min(sinceMs, nowMs), upTo: nowMs });
  for (const days of [...thresholds].sort((a, b) => a - b)) {
    const upTo = nowMs + days * DAY_MS;
    const after = Math.max(leastMs, sinceMs === undefined ? -Infinity : sinceMs + days * DAY_MS);
    if (after < upTo) spans.push({ after, upTo });
    leastMs = upTo;
  }
  return spans;
}
