/**
 * Time of the engine alone, in microseconds per request: `node bench/engine-micro.ts [checkout …] [--load pass]
 * [--seconds 4]`. The real traffic path, from what a client's read brings to what is written to the client, in one
 * thread and without a kernel: sockets are replaced by memory (engine-sockets.ts), on both sides. What Node.js and the
 * system do around a read and a write is not in the figures.
 *
 * Made for a machine that others use: short batches by the wall clock (CPU time is counted in ticks that are longer),
 * of which the fastest and the lower quartile are shown, and several checkouts take turns, each in a process of its
 * own. Also what a request allocates, from batches in which nothing was collected. A folder with its own `src`, `test`
 * and a `node_modules` link is checkout enough. Older checkouts have some modules in other folders (`from` below); a
 * load of something that a checkout does not have ends with an error.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, ftruncateSync, mkdtempSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type * as ProxySupport from '../test/support/proxy.ts';
import type * as ConnectionModule from '../src/proxy/downstream/connection.ts';
import type * as FixturesModule from '../src/policy/test-fixtures.ts';
import type { ExchangeView } from '../src/proxy/interfaces/exchange-view.ts';
import type * as AccessLogModule from '../src/observe/access-log.ts';
import type * as OutputModule from '../src/observe/log-output.ts';
import type * as AccessFieldsModule from '../src/model/access-fields.ts';
import type * as SamplerModule from '../src/proxy/tracing/sampler.ts';
import type * as SlowestModule from '../src/telemetry/spans/slowest.ts';
import type * as TraceTapModule from '../src/telemetry/spans/trace-tap.ts';
import type * as LiveTapModule from '../src/explain/live/live-tap.ts';
import type * as MetricsModule from '../src/observe/metrics/metrics.ts';
import type * as ReadBuffersModule from '../src/proxy/io/read-buffers.ts';
import type * as SocketWriterModule from '../src/proxy/io/socket-writer.ts';
import type { ConfigChange } from '../src/model/config.ts';
import type { Revision } from '../src/model/resources.ts';
import type { Policy } from '../src/policy/registry.ts';
import { MemoryClient, memoryBackends, type BackendSide } from './engine-sockets.ts';

/**
 * `changing` is `pass` with fields that are never those of the message before, on neither side. `logged` is `policy`
 * with a line of the access log for each request, which goes to a file; `watched` is `policy` while a console shows
 * live traffic, so many requests in a second as it asks for, and `sampled` and `traced` are `policy` with 1 % and all
 * of the traces kept (`sampled-logged` and `traced-logged`: with the lines as well). `hosts` and `wildcards` are `pass`
 * to one of 10,000 apps of the same path, each with a host or a wildcard of its own. `targets`, `turns` and `hash` are
 * `pass` over 100 targets, by each of the algorithms (by `hash`, each client has a key of its own; `hot` is `hash` with
 * one key for all), `few` over three.
 */
const LOADS = [
  'pass',
  'hosts',
  'wildcards',
  'changing',
  'policy',
  'logged',
  'watched',
  'sampled',
  'traced',
  'sampled-logged',
  'traced-logged',
  'bodies',
  'targets',
  'few',
  'turns',
  'hash',
  'hot',
] as const;
type LoadName = (typeof LOADS)[number];

const CONNECTIONS = 64;
const TURNS_PER_BATCH = 4;
const PROCESSES = 3;
/** The log begins anew after so many lines. */
const LINES_KEPT = 100_000;
const ORIGIN = 'https://app.example.com';
const POLICY: Policy = {
  auth: { auth_type: 'api_key' },
  required_scopes: ['orders:read'],
  rate_limit: { enabled: true, requests: 1_000_000_000, window_seconds: 3600 },
  cors: { allowed_origins: [ORIGIN] },
};

const ALGORITHMS: Partial<Record<LoadName, NonNullable<Revision['load_balancing']>>> = {
  targets: { algorithm: 'least_requests' },
  few: { algorithm: 'least_requests' },
  turns: { algorithm: 'round_robin' },
  hash: { algorithm: 'hash', hash: { by: 'header', name: 'X-User' } },
  hot: { algorithm: 'hash', hash: { by: 'ip' } },
};

const APPS_WITH_HOSTS = 10_000;
/** The Host field of those who ask them. */
const HOSTS: Partial<Readonly<Record<LoadName, string>>> = {
  hosts: 'host-77.example',
  wildcards: 'eu.host-77.example',
};

const hasPolicy = (load: LoadName): boolean =>
  ['policy', 'logged', 'watched', 'sampled', 'traced', 'sampled-logged', 'traced-logged'].includes(load);

interface Figures {
  readonly fastest: number;
  readonly quartile: number;
  readonly bytes: number;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    load: { type: 'string' },
    seconds: { type: 'string', default: '4' },
    alone: { type: 'boolean', default: false },
  },
});
const checkouts =
  positionals.length === 0 ? [join(import.meta.dirname, '..')] : positionals.map((at) => resolve(at));
const loads = values.load === undefined ? LOADS : LOADS.filter((name) => name === values.load);
if (loads.length === 0) throw new Error(`Cannot load as "${values.load}": expected ${LOADS.join(', ')}`);

if (values.alone) {
  const figures = await measure(checkouts[0] ?? '', loads[0] ?? 'pass', Number(values.seconds));
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  process.exit();
}
for (const load of loads) compare(load);

/** Every checkout several times, by turns; of each the least. */
function compare(load: LoadName): void {
  const runs = new Map(checkouts.map((checkout) => [checkout, [] as Figures[]]));
  for (let round = 0; round < PROCESSES; round++) {
    for (const checkout of checkouts) runs.get(checkout)?.push(inProcess(checkout, load));
  }
  for (const [checkout, figures] of runs) {
    const [fastest, quartile, bytes] = (['fastest', 'quartile', 'bytes'] as const).map((name) =>
      Math.min(...figures.map((each) => each[name])),
    );
    process.stdout.write(
      `${load.padEnd(8)}${fastest?.toFixed(2).padStart(7)} µs fastest ${quartile?.toFixed(2).padStart(7)} µs quartile` +
        `${bytes?.toFixed(0).padStart(8)} bytes  ${checkout}\n`,
    );
  }
}

function inProcess(checkout: string, load: LoadName): Figures {
  const seconds = String(Number(values.seconds) / PROCESSES);
  const args = [import.meta.filename, checkout, '--alone', '--load', load, '--seconds', seconds];
  const { stdout, stderr, status } = spawnSync(process.execPath, [...process.execArgv, ...args], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Figures;
}

async function measure(checkout: string, load: LoadName, seconds: number): Promise<Figures> {
  const turn = await startEngine(checkout, load);
  const endMs = performance.now() + seconds * 1000;
  const warmUntilMs = performance.now() + seconds * 400;
  while (performance.now() < warmUntilMs) await turn();
  const times: number[] = [];
  const bytes: number[] = [];
  while (performance.now() < endMs || times.length === 0) {
    const heapBefore = process.memoryUsage().heapUsed;
    const begunMs = performance.now();
    for (let count = 0; count < TURNS_PER_BATCH; count++) await turn();
    times.push((performance.now() - begunMs) * 1000);
    const grown = process.memoryUsage().heapUsed - heapBefore;
    if (grown > 0) bytes.push(grown);
  }
  const requests = CONNECTIONS * TURNS_PER_BATCH;
  times.sort((a, b) => a - b);
  const quartile = times[Math.floor(times.length / 4)] ?? NaN;
  return {
    fastest: (times[0] ?? NaN) / requests,
    quartile: quartile / requests,
    bytes: middle(bytes) / requests,
  };
}

function middle(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? NaN;
}

/** Resolves with a function that makes every client ask once and every backend answer. */
async function startEngine(checkout: string, load: LoadName): Promise<() => Promise<void>> {
  /** @param paths where the module is, the newest place first */
  const from = async <M>(...paths: readonly string[]): Promise<M> => {
    const files = paths.map((path) => join(checkout, path));
    return (await import(files.find((file) => existsSync(file)) ?? String(files[0]))) as M;
  };
  const { startProxy, oneRoute } = await from<typeof ProxySupport>('test/support/proxy.ts');
  const { Connection } = await from<typeof ConnectionModule>(
    'src/proxy/downstream/connection.ts',
    'src/proxy/connection.ts',
  );
  const { TestKeys } = await from<typeof FixturesModule>('src/policy/test-fixtures.ts');
  const { WorkerMetrics } = await from<typeof MetricsModule>(
    'src/observe/metrics/metrics.ts',
    'src/observe/metrics.ts',
  );
  const readers = await from<typeof ReadBuffersModule>(
    'src/proxy/io/read-buffers.ts',
    'src/proxy/read-buffers.ts',
  );
  const writers = await from<typeof SocketWriterModule>(
    'src/proxy/io/socket-writer.ts',
    'src/proxy/socket-writer.ts',
  );
  const backends = memoryBackends([responseOf(load, 0), responseOf(load, 1)]);
  const { token, key } = new TestKeys().create({ app_id: 'app-1', scopes: ['orders:read'] });
  const endpoints = hasPolicy(load) ? [{ path: '/orders/{id}' }] : [];
  const revision = revisionOf(load);
  const setup = {
    backendPort: 80,
    endpoints,
    keys: [key],
    ...(revision && { revision }),
    ...(hasPolicy(load) ? { policy: POLICY } : {}),
  };
  const record = new WorkerMetrics().routeRecord({ app: 'a', version: 'v1', revision: 'r1', route: '/' });
  const log = load.endsWith('logged') ? await accessLogOf(from) : undefined;
  const live = load === 'watched' ? await liveTapOf(from) : undefined;
  const ratio = load.startsWith('sampled') ? 0.01 : load.startsWith('traced') ? 1 : undefined;
  const traces = ratio === undefined ? undefined : await traceTapOf(from);
  const { context } = await startProxy(withHosts(oneRoute(setup), load), {
    ...(ratio !== undefined && { tracing: await samplerOf(from, ratio) }),
    observer: {
      timesUpstream: true,
      ...(live && { timesStages: (nowMs) => live.mayReport(nowMs) }),
      exchangeEnded: (exchange) => {
        const { status, durationMs, bytesIn, bytesOut } = exchange;
        record.observe(status, durationMs / 1000, 0, bytesIn, bytesOut);
        log?.(exchange);
        live?.exchangeEnded(exchange);
        traces?.(exchange);
      },
    },
  });
  const requests = Array.from({ length: CONNECTIONS }, (_none, client) =>
    [0, 1].map((number) => Buffer.from(requestOf(load, token, number, client), 'latin1')),
  );
  let turn = 0;
  const clients = Array.from({ length: CONNECTIONS }, () => {
    const client = new MemoryClient(readers, writers);
    context.deadlines.add(new Connection(client, '127.0.0.1', false, context, () => undefined));
    return client;
  });
  return async () => {
    const number = turn++ % 2;
    clients.forEach((client, index) => client.receive(requests[index]?.[number] as Buffer));
    await answered(backends, clients);
  };
}

function revisionOf(load: LoadName): Partial<Revision> | undefined {
  const balancing = ALGORITHMS[load];
  if (balancing === undefined) return undefined;
  const targets = Array.from({ length: load === 'few' ? 3 : 100 }, (_none, index) => ({
    host: `10.0.0.${index + 1}`,
    port: 80,
    weight: 100,
  }));
  return { targets, load_balancing: balancing };
}

/** The app with a host of its own, among others that have the same path. */
function withHosts(config: ConfigChange, load: LoadName): ConfigChange {
  const [tree] = config.apps;
  if (tree === undefined || (load !== 'hosts' && load !== 'wildcards')) return config;
  const prefix = load === 'hosts' ? '' : '*.';
  const apps = Array.from({ length: APPS_WITH_HOSTS }, (_, number) => ({
    app: { ...tree.app, id: `app-${number}`, slug: `a${number}`, hosts: [`${prefix}host-${number}.example`] },
    versions: tree.versions.map(({ version, revisions }) => ({
      version: { ...version, id: `ver-${number}`, app_id: `app-${number}` },
      revisions,
    })),
  }));
  return { ...config, apps };
}

/** As a worker has it while one console watches all of the traffic. */
async function liveTapOf(from: <M>(path: string) => Promise<M>): Promise<LiveTapModule.LiveTap> {
  const { LiveTap } = await from<typeof LiveTapModule>('src/explain/live/live-tap.ts');
  const ignore = (): void => undefined;
  const tap = new LiveTap({ workerNumber: 1, send: ignore, keep: ignore });
  tap.watch([{ id: 1, filter: {}, perSecond: 20 }]);
  return tap;
}

async function samplerOf(
  from: <M>(path: string) => Promise<M>,
  ratio: number,
): Promise<SamplerModule.Sampler> {
  const { Sampler } = await from<typeof SamplerModule>('src/proxy/tracing/sampler.ts');
  return new Sampler(ratio);
}

/** What the observer of a worker does for traces, by default. */
async function traceTapOf(from: <M>(path: string) => Promise<M>): Promise<(exchange: ExchangeView) => void> {
  const { TraceTap } = await from<typeof TraceTapModule>('src/telemetry/spans/trace-tap.ts');
  const { Slowest } = await from<typeof SlowestModule>('src/telemetry/spans/slowest.ts');
  const options = {
    keep: { errors: true, denials: true, retries: true, slow: true },
    ring: undefined,
    // Of earlier versions.
    send: () => undefined,
    epochMs: () => Date.now() - performance.now(),
  };
  const tap = new TraceTap(options);
  const slowest = new Slowest(0.01);
  return (exchange) => tap.exchangeEnded(exchange, slowest);
}

/** What the observer of a worker does for the log. */
async function accessLogOf(from: <M>(path: string) => Promise<M>): Promise<(exchange: ExchangeView) => void> {
  const { AccessLog } = await from<typeof AccessLogModule>('src/observe/access-log.ts');
  const { FileOutput } = await from<typeof OutputModule>('src/observe/log-output.ts');
  const { ACCESS_FIELDS } = await from<typeof AccessFieldsModule>('src/model/access-fields.ts');
  const file = openSync(join(mkdtempSync(join(tmpdir(), 'headgate-engine-')), 'access.log'), 'w');
  const log = new AccessLog(new FileOutput(file), {
    format: 'json',
    mode: 'all',
    level: 'info',
    fields: ACCESS_FIELDS,
  });
  const labels = { app: 'a', version: 'v1', revision: 'r1', route: '/a/v1/orders/{id}' };
  let lines = 0;
  return (exchange) => {
    const { head, protocol } = exchange.connection;
    log.write({
      timeMs: Date.now(),
      requestId: exchange.requestId,
      traceId: exchange.traced()?.traceId,
      labels,
      method: exchange.method,
      host: head.host,
      path: exchange.path,
      status: exchange.status,
      bytesIn: exchange.bytesIn,
      bytesOut: exchange.bytesOut,
      durationMs: exchange.durationMs,
      upstreamMs: exchange.upstreamMs,
      keyId: exchange.evaluation.caller.id,
      clientIp: exchange.clientIp,
      protocol,
      errorCode: exchange.errorCode,
      errorDetail: '',
      isAborted: exchange.isAborted,
      shadowDenials: undefined,
      retries: exchange.retries,
    });
    if (++lines % LINES_KEPT === 0) ftruncateSync(file);
  };
}

async function answered(backends: BackendSide, clients: readonly MemoryClient[]): Promise<void> {
  for (let turns = 0; turns < 4; turns++) {
    await new Promise((done) => setImmediate(done));
    backends.answer();
  }
  for (const client of clients) client.takeAnswer();
}

/** @param number of the two that take turns; also below */
function requestOf(load: LoadName, token: string, number: number, client: number): string {
  if (load === 'bodies')
    return `POST /a/v1/large HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Length: 4096\r\n\r\n${'x'.repeat(4096)}`;
  const key = hasPolicy(load) ? `Authorization: Bearer ${token}\r\nOrigin: ${ORIGIN}\r\n` : '';
  const user = load === 'hash' ? `X-User: user-${client}\r\n` : key;
  const fields = load === 'changing' ? `X-Number: ${number}\r\n` : user;
  const host = HOSTS[load] ?? '127.0.0.1:8080';
  return `GET /a/v1/orders/42 HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`;
}

function responseOf(load: LoadName, number: number): string {
  const body = 'x'.repeat(load === 'bodies' ? 16 * 1024 : 100);
  return (
    'HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\nContent-Type: text/plain\r\n' +
    (load === 'changing' ? `ETag: "${number}"\r\n` : '') +
    `Content-Length: ${body.length}\r\nConnection: keep-alive\r\n\r\n${body}`
  );
}
