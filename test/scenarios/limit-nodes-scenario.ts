/**
 * Several gateways at ten times a limit that they share, each algorithm in both modes at the same time, with wrong wall
 * clocks, all of them asked or one: what was admitted over all of them, and the bounds that it must keep. Short in the
 * ordinary tests, long in the soak.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { leastAdmitted } from './limits-reference.ts';
import type { Policy } from '../../src/policy/registry.ts';
import type { TestGateway } from '../support/gateway.ts';
import { startLimitNodes } from '../support/limit-nodes.ts';
import { startOrigin } from '../support/backends/origin.ts';
import { startLoad, statusesOf, type Answered } from '../support/clients/paced-load.ts';
import { metric } from '../support/policies.ts';
import { startRedis } from '../support/programs/redis.ts';

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;
const MODES = ['leased', 'exact'] as const;
const WINDOW_MS = 1_000;
/** Before the last window ends, so that no window is begun for nothing. */
const MARGIN_MS = 150;

export interface SharedLimitOptions {
  readonly skewsMs: readonly number[];
  /** Requests per second. */
  readonly limit: number;
  /** Whole windows of a second. */
  readonly windows: number;
  /** For each gateway that is asked, and limit; each asks at most once in `everyMs`. */
  readonly clients: number;
  /** How many of the gateways get the traffic; all without it. */
  readonly asking?: number;
  readonly everyMs: number;
  readonly workers: number;
}

export interface SharedLimitResult {
  readonly name: string;
  readonly asked: number;
  readonly admitted: number;
  /** What the limit allows until the last answer, and until the last request was sent. */
  readonly most: number;
  readonly planned: number;
  /** What it has for the requests that were asked, when they were: at the least. */
  readonly available: number;
  /** The largest number by which what was admitted until an answer was above what the limit allows until then. */
  readonly above: number;
  readonly statuses: Readonly<Record<number, number>>;
}

export async function sharedLimits(options: SharedLimitOptions): Promise<{
  readonly results: readonly SharedLimitResult[];
  readonly failures: readonly string[];
  /** Requests that were decided without the store: there must be none. */
  readonly fallbacks: number;
  /** Milliseconds by which the wall clock of a gateway's worker is not as wrong as it should be, at most. */
  readonly clocksOffMs: number;
}> {
  const { skewsMs, limit, windows, clients, everyMs, workers, asking } = options;
  const redis = await startRedis();
  const origin = await startOrigin((_request, response) => response.end('ok'));
  const named = ALGORITHMS.flatMap((algorithm) =>
    MODES.map((mode) => ({ name: nameOf(algorithm, mode), algorithm, mode })),
  );
  const policies: Record<string, Policy> = {};
  for (const { name, algorithm, mode } of named) {
    const rate_limit = { enabled: true, requests: limit, window_seconds: 1, algorithm, mode };
    policies[name] = { rate_limit };
  }
  const nodes = await startLimitNodes({
    redisUrls: skewsMs.map(() => redis.url),
    skewsMs,
    originPort: origin.port,
    policies,
    // What is measured is what the store admits: a busy machine must not count as an outage of it.
    env: { GATEWAY_LIMITS__TIMEOUT_MS: '2000', GATEWAY_WORKERS: String(workers) },
  });
  try {
    let clocksOffMs = 0;
    for (const [index, gateway] of nodes.gateways.entries()) {
      clocksOffMs = Math.max(clocksOffMs, await clockOffMs(gateway, skewsMs[index] ?? 0));
    }
    // Right at the beginning of a window of the store's clock, which is this machine's.
    await pause(WINDOW_MS - (Date.now() % WINDOW_MS) + 5);
    const startMs = Date.now();
    const load = startLoad({
      ports: nodes.gateways.slice(0, asking).map(({ proxyPort }) => proxyPort),
      paths: Object.fromEntries(Object.keys(policies).map((name) => [name, `/${name}/v1/x`])),
      everyMs,
      clients,
    });
    await pause(windows * WINDOW_MS - MARGIN_MS - (Date.now() - startMs));
    await load.stop();
    const lastMs = load.answers.reduce((latest, { atMs }) => Math.max(latest, atMs), 0);
    const firstWindow = Math.floor(startMs / WINDOW_MS);
    const touched = Math.floor(lastMs / WINDOW_MS) - firstWindow + 1;
    const elapsedMs = lastMs - startMs;
    const results = named.map(({ name, algorithm }) => {
      const answers = load.answers.filter((answer) => answer.name === name);
      const admitted = answers.filter(({ status }) => status === 200).length;
      const most = name.startsWith('token')
        ? limit + Math.floor((limit * elapsedMs) / WINDOW_MS)
        : limit * touched;
      const planned = name.startsWith('token')
        ? limit + Math.floor((limit * (windows * WINDOW_MS - MARGIN_MS)) / WINDOW_MS)
        : limit * windows;
      const available = leastAdmitted(
        answers.map(({ atMs, tookMs }) => ({ sentMs: atMs - tookMs, answeredMs: atMs })),
        { algorithm, requests: limit, windowMs: WINDOW_MS },
      );
      const above = mostAbove(answers, name, limit, startMs);
      const statuses = statusesOf(answers);
      return { name, asked: answers.length, admitted, most, planned, available, above, statuses };
    });
    let fallbacks = 0;
    for (const gateway of nodes.gateways) {
      fallbacks += await metric(gateway, 'headgate_limit_store_fallbacks_total');
    }
    return { results, failures: load.failures, fallbacks, clocksOffMs };
  } finally {
    await nodes.close();
    await origin.close();
    await redis.close();
  }
}

/**
 * Looks at every answer that lets pass: none comes before its permit was counted, so at each of them no more may have
 * come than the limit allows from the start until then, and nothing has to be left for late ones.
 */
function mostAbove(answers: readonly Answered[], name: string, limit: number, startMs: number): number {
  const passed = answers.filter(({ status }) => status === 200).toSorted((a, b) => a.atMs - b.atMs);
  let most = -Infinity;
  for (const [index, { atMs }] of passed.entries()) {
    most = Math.max(most, index + 1 - allowedUntil(atMs, name, limit, startMs));
  }
  return most;
}

function allowedUntil(atMs: number, name: string, limit: number, startMs: number): number {
  if (name.startsWith('token')) return limit + Math.floor((limit * (atMs - startMs)) / WINDOW_MS);
  // Windows aligned to the clock; a sliding one may begin anywhere, so also with the first request.
  const firstMs = name.startsWith('fixed') ? startMs - (startMs % WINDOW_MS) : startMs;
  return limit * (Math.floor((atMs - firstMs) / WINDOW_MS) + 1);
}

/** By the time that a worker writes into its answers, which is one of whole seconds. */
async function clockOffMs(gateway: TestGateway, skewMs: number): Promise<number> {
  const beforeMs = Date.now() + skewMs;
  const response = await fetch(`${gateway.proxy}/not-served`);
  await response.arrayBuffer();
  const afterMs = Date.now() + skewMs;
  const saysMs = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(saysMs)) return Infinity;
  return Math.max(0, beforeMs - saysMs, saysMs - afterMs);
}

function nameOf(algorithm: string, mode: string): string {
  return `${algorithm.replaceAll('_', '-')}-${mode}`;
}
