/**
 * CPU time of the gateway for a request of HTTP/2 clients: `node bench/client-protocols.ts [checkout …] [--rounds 9]
 * [--requests 20000] [--clients 10] [--streams 10] [--load small] [--backend h2]`. One worker's traffic path in a
 * process of its own for each checkout, the backends of backend-protocols.ts in another, and h2load without TLS as the
 * client. Loads, backends and checkouts take turns in rounds, and the medians count, so that a machine that others use
 * disturbs all of them alike. A checkout is a folder with its own `src`, `test` and a `node_modules` link.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { requireProgram, run } from '../test/support/programs/programs.ts';
import type * as ProxySupport from '../test/support/proxy.ts';

/**
 * `small`: GET, and 100 bytes come back. `body`: POST of 4 KiB. `call`: POST of 20 bytes, the response has trailers.
 */
const BODIES = { small: 0, body: 4096, call: 20 } as const;
type LoadName = keyof typeof BODIES;
const BACKENDS = ['http1', 'h2'] as const;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '9' },
    requests: { type: 'string', default: '20000' },
    clients: { type: 'string', default: '10' },
    streams: { type: 'string', default: '10' },
    load: { type: 'string' },
    backend: { type: 'string' },
    role: { type: 'string' },
  },
});
if (values.role === 'gateway') await beGateway(positionals[0] ?? '', positionals.slice(1).map(Number));
else await compare();

interface Gateway {
  readonly checkout: string;
  readonly child: ChildProcess;
  /** By the protocol of the backend. */
  readonly ports: readonly number[];
}

async function compare(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-clients-'));
  const origin = fork(join(import.meta.dirname, 'backend-protocols.ts'), ['--role', 'origin']);
  const ports = (await messageOf(origin)) as number[];
  const checkouts =
    positionals.length === 0 ? [join(import.meta.dirname, '..')] : positionals.map((at) => resolve(at));
  const gateways: Gateway[] = [];
  for (const checkout of checkouts) {
    const child = fork(import.meta.filename, ['--role', 'gateway', checkout, ...ports.map(String)]);
    gateways.push({ checkout, child, ports: (await messageOf(child)) as number[] });
  }
  const figures = new Map<string, number[]>();
  const loads = (Object.keys(BODIES) as LoadName[]).filter((name) => (values.load ?? name) === name);
  const backends = BACKENDS.filter((name) => (values.backend ?? name) === name);
  for (const load of loads) writeFileSync(join(folder, load), 'x'.repeat(BODIES[load]));
  for (let round = -1; round < Number(values.rounds); round++) {
    for (const load of loads) {
      for (const backend of backends) {
        for (const { checkout, child, ports: own } of gateways) {
          const before = await cpuOf(child);
          await offer(own[BACKENDS.indexOf(backend)] ?? 0, load, folder);
          const us = ((await cpuOf(child)) - before) / Number(values.requests);
          const key = `${load.padEnd(5)} backend ${backend.padEnd(5)} ${checkout}`;
          // The first round is for compilers and caches.
          if (round >= 0) figures.set(key, [...(figures.get(key) ?? []), us]);
        }
      }
    }
  }
  for (const [key, all] of figures)
    process.stdout.write(`${median(all).toFixed(1).padStart(6)} µs  ${key}\n`);
  for (const { child } of gateways) child.kill();
  origin.kill();
  rmSync(folder, { recursive: true, force: true });
}

function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((done, fail) => {
    const onExit = (code: number | null): void => fail(new Error(`A process ended with ${code}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      done(message);
    });
  });
}

function median(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0;
}

async function cpuOf(child: ChildProcess): Promise<number> {
  const answer = messageOf(child);
  child.send('cpu');
  return (await answer) as number;
}

async function offer(port: number, load: LoadName, folder: string): Promise<void> {
  const amount = ['-n', values.requests, '-c', values.clients, '-m', values.streams];
  const body = load === 'small' ? [] : ['-d', join(folder, load)];
  const fields = load === 'call' ? ['-H', 'te: trailers'] : [];
  const url = `http://127.0.0.1:${port}/a/v1/x`;
  const { stdout } = await run(requireProgram('h2load', 'nghttp2-client'), [
    ...amount,
    ...body,
    ...fields,
    url,
  ]);
  if (!stdout.includes(`${values.requests} 2xx`))
    throw new Error(`Not every request was answered: ${stdout}`);
}

async function beGateway(checkout: string, backendPorts: readonly number[]): Promise<void> {
  const { oneRoute, startProxy } = (await import(
    join(checkout, 'test/support/proxy.ts')
  )) as typeof ProxySupport;
  const ports: number[] = [];
  for (const [index, protocol] of BACKENDS.entries()) {
    const revision = { backend_protocol: protocol };
    const route = oneRoute({ backendPort: backendPorts[index] ?? 0, revision });
    const proxy = await startProxy(route, { h2c: true });
    ports.push(proxy.port);
  }
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.on('SIGTERM', () => process.exit(0));
  process.send?.(ports);
}
