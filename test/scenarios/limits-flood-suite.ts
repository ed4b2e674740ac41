/**
 * "Admitted = limit, to the request": two workers under a flood over eight connections, for each algorithm. The
 * backend counts what was admitted. An ordinary test for a few seconds, a soak for twenty.
 */
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { flood, type Flooded } from '../support/clients/load.ts';
import { createPolicies, quietWindowSecs, roomInWindow } from '../support/policies.ts';
import { until } from '../support/measure/until.ts';
import { workerCounts } from '../support/clients/worker-connections.ts';
import { steadily } from '../support/measure/steady.ts';

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;
const WORKERS = 2;
const CONNECTIONS = 8;
/** The kernel gives all connections to one worker once in 128 floods, which then says nothing of two. */
const ATTEMPTS = [1, 2, 3];
/** In one long window. */
const LIMIT = 1_009;
/** In each second. */
const RATE = 150;

interface Floodable {
  readonly gateway: TestGateway;
  /** Requests that reached the backend, by path. */
  readonly reached: Map<string, number>;
  stop(): Promise<void>;
}

interface Outcome {
  readonly admitted: number;
  /** Most of it was refused: a machine with other things to do may take longer to ask for so much. */
  readonly isFlood: boolean;
  readonly beganMs: number;
  /** Of the flood as it was asked for, and until all of it was over. */
  readonly seconds: number;
  readonly elapsedMs: number;
  readonly by: Flooded['by'];
  /** Of each worker, meanwhile. */
  readonly connections: readonly number[];
}

interface FloodOptions {
  /** What has to ask; anything, where it is not said. */
  readonly by?: Flooded['by'];
  /** Hears of each flood in which both workers had a part. */
  readonly report?: (name: string, outcome: Outcome) => void;
}

export function limitsUnderFlood(seconds: number, { by, report }: FloodOptions = {}): void {
  const timeoutMs = ATTEMPTS.reduce((sum, attempt) => sum + attempt, 0) * seconds * 1_000 + 60_000;
  let floodable: Floodable;
  beforeAll(async () => {
    floodable = await startFloodable();
  }, 90_000);
  afterAll(() => floodable.stop());

  /**
   * Floods until both workers have had a part in it; never may too much be admitted, also of what was no flood. Too
   * little may be of a gateway that stood still for a moment: one that wastes permits does so each time.
   * @param check whether enough was admitted; throws for too much
   */
  const flooded = async (kind: string, check: (outcome: Outcome) => boolean): Promise<void> => {
    const tooLittle: number[] = [];
    for (const attempt of ATTEMPTS) {
      if (kind === '/rate/fixed_window') await roomInWindow(1_000, 900);
      const outcome = await admittedOf(floodable, `${kind}/${attempt}`, seconds * attempt);
      const isEnough = check(outcome);
      if (!outcome.isFlood) continue;
      if (!isEnough) {
        tooLittle.push(outcome.admitted);
        continue;
      }
      if (by !== undefined) expect(outcome.by).toBe(by);
      if (Math.min(...outcome.connections) > 0) return report?.(kind, outcome);
    }
    expect(tooLittle, 'too little was admitted').toEqual([]);
    throw new Error(`Of ${ATTEMPTS.length} floods none was one, or the kernel gave all to one worker`);
  };

  /** Of all floods, also of those that are made again since the machine stood still. */
  const excesses: string[] = [];
  const noteExcess = (admitted: number, most: number): number => {
    if (admitted > most) excesses.push(`${admitted} instead of ${most}`);
    return most;
  };

  describe(`two workers flooded for ${seconds} s over ${CONNECTIONS} connections`, () => {
    it.each(ALGORITHMS)(
      '%s admits the limit of a long window, to the request',
      async (algorithm) => {
        await flooded(`/once/${algorithm}`, ({ admitted, isFlood }) => {
          expect(admitted).toBeLessThanOrEqual(LIMIT);
          if (isFlood) expect(admitted).toBe(LIMIT);
          return true;
        });
      },
      timeoutMs,
    );

    it(
      'fixed_window admits the limit in each second',
      steadily(async () => {
        await flooded('/rate/fixed_window', ({ admitted, beganMs, elapsedMs }) => {
          const windows = Math.floor((beganMs + elapsedMs) / 1_000) - Math.floor(beganMs / 1_000) + 1;
          // The flood ends in the last of these windows, in which a part of the limit may be left.
          expect(admitted).toBeLessThanOrEqual(noteExcess(admitted, windows * RATE));
          return admitted >= (windows - 1) * RATE;
        });
      }),
      timeoutMs,
    );

    it(
      'sliding_window never more than the limit in any second, and 98 % of it',
      steadily(async () => {
        await flooded('/rate/sliding_window', ({ admitted, seconds: asked, elapsedMs }) => {
          const most = noteExcess(admitted, Math.ceil(elapsedMs / 1_000) * RATE);
          expect(admitted).toBeLessThanOrEqual(most);
          return admitted >= 0.98 * asked * RATE;
        });
      }),
      timeoutMs,
    );

    it(
      'token_bucket admits its capacity and what is refilled',
      steadily(async () => {
        await flooded('/rate/token_bucket', ({ admitted, seconds: asked, elapsedMs }) => {
          const most = noteExcess(admitted, RATE + (elapsedMs * RATE) / 1_000);
          expect(admitted).toBeLessThanOrEqual(most);
          return admitted >= Math.floor(0.98 * (RATE + asked * RATE));
        });
      }),
      timeoutMs,
    );

    it('admits too much in none of them, whatever the machine did', () => {
      expect(excesses).toEqual([]);
    });
  });
}

async function startFloodable(): Promise<Floodable> {
  const reached = new Map<string, number>();
  const server = http.createServer((request, response) => {
    const path = request.url ?? '';
    reached.set(path, (reached.get(path) ?? 0) + 1);
    response.end('ok');
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const gateway = await startGateway({ env: { GATEWAY_WORKERS: String(WORKERS) } });
  const limit = (algorithm: string, fields: object) => ({
    rate_limit: { enabled: true, algorithm, ...fields },
  });
  // A bucket that refills by one token in a day.
  const once = { window_seconds: quietWindowSecs() };
  const paths = ATTEMPTS.flatMap((attempt) => [
    { path: `/once/fixed_window/${attempt}`, policy: limit('fixed_window', { ...once, requests: LIMIT }) },
    {
      path: `/once/sliding_window/${attempt}`,
      policy: limit('sliding_window', { ...once, requests: LIMIT }),
    },
    {
      path: `/once/token_bucket/${attempt}`,
      policy: limit('token_bucket', { ...once, requests: 1, burst: LIMIT }),
    },
    ...ALGORITHMS.map((algorithm) => ({
      path: `/rate/${algorithm}/${attempt}`,
      policy: limit(algorithm, { requests: RATE, window_seconds: 1 }),
    })),
  ]);
  await createPolicies(gateway, 'flood', (server.address() as AddressInfo).port, paths);
  const stop = async (): Promise<void> => {
    await gateway.stop();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  return { gateway, reached, stop };
}

async function admittedOf({ gateway, reached }: Floodable, path: string, seconds: number): Promise<Outcome> {
  // Those of the flood before.
  await until(async () => Math.max(...(await workerCounts(gateway, WORKERS))) === 0);
  reached.delete(path);
  const beganMs = Date.now();
  let endedMs = 0;
  const flooding = flood(gateway, `/flood/v1${path}`, { connections: CONNECTIONS, seconds }).finally(
    () => (endedMs = Date.now()),
  );
  const [{ requests, refused, by }, connections] = await Promise.all([
    flooding,
    connectionsUntil(gateway, () => endedMs > 0),
  ]);
  const admitted = reached.get(path) ?? 0;
  // The flood does not wait for what is under way when the time is over.
  expect(requests - refused).toBeGreaterThanOrEqual(admitted - CONNECTIONS);
  expect(requests - refused).toBeLessThanOrEqual(admitted);
  const isFlood = refused > admitted;
  return { admitted, isFlood, beganMs, seconds, elapsedMs: endedMs - beganMs, by, connections };
}

/** The most connections that each worker was seen with before both had some, or before it was over. */
async function connectionsUntil(gateway: TestGateway, isOver: () => boolean): Promise<readonly number[]> {
  let most: readonly number[] = Array<number>(WORKERS).fill(0);
  while (!isOver() && Math.min(...most) === 0) {
    const now = await workerCounts(gateway, WORKERS);
    most = most.map((count, worker) => Math.max(count, now[worker] ?? 0));
    await pause(100);
  }
  return most;
}
