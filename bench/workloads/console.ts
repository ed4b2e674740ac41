/**
 * What the console costs traffic, with the log as it is set: one gateway, and a browser that shows nothing, the overview
 * or live traffic by turns. Two gateways would differ by more than the console costs. By turns it also shows a page that
 * draws as much as Live and asks nothing: what a browser costs that is merely on the machine.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { startConsoleBrowser } from '../console-page.ts';
import { figuresOf, inTurn, measureRound, quietRounds } from '../contest.ts';
import { runLoad, tryOnce } from '../load.ts';
import { residentBytes } from '../measure.ts';
import type { RunningHeadgate } from '../peers/headgate.ts';
import { ratio } from '../report.ts';
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
  readonly path?: string;
}

const TURNS: readonly Turn[] = [{ label: CLOSED }, ...OPEN, { label: ELSEWHERE }];

export const consoleOpen: Workload = {
  id: 'n-console',
  title: 'full policy with the log, while a browser shows the console',
  run: async ({ setup, pace, progress }) => {
    const browser = await startConsoleBrowser({ lowest: true });
    const { peer, load } = policyContestant('headgate');
    const gateway = (await peer.start({ ...setup, accessLog: true })) as RunningHeadgate;
    try {
      const context = await browser.signIn(gateway.base);
      await tryOnce(load(), gateway.port);
      await runLoad(load(), gateway.port, pace.warmUpSeconds, setup.cores.load);
      const rounds = await quietRounds(pace, (round) =>
        inTurn(TURNS, round, async (turn) => {
          progress(`round ${round} of ${pace.rounds} or more: ${turn.label}`);
          const page = await opened(context, turn);
          await sleep(SETTLE_MS);
          const measured = await measureRound(load(), gateway, pace.seconds, setup.cores);
          await page?.close();
          return measured;
        }),
      );
      const figures = TURNS.map(({ label }, index) =>
        figuresOf(label, rounds[index] ?? [], residentBytes(gateway.pid)),
      );
      return {
        figures,
        checks: [
          ...OPEN.map(({ label }) => ratio(figures, label, CLOSED, 'cpuUs', { atMost: 1.02 })),
          ...OPEN.slice(1).map(({ label }) => ratio(figures, label, ELSEWHERE, 'cpuUs', { atMost: 1.02 })),
        ],
        notes: [
          'The browser shares the core of the load and draws when that waits; CPU time is that of the gateway. With less load, its requests cost more each: the page elsewhere says how much of a ratio is that.',
        ],
      };
    } finally {
      await browser.close();
      await gateway.stop();
    }
  },
};

/** undefined: nothing is open. */
async function opened(context: BrowserContext, { label, path }: Turn): Promise<Page | undefined> {
  if (label === CLOSED) return undefined;
  const page = await context.newPage();
  if (path === undefined) {
    await page.setContent(BUSY_PAGE);
    return page;
  }
  await page.goto(path);
  await page.getByRole('main').getByRole('heading').first().waitFor();
  return page;
}
