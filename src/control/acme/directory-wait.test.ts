/** How long orders wait for a directory that cannot be used, by a clock that the test moves. */
import { beforeEach, describe, expect, it } from 'vitest';
import { DirectoryWait } from './directory-wait.ts';

const START_MS = 5_000;
const TEN_MINUTES_MS = 600_000;

let nowMs = START_MS;
let client = { answers: 0 };
let warnings: unknown[] = [];
let wait = newWait();

function newWait(): DirectoryWait {
  const log = { warn: (fields: unknown) => void warnings.push(fields) };
  return new DirectoryWait({ client, clock: { monotonicMs: () => nowMs }, log });
}

beforeEach(() => {
  nowMs = START_MS;
  client = { answers: 0 };
  warnings = [];
  wait = newWait();
});

const fail = (message = 'it is down', retryAfterMs?: number): void => wait.failed({ message, retryAfterMs });

/** The time until orders go on, to the millisecond; the clock is then there. */
function waitedMs(): number {
  const fromMs = nowMs;
  while (wait.isWaiting) nowMs += 1;
  return nowMs - fromMs;
}

describe('the wait after a failure', () => {
  it('doubles with each failure in a row, up to ten minutes', () => {
    const waits = Array.from({ length: 12 }, () => {
      fail();
      return waitedMs();
    });
    expect(waits.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(waits.slice(-2)).toEqual([TEN_MINUTES_MS, TEN_MINUTES_MS]);
  });

  it('is as long as the directory asks for, within ten minutes', () => {
    fail('busy', 30_000);
    expect(waitedMs()).toBe(30_000);
    fail('busy', 24 * 3_600_000);
    expect(waitedMs()).toBe(TEN_MINUTES_MS);
  });

  it('counts orders that fail together as one failure', () => {
    fail();
    fail();
    fail();
    expect(waitedMs()).toBe(1_000);
    fail();
    expect(waitedMs()).toBe(2_000);
  });

  it('begins with a second again when the directory has answered since, or an order has worked', () => {
    fail();
    waitedMs();
    client.answers += 1;
    fail();
    expect(waitedMs()).toBe(1_000);
    fail();
    expect(waitedMs()).toBe(2_000);
    wait.worked();
    fail();
    expect(waitedMs()).toBe(1_000);
  });
});

it('a problem is logged once, shown while it lasts, and logged again when it changes', () => {
  expect(wait.problem).toBeUndefined();
  fail('no route to host');
  fail('no route to host');
  expect(warnings).toEqual([{ reason: 'no route to host', retry_in_ms: 1_000 }]);
  fail('its certificate has expired');
  expect(warnings).toHaveLength(2);
  expect(wait.problem).toBe('its certificate has expired');
  wait.worked();
  expect(wait.problem).toBeUndefined();
});
