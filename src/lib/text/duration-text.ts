/** Durations as people say them, for messages. Pure. */
import { counted } from './counted.ts';

const DAY = 86_400;
const HOUR = 3_600;
const MINUTE = 60;

/**
 * Such as `42 minutes` or `2 hours 5 minutes`: up to two units, rounded up, so that a wait of this length is enough.
 * Below two minutes it is exact to the second.
 * @param secs 0 or more
 */
export function durationText(secs: number): string {
  const rounded = roundedUp(secs);
  if (rounded >= DAY) return units([rounded, DAY, 'day'], [rounded % DAY, HOUR, 'hour']);
  if (rounded >= HOUR) return units([rounded, HOUR, 'hour'], [rounded % HOUR, MINUTE, 'minute']);
  return isInMinutes(rounded) ? units([rounded, MINUTE, 'minute']) : units([rounded, 1, 'second']);
}

/** As `durationText` where that is exact; seconds otherwise. */
export function exactDurationText(secs: number): string {
  return roundedUp(secs) === secs ? durationText(secs) : counted(secs, 'second');
}

function roundedUp(secs: number): number {
  const whole = Math.ceil(secs);
  if (!isInMinutes(whole)) return whole;
  const minutes = Math.ceil(whole / MINUTE) * MINUTE;
  return minutes < DAY ? minutes : Math.ceil(whole / HOUR) * HOUR;
}

const isInMinutes = (secs: number): boolean => secs === MINUTE || secs >= 2 * MINUTE;

function units(...parts: readonly (readonly [secs: number, length: number, name: string])[]): string {
  return parts
    .map(([secs, length, name]) => [Math.floor(secs / length), name] as const)
    .filter(([count], index) => index === 0 || count > 0)
    .map(([count, name]) => counted(count, name))
    .join(' ');
}
