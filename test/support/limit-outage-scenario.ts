/**
 * Two gateways that share limits, and a store that goes away in one of several ways and comes back: what clients saw
 * meanwhile, how soon each gateway went by its own share and came back, and what was admitted.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Policy } from '../../src/model/policy.ts';
import { startLimitNodes, type LimitNodes } from './limit-nodes.ts';
import { startOrigin, type Origin } from './origin.ts';
import { p99Of, startLoad, statusesOf, type Answered } from './paced-load.ts';
import { startRedis, type TestRedis } from './redis.ts';
import { startTcpRelay, type TcpRelay } from './tcp-relay.ts';

export const LIMIT = 20;
const WINDOW_MS = 1_000;
const EVERY_MS = 15;
const POLL_MS = 25;
const INTO_WINDOW_MS = 50;

const limited = (fields: object): Policy => ({
  rate_limit: { enabled: true, requests: LIMIT, window_seconds: 1, ...fields },
});
const POLICIES: Readonly<Record<string, Policy>> = {
  leased: limited({ mode: 'leased' }),
  exact: limited({ mode: 'exact' }),
  allow: limited({ on_store_failure: 'allow' }),
  deny: limited({ on_store_failure: 'deny' }),
};

export interface Rig {
  readonly redis: TestRedis;
  readonly relay: TcpRelay;
  readonly nodes: LimitNodes;
  readonly origin: Origin;
  close(): Promise<void>;
}

export async function startRig(): Promise<Rig> {
  const redis = await startRedis();
  const relay = await startTcpRelay(redis.port);
  const origin = await startOrigin((_request, response) => response.end('ok'));
  const url = `redis://127.0.0.1:${relay.port}`;
  const nodes = await startLimitNodes({ redisUrls: [url, url], originPort: origin.port, policies: POLICIES });
  return {
    redis,
    relay,
    nodes,
    origin,
    close: async () => {
      await nodes.close();
      relay.close();
      await origin.close();
      redis.thaw();
      await redis.close();
    },
  };
}

export interface Outage {
  readonly name: string;
  begin(rig: Rig): void | Promise<void>;
  end(rig: Rig): void | Promise<void>;
}

export const OUTAGES: readonly Outage[] = [
  { name: 'stopped', begin: ({ redis }) => redis.stop(), end: ({ redis }) => redis.start() },
  { name: 'frozen', begin: ({ redis }) => redis.freeze(), end: ({ redis }) => redis.thaw() },
  { name: 'slow', begin: ({ relay }) => relay.delay(400), end: ({ relay }) => relay.heal() },
  { name: 'cut off', begin: ({ relay }) => relay.swallow(), end: ({ relay }) => relay.heal('silent') },
];

export interface OutageResult {
  /** Until both gateways knew, and until both had found back. */
  readonly noticedMs: number;
  readonly recoveredMs: number;
  readonly failures: readonly string[];
  readonly statuses: Readonly<Record<number, number>>;
  /** Of leased and exact limits. */
  readonly p99BeforeMs: number;
  readonly p99DuringMs: number;
  /** Admitted in whole windows during the outage, by policy, and how many windows. */
  readonly admitted: Readonly<Record<string, number>>;
  readonly windows: number;
}

/** @param lengthMs how long the outage lasts once it was noticed */
export async function runOutage(rig: Rig, outage: Outage, lengthMs: number): Promise<OutageResult> {
  const { gateways } = rig.nodes;
  const load = startLoad({
    ports: gateways.map(({ proxyPort }) => proxyPort),
    paths: Object.fromEntries(Object.keys(POLICIES).map((name) => [name, `/${name}/v1/x`])),
    everyMs: EVERY_MS,
  });
  await untilConnected(rig, 1);
  await pause(1_000);
  // Right after the beginning of a window: what the store still grants, and a slow one answers late, is of this window,
  // and of none that lies within the outage.
  await pause(WINDOW_MS - (Date.now() % WINDOW_MS) + INTO_WINDOW_MS);
  const beganMs = Date.now();
  await outage.begin(rig);
  const noticedMs = (await untilConnected(rig, 0)) - beganMs;
  await pause(lengthMs);
  const endedMs = Date.now();
  await outage.end(rig);
  const mendedMs = Date.now();
  const recoveredMs = (await untilConnected(rig, 1)) - mendedMs;
  await load.stop();
  const shared = load.answers.filter(({ name }) => name === 'leased' || name === 'exact');
  const before = shared.filter(({ atMs }) => atMs < beganMs);
  const during = shared.filter(({ atMs }) => atMs >= beganMs && atMs < endedMs);
  // Windows that lie wholly within the outage, by the wall clock that the gateways go by then.
  const first = Math.ceil((beganMs + noticedMs) / WINDOW_MS);
  const last = Math.floor(endedMs / WINDOW_MS);
  const inside = load.answers.filter(({ atMs }) => atMs >= first * WINDOW_MS && atMs < last * WINDOW_MS);
  return {
    noticedMs,
    recoveredMs,
    failures: load.failures,
    statuses: statusesOf(load.answers),
    p99BeforeMs: p99Of(before),
    p99DuringMs: p99Of(during),
    admitted: Object.fromEntries(Object.keys(POLICIES).map((name) => [name, admittedOf(inside, name)])),
    windows: last - first,
  };
}

function admittedOf(answers: readonly Answered[], name: string): number {
  return answers.filter((answer) => answer.name === name && answer.status === 200).length;
}

/** Asks the gateways' metrics until each of them has said so for all of its threads; resolves with the time. */
async function untilConnected({ nodes }: Rig, value: 0 | 1): Promise<number> {
  const deadline = Date.now() + 15_000;
  const missing = new Set(nodes.gateways);
  while (Date.now() < deadline) {
    for (const gateway of missing) {
      const text = String((await gateway.api('GET', '//metrics')).body);
      const words = [...text.matchAll(/^headgate_limit_store_connected\{.*\} (\d)$/gm)].map(
        ([, word]) => word,
      );
      if (words.length > 0 && words.every((word) => word === String(value))) missing.delete(gateway);
    }
    if (missing.size === 0) return Date.now();
    await pause(POLL_MS);
  }
  throw new Error(`The gateways did not all say ${value} for the store of limits`);
}
