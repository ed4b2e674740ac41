/** Back-pressure for a minute each way: 50 streams of 1 GiB against readers of 1 MB/s. */
import { expect, it } from 'vitest';
import {
  downloads,
  MEMORY_BYTES_MAX,
  STREAMS,
  uploads,
  type Delivered,
} from '../scenarios/back-pressure-scenario.ts';

const DURATION_MS = 60_000;
const RECEIVED_MIN = 20_000_000;

it.each<[string, (durationMs: number) => Promise<Delivered>]>([
  ['downloads against slow clients', downloads],
  ['uploads against a slow backend', uploads],
])(
  '%s arrive as they were sent, and do not lie in memory',
  async (name, run) => {
    const { memoryGrowthBytes, received, wrong } = await run(DURATION_MS);
    const figures = {
      memoryGrowthMB: memoryGrowthBytes / 1e6,
      receivedMB: received.reduce((sum, bytes) => sum + bytes, 0) / 1e6,
    };
    process.stdout.write(`${name}: ${JSON.stringify(figures)}\n`);
    expect(wrong).toEqual([]);
    expect(received).toHaveLength(STREAMS);
    expect(Math.min(...received)).toBeGreaterThan(RECEIVED_MIN);
    expect(figures.memoryGrowthMB).toBeLessThan(MEMORY_BYTES_MAX / 1e6);
  },
  180_000,
);
