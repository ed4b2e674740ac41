/** A moment as seen from another: `3 minutes ago`, `in 2 days`. Pure. */

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/**
 * @param mayBeAhead false: it is in the past, and is shown as now at the latest, also when the clock of the
 * gateway is ahead of the reader's, or `nowMs` was read earlier
 */
export function relativeTime(atMs: number, nowMs: number, mayBeAhead: boolean): string {
  const apart = Math.round((atMs - nowMs) / 1_000);
  const secs = mayBeAhead ? apart : Math.min(0, apart);
  const [unit, length] = STEPS.find(([, step]) => Math.abs(secs) >= step) ?? ['second', 1];
  return RELATIVE.format(Math.trunc(secs / length), unit);
}
