/**
 * `Retry-After` obeyed means admitted: a hundred callers for each kind of limit use theirs up, wait exactly as long as
 * they are told, and ask once more. All at the same time, so that it takes as long as one of them.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, createPolicies, send } from '../../support/policies.ts';
import type { Served } from '../../support/traffic.ts';

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;
const CALLERS = 100;
/** Callers at one time: of more, this process would notice the answers too late. */
const AT_ONCE = 25;
const WINDOW_SECS = 3;

let gateway: TestGateway;
let perAddress: TestGateway;
let origin: Origin;

beforeAll(async () => {
  origin = await startOrigin();
  [gateway, perAddress] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: '2' } }),
    startGateway({
      env: {
        GATEWAY_WORKERS: '2',
        GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
        GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '2',
        GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: String(WINDOW_SECS),
      },
    }),
  ]);
  const limit = (algorithm: string, per: string) => ({
    rate_limit: { enabled: true, requests: 2, window_seconds: WINDOW_SECS, algorithm, per },
  });
  await createPolicies(gateway, 'obey', origin.port, [
    ...ALGORITHMS.map((algorithm) => ({
      path: `/${algorithm}`,
      policy: limit(algorithm, 'header:X-Caller'),
    })),
    { path: '/plan', policy: { auth: { auth_type: 'api_key' } } },
  ]);
  await createPolicies(perAddress, 'obey', origin.port, [{ path: '/address', policy: {} }]);
}, 90_000);
afterAll(async () => {
  await Promise.all([gateway.stop(), perAddress.stop()]);
  await origin.close();
});

interface Caller {
  readonly of: TestGateway;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly localAddress?: string;
}

interface Outcome {
  /** Of the request after the wait. */
  readonly status: number;
  readonly toldSecs: number;
  readonly waitedMs: number;
}

async function obeys({ of, path, headers = {}, localAddress }: Caller): Promise<Outcome> {
  const ask = () =>
    send(of, `/obey/v1${path}`, { headers }, localAddress === undefined ? {} : { localAddress });
  for (let count = 0; count < 50; count++) {
    const answer = await ask();
    if (answer.status === 200) continue;
    expect(answer.status).toBe(429);
    const seconds = Number(answer.headers['retry-after']);
    expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= WINDOW_SECS).toBe(true);
    const toldMs = performance.now();
    await pause(seconds * 1_000);
    const waitedMs = performance.now() - toldMs;
    return { status: (await ask()).status, toldSecs: seconds, waitedMs };
  }
  throw new Error('The limit was never reached');
}

async function refusedOf(callerOf: (index: number) => Caller): Promise<Outcome[]> {
  const refused: Outcome[] = [];
  for (let from = 0; from < CALLERS; from += AT_ONCE) {
    const outcomes = Array.from({ length: AT_ONCE }, async (_, index) => {
      // Spread over a second, so that they do not all ask at the same moment of a window.
      await pause(index * 40);
      return obeys(callerOf(from + index));
    });
    refused.push(...(await Promise.all(outcomes)).filter(({ status }) => status !== 200));
  }
  return refused;
}

describe('Retry-After obeyed means admitted, 99 of 100', { timeout: 90_000 }, () => {
  it.concurrent.each(ALGORITHMS)('%s', async (algorithm) => {
    const refused = await refusedOf((index) => ({
      of: gateway,
      path: `/${algorithm}`,
      headers: { 'X-Caller': `${index}` },
    }));
    expect(refused.length, JSON.stringify(refused)).toBeLessThanOrEqual(0.01 * CALLERS);
  });

  it.concurrent('plans of API keys, of every algorithm', async () => {
    const keys: Served[] = [];
    for (let index = 0; index < CALLERS; index++) {
      const rate_limit = { requests: 2, window_seconds: WINDOW_SECS, algorithm: ALGORITHMS[index % 3] };
      keys.push(await createKey(gateway, 'obey', { rate_limit }));
    }
    const refused = await refusedOf((index) => ({
      of: gateway,
      path: '/plan',
      headers: bearer(keys[index].token),
    }));
    expect(refused.length, JSON.stringify(refused)).toBeLessThanOrEqual(0.01 * CALLERS);
  });

  it.concurrent('the limit per client address', async () => {
    const refused = await refusedOf((index) => ({
      of: perAddress,
      path: '/address',
      localAddress: `127.0.1.${index + 1}`,
    }));
    expect(refused.length, JSON.stringify(refused)).toBeLessThanOrEqual(0.01 * CALLERS);
  });
});
