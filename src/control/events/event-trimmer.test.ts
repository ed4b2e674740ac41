import { afterEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createLogger } from '../../observe/log.ts';
import type { EventStore } from '../../storage/event-store.ts';
import { EventTrimmer } from './event-trimmer.ts';

const DAY_MS = 86_400_000;
const log = createLogger({
  level: 'info',
  format: 'json',
  output: { write: () => undefined },
  clock: systemClock,
});

afterEach(() => void vi.useRealTimers());

it.each([
  [0, []],
  [30, [30 * DAY_MS, 30 * DAY_MS]],
])('with %i days for the audit log', async (auditDays, expected) => {
  vi.useFakeTimers();
  const ages: number[] = [];
  const events = { trim: async () => true } as Partial<EventStore> as EventStore;
  // Two pieces in the first round.
  const trimAudit = async (maxAgeMs: number): Promise<boolean> => ages.push(maxAgeMs) === 2;
  const settings = { maxEvents: 100, maxDays: 1 };
  const trimmer = new EventTrimmer({ repository: { events, trimAudit }, settings, auditDays, log });
  await vi.advanceTimersByTimeAsync(61_000);
  expect(ages).toEqual(expected);
  await trimmer.stop();
});
