/**
 * Back-pressure, against the program: what a slow reader does not take in is not taken from the sender either, so
 * that memory does not grow with the length of a body. For a few seconds; longer in test/soak/.
 */
import { expect, it } from 'vitest';
import { downloads, MEMORY_BYTES_MAX, STREAMS, uploads } from '../support/back-pressure-scenario.ts';

const DURATION_MS = 5_000;
/** Each stream has moved by then, and none could be faster than its reader: a burst, then the pace. */
const RECEIVED_MIN = 500_000;
const RECEIVED_MAX = 7_000_000;

it.each([
  ['downloads against slow clients', downloads],
  ['uploads against a slow backend', uploads],
])(
  '%s arrive as they were sent, and do not lie in memory',
  async (_name, run) => {
    const { memoryGrowthBytes, received, wrong } = await run(DURATION_MS);
    expect(wrong).toEqual([]);
    expect(received).toHaveLength(STREAMS);
    expect(Math.min(...received)).toBeGreaterThan(RECEIVED_MIN);
    expect(Math.max(...received)).toBeLessThan(RECEIVED_MAX);
    expect(memoryGrowthBytes / 1e6).toBeLessThan(MEMORY_BYTES_MAX / 1e6);
  },
  60_000,
);
