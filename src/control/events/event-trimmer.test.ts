import { afterEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createLogger } from '../../observe/log.ts';
import type { EventStore } from '../../storage/event-store.ts';
import type { Repository } from '../../storage/repository.ts';
import { StorageUnavailable } from '../../storage/storage-errors.ts';
import { EventTrimmer } from './event-trimmer.ts';

const DAY_MS = 86_400_000;
const log = createLogger({
  level: 'info',
  format: 'json',
  output: { write: () => undefined },
  clock: systemClock,
});

afterEach(() => void vi.useRealTimers());

const START_MS = Date.parse('2026-11-29T12:00:00Z');
const YEAR_MS = 365 * DAY_MS;

/** @param jumpMs of the clock of the database, of which the machine's has no part */
function start(auditDays: number, jumpMs: () => number = () => 0) {
  vi.useFakeTimers();
  let wholeMs = 0;
  // With a fraction, as the real one has it, though bounds have none.
  const monotonicMs = (): number => wholeMs + 0.3125;
  const ages = { audit: [] as number[], events: [] as number[] };
  // Two pieces in the first round.
  const repository = {
    events: {
      trim: async ({ maxAgeMs }) => ages.events.push(maxAgeMs) > 0,
    } as Partial<EventStore> as EventStore,
    trimAudit: async (maxAgeMs: number): Promise<boolean> => ages.audit.push(maxAgeMs) !== 1,
    deliveries: { nowMs: async () => START_MS + wholeMs + jumpMs() } as Repository['deliveries'],
  };
  const settings = { maxEvents: 100, maxDays: 1 };
  const trimmer = new EventTrimmer({ repository, settings, auditDays, clock: { monotonicMs }, log });
  const pass = async (ms: number): Promise<void> => {
    wholeMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };
  return { trimmer, ages, pass };
}

it.each([
  [0, []],
  [30, [30 * DAY_MS, 30 * DAY_MS]],
])('with %i days for the audit log', async (auditDays, expected) => {
  const { trimmer, ages, pass } = start(auditDays);
  await pass(61_000);
  expect(ages.audit).toEqual(expected);
  await trimmer.stop();
});

it('removes nothing that is old only by a clock that jumps ahead and is set right again', async () => {
  let jumpMs = 0;
  const { trimmer, ages, pass } = start(30, () => jumpMs);
  await pass(61_000);
  jumpMs = YEAR_MS;
  await pass(61_000);
  expect([ages.events.at(-1), ages.audit.at(-1)]).toEqual([DAY_MS + YEAR_MS, 30 * DAY_MS + YEAR_MS]);
  jumpMs = 0;
  await pass(61_000);
  expect([ages.events.at(-1), ages.audit.at(-1)]).toEqual([DAY_MS, 30 * DAY_MS]);
  await trimmer.stop();
});

it('logs a failure once, also after an outage of the database, which is logged elsewhere', async () => {
  vi.useFakeTimers();
  const warnings: string[] = [];
  let failure: Error = new StorageUnavailable('away');
  const trimmer = new EventTrimmer({
    repository: {
      events: {} as EventStore,
      trimAudit: async () => true,
      deliveries: { nowMs: () => Promise.reject(failure) } as unknown as Repository['deliveries'],
    },
    settings: { maxEvents: 100, maxDays: 1 },
    auditDays: 0,
    clock: { monotonicMs: () => 0 },
    log: createLogger({
      level: 'warn',
      format: 'json',
      output: { write: (line: string) => warnings.push(line) },
      clock: systemClock,
    }),
  });
  await vi.advanceTimersByTimeAsync(61_000);
  expect(warnings).toHaveLength(0);
  failure = new Error('a defect');
  await vi.advanceTimersByTimeAsync(200_000);
  expect(warnings).toHaveLength(1);
  await trimmer.stop();
});
