/**
 * Contract part 8, the three algorithms as time passes. What a test can say without a clock of its own: when a
 * request was sent and when it was answered. The gateway decided somewhere in between, so that every assertion is
 * one that holds for all decisions in between, however slow the machine.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createPolicies, quietWindowSecs } from '../../support/policies.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { request, requestText } from '../../support/traffic.ts';

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;
const REQUESTS = 20;
const BURST = 5;
const LOAD_MS = 3_200;

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway({ env: { GATEWAY_WORKERS: '2' } }), startOrigin()]);
  const limit = (algorithm: string, requests: number, windowSecs: number, rest = {}) => ({
    rate_limit: { enabled: true, requests, window_seconds: windowSecs, algorithm, ...rest },
  });
  await createPolicies(gateway, 'time', origin.port, [
    ...ALGORITHMS.flatMap((algorithm) => [
      { path: `/obey/${algorithm}`, policy: limit(algorithm, 2, 2) },
      { path: `/hammer/${algorithm}`, policy: limit(algorithm, 1, quietWindowSecs()) },
    ]),
    { path: '/load/fixed_window', policy: limit('fixed_window', REQUESTS, 1) },
    { path: '/load/sliding_window', policy: limit('sliding_window', REQUESTS, 1) },
    { path: '/load/token_bucket', policy: limit('token_bucket', REQUESTS, 1, { burst: BURST }) },
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

interface Admitted {
  readonly sentMs: number;
  readonly answeredMs: number;
}

/** Asks on a few connections as fast as they answer; gives the requests that were admitted. */
async function load(
  target: string,
  forMs: number,
): Promise<{ readonly admitted: Admitted[]; readonly refused: number }> {
  const admitted: Admitted[] = [];
  let refused = 0;
  const endMs = Date.now() + forMs;
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      const client = await connectRaw(gateway.proxyPort);
      while (Date.now() < endMs) {
        const sentMs = Date.now();
        client.write(requestText(target));
        const { status } = await client.response();
        if (status === 200) admitted.push({ sentMs, answeredMs: Date.now() });
        else refused++;
        await pause(2);
      }
      client.end();
    }),
  );
  return { admitted, refused };
}

describe('Retry-After', () => {
  it.concurrent.each(ALGORITHMS)('obeyed, one request is admitted (%s)', async (algorithm) => {
    const target = `/time/v1/obey/${algorithm}`;
    for (let round = 0; round < 2; round++) {
      let refusal = await request(gateway, target);
      while (refusal.status === 200) refusal = await request(gateway, target);
      expect(refusal.status).toBe(429);
      const retryAfter = Number(refusal.headers['retry-after']);
      expect(retryAfter).toBeGreaterThanOrEqual(1);
      expect(retryAfter).toBeLessThanOrEqual(2);
      await pause(retryAfter * 1000);
      expect((await request(gateway, target)).status).toBe(200);
    }
  });

  it.concurrent.each(ALGORITHMS)(
    'a refused request takes nothing: asking again does not put it off (%s)',
    async (algorithm) => {
      const target = `/time/v1/hammer/${algorithm}`;
      expect((await request(gateway, target)).status).toBe(200);
      const first = Number((await request(gateway, target)).headers['retry-after']);
      for (let count = 0; count < 20; count++) await request(gateway, target);
      const last = await request(gateway, target);
      expect(last.status).toBe(429);
      expect(Number(last.headers['retry-after'])).toBeLessThanOrEqual(first);
    },
  );
});

describe('sustained load from several connections over two workers', () => {
  it('spec 8: sliding_window never admits more than `requests` in any window', async () => {
    const { admitted, refused } = await load('/time/v1/load/sliding_window', LOAD_MS);
    expect(refused).toBeGreaterThan(0);
    expect(admitted.length).toBeGreaterThan(REQUESTS);
    const sent = admitted.map(({ sentMs }) => sentMs).sort((a, b) => a - b);
    const answered = admitted.map(({ answeredMs }) => answeredMs).sort((a, b) => a - b);
    for (let index = 0; index + REQUESTS < admitted.length; index++) {
      // The later of the two was decided by then, the earlier one no sooner than that.
      expect(answered[index + REQUESTS]! - sent[index]!).toBeGreaterThanOrEqual(1_000 - 1);
    }
  });

  it('spec 8: token_bucket allows a burst up to its capacity, then a steady refill', async () => {
    const { admitted, refused } = await load('/time/v1/load/token_bucket', LOAD_MS);
    expect(refused).toBeGreaterThan(0);
    expect(admitted.length).toBeGreaterThan(BURST);
    const sent = admitted.map(({ sentMs }) => sentMs).sort((a, b) => a - b);
    const answered = admitted.map(({ answeredMs }) => answeredMs).sort((a, b) => a - b);
    for (let from = 0; from < sent.length; from++) {
      for (let to = from; to < sent.length; to++) {
        const elapsedMs = answered[to]! - sent[from]! + 1;
        expect(to - from + 1).toBeLessThanOrEqual(BURST + (REQUESTS * elapsedMs) / 1_000);
      }
    }
  });

  it('spec 8: fixed_window resets at fixed intervals and admits no more than `requests` in one', async () => {
    const { admitted, refused } = await load('/time/v1/load/fixed_window', LOAD_MS);
    expect(refused).toBeGreaterThan(0);
    const perWindow = new Map<number, number>();
    for (const { sentMs, answeredMs } of admitted) {
      const window = Math.floor(sentMs / 1_000);
      if (window === Math.floor(answeredMs / 1_000)) perWindow.set(window, (perWindow.get(window) ?? 0) + 1);
    }
    for (const count of perWindow.values()) expect(count).toBeLessThanOrEqual(REQUESTS);
    // The counter was reset: more came through than one window holds.
    expect(admitted.length).toBeGreaterThan(REQUESTS);
  });
});
