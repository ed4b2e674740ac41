/** From starting the program, with 1,000 routes in its database, to the answer to the first proxied request. */
import { coresFor } from '../cores.ts';
import { median } from '../../test/support/measure/stats.ts';
import { tryOnce } from '../load.ts';
import { startHeadgate } from '../peers/headgate.ts';
import { routeRequests } from './scale.ts';
import type { Workload } from './workload.ts';

const ENDPOINTS = 1_000;

export const start: Workload = {
  id: 'l-start',
  title: 'start with 1,000 routes to the first proxied request',
  run: async ({ setup, pace, progress }) => {
    const load = { connections: 1, requests: routeRequests(1, ENDPOINTS) };
    // The bench's own HTTP client is not to be part of it.
    await tryOnce(load, setup.originPort);
    const times: number[] = [];
    // The start before the first bundles the sources where that was not done yet, and fills the compile cache.
    for (let round = 0; round <= pace.rounds; round++) {
      progress(`start ${round} of ${pace.rounds}`);
      const all = { ...setup, cores: { ...setup.cores, proxy: coresFor(Infinity).proxy } };
      const gateway = await startHeadgate(all, { filler: { endpoints: ENDPOINTS }, settles: false });
      try {
        const begunMs = performance.now();
        await tryOnce(load, gateway.port);
        if (round > 0) times.push(gateway.startedInMs + performance.now() - begunMs);
      } finally {
        await gateway.stop();
      }
    }
    return {
      figures: [],
      pace: `${pace.rounds} starts, median`,
      checks: [
        { what: 'to the first proxied request, median', value: median(times), atMost: 700, unit: 'ms' },
      ],
      notes: [`All: ${times.map((ms) => ms.toFixed(0)).join(', ')} ms; one worker, all cores.`],
    };
  },
};
