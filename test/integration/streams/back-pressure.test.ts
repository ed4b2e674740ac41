/**
 * Back-pressure, against the program: what a slow reader does not take in is not taken from the sender either, so
 * that memory does not grow with the length of a body. For a few seconds; longer in test/soak/.
 */
import { expect, it } from 'vitest';
import {
  BYTES_PER_SECOND,
  downloads,
  MEMORY_BYTES_MAX,
  MOVED_BYTES,
  STREAMS,
  uploads,
} from '../../scenarios/back-pressure-scenario.ts';

const DURATION_MS = 5_000;
/** Before its pace a reader takes a burst. */
const BURST_BYTES = 2_000_000;

it.each([
  ['downloads against slow clients', downloads],
  ['uploads against a slow backend', uploads],
])(
  '%s arrive as they were sent, and do not lie in memory',
  async (_name, run) => {
    const { seconds, memoryGrowthBytes, received, wrong } = await run(DURATION_MS);
    expect(wrong).toEqual([]);
    expect(received).toHaveLength(STREAMS);
    expect(Math.min(...received)).toBeGreaterThanOrEqual(MOVED_BYTES);
    // None could be faster than its reader.
    expect(Math.max(...received)).toBeLessThan(BURST_BYTES + BYTES_PER_SECOND * seconds);
    expect(memoryGrowthBytes / 1e6).toBeLessThan(MEMORY_BYTES_MAX / 1e6);
  },
  60_000,
);
