/**
 * Calls of gRPC through Headgate, nginx (`grpc_pass`) and HAProxy in one run: processor time of each proxy per call.
 * The load is h2load, the backend nghttpd, which answers every call with one message and its status in trailers; all
 * over TCP without TLS. One worker each. Rounds alternate, and the median of each counts, so that a busy machine
 * burdens all.
 *
 *   sh scripts/run.sh bench/grpc-proxies.ts [--rounds 5] [--calls 20000]
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePorts } from '../test/support/backends/origin-process.ts';
import { startGateway } from '../test/support/gateway.ts';
import { requireProgram, run } from '../test/support/programs/programs.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, calls: { type: 'string', default: '20000' } },
});
const rounds = Number(values.rounds);
const TICKS_PER_SECOND = 100;
const SETTLE_MS = 500;
/** An empty message. */
const MESSAGE = Buffer.from([0, 0, 0, 0, 0]);

const folder = mkdtempSync(join(tmpdir(), 'headgate-grpc-'));
const children: ChildProcess[] = [];
const [backendPort = 0, nginxPort = 0, haproxyPort = 0] = await freePorts(3);

function start(name: string, debianPackage: string, args: readonly string[]): number {
  const child = spawn(requireProgram(name, debianPackage), args, { stdio: 'ignore' });
  children.push(child);
  return child.pid ?? 0;
}

/** Processor time of a process and its children, in seconds (proc(5), `/proc/<pid>/stat`). */
function cpuSeconds(pid: number): number {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  let ticks = 0;
  for (const each of all) {
    let stat = '';
    try {
      stat = readFileSync(`/proc/${each}/stat`, 'latin1');
    } catch {
      continue;
    }
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(each) === pid || Number(fields[1]) === pid) ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks / TICKS_PER_SECOND;
}

interface Proxy {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly micros: number[];
}

async function startHeadgate(): Promise<Proxy & { stop(): Promise<unknown> }> {
  const gateway = await startGateway({
    env: { GATEWAY_PROXY__H2C: 'true', GATEWAY_LOG__LEVEL: 'warn', GATEWAY_LOG__ACCESS: 'off' },
    ports: await freePorts(2).then(([management = 0, proxy = 0]) => ({ management, proxy })),
  });
  await gateway.must('POST', '/apps', { name: 'All', slug: 'all', gateway_path: '/' });
  await gateway.must('POST', '/apps/all/versions', { version: 'v1', gateway_path: '/' });
  await gateway.must('POST', '/apps/all/versions/v1/revisions', {
    revision: 'r1',
    backend_scheme: 'http',
    backend_protocol: 'h2',
    backend_host: '127.0.0.1',
    backend_port: backendPort,
    is_current: true,
  });
  return {
    name: 'Headgate',
    pid: gateway.process.pid ?? 0,
    port: gateway.proxyPort,
    micros: [],
    stop: () => gateway.stop(),
  };
}

function nginxConfig(): string {
  return `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log /dev/null;
events { worker_connections 1024; }
http { access_log off; client_body_temp_path ${folder}/body; keepalive_requests 1000000;
  upstream calls { server 127.0.0.1:${backendPort}; keepalive 64; keepalive_requests 1000000; }
  server { listen 127.0.0.1:${nginxPort} http2; location / { grpc_pass grpc://calls; } } }
`;
}

function haproxyConfig(): string {
  return `global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend calls
  bind 127.0.0.1:${haproxyPort} proto h2
  default_backend backend
backend backend
  server one 127.0.0.1:${backendPort} proto h2
`;
}

async function load(port: number): Promise<void> {
  const fields = ['content-type: application/grpc', 'te: trailers'].flatMap((field) => ['-H', field]);
  const url = `http://127.0.0.1:${port}/demo.Echo/Unary`;
  const amount = ['-n', values.calls, '-c', '10', '-m', '10', '-d', join(folder, 'message')];
  const { stdout } = await run(requireProgram('h2load', 'nghttp2-client'), [...amount, ...fields, url]);
  if (!stdout.includes(`${values.calls} 2xx`)) throw new Error(`Not every call was answered: ${stdout}`);
}

mkdirSync(join(folder, 'demo.Echo'));
writeFileSync(join(folder, 'demo.Echo/Unary'), MESSAGE);
writeFileSync(join(folder, 'message'), MESSAGE);
writeFileSync(join(folder, 'nginx.conf'), nginxConfig());
writeFileSync(join(folder, 'haproxy.cfg'), haproxyConfig());
const backend = [
  '--no-tls',
  '-a',
  '127.0.0.1',
  '-d',
  folder,
  '--trailer',
  'grpc-status: 0',
  String(backendPort),
];
start('nghttpd', 'nghttp2-server', backend);
const headgate = await startHeadgate();
try {
  const proxies: Proxy[] = [
    headgate,
    {
      name: 'nginx',
      pid: start('nginx', 'nginx-light', ['-c', join(folder, 'nginx.conf')]),
      port: nginxPort,
      micros: [],
    },
    {
      name: 'HAProxy',
      pid: start('haproxy', 'haproxy', ['-f', join(folder, 'haproxy.cfg')]),
      port: haproxyPort,
      micros: [],
    },
  ];
  await new Promise((done) => setTimeout(done, SETTLE_MS));
  for (let round = 0; round <= rounds; round++) {
    for (const { pid, port, micros } of proxies) {
      const before = cpuSeconds(pid);
      await load(port);
      // The first round is for compilers and caches.
      if (round > 0) micros.push(((cpuSeconds(pid) - before) * 1e6) / Number(values.calls));
    }
  }
  for (const { name, micros } of proxies) {
    const sorted = micros.toSorted((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] ?? NaN;
    process.stdout.write(`${name.padEnd(10)} ${median.toFixed(1)} µs of processor time per call\n`);
  }
} finally {
  await headgate.stop();
  for (const child of children) child.kill('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}
