/** Workers that die under traffic, in small; at full size in test/soak/worker-deaths.soak.ts. */
import { expect, it } from 'vitest';
import type { Mishap } from '../../support/programs/crash-worker.ts';
import { workerDeaths } from '../../scenarios/worker-deaths.ts';

/** Promised is a second; this machine may have other things to do. */
const RECOVERED_MS_MAX = 15_000;

it.each<[Mishap, workers: number, deaths: number]>([
  ['exception', 1, 2],
  ['exception', 2, 1],
  ['out of memory', 2, 1],
])(
  'a death by %s among %i workers costs only its own connections',
  { timeout: 120_000 },
  async (mishap, workers, count) => {
    const deaths = await workerDeaths({
      mishap,
      workers,
      deaths: count,
      connections: 20,
      requestEveryMs: 50,
    });
    for (const death of deaths) {
      expect(death.wrong).toBe(0);
      expect(death.cut + death.lostAtRest).toBeGreaterThan(0);
      expect(death.cut + death.lostAtRest).toBeLessThanOrEqual(death.held);
      expect(death.recoveredMs).toBeLessThan(RECOVERED_MS_MAX);
      // With one alone the port may be closed for as long as the next spare has not come up yet.
      if (workers > 1) expect(death.refused).toBe(0);
    }
  },
);
