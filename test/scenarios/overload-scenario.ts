/**
 * The whole gateway with several times as many clients as its workers take at once, for a while: how long management
 * calls take meanwhile, what memory grows by, and what the refused are told. Beside it a process that does nothing but
 * answer tells what the machine does to any client.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startGateway, WITH_SPARE, type TestGateway } from '../support/gateway.ts';
import { flood, type Flooded } from '../support/clients/load.ts';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { watchMemory } from '../support/measure/process-memory.ts';
import type { RawResponse } from '../support/clients/raw-client.ts';
import { untilSettled } from '../support/measure/settled-threads.ts';
import { createService, request, revisionPath } from '../support/traffic.ts';
import { quantile } from '../support/measure/stats.ts';

export const EXCHANGES_MAX = 20;
export const MEMORY_BYTES_MAX = 100 * 2 ** 20;
const CLIENTS = 400;
/** Fewer would make one slow call the median, on a machine that has other things to do. */
const CALLS_MIN = 20;
const LOADS_MAX = 6;
/** The first load makes the heaps as large as they stay: up to 120 MiB on a machine that is at rest. */
const WARM_UP_SECONDS = 2;
const WORKERS = 2;

export interface Overloaded {
  readonly gateway: TestGateway;
  readonly origin: Origin;
  stop(): Promise<void>;
}

export interface OverloadOutcome {
  readonly managementMs: readonly number[];
  readonly idleMs: readonly number[];
  readonly refusals: readonly RawResponse[];
  readonly memoryGrowthBytes: number;
  readonly load: Flooded;
}

/** A gateway with two workers and a route `/busy/v1`, whose backend is slow enough that most requests find no room. */
export async function startOverloadable(): Promise<Overloaded> {
  const env = {
    GATEWAY_WORKERS: String(WORKERS),
    ...WITH_SPARE,
    GATEWAY_PROXY__MAX_CONCURRENT_EXCHANGES: String(EXCHANGES_MAX),
  };
  const [gateway, origin] = await Promise.all([
    startGateway({ env: { ...env, GATEWAY_LOG__ACCESS: 'false' } }),
    startOrigin((_, response) => void setTimeout(() => response.end('served'), 50)),
  ]);
  await createService(gateway, 'busy', origin.port);
  await untilSettled(gateway, WORKERS);
  const stop = async (): Promise<void> => {
    await gateway.stop();
    await origin.close();
  };
  return { gateway, origin, stop };
}

/** Loads for `seconds`, and again until management has been called often enough. */
export async function overload(gateway: TestGateway, seconds: number): Promise<OverloadOutcome> {
  const calls: readonly ((turn: number) => Promise<unknown>)[] = [
    (turn) => gateway.must('PATCH', revisionPath('busy'), { traffic_weight: 1 + turn }),
    () => gateway.must('GET', '/apps'),
    () => gateway.must('GET', '/health'),
    () => gateway.must('GET', `${revisionPath('busy')}/health`),
  ];
  const managementMs: number[] = [];
  const idleMs: number[] = [];
  const refusals: RawResponse[] = [];
  const loads: Flooded[] = [];
  const load = (secs: number): Promise<Flooded> =>
    flood(gateway, '/busy/v1/x', { connections: CLIENTS, seconds: secs, timeoutSecs: 15 });
  const idle = await startIdleServer();
  await load(WARM_UP_SECONDS);
  const memory = await watchMemory(gateway.process.pid!, async () => {
    while (loads.length === 0 || (managementMs.length < CALLS_MIN && loads.length < LOADS_MAX)) {
      let isOver = false;
      const loading = load(seconds);
      void loading.finally(() => (isOver = true)).catch(() => undefined);
      while (!isOver) {
        const turn = idleMs.length;
        for (const call of calls) managementMs.push(await msOf(() => call(turn)));
        idleMs.push(await msOf(async () => (await fetch(idle.url)).text()));
        const samples = Array.from({ length: 10 }, () => request(gateway, '/busy/v1/x'));
        refusals.push(...(await Promise.all(samples)).filter(({ status }) => status === 503));
      }
      loads.push(await loading);
    }
  });
  idle.stop();
  return {
    managementMs,
    idleMs,
    refusals,
    memoryGrowthBytes: memory.peakBytes - memory.beforeBytes,
    load: sumOf(loads),
  };
}

function sumOf(loads: readonly Flooded[]): Flooded {
  const [first] = loads;
  if (first === undefined) throw new Error('There was no load');
  const of = (name: 'requests' | 'refused'): number => loads.reduce((sum, each) => sum + each[name], 0);
  return { requests: of('requests'), refused: of('refused'), by: first.by };
}

export function figuresOf({ managementMs, idleMs, memoryGrowthBytes, load }: OverloadOutcome) {
  return {
    calls: managementMs.length,
    medianMs: quantile(managementMs, 0.5),
    p99Ms: quantile(managementMs, 0.99),
    idleMedianMs: quantile(idleMs, 0.5),
    idleP99Ms: quantile(idleMs, 0.99),
    memoryGrowthMiB: memoryGrowthBytes / 2 ** 20,
    ...load,
  };
}

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

async function startIdleServer(): Promise<{ readonly url: string; stop(): void }> {
  const program = `const server = require('node:http').createServer((_, response) => response.end('{}'));
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return { url: `http://127.0.0.1:${String(port).trim()}/`, stop: () => void child.kill() };
}
