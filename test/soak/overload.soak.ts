/** Overload for half a minute, on a machine that has nothing else to do: 99 of 100 management calls within 250 ms. */
import { expect, it } from 'vitest';
import { figuresOf, MEMORY_BYTES_MAX, overload, startOverloadable } from '../scenarios/overload-scenario.ts';

const SECONDS = 30;
const P99_MS_MAX = 250;

it('management answers while workers are saturated', { timeout: 120_000 }, async () => {
  const overloaded = await startOverloadable();
  try {
    const outcome = await overload(overloaded.gateway, SECONDS);
    const figures = figuresOf(outcome);
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    expect(figures.refused).toBeGreaterThan(figures.requests / 2);
    expect(figures.calls).toBeGreaterThan(100);
    expect(figures.p99Ms).toBeLessThan(P99_MS_MAX);
    expect(outcome.memoryGrowthBytes).toBeLessThan(MEMORY_BYTES_MAX);
  } finally {
    await overloaded.stop();
  }
});
