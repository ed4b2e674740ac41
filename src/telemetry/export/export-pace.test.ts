import { expect, it } from 'vitest';
import { pauseFor } from './export-pace.ts';

const INTERVAL_MS = 1_000;
const EXPORT_MS = 4;

/** Exports of a stream of so many bytes in a millisecond: what each of the latest hundred had. */
function exportsOf(bytesPerMs: number): number[] {
  const taken: number[] = [];
  let pauseMs = INTERVAL_MS;
  for (let count = 0; count < 200; count++) {
    const sinceMs = pauseMs + EXPORT_MS;
    taken.push(bytesPerMs * sinceMs);
    pauseMs = pauseFor({
      bytes: bytesPerMs * sinceMs,
      sinceMs,
      exportMs: EXPORT_MS,
      intervalMs: INTERVAL_MS,
    });
    expect(pauseMs).toBeGreaterThanOrEqual(2);
    expect(pauseMs).toBeLessThanOrEqual(INTERVAL_MS);
  }
  return taken.slice(100);
}

it.each([2_000, 20_000, 60_000])('sends about a request at once of %d bytes a millisecond', (bytesPerMs) => {
  for (const bytes of exportsOf(bytesPerMs)) {
    expect(bytes).toBeGreaterThan(1_400_000);
    expect(bytes).toBeLessThan(1_966_080);
  }
});

it('waits for the interval where little comes, and at the first', () => {
  for (const bytes of exportsOf(100)) expect(bytes).toBeCloseTo(100 * (INTERVAL_MS + EXPORT_MS));
  expect(pauseFor({ bytes: 0, sinceMs: 1_000, exportMs: 0, intervalMs: 50 })).toBe(50);
});

it('follows a burst and its end with the next export', () => {
  const burst = pauseFor({ bytes: 20_000_000, sinceMs: 1_000, exportMs: 30, intervalMs: INTERVAL_MS });
  expect(burst).toBeLessThan(60);
  expect(pauseFor({ bytes: 100, sinceMs: burst, exportMs: 2, intervalMs: INTERVAL_MS })).toBe(INTERVAL_MS);
});
