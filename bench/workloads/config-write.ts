/** Writes to a large configuration: how long one takes to be answered, and what traffic notices of many. */
import { setTimeout as pause } from 'node:timers/promises';
import { figuresOf, inTurn, measureRound, quietRounds, type Figures, type Round } from '../contest.ts';
import { median } from '../../test/support/measure/stats.ts';
import { runLoad, tryOnce, type Load } from '../load.ts';
import { residentBytes } from '../measure.ts';
import { startHeadgate, type RunningHeadgate } from '../peers/headgate.ts';
import { ratio, type Check } from '../report.ts';
import { halfLoad } from './half-load.ts';
import { routeRequests } from './scale.ts';
import { CONNECTIONS, type Workload } from './workload.ts';

const WRITES = 41;
/** Beside the traffic: now and then, and by a program that never stops. */
const RATES = [1, 10];
const UNDISTURBED = 0;
const NAMES = ['undisturbed', ...RATES.map((rate) => `writes at ${rate}/s`)];
const REVISION = '/apps/app0/versions/v0/revisions/r1';

export const configWrite: Workload = {
  id: 'i-write',
  title: 'one config write with 100,000 endpoints configured; traffic at half and at full load meanwhile',
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
      await runLoad(
        { connections: CONNECTIONS, requests },
        gateway.port,
        pace.warmUpSeconds,
        setup.cores.load,
      );
      const half = await halfLoad({ connections: 1, requests }, gateway, setup.cores);
      const loads: Readonly<Record<string, Load>> = {
        'half load': { ...half, requests },
        'full load': { connections: CONNECTIONS, requests },
      };
      const figures: Figures[] = [];
      for (const [what, load] of Object.entries(loads)) {
        const measure = (): Promise<Round> => measureRound(load, gateway, pace.seconds, setup.cores);
        const rounds = await quietRounds(pace, (round) => {
          progress(`${what}, round ${round} of ${pace.rounds} or more`);
          return inTurn([UNDISTURBED, ...RATES], round, (rate) =>
            rate === UNDISTURBED ? measure() : whileWriting(gateway, rate, measure),
          );
        });
        const bytes = residentBytes(gateway.pid);
        const names = NAMES.map((name) => `${what}, ${name}`);
        figures.push(...names.map((name, index) => figuresOf(name, rounds[index] ?? [], bytes)));
        for (const name of names.slice(1))
          checks.push(ratio(figures, name, names[0] ?? '', 'p99Us', { atMost: 1.2 }));
      }
      const notes = [
        `${half.connections} and ${CONNECTIONS} connections; the management API shares the proxy's core.`,
      ];
      return { figures, checks, notes };
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

/** Does the work while the weight of a revision changes again and again. */
async function whileWriting<T>(
  gateway: RunningHeadgate,
  perSecond: number,
  work: () => Promise<T>,
): Promise<T> {
  let working = true;
  let number = 0;
  const writing = (async () => {
    while (working) {
      await gateway.api('PATCH', REVISION, { traffic_weight: 50 + (number++ % 50) });
      await pause(1000 / perSecond);
    }
  })();
  try {
    return await work();
  } finally {
    working = false;
    await writing;
  }
}
