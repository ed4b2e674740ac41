/**
 * How leases behave at a size that no test machine has: `node bench/sim/leases.ts [--nodes 100] [--rate 1000000]
 * [--seconds 5]`. The nodes run the gateway's own code (src/limits/shared/leased-store.ts with its sizes of portions)
 * in virtual time against a simulated store and network; every request is simulated. One counter has all the traffic,
 * which is the worst case: with many counters their calls spread.
 *
 * Prints for each scenario what was admitted of the limit, how many round trips there were, and how long requests
 * waited.
 */
import { parseArgs } from 'node:util';
import { LeasedLimitStore } from '../../src/limits/shared/leased-store.ts';
import { createLimitMemory, SharedMemoryLimitStore } from '../../src/limits/local/local-store.ts';
import type { LimitDecision, LimitMode, LimitRule } from '../../src/limits/store.ts';
import { type Network, SimulatedStore } from './simulated-server.ts';
import { VirtualTime } from './virtual-time.ts';
import { quantile } from '../../test/support/measure/stats.ts';

interface Scenario {
  readonly title: string;
  /** Of the whole demand. */
  readonly limitPart: number;
  readonly mode: LimitMode;
  /** Part of the traffic that each node gets. */
  readonly partOf: (node: number, nodes: number) => number;
}

interface Outcome {
  readonly asked: number;
  readonly admitted: number;
  readonly refused: number;
  readonly callsPerSecond: number;
  /** Of the requests, and of those that waited. */
  readonly waitedPart: number;
  readonly waitMsP50: number;
  readonly waitMsP99: number;
}

const WINDOW_MS = 1_000;
/** Within one availability zone; a call costs a server about 8 µs. */
const NETWORK: Network = { oneWayMs: [0.15, 0.5], callMs: 0.008 };

const evenly = (_node: number, nodes: number): number => 1 / nodes;
const atOne = (node: number): number => (node === 0 ? 1 : 0);
const unevenly = (node: number, nodes: number): number => {
  let sum = 0;
  for (let rank = 1; rank <= nodes; rank++) sum += 1 / rank;
  return 1 / (node + 1) / sum;
};

const SCENARIOS: readonly Scenario[] = [
  { title: 'limit far away, even traffic', limitPart: 2, mode: 'leased', partOf: evenly },
  { title: 'limit just above the traffic', limitPart: 1.02, mode: 'leased', partOf: evenly },
  { title: 'twice the limit, even traffic', limitPart: 0.5, mode: 'leased', partOf: evenly },
  { title: 'twice the limit, uneven traffic', limitPart: 0.5, mode: 'leased', partOf: unevenly },
  { title: 'ten times the limit', limitPart: 0.1, mode: 'leased', partOf: evenly },
  { title: 'a thousand times the limit', limitPart: 0.001, mode: 'leased', partOf: evenly },
  { title: 'all traffic at one node, twice the limit', limitPart: 0.5, mode: 'leased', partOf: atOne },
  { title: 'exact, ten times the limit', limitPart: 0.1, mode: 'exact', partOf: evenly },
];

async function simulate(scenario: Scenario, nodes: number, rate: number, seconds: number): Promise<Outcome> {
  const time = new VirtualTime();
  const store = new SimulatedStore(time, NETWORK);
  const rule: LimitRule = {
    id: 'app:sim',
    algorithm: 'fixed_window',
    requests: Math.round((rate * scenario.limitPart * WINDOW_MS) / 1_000),
    windowMs: WINDOW_MS,
    burst: 0,
    shared: { mode: scenario.mode, onFailure: 'share' },
  };
  const startMs = Math.ceil(time.nowMs / WINDOW_MS) * WINDOW_MS + WINDOW_MS;
  const endMs = startMs + seconds * 1_000;
  const tally = { asked: 0, admitted: 0, refused: 0 };
  const waits: number[] = [];
  const count = ({ admitted }: LimitDecision): void => {
    // What is decided later may have been granted from the next window.
    if (time.nowMs >= endMs) return;
    if (admitted) tally.admitted += 1;
    else tally.refused += 1;
  };
  for (let node = 0; node < nodes; node++) {
    const memory = createLimitMemory({ counterBytes: 65_536, callers: 16 });
    const limits = new LeasedLimitStore({
      server: store.connect(),
      local: new SharedMemoryLimitStore(memory, 1),
      clock: { nowMs: () => Math.floor(time.nowMs), monotonicMs: () => time.nowMs },
      after: time.after,
      nodes: { count: nodes, rank: node },
      threads: 1,
      leasesMax: 65_536,
      mode: 'leased',
      timeoutMs: 40,
      onOutage: (reason) => {
        throw new Error(`The simulated store failed: ${reason}`);
      },
      onRecovery: () => undefined,
    });
    limits.start();
    const perMs = (rate / 1_000) * scenario.partOf(node, nodes);
    if (perMs === 0) continue;
    const ask = (): void => {
      if (time.nowMs >= endMs) return;
      tally.asked += 1;
      const askedMs = time.nowMs;
      const decision = limits.take(rule, '', Math.floor(askedMs));
      if (decision instanceof Promise) {
        void decision.then((settled) => {
          waits.push(time.nowMs - askedMs);
          count(settled);
        });
      } else count(decision);
      // Exponential gaps: requests of many clients that know nothing of each other.
      time.after(-Math.log(1 - store.random()) / perMs, ask);
    };
    time.after(startMs - time.nowMs + store.random() / perMs, ask);
  }
  await time.runUntil(startMs);
  const callsBefore = store.calls;
  await time.runUntil(endMs);
  const calls = store.calls - callsBefore;
  await time.runUntil(endMs + 100);
  return {
    ...tally,
    callsPerSecond: calls / seconds,
    waitedPart: waits.length / tally.asked,
    waitMsP50: quantile(waits, 0.5),
    waitMsP99: quantile(waits, 0.99),
  };
}

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '100' },
    rate: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '3' },
  },
});
const [nodes, rate, seconds] = [Number(values.nodes), Number(values.rate), Number(values.seconds)];
process.stdout.write(
  `${nodes} nodes, ${rate} requests/s on one counter, ${seconds} windows of 1 s, round trip 0.3 to 1 ms\n\n`,
);
const HEAD = ['scenario', 'limit/s', 'admitted ÷ limit', 'calls/s', 'waited', 'wait p50', 'p99'];
process.stdout.write(`| ${HEAD.join(' | ')} |\n|${' --- |'.repeat(HEAD.length)}\n`);
for (const scenario of SCENARIOS) {
  const outcome = await simulate(scenario, nodes, rate, seconds);
  const { asked, admitted, callsPerSecond, waitedPart, waitMsP50, waitMsP99 } = outcome;
  const limit = rate * scenario.limitPart;
  // What the limit lets through of this demand.
  const most = Math.min(asked, limit * seconds);
  const cells = [
    scenario.title,
    String(limit),
    (admitted / most).toFixed(4),
    callsPerSecond.toFixed(0),
    `${(100 * waitedPart).toFixed(2)} %`,
    `${waitMsP50.toFixed(2)} ms`,
    `${waitMsP99.toFixed(2)} ms`,
  ];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}
