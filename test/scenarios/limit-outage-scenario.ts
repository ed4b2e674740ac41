/**
 * Two gateways that share limits, and a store that goes away, for both or for one of them, and comes back: what clients
 * saw meanwhile, how soon each gateway went by its own share and came back, and what was admitted.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Policy } from '../../src/policy/registry.ts';
import type { TestGateway } from '../support/gateway.ts';
import { startLimitNodes, type LimitNodes } from '../support/limit-nodes.ts';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import {
  p99Of,
  startLoad,
  statusesOf,
  type Answered,
  type PacedLoad,
} from '../support/clients/paced-load.ts';
import { startRedis, type TestRedis } from '../support/programs/redis.ts';
import { startTcpRelay, type TcpRelay } from '../support/backends/tcp-relay.ts';

export const LIMIT = 20;
/** Each gateway has one client for each limit: an answer of the window before may come late. */
export const LATE_PER_GATEWAY = 1;
const WINDOW_MS = 1_000;
const EVERY_MS = 15;
const POLL_MS = 25;
const INTO_WINDOW_MS = 50;

/** Those of the policies that go by the share without the store. */
export const SHARED = ['exact', 'leased'] as const;

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

/** With this a store, or a relay to it, that a busy machine keeps waiting for a moment is not away. */
export const PATIENT = { GATEWAY_LIMITS__TIMEOUT_MS: '1500' };

/** @param relayed whether both gateways reach the store through the relay, or the first one alone */
export async function startRig(
  relayed: 'both' | 'first' = 'both',
  env: Readonly<Record<string, string>> = {},
): Promise<Rig> {
  const redis = await startRedis();
  const relay = await startTcpRelay(redis.port);
  const origin = await startOrigin((_request, response) => response.end('ok'));
  const url = `redis://127.0.0.1:${relay.port}`;
  const nodes = await startLimitNodes({
    redisUrls: [url, relayed === 'both' ? url : redis.url],
    originPort: origin.port,
    policies: POLICIES,
    env,
  });
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
  const load = startLoadOf(rig);
  await untilConnected(gateways, 1);
  await pause(1_000);
  await windowBegins();
  const beganMs = Date.now();
  await outage.begin(rig);
  const noticedMs = (await untilConnected(gateways, 0)) - beganMs;
  await pause(lengthMs);
  const endedMs = Date.now();
  await outage.end(rig);
  const storeBackMs = Date.now();
  const recoveredMs = (await untilConnected(gateways, 1)) - storeBackMs;
  await load.stop();
  const shared = load.answers.filter(({ name }) => SHARED.some((other) => other === name));
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

export interface PartitionResult {
  readonly failures: readonly string[];
  readonly statuses: Readonly<Record<number, number>>;
  /** Of each shared limit: admitted in each whole window in which the first gateway was cut off, and after that. */
  readonly during: readonly PartitionWindow[];
  readonly afterwards: readonly PartitionWindow[];
}

export interface PartitionWindow {
  readonly name: string;
  readonly cutOff: number;
  readonly all: number;
  /** Each gateway was asked for far more than it may admit; else nothing says how much of that it should have. */
  readonly isFlood: boolean;
}

/**
 * The first gateway is cut off from the store, which the other one goes on asking.
 * @param lengthMs how long, once it was noticed
 * @param afterMs how long both are in reach again, from the next window on
 */
export async function runPartition(rig: Rig, lengthMs: number, afterMs: number): Promise<PartitionResult> {
  const cutOff = rig.nodes.gateways.slice(0, 1);
  const load = startLoadOf(rig);
  await untilConnected(rig.nodes.gateways, 1);
  await pause(1_000);
  await windowBegins();
  rig.relay.swallow();
  const noticedMs = await untilConnected(cutOff, 0);
  await pause(lengthMs);
  const endedMs = Date.now();
  rig.relay.heal('silent');
  const recoveredMs = await untilConnected(cutOff, 1);
  await pause(WINDOW_MS - (Date.now() % WINDOW_MS) + afterMs);
  await load.stop();
  return {
    failures: load.failures,
    statuses: statusesOf(load.answers),
    during: wholeWindows(load.answers, noticedMs, endedMs),
    afterwards: wholeWindows(load.answers, recoveredMs, Date.now()),
  };
}

function wholeWindows(answers: readonly Answered[], fromMs: number, untilMs: number): PartitionWindow[] {
  const windows: PartitionWindow[] = [];
  for (const name of SHARED) {
    for (let ms = Math.ceil(fromMs / WINDOW_MS) * WINDOW_MS; ms + WINDOW_MS <= untilMs; ms += WINDOW_MS) {
      const inside = answers.filter(({ atMs }) => atMs >= ms && atMs < ms + WINDOW_MS);
      const ofFirst = inside.filter(({ gateway }) => gateway === 0);
      const asked = ofFirst.filter((answer) => answer.name === name).length;
      const askedOther = inside.filter((answer) => answer.name === name).length - asked;
      const isFlood = asked >= LIMIT && askedOther >= 1.5 * LIMIT;
      windows.push({ name, cutOff: admittedOf(ofFirst, name), all: admittedOf(inside, name), isFlood });
    }
  }
  return windows;
}

function startLoadOf({ nodes }: Rig): PacedLoad {
  return startLoad({
    ports: nodes.gateways.map(({ proxyPort }) => proxyPort),
    paths: Object.fromEntries(Object.keys(POLICIES).map((name) => [name, `/${name}/v1/x`])),
    everyMs: EVERY_MS,
  });
}

/**
 * Right after the beginning of a window: what the store still grants, and a slow one answers late, is of this window,
 * and of none that lies within the outage.
 */
function windowBegins(): Promise<void> {
  return pause(WINDOW_MS - (Date.now() % WINDOW_MS) + INTO_WINDOW_MS);
}

function admittedOf(answers: readonly Answered[], name: string): number {
  return answers.filter((answer) => answer.name === name && answer.status === 200).length;
}

/** Asks the gateways' metrics until each of them has said so for all of its threads; resolves with the time. */
async function untilConnected(gateways: readonly TestGateway[], value: 0 | 1): Promise<number> {
  const deadline = Date.now() + 15_000;
  const missing = new Set(gateways);
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
