/** Ten thousand keep-alive connections at rest: memory of the proxy for each. The kernel's own is not counted. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inTurn } from '../contest.ts';
import { median } from '../../test/support/measure/stats.ts';
import { residentBytes } from '../measure.ts';
import { nginxBare } from '../peers/nginx.ts';
import type { Peer, PeerSetup } from '../peers/peer.ts';
import { programPath } from '../programs.ts';
import type { Check } from '../report.ts';
import { ORDER_PATH } from '../service.ts';
import { bareHeadgate } from './pass-through.ts';
import type { Workload } from './workload.ts';

const HOLDER = join(import.meta.dirname, '../idle-connections.ts');
const SETTLE_MS = 3_000;

export const idle: Workload = {
  id: 'k-idle',
  title: '10,000 idle keep-alive connections',
  run: async ({ setup, pace, quick, progress }) => {
    const count = quick ? 1_000 : 10_000;
    const peers = [bareHeadgate(), nginxBare];
    const rounds: number[][] = [];
    for (let round = 1; round <= pace.rounds; round++) {
      const bytes = await inTurn(peers, round, (peer) => {
        progress(`round ${round} of ${pace.rounds}: ${peer.name}`);
        return bytesPerConnection(peer, setup, count);
      });
      rounds.push(bytes.map((each) => each / 1024));
    }
    const checks: Check[] = peers.map((peer, index) => ({
      what: `${peer.name}, memory per connection`,
      value: median(rounds.map((round) => round[index] ?? NaN)),
      unit: 'KiB',
      ...(peer === nginxBare ? {} : { atMost: 10 }),
    }));
    const all = peers.map(
      ({ name }, index) =>
        `${name} ${rounds.map((round) => (round[index] ?? NaN).toFixed(1)).join(', ')} KiB`,
    );
    return {
      figures: [],
      checks,
      pace: `${pace.rounds} rounds in which each is started anew, medians`,
      notes: [`${count} connections, each of which has carried one request.`, `All: ${all.join('; ')}.`],
    };
  },
};

async function bytesPerConnection(peer: Peer, setup: PeerSetup, count: number): Promise<number> {
  const program = await peer.start(setup);
  try {
    // So that what the proxy allocates once is there already; more load would leave garbage in the level before.
    await whileHeld(program.port, Math.ceil(count / 20), setup, async () => undefined);
    await pause(SETTLE_MS);
    const before = residentBytes(program.pid);
    return await whileHeld(program.port, count, setup, async () => {
      await pause(SETTLE_MS);
      return (residentBytes(program.pid) - before) / count;
    });
  } finally {
    await program.stop();
  }
}

/** Does the work while so many connections are at rest. */
async function whileHeld<T>(
  port: number,
  count: number,
  { cores }: PeerSetup,
  work: () => Promise<T>,
): Promise<T> {
  const args = ['-c', cores.load, process.execPath, HOLDER, String(port), String(count), ORDER_PATH];
  const holder = spawn(programPath('taskset'), args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((done) => holder.once('exit', () => done()));
  try {
    await new Promise<void>((done, fail) => {
      holder.stdout.once('data', () => done());
      void ended.then(() => fail(new Error('the connections could not be opened')));
    });
    return await work();
  } finally {
    holder.stdin.end();
    await ended;
  }
}
