import { expect, it } from 'vitest';
import { apiTime, localMinute, localTime } from './local-time.ts';

it('takes a time as one of the zone of the browser, and back', () => {
  const date = new Date(2026, 1, 3, 4, 5, 6, 78);
  expect(apiTime('2026-02-03T04:05:06.078')).toBe(date.toISOString());
  expect(localTime(date)).toBe('2026-02-03T04:05:06.078');
  expect(localMinute(date)).toBe('2026-02-03T04:05');
});

it.each(['', '2026-13-01T00:00', 'soon'])('has no time for %j', (text) => {
  expect(apiTime(text)).toBeUndefined();
});
