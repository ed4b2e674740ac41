/**
 * What the console costs traffic, with the log as it is set: one gateway, and by turns nothing, what an open page asks,
 * and a browser that draws it. Two gateways would differ by more than the console costs. By turns the browser also
 * shows a page that draws as much as Live and asks nothing: what a browser costs that is merely on the machine.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { startConsoleBrowser } from '../console-page.ts';
import { askLikePage, notePageRequests } from '../console-requests.ts';
import { figuresOf, inTurn, measureRound, quietRounds, type Round } from '../contest.ts';
import { runLoad, tryOnce } from '../load.ts';
import { residentBytes } from '../measure.ts';
import { median } from '../../test/support/measure/stats.ts';
import type { RunningHeadgate } from '../peers/headgate.ts';
import { ratio, type Check } from '../report.ts';
import { policyContestant } from './full-policy.ts';
import type { Workload } from './workload.ts';

const CLOSED = 'console closed';
const OPEN = [
  { label: 'console on Overview', path: '/' },
  { label: 'console on Live', path: '/live' },
  { label: 'console on Live, one app', path: '/live?app=shop' },
];
/** From opening a page until it is measured: what it reads once is no cost of an open page. */
const SETTLE_MS = 4_000;
/** Until what asks like a page has connected. */
const ASKED_SETTLE_MS = 1_000;

const ELSEWHERE = 'a busy page elsewhere';
/** A list that gets a row, and drops one, as often as Live does. */
const BUSY_PAGE = `<table id="rows"></table><script>
  setInterval(() => {
    rows.insertRow(0).innerHTML = '<td>GET<td>/shop/v1/orders/' + Math.random() + '<td>200<td>1.2 ms';
    if (rows.rows.length > 200) rows.deleteRow(200);
  }, 50);
</script>`;

interface Turn {
  readonly label: string;
  /** Done when all that happens once has happened; gives what ends it. */
  readonly begin: () => Promise<() => unknown>;
}

/** At full load a core is all that the gateway has. */
const BESIDE_WORKERS_PERCENT_MAX = 2;

const asked = (label: string): string => `${label}, not drawn`;

export const consoleOpen: Workload = {
  id: 'n-console',
  title: 'full policy with the log, while the console is open',
  run: async ({ setup, pace, progress }) => {
    const browser = await startConsoleBrowser({ lowest: true });
    const { peer, load } = policyContestant('headgate');
    const gateway = (await peer.start({ ...setup, accessLog: true })) as RunningHeadgate;
    try {
      const context = await browser.signIn(gateway.base);
      await tryOnce(load(), gateway.port);
      await runLoad(load(), gateway.port, pace.warmUpSeconds, setup.cores.load);
      const turns = await turnsOf(context, gateway.base, setup.cores.load);
      const rounds = await quietRounds(pace, (round) =>
        inTurn(turns, round, async ({ label, begin }) => {
          progress(`round ${round} of ${pace.rounds} or more: ${label}`);
          const end = await begin();
          const measured = await measureRound(load(), gateway, pace.seconds, setup.cores);
          await end();
          return measured;
        }),
      );
      const figures = turns.map(({ label }, index) =>
        figuresOf(label, rounds[index] ?? [], residentBytes(gateway.pid)),
      );
      const atMost = 1.02;
      const [closed = [], ...others] = rounds;
      return {
        figures,
        checks: [
          ...turns.slice(1).map(({ label }, index) => besideWorkers(label, others[index] ?? [], closed)),
          ...OPEN.map(({ label }) => ratio(figures, asked(label), CLOSED, 'cpuUs', { atMost })),
          ...OPEN.map(({ label }) => ratio(figures, label, ELSEWHERE, 'cpuUs', { atMost })),
          ...[...OPEN, { label: ELSEWHERE }].map(({ label }) => ratio(figures, label, CLOSED, 'cpuUs', {})),
        ],
        notes: [
          'A page is served by the threads beside the workers: what they use more is told apart where the figures of the workers wander by more than a page costs. What a worker adds for Live is in `node bench/engine-micro.ts`, `--load watched` against `--load policy`.',
          'CPU time is that of the gateway. The browser shares the core of the load and draws when that waits: with less load, requests cost more each. The page elsewhere says how much of a ratio is that.',
        ],
      };
    } finally {
      await browser.close();
      await gateway.stop();
    }
  },
};

/** What the threads that serve the page use more than without it. */
function besideWorkers(label: string, open: readonly Round[], closed: readonly Round[]): Check {
  const more = open.map((round, index) => round.besideWorkers - (closed[index]?.besideWorkers ?? NaN));
  return {
    what: `CPU beside the workers, ${label} − ${CLOSED}`,
    value: median(more),
    unit: '% of a core',
    ...(label !== ELSEWHERE && { atMost: BESIDE_WORKERS_PERCENT_MAX }),
  };
}

async function turnsOf(context: BrowserContext, base: string, loadCores: string): Promise<Turn[]> {
  const turns: Turn[] = [{ label: CLOSED, begin: async () => () => undefined }];
  for (const { label, path } of OPEN) {
    const requests = await notePageRequests(context, base, () => opened(context, path), SETTLE_MS);
    turns.push(
      { label: asked(label), begin: () => settled(askLikePage(requests, loadCores), ASKED_SETTLE_MS) },
      { label, begin: () => drawn(opened(context, path)) },
    );
  }
  turns.push({ label: ELSEWHERE, begin: () => drawn(busyPage(context)) });
  return turns;
}

async function drawn(page: Promise<Page>): Promise<() => Promise<void>> {
  const open = await page;
  return settled(() => open.close(), SETTLE_MS);
}

async function settled<End>(end: End, ms: number): Promise<End> {
  await sleep(ms);
  return end;
}

async function busyPage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.setContent(BUSY_PAGE);
  return page;
}

async function opened(context: BrowserContext, path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(path);
  await page.getByRole('main').getByRole('heading').first().waitFor();
  return page;
}
