import { expect, it } from 'vitest';
import { BELIEVED_AFTER_MS, PatientTime } from './patient-time.ts';

const START_MS = Date.parse('2026-11-29T12:00:00Z');
const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 86_400_000;

/** Reads once a minute. */
function readings() {
  const time = new PatientTime();
  let monotonicMs = 1_000;
  // The monotonic clock has a fraction.
  const read = (jumpMs: number): number =>
    time.believed(START_MS + monotonicMs + jumpMs, monotonicMs + 0.3125);
  const lag = (jumpMs: number): number => {
    monotonicMs += MINUTE_MS;
    return START_MS + monotonicMs + jumpMs - read(jumpMs);
  };
  read(0);
  return lag;
}

it('believes a clock that runs, and small steps of it', () => {
  const lag = readings();
  for (const jumpMs of [0, 5_000, 40_000, 90_000]) expect(lag(jumpMs)).toBe(0);
});

it('does not believe a clock that jumps ahead and is set right again', () => {
  const lag = readings();
  for (let minute = 0; minute < 600; minute += 1) expect(lag(YEAR_MS)).toBe(YEAR_MS);
  expect(lag(0)).toBe(0);
  expect(lag(YEAR_MS)).toBe(YEAR_MS);
});

it('believes it when it has stayed there for a day', () => {
  const lag = readings();
  const minutes = BELIEVED_AFTER_MS / MINUTE_MS;
  for (let minute = 0; minute < minutes; minute += 1) expect(lag(YEAR_MS)).toBe(YEAR_MS);
  expect(lag(YEAR_MS)).toBe(0);
  expect(lag(YEAR_MS)).toBe(0);
});

it('believes a clock that is set back at once', () => {
  const lag = readings();
  expect(lag(-YEAR_MS)).toBe(0);
  expect(lag(-YEAR_MS)).toBe(0);
});
