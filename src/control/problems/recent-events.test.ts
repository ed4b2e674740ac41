import { expect, it } from 'vitest';
import { GrowthWatch, RECENT_MS } from './recent-events.ts';

const HOUR_MS = 3_600_000;

it.each([-5, 0, 5])('what happened is a problem for ten minutes, with the clock put by %d hours', (hours) => {
  let passedMs = 0;
  let wallMs = 1_900_000_000_000;
  const clock = { nowMs: () => wallMs + passedMs, monotonicMs: () => passedMs };
  const watch = new GrowthWatch();
  watch.look(3, clock);
  wallMs += hours * HOUR_MS;
  passedMs += RECENT_MS;
  // In the times of the clock as it is now.
  expect(watch.events.recent(clock)).toEqual({ count: 3, firstMs: wallMs });
  passedMs += 1;
  expect(watch.events.recent(clock)).toBeUndefined();
  watch.look(4, clock);
  expect(watch.events.recent(clock)).toEqual({ count: 1, firstMs: wallMs + passedMs });
});
