/** What the console costs traffic: closed, open on the overview, and open on live traffic, with the log as it is set. */
import type { Contestant } from '../contest.ts';
import { startConsoleBrowser, type ConsoleBrowser } from '../console-page.ts';
import type { RunningHeadgate } from '../peers/headgate.ts';
import { ratio } from '../report.ts';
import { policyContestant } from './full-policy.ts';
import { compete, type Workload, type WorkloadContext } from './workload.ts';

const CLOSED = 'console closed';
const PAGES = [
  ['console on Overview', '/'],
  ['console on Live', '/live'],
  ['console on Live, one app', '/live?app=shop'],
] as const;

export const consoleOpen: Workload = {
  id: 'n-console',
  title: 'full policy with the log, while a browser shows the console',
  run: async ({ setup, ...rest }: WorkloadContext) => {
    const context = { ...rest, setup: { ...setup, accessLog: true } };
    const browser = await startConsoleBrowser();
    try {
      const open = PAGES.map(([label, path]) => watched(policyContestant(label), browser, path));
      const figures = await compete(context, [policyContestant(CLOSED), ...open]);
      return {
        figures,
        checks: PAGES.map(([label]) => ratio(figures, label, CLOSED, 'cpuUs', { atMost: 1.02 })),
        notes: [
          'The browser shares the core of the load, so requests/s are fewer while it draws; CPU time is that of the gateway.',
        ],
      };
    } finally {
      await browser.close();
    }
  },
};

/** The contestant with a page of its console open from its start to its end. */
function watched({ peer, load }: Contestant, browser: ConsoleBrowser, path: string): Contestant {
  return {
    load,
    peer: {
      name: peer.name,
      start: async (setup) => {
        const gateway = (await peer.start(setup)) as RunningHeadgate;
        const context = await browser.signIn(gateway.base);
        const page = await context.newPage();
        await page.goto(path);
        await page.getByRole('main').getByRole('heading').first().waitFor();
        return {
          ...gateway,
          stop: async () => {
            await context.close();
            await gateway.stop();
          },
        };
      },
    },
  };
}
