/**
 * Three of four targets fail one after the other, in each of the ways in which backends do, and become well again,
 * while 64 connections send as many requests as go through: no request fails. Prints how long a target that fails stays
 * in service, how long one that is well again stays out of it, and how many requests a removed target gets.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  startFleet,
  targetsOf,
  type FleetTarget,
  type TargetMode,
} from '../support/backends/target-fleet.ts';
import { flood } from '../support/clients/load.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/measure/until.ts';
import { serviceOver } from '../support/target-service.ts';
import { revisionPath, type Served } from '../support/traffic.ts';

const SECONDS = 30;
const CONNECTIONS = 64;
const LOOK_MS = 10;
/** Until a target that fails is out of service: two health checks of 200 ms with their time-out, or five requests. */
const OUT_MS_MAX = 5_000;
/** Two good health checks, the longest ejection, and what a busy machine adds. */
const BACK_MS_MAX = 10_000;

let gateway: TestGateway;
let fleet: readonly FleetTarget[];
beforeAll(async () => {
  [gateway, fleet] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: '2', GATEWAY_LOG__ACCESS: 'errors' } }),
    startFleet(4),
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all(fleet.map((target) => target.close()));
});

it.each<TargetMode>(['down', 'frozen', 'failing', 'resetting'])(
  'targets that are %s under full load',
  { timeout: 180_000 },
  async (mode) => {
    const slug = `full-${mode}`;
    await serviceOver(gateway, slug, fleet, {
      default_policy: {
        retries: { max: 2, on: ['connect', 'reset', 'timeout', '500'] },
        timeouts: { first_byte_ms: 1_000, connect_ms: 1_000 },
      },
      health_check_path: '/healthz',
      circuit_breaker: { probe: { interval_ms: 200, timeout_ms: 1_000, unhealthy_threshold: 2 } },
      load_balancing: { slow_start_secs: 1, ejection: { base_secs: 1, max_secs: 2 } },
    });
    const stateOf = async (place: number): Promise<string> => {
      const { targets } = await gateway.must('GET', `${revisionPath(slug)}/health`);
      return (targets as Served[])[place]?.['state'];
    };
    const load = flood(gateway, `/${slug}/v1/x`, {
      seconds: SECONDS,
      connections: CONNECTIONS,
      timeoutSecs: 10,
    });
    const outMs: number[] = [];
    const backMs: number[] = [];
    for (const place of [0, 1, 2]) {
      await until(() => fleet[place]!.requests > 500, 20_000, LOOK_MS, 'it gets its share');
      let startedMs = performance.now();
      await fleet[place]!.become(mode);
      await until(
        async () => (await stateOf(place)) !== 'in_service',
        20_000,
        LOOK_MS,
        'it is out of service',
      );
      outMs.push(performance.now() - startedMs);
      startedMs = performance.now();
      await fleet[place]!.become('well');
      await until(async () => (await stateOf(place)) === 'in_service', 20_000, LOOK_MS, 'it is back');
      backMs.push(performance.now() - startedMs);
    }
    await gateway.must('PATCH', revisionPath(slug), { targets: targetsOf(fleet.slice(1)) });
    await until(() => fleet[0]!.sockets.size === 0, 10_000, LOOK_MS, 'no connection is left');
    const before = fleet[0]!.requests;
    const { requests, refused } = await load;
    const toRemoved = fleet[0]!.requests - before;
    process.stdout.write(
      `${JSON.stringify({ mode, requests, failed: refused, outMs, backMs, toRemoved })}\n`,
    );
    expect(refused).toBe(0);
    expect(toRemoved).toBe(0);
    expect(Math.max(...outMs)).toBeLessThan(OUT_MS_MAX);
    expect(Math.max(...backMs)).toBeLessThan(BACK_MS_MAX);
  },
);
