import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AskedRequest, leastAdmitted, type ReferenceLimit } from './limits-reference.ts';

const WINDOW_MS = 1_000;
const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;

/** Each at the same moment sent and answered, one every `everyMs`. */
const steady = (everyMs: number, untilMs: number): AskedRequest[] =>
  Array.from({ length: Math.floor(untilMs / everyMs) }, (_, index) => {
    const ms = index * everyMs + 10;
    return { sentMs: ms, answeredMs: ms };
  });

describe('leastAdmitted', () => {
  it.each([
    ['fixed_window', 20],
    ['sliding_window', 20],
    ['token_bucket', 24],
  ] as const)('of a flood for four windows is nearly all that a %s has: %d', (algorithm, expected) => {
    const limit = { algorithm, requests: 5, windowMs: WINDOW_MS };
    expect(leastAdmitted(steady(10, 3_990), limit)).toBe(expected);
  });

  it.each(ALGORITHMS)('of few requests is all of them with a %s', (algorithm) => {
    const limit = { algorithm, requests: 5, windowMs: WINDOW_MS };
    expect(leastAdmitted(steady(250, 4_000), limit)).toBe(16);
  });

  it.each(ALGORITHMS)('is what a %s admits that refuses only what it has to, or less', (algorithm) => {
    const request = fc.record({ sentMs: fc.nat(5_000), tookMs: fc.nat(400), part: fc.nat(100) });
    fc.assert(
      fc.property(
        fc.array(request, { maxLength: 60 }),
        fc.integer({ min: 1, max: 6 }),
        (requests, permits) => {
          const limit: ReferenceLimit = { algorithm, requests: permits, windowMs: WINDOW_MS };
          const countedMs = requests.map(({ sentMs, tookMs, part }) => sentMs + (tookMs * part) / 100);
          const asked = requests.map(({ sentMs, tookMs }) => ({ sentMs, answeredMs: sentMs + tookMs }));
          expect(leastAdmitted(asked, limit)).toBeLessThanOrEqual(admittedOf(countedMs, limit));
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** What the limiter admits of requests that it counts at these times. */
function admittedOf(timesMs: readonly number[], { algorithm, requests, windowMs }: ReferenceLimit): number {
  const taken: number[] = [];
  let tokens = requests;
  let atMs = 0;
  for (const ms of timesMs.toSorted((a, b) => a - b)) {
    tokens = Math.min(requests, tokens + ((ms - atMs) * requests) / windowMs);
    atMs = ms;
    const isSame = (other: number): boolean => Math.floor(other / windowMs) === Math.floor(ms / windowMs);
    const counted = taken.filter(algorithm === 'fixed_window' ? isSame : (other) => other > ms - windowMs);
    if (algorithm === 'token_bucket' ? tokens < 1 : counted.length >= requests) continue;
    taken.push(ms);
    tokens -= 1;
  }
  return taken.length;
}
