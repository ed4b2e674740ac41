/**
 * Requests spread over 3, 10 and 100 targets, of which every third is five times as slow (peers/unequal-origin.ts):
 * what the slow ones cost the clients by each way of choosing, and whether the turns give each target its share. nginx
 * and HAProxy choose in the same run, each in its own terms.
 */
import { join } from 'node:path';
import { figuresOf, inTurn, measureRound, quietRounds, type Figures, type Round } from '../contest.ts';
import { runLoad, tryOnce, type Load } from '../load.ts';
import { residentBytes } from '../measure.ts';
import { startHaproxyOver } from '../peers/haproxy.ts';
import { startHeadgate } from '../peers/headgate.ts';
import { startNginx } from '../peers/nginx.ts';
import { freePort, newFolder, startProgram, type RunningProgram } from '../processes.ts';
import type { Check } from '../report.ts';
import type { Workload, WorkloadContext } from './workload.ts';

const COUNTS = [3, 10, 100];
/**
 * Requests that all targets together have in work at one time, at least: with fewer, three targets would need a minute
 * and a half for {@link REQUESTS_MIN}.
 */
const SLOTS_MIN = 42;
const SLOTS_PER_TARGET_MIN = 4;
/** What a request takes at a fast target, of few. Many take longer, so that no processor is what is measured. */
const FAST_MS = 2;
/** Under way at one time, for each request that a target has in work: more come than the slow ones take. */
const CONNECTIONS_PER_SLOT = 2;
const CONNECTIONS_MAX = 400;
/** Below this a difference between shares may be the last few requests. */
const REQUESTS_MIN = 100_000;
const LOAD_PATH = '/balance/v1/x';

interface Entry {
  readonly name: string;
  readonly isTurns: boolean;
  readonly program: RunningProgram;
}

interface Origin extends RunningProgram {
  readonly ports: readonly number[];
  /** Requests of each target since it was last asked. */
  counts(): Promise<readonly number[]>;
}

export const balance: Workload = {
  id: 'o-balance',
  title: 'targets of unequal speed: fewest requests against turns',
  run: async (context) => {
    const figures: Figures[] = [];
    const checks: Check[] = [];
    for (const count of COUNTS) {
      const result = await measureCount(context, count);
      figures.push(...result.figures);
      checks.push(...result.checks);
    }
    return { figures, checks };
  },
};

async function measureCount(
  context: WorkloadContext,
  count: number,
): Promise<{ readonly figures: Figures[]; readonly checks: Check[] }> {
  const { setup, pace, progress } = context;
  const slots = Math.max(SLOTS_PER_TARGET_MIN, Math.ceil(SLOTS_MIN / count));
  const load: Load = {
    connections: Math.min(CONNECTIONS_MAX, count * slots * CONNECTIONS_PER_SLOT),
    requests: [{ path: LOAD_PATH }],
  };
  const started: RunningProgram[] = [];
  try {
    const origin = await startUnequalOrigin(count, slots, setup.cores.load);
    started.push(origin);
    const entries = await startAll(context, origin, started);
    for (const { program } of entries) {
      await tryOnce(load, program.port);
      await runLoad(load, program.port, pace.warmUpSeconds, setup.cores.load);
    }
    const unevenness = new Map<string, number>();
    let fewest = Infinity;
    const rounds = await quietRounds(pace, (round) =>
      inTurn(entries, round, async ({ name, program }): Promise<Round> => {
        progress(`${count} targets, round ${round}: ${name}`);
        await origin.counts();
        const measured = await measureRound(load, program, pace.seconds, setup.cores);
        const counts = await origin.counts();
        unevenness.set(name, Math.max(unevenness.get(name) ?? 0, unevennessOf(counts)));
        fewest = Math.min(fewest, sumOf(counts));
        return measured;
      }),
    );
    const figures = entries.map(({ name, program }, index) =>
      figuresOf(`${name}, ${count} targets`, rounds[index] ?? [], residentBytes(program.pid)),
    );
    const what = `requests in the shortest round, ${count} targets`;
    const requests: Check = { what, value: fewest, atLeast: REQUESTS_MIN, unit: '' };
    return { figures, checks: [...checksOf(count, entries, figures, unevenness), requests] };
  } finally {
    await Promise.all(started.map((program) => program.stop()));
  }
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((all, one) => all + one, 0);
}

/** How far the share of a target is from an equal one at most, in percent of all requests. */
function unevennessOf(counts: readonly number[]): number {
  const sum = sumOf(counts);
  return Math.max(...counts.map((one) => Math.abs(one / sum - 1 / counts.length))) * 100;
}

function checksOf(
  count: number,
  entries: readonly Entry[],
  figures: readonly Figures[],
  unevenness: ReadonlyMap<string, number>,
): Check[] {
  const p99Of = (name: string): number =>
    figures[entries.findIndex((entry) => entry.name === name)]?.p99Us ?? NaN;
  const ratios = ['headgate', 'nginx', 'haproxy'].map((name): Check => {
    const value = p99Of(`${name} least`) / p99Of(`${name} turns`);
    const what = `p99 of ${name}, fewest requests against turns, ${count} targets`;
    return { what, value, ...(name === 'headgate' && { atMost: 1 }), unit: '×' };
  });
  const shares = entries
    .filter(({ isTurns }) => isTurns)
    .map(({ name }): Check => {
      const what = `largest difference from an equal share, ${name}, ${count} targets`;
      const value = unevenness.get(name) ?? NaN;
      return { what, value, ...(name.startsWith('headgate') && { atMost: 1 }), unit: '%' };
    });
  return [...ratios, ...shares];
}

async function startUnequalOrigin(count: number, slots: number, cores: string): Promise<Origin> {
  const fastMs = FAST_MS * Math.floor((count * slots) / SLOTS_MIN);
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const countsPort = await freePort();
  const program = await startProgram({
    name: 'unequal origin',
    command: [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      join(import.meta.dirname, '../peers/unequal-origin.ts'),
      ports.join(),
      String(countsPort),
      String(slots),
      String(fastMs),
    ],
    cores,
    folder: newFolder('unequal-origin'),
    port: countsPort,
  });
  const counts = async (): Promise<readonly number[]> =>
    (await (await fetch(`http://127.0.0.1:${countsPort}/`)).json()) as number[];
  return { ...program, ports, counts };
}

async function startAll(
  { setup }: WorkloadContext,
  { ports }: Origin,
  started: RunningProgram[],
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const isTurns of [false, true]) {
    const suffix = isTurns ? 'turns' : 'least';
    const add = (name: string, program: RunningProgram): void => {
      started.push(program);
      entries.push({ name: `${name} ${suffix}`, isTurns, program });
    };
    const gateway = await startHeadgate(setup);
    add('headgate', gateway);
    await gateway.api('POST', '/apps', { name: 'Balance', slug: 'balance', gateway_path: '/balance' });
    await gateway.api('POST', '/apps/balance/versions', { version: 'v1' });
    await gateway.api('POST', '/apps/balance/versions/v1/revisions', {
      revision: 'r1',
      backend_scheme: 'http',
      is_current: true,
      targets: ports.map((port) => ({ host: '127.0.0.1', port })),
      load_balancing: { algorithm: isTurns ? 'round_robin' : 'least_requests' },
    });
    const servers = ports.map((port) => `server 127.0.0.1:${port};`).join(' ');
    const nginx = await startNginx({
      name: 'nginx',
      cores: setup.cores.proxy,
      workers: setup.workers,
      accessLog: false,
      http: `upstream targets { zone targets 1m; ${isTurns ? '' : 'random two least_conn;'} ${servers} keepalive 1024; }
  proxy_http_version 1.1;
  proxy_set_header Connection "";`,
      server: 'location / { proxy_pass http://targets; }',
    });
    add('nginx', nginx);
    add('haproxy', await startHaproxyOver(ports, isTurns ? 'roundrobin' : 'random(2)', setup));
  }
  return entries;
}
