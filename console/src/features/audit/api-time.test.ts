import { expect, it } from 'vitest';
import { apiTime } from './api-time.ts';

it('takes a time as one of the zone of the browser', () => {
  const expected = new Date(2026, 1, 3, 4, 5).toISOString();
  expect(apiTime('2026-02-03T04:05')).toBe(expected);
});

it.each(['', '2026-13-01T00:00', 'soon'])('is empty for %j', (text) => {
  expect(apiTime(text)).toBe('');
});
