/**
 * What a gateway needs, for the page docs/explanation/sizing.md: memory of a gateway at rest, of a worker, an endpoint,
 * an API key and a connection, and processor time of a request. All of it is told by the kernel or by V8 and depends
 * less on what else the machine does than elapsed times do.
 *
 *   sh scripts/run.sh bench/sizing.ts
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Fields } from '../test/support/traffic.ts';
import type { TestGateway } from '../test/support/gateway.ts';
import prepareProgram from '../test/support/programs/program.ts';
import { cpuDifference, cpuTime, memoryParts, residentBytes } from './measure.ts';
import { runLoad, type LoadRequest } from './load.ts';
import { keyTableBytes, snapshotBytes } from './snapshot-memory.ts';

// What `npm start` runs; tests start it, too.
prepareProgram();
const { startGateway } = await import('../test/support/gateway.ts');
const { startOrigin } = await import('../test/support/backends/origin.ts');
const { createEndpoint, createService } = await import('../test/support/traffic.ts');
const { bearer, createKey } = await import('../test/support/policies.ts');

const MIB = 1_048_576;
const KIB = 1_024;
const REST_MS = 4_000;
const CONNECTIONS = [500, 5_500] as const;
const ENDPOINTS = [10_000, 100_000] as const;
const KEYS = [10_000, 200_000] as const;
const ROUND_SECS = 4;
const ROUNDS = 5;
const LOAD_CONNECTIONS = 32;
const allCores = `0-${availableParallelism() - 1}`;

const print = (name: string, value: string): void =>
  void process.stdout.write(`${name.padEnd(58)}${value}\n`);
const pidOf = ({ process: { pid } }: TestGateway): number => {
  if (pid === undefined) throw new Error('Cannot measure: the gateway has no process');
  return pid;
};

type Parts = ReturnType<typeof memoryParts>;

async function atRest(workers: number): Promise<Parts> {
  const gateway = await startGateway({
    env: { GATEWAY_WORKERS: String(workers), GATEWAY_WORKER_SPARE: 'true' },
  });
  try {
    await pause(REST_MS);
    return memoryParts(pidOf(gateway));
  } finally {
    await gateway.stop();
  }
}

async function memoryAtRest(): Promise<void> {
  const [one, two, four] = [await atRest(1), await atRest(2), await atRest(4)];
  const shown = ({ ownBytes, fileBytes }: Parts): string => {
    const [own, file] = [ownBytes, fileBytes].map((bytes) => Math.round(bytes / MIB));
    return `${own} MiB, and ${file} MiB of program files`;
  };
  print('gateway at rest, 1 worker and the spare one', shown(one));
  print('gateway at rest, 2 workers and the spare one', shown(two));
  print('each further worker', `${Math.round((four.ownBytes - two.ownBytes) / 2 / MIB)} MiB`);
}

async function memoryOfConfiguration(): Promise<void> {
  const [few, many] = ENDPOINTS;
  const endpointBytes =
    ((await snapshotBytes({ endpoints: many })) - (await snapshotBytes({ endpoints: few }))) / (many - few);
  print('endpoint, in each worker', `${Math.round(endpointBytes)} bytes`);
  const [fewKeys, manyKeys] = KEYS;
  const keys = (count: number): number => keyTableBytes({ endpoints: 1, keys: count });
  const keyBytes = (keys(manyKeys) - keys(fewKeys)) / (manyKeys - fewKeys);
  print('API key, once for all workers', `${Math.round(keyBytes)} bytes`);
}

/** A process that holds them, and so costs the gateway alone. */
async function holding(gateway: TestGateway, count: number, path: string): Promise<() => Promise<void>> {
  const args = ['bench/idle-connections.ts', String(gateway.proxyPort), String(count), path];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: new URL('..', import.meta.url),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.end();
    await once(child, 'exit');
  };
}

async function memoryOfConnections(originPort: number): Promise<void> {
  const gateway = await startGateway();
  await createService(gateway, 'shop', originPort);
  const used: number[] = [];
  for (const count of CONNECTIONS) {
    const release = await holding(gateway, count, '/shop/v1/x');
    await pause(REST_MS);
    used.push(residentBytes(pidOf(gateway)));
    await release();
  }
  await gateway.stop();
  const [few, many] = CONNECTIONS;
  const [before = 0, after = 0] = used;
  print('idle connection of a client', `${((after - before) / (many - few) / KIB).toFixed(1)} KiB`);
}

interface Policy {
  readonly name: string;
  readonly path: string;
  readonly policy: Fields;
  readonly bodyBytes?: number;
}
const POLICIES: readonly Policy[] = [
  { name: 'request, passed on', path: '/open', policy: {} },
  {
    name: 'request, with API key and rate limit',
    path: '/key',
    policy: {
      auth: { auth_type: 'api_key' },
      rate_limit: { enabled: true, requests: 1_000_000_000, window_seconds: 3_600 },
    },
  },
  { name: 'request, with a body of 16 KiB', path: '/body', policy: {}, bodyBytes: 16 * KIB },
];

/**
 * Median over rounds, of the processor time of all threads of the gateway; the access log is on, as it is by default.
 */
async function processorTime(originPort: number): Promise<void> {
  const gateway = await startGateway();
  await createService(gateway, 'shop', originPort);
  for (const { path, policy } of POLICIES)
    await createEndpoint(gateway, 'shop', '*', path, { policy_override: policy });
  const headers = bearer((await createKey(gateway, 'shop')).token);
  for (const { name, path, bodyBytes } of POLICIES) {
    const requests: LoadRequest[] = [{ path: `/shop/v1${path}`, headers }];
    const method = bodyBytes === undefined ? 'GET' : 'POST';
    const load = {
      connections: LOAD_CONNECTIONS,
      requests,
      method,
      ...(bodyBytes !== undefined && { bodyBytes }),
    } as const;
    await runLoad(load, gateway.proxyPort, ROUND_SECS, allCores);
    const found: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = cpuTime(pidOf(gateway));
      const { requests: done } = await runLoad(load, gateway.proxyPort, ROUND_SECS, allCores);
      const { userMs, systemMs } = cpuDifference(before, cpuTime(pidOf(gateway)));
      found.push(((userMs + systemMs) * 1_000) / done);
    }
    found.sort((a, b) => a - b);
    const median = found[Math.floor(ROUNDS / 2)] ?? 0;
    const range = `${found[0]?.toFixed(0)} to ${found.at(-1)?.toFixed(0)}`;
    print(name, `${median.toFixed(0)} µs of processor time (${range})`);
  }
  await gateway.stop();
}

await memoryAtRest();
await memoryOfConfiguration();
const origin = await startOrigin((_request, response) => response.end('0123456789'));
await memoryOfConnections(origin.port);
await processorTime(origin.port);
await origin.close();
