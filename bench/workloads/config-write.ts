/** Writes to a large configuration: how long one takes to be answered, and what traffic notices of many. */
import { setTimeout as pause } from 'node:timers/promises';
import { figuresOf, measureRound, median, type Round } from '../contest.ts';
import { runLoad, tryOnce, type Load } from '../load.ts';
import { residentBytes } from '../measure.ts';
import { startHeadgate, type RunningHeadgate } from '../peers/headgate.ts';
import type { Check } from '../report.ts';
import { halfLoad } from './half-load.ts';
import { routeRequests } from './scale.ts';
import type { Workload } from './workload.ts';

const WRITES = 41;
const WRITES_PER_SECOND = 10;
const REVISION = '/apps/app0/versions/v0/revisions/r1';

export const configWrite: Workload = {
  id: 'i-write',
  title: 'one config write with 100,000 endpoints configured; traffic at half load meanwhile',
  run: async ({ setup, pace, quick, progress }) => {
    const endpoints = quick ? 10_000 : 100_000;
    const gateway = await startHeadgate(setup, { filler: { endpoints } });
    try {
      const checks: Check[] = [];
      for (const [what, write] of Object.entries(writesTo(gateway))) {
        progress(`writing: ${what}`);
        const times: number[] = [];
        for (let number = 0; number < (quick ? 5 : WRITES); number++)
          times.push(await timed(() => write(number)));
        checks.push({ what: `${what}, median`, value: median(times), atMost: 50, unit: 'ms' });
      }
      const requests = routeRequests(100, endpoints);
      await tryOnce({ connections: 1, requests }, gateway.port);
      await runLoad({ connections: 64, requests }, gateway.port, pace.warmUpSeconds, setup.cores.load);
      const load: Load = {
        ...(await halfLoad({ connections: 1, requests }, gateway, setup.cores)),
        requests,
      };
      const calm: Round[] = [];
      const disturbed: Round[] = [];
      for (let round = 1; round <= pace.rounds; round++) {
        progress(`round ${round} of ${pace.rounds}`);
        calm.push(await measureRound(load, gateway, pace.seconds, setup.cores));
        disturbed.push(
          await whileWriting(gateway, () => measureRound(load, gateway, pace.seconds, setup.cores)),
        );
      }
      const bytes = residentBytes(gateway.pid);
      const [still, busy] = [
        figuresOf('undisturbed', calm, bytes),
        figuresOf('while writing', disturbed, bytes),
      ];
      checks.push({
        what: 'p99 while writing ÷ undisturbed',
        value: busy.p99Us / still.p99Us,
        atMost: 1.2,
        unit: '×',
      });
      const notes = [
        `${load.connections} connections, ${WRITES_PER_SECOND} writes/s; the management API shares the proxy's core.`,
      ];
      return { figures: [still, busy], checks, notes };
    } finally {
      await gateway.stop();
    }
  },
};

function writesTo(gateway: RunningHeadgate): Record<string, (number: number) => Promise<unknown>> {
  return {
    'PATCH of a revision': (number) => gateway.api('PATCH', REVISION, { traffic_weight: 50 + (number % 50) }),
    'POST of an endpoint': (number) =>
      gateway.api('POST', `${REVISION}/endpoints`, { method: 'GET', path: `/written${number}/{id}` }),
    'POST of an API key': () => gateway.api('POST', '/apps/app0/tokens', { name: 'written', scopes: [] }),
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begunMs = performance.now();
  await work();
  return performance.now() - begunMs;
}

/** Does the work while endpoints are switched off and on again. */
async function whileWriting<T>(gateway: RunningHeadgate, work: () => Promise<T>): Promise<T> {
  let working = true;
  let number = 0;
  const writing = (async () => {
    while (working) {
      await gateway.api('PATCH', REVISION, { traffic_weight: 50 + (number++ % 50) });
      await pause(1000 / WRITES_PER_SECOND);
    }
  })();
  try {
    return await work();
  } finally {
    working = false;
    await writing;
  }
}
