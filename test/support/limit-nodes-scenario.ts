/**
 * Several gateways at ten times a limit that they share, each algorithm in both modes at the same time, with wrong wall
 * clocks: what was admitted over all of them, and the bounds that it must keep. Short in the ordinary tests, long in
 * the soak.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Policy } from '../../src/model/policy.ts';
import { startLimitNodes } from './limit-nodes.ts';
import { startOrigin } from './origin.ts';
import { startLoad, statusesOf } from './paced-load.ts';
import { metric } from './policies.ts';
import { startRedis } from './redis.ts';

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;
const MODES = ['leased', 'exact'] as const;
const WINDOW_MS = 1_000;
/** Before the last window ends, so that none is begun in vain. */
const MARGIN_MS = 150;

export interface SharedLimitOptions {
  readonly skewsMs: readonly number[];
  /** Requests per second. */
  readonly limit: number;
  /** Whole windows of a second. */
  readonly windows: number;
  /** For each gateway and limit; each asks at most once in `everyMs`. */
  readonly clients: number;
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
  readonly statuses: Readonly<Record<number, number>>;
}

export async function sharedLimits(options: SharedLimitOptions): Promise<{
  readonly results: readonly SharedLimitResult[];
  readonly failures: readonly string[];
  /** Requests that were decided without the store: there must be none. */
  readonly fallbacks: number;
}> {
  const { skewsMs, limit, windows, clients, everyMs, workers } = options;
  const redis = await startRedis();
  const origin = await startOrigin((_request, response) => response.end('ok'));
  const policies: Record<string, Policy> = {};
  for (const algorithm of ALGORITHMS) {
    for (const mode of MODES) {
      const rate_limit = { enabled: true, requests: limit, window_seconds: 1, algorithm, mode };
      policies[nameOf(algorithm, mode)] = { rate_limit };
    }
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
    // Right at the beginning of a window of the store's clock, which is this machine's.
    await pause(WINDOW_MS - (Date.now() % WINDOW_MS) + 5);
    const startMs = Date.now();
    const load = startLoad({
      ports: nodes.gateways.map(({ proxyPort }) => proxyPort),
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
    const results = Object.keys(policies).map((name) => {
      const answers = load.answers.filter((answer) => answer.name === name);
      const admitted = answers.filter(({ status }) => status === 200).length;
      const most = name.startsWith('token')
        ? limit + Math.floor((limit * elapsedMs) / WINDOW_MS)
        : limit * touched;
      const planned = name.startsWith('token')
        ? limit + Math.floor((limit * (windows * WINDOW_MS - MARGIN_MS)) / WINDOW_MS)
        : limit * windows;
      return { name, asked: answers.length, admitted, most, planned, statuses: statusesOf(answers) };
    });
    let fallbacks = 0;
    for (const gateway of nodes.gateways) {
      fallbacks += await metric(gateway, 'headgate_limit_store_fallbacks_total');
    }
    return { results, failures: load.failures, fallbacks };
  } finally {
    await nodes.close();
    await origin.close();
    await redis.close();
  }
}

function nameOf(algorithm: string, mode: string): string {
  return `${algorithm.replaceAll('_', '-')}-${mode}`;
}
