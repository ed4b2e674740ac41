/**
 * "Admitted = limit, to the request": two workers under a flood over eight connections, for each algorithm. The
 * backend counts what was admitted. Three seconds each; `HEADGATE_SOAK_SECONDS=20` makes a soak of it.
 */
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { flood } from '../support/load.ts';
import { createPolicies, quietWindowSecs, roomInWindow } from '../support/policies.ts';

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;
const LOAD = { connections: 8, seconds: Number(process.env['HEADGATE_SOAK_SECONDS'] ?? 3) };
/** In one long window. */
const LIMIT = 1_009;
/** In each second. */
const RATE = 150;
const TIMEOUT_MS = LOAD.seconds * 1_000 + 60_000;

let gateway: TestGateway;
let server: http.Server;
/** Requests that reached the backend, by path. */
const reached = new Map<string, number>();

beforeAll(async () => {
  server = http.createServer((request, response) => {
    const path = request.url ?? '';
    reached.set(path, (reached.get(path) ?? 0) + 1);
    response.end('ok');
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  gateway = await startGateway({ env: { GATEWAY_WORKERS: '2' } });
  const limit = (algorithm: string, fields: object) => ({
    rate_limit: { enabled: true, algorithm, ...fields },
  });
  // A bucket that refills by one token in a day.
  const once = { window_seconds: quietWindowSecs() };
  await createPolicies(gateway, 'flood', (server.address() as AddressInfo).port, [
    { path: '/once/fixed_window', policy: limit('fixed_window', { ...once, requests: LIMIT }) },
    { path: '/once/sliding_window', policy: limit('sliding_window', { ...once, requests: LIMIT }) },
    { path: '/once/token_bucket', policy: limit('token_bucket', { ...once, requests: 1, burst: LIMIT }) },
    ...ALGORITHMS.map((algorithm) => ({
      path: `/rate/${algorithm}`,
      policy: limit(algorithm, { requests: RATE, window_seconds: 1 }),
    })),
  ]);
}, 90_000);
afterAll(async () => {
  await gateway.stop();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

async function admittedOf(path: string): Promise<{ readonly admitted: number; readonly elapsedMs: number }> {
  const beganMs = Date.now();
  const { requests, refused, by } = await flood(gateway, `/flood/v1${path}`, LOAD);
  const elapsedMs = Date.now() - beganMs;
  const admitted = reached.get(path) ?? 0;
  expect(refused, `refusals counted by ${by}`).toBeGreaterThan(admitted);
  // Whoever floods does not wait for what is under way when the time is over.
  expect(requests - refused).toBeGreaterThanOrEqual(admitted - LOAD.connections);
  expect(requests - refused).toBeLessThanOrEqual(admitted);
  return { admitted, elapsedMs };
}

describe(`two workers flooded for ${LOAD.seconds} s over ${LOAD.connections} connections`, () => {
  it.each(ALGORITHMS)(
    '%s admits the limit of a long window, to the request',
    async (algorithm) => {
      const { admitted } = await admittedOf(`/once/${algorithm}`);
      expect(admitted).toBe(LIMIT);
    },
    TIMEOUT_MS,
  );

  it(
    'fixed_window admits the limit in each second',
    async () => {
      await roomInWindow(1_000, 900);
      const first = Math.floor(Date.now() / 1_000);
      const { admitted } = await admittedOf('/rate/fixed_window');
      const windows = Math.floor(Date.now() / 1_000) - first + 1;
      // The flood ends in the last of these windows, in which a part of the limit may be left.
      expect(admitted).toBeLessThanOrEqual(windows * RATE);
      expect(admitted).toBeGreaterThanOrEqual((windows - 1) * RATE);
    },
    TIMEOUT_MS,
  );

  it(
    'sliding_window never more than the limit in any second, and 98 % of it',
    async () => {
      const { admitted, elapsedMs } = await admittedOf('/rate/sliding_window');
      expect(admitted).toBeLessThanOrEqual(Math.ceil(elapsedMs / 1_000) * RATE);
      expect(admitted).toBeGreaterThanOrEqual(0.98 * LOAD.seconds * RATE);
    },
    TIMEOUT_MS,
  );

  it(
    'token_bucket admits its capacity and what is refilled',
    async () => {
      const { admitted, elapsedMs } = await admittedOf('/rate/token_bucket');
      expect(admitted).toBeLessThanOrEqual(RATE + (elapsedMs * RATE) / 1_000);
      expect(admitted).toBeGreaterThanOrEqual(Math.floor(0.98 * (RATE + LOAD.seconds * RATE)));
    },
    TIMEOUT_MS,
  );
});
