/**
 * Gateways in all set-ups that have metrics of their own, with backends and clients that do everything that is counted,
 * for the queries of rules and dashboards; then everything that alerts are for.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startCollector, type TestCollector } from '../support/backends/collector.ts';
import { startDnsServer } from '../support/backends/dns-server.ts';
import { startHttp2Backend } from '../support/backends/http2-backend.ts';
import { freePort, freePorts } from '../support/backends/origin-process.ts';
import { startOrigin, startRawOrigin } from '../support/backends/origin.ts';
import { openEvents } from '../support/clients/event-stream.ts';
import { handshake } from '../support/clients/handshake.ts';
import { configYaml, startFileRig, type FileRig } from '../support/config-file.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/measure/until.ts';
import { createPolicies, send } from '../support/policies.ts';
import { DIRECTORY_CA_FILE, startPebble } from '../support/programs/pebble.ts';
import { startPostgres } from '../support/programs/postgres.ts';
import { startRedis, type TestRedis } from '../support/programs/redis.ts';
import { SECRET_KEY } from '../support/nodes.ts';
import { createApp, createService, createVersion, request, versionPath } from '../support/traffic.ts';

const TLS = resolve(import.meta.dirname, '../support/tls');
/** Of the limit of addresses: so small that it is soon full. */
const COUNTER_BYTES = 1_048_576;
/** More callers than that holds. */
const CALLERS = 40_000;
const BALANCER = '127.0.0.9';
const SLOW_MS = 1_100;
const SKEWED_CLOCK = resolve(import.meta.dirname, '../support/measure/skewed-clock.cjs');

export interface Scene {
  readonly gateways: readonly TestGateway[];
  /** One of them, without any trouble until everything breaks. */
  readonly well: TestGateway;
  /** One round of all that clients do; returns when it is over. */
  round(): Promise<void>;
  /** From now on stores, files, databases and collectors are in trouble, and the gateway that was well is gone. */
  breakEverything(): Promise<void>;
  close(): Promise<void>;
}

type Cleaner = () => unknown;

/** A TLS listener beside the other one, shared limits, traces, discovery and policies of every kind. */
async function startEdge(folder: string, redis: TestRedis, collector: TestCollector): Promise<TestGateway> {
  mkdirSync(join(folder, 'targets'));
  return startGateway({
    folder,
    env: {
      GATEWAY_WORKERS: '2',
      GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'headgate.db')}`,
      GATEWAY_PROXY__TLS__PORT: '0',
      GATEWAY_PROXY__TLS__CERT_FILE: join(TLS, 'expired.pem'),
      GATEWAY_PROXY__TLS__KEY_FILE: join(TLS, 'expired-key.pem'),
      GATEWAY_PROXY__PROXY_PROTOCOL_FROM: BALANCER,
      GATEWAY_REDIS_URL: redis.url,
      GATEWAY_OTEL__ENDPOINT: collector.url,
      GATEWAY_OTEL__SIGNALS: 'traces,metrics,logs',
      GATEWAY_OTEL__SAMPLE_RATIO: '1',
      GATEWAY_OTEL__TIMEOUT_MS: '200',
      GATEWAY_DISCOVERY__FOLDER: join(folder, 'targets'),
    },
  });
}

/** One worker that has little room for anything. */
const startSmall = (): Promise<TestGateway> =>
  startGateway({
    env: {
      GATEWAY_PROXY__MAX_CONCURRENT_EXCHANGES: '2',
      GATEWAY_PROXY__MAX_CONNECTIONS: '10',
      GATEWAY_LIMITS__MAX_COUNTER_BYTES: String(COUNTER_BYTES),
      GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1',
      GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
      GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '100',
      GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: '86400',
    },
  });

async function startOrdering(cleaners: Cleaner[]): Promise<TestGateway> {
  const [httpPort = 0, tlsPort = 0] = await freePorts(2);
  const dns = await startDnsServer();
  cleaners.push(() => dns.close());
  const pebble = await startPebble({ dnsServer: dns.address, httpPort, tlsPort });
  cleaners.push(() => pebble.close());
  const gateway = await startGateway({
    env: {
      GATEWAY_ACME__DIRECTORY: pebble.directory,
      GATEWAY_ACME__ACCEPT_TERMS: 'true',
      GATEWAY_ACME__CA_FILE: DIRECTORY_CA_FILE,
      GATEWAY_ACME__SELF_CHECK: 'false',
      GATEWAY_ACME__RETRY_SECS: '1',
      GATEWAY_PROXY__PORT: String(httpPort),
      GATEWAY_PROXY__TLS__PORT: String(tlsPort),
    },
  });
  cleaners.push(() => gateway.stop());
  dns.setA('shop.acme.test', ['127.0.0.1']);
  await createApp(gateway, 'shop', { hosts: ['shop.acme.test'] });
  // Leads nowhere.
  await createApp(gateway, 'lost', { hosts: ['lost.acme.test'] });
  await until(async () => 'serial' in (await handshake(tlsPort, 'shop.acme.test')));
  return gateway;
}

/** On PostgreSQL, by a clock of its own. */
async function startSkewed(cleaners: Cleaner[]): Promise<TestGateway> {
  const server = await startPostgres('fsync=off');
  cleaners.push(() => server.stop());
  const gateway = await startGateway({
    env: {
      GATEWAY_DATABASE_URL: await server.createDatabase(),
      GATEWAY_AUTO_MIGRATE: 'true',
      GATEWAY_SECRET_KEY: SECRET_KEY,
      GATEWAY_SNAPSHOT_FILE: 'off',
      NODE_OPTIONS: `--require=${SKEWED_CLOCK}`,
      TEST_CLOCK_SKEW_MS: '30000',
    },
  });
  cleaners.push(() => gateway.stop());
  return gateway;
}

/** Backends and apps of the edge, each for something that is counted. */
async function furnish(edge: TestGateway, folder: string, cleaners: Cleaner[]): Promise<void> {
  const origin = await startOrigin((incoming, response) => {
    const isSlow = incoming.url?.includes('slow') === true;
    setTimeout(() => response.end('0123456789'), isSlow ? SLOW_MS : 2);
  });
  const broken = await startRawOrigin((socket) => socket.destroy());
  const shared = await startHttp2Backend((stream) => {
    stream.respond({ ':status': 200 });
    stream.end('ok');
  });
  cleaners.push(
    () => origin.close(),
    () => broken.close(),
    () => shared.close(),
  );
  const auth = { auth_type: 'api_key' };
  const once = { enabled: true, requests: 2, window_seconds: 86_400 };
  await createPolicies(edge, 'shop', origin.port, [
    { path: '/ok', policy: {} },
    { path: '/slow', policy: {} },
    { path: '/key', policy: { auth } },
    { path: '/shadow', policy: { auth, shadow: ['auth'] } },
    { path: '/once', policy: { rate_limit: once } },
    { path: '/exact', policy: { rate_limit: { ...once, requests: 1_000_000, mode: 'exact' } } },
  ]);
  await createService(edge, 'broken', broken.port, {
    app: { default_policy: { retries: { max: 1, on: ['reset'] } } },
    revision: { circuit_breaker: { failures: 400, open_secs: 60 } },
  });
  await createService(edge, 'open', broken.port, {
    revision: { circuit_breaker: { failures: 2, open_secs: 600 } },
  });
  await createService(edge, 'http2', shared.port, { revision: { backend_protocol: 'h2' } });
  const file = join(folder, 'targets', 'shop.json');
  const targets = [{ host: '127.0.0.1', port: origin.port }];
  writeFileSync(file, JSON.stringify(targets));
  await withTargets(edge, 'looked', { discovery: { type: 'file', path: 'shop.json' } });
  const ejecting = { ejection: { consecutive_failures: 1, base_secs: 600, max_secs: 600 } };
  await withTargets(edge, 'many', {
    targets: [origin.port, broken.port].map((port) => ({ host: '127.0.0.1', port })),
    load_balancing: { algorithm: 'round_robin', ...ejecting },
  });
  await withTargets(edge, 'none', {
    targets: [broken.port, await freePort()].map((port) => ({ host: '127.0.0.1', port })),
    health_check_path: '/healthz',
    circuit_breaker: { probe: { interval_ms: 200, unhealthy_threshold: 1 } },
  });
}

async function withTargets(gateway: TestGateway, slug: string, fields: object): Promise<void> {
  await createApp(gateway, slug);
  await createVersion(gateway, slug);
  const revision = { revision: 'r1', backend_scheme: 'http', is_current: true, ...fields };
  await gateway.must('POST', `${versionPath(slug)}/revisions`, revision);
}

/** What clients of the edge do. */
async function edgeRound(edge: TestGateway): Promise<void> {
  const ask = async (path: string, method = 'GET'): Promise<void> =>
    void (await request(edge, path, { method, body: method === 'POST' ? 'x'.repeat(1_000) : '' }));
  const many = (path: string, count: number, method = 'GET'): Promise<void>[] =>
    Array.from({ length: count }, () => ask(path, method));
  await Promise.all([
    ...many('/shop/v1/ok', 10),
    ...many('/shop/v1/ok', 2, 'POST'),
    ...many('/shop/v1/slow', 3),
    ...many('/shop/v1/key', 2),
    ...many('/shop/v1/shadow', 2),
    ...many('/shop/v1/once', 2),
    ...many('/shop/v1/exact', 5),
    ...many('/nowhere', 2),
    ...many('/broken/v1/x', 30),
    ...many('/open/v1/x', 4),
    ...many('/http2/v1/x', 4),
    ...many('/looked/v1/x', 2),
    ...many('/many/v1/x', 6),
    ...many('/none/v1/x', 2),
    // A client that does not trust the certificate.
    handshake(tlsPortOf(edge), 'localhost', { ca: 'none' }).catch(() => undefined),
    withoutHeader(edge),
  ]);
}

function tlsPortOf(gateway: TestGateway): number {
  const started = gateway.logs().find(({ msg }) => msg === 'headgate is ready');
  return Number(String(started?.['proxy_tls']).split(':').at(-1));
}

/** From the address of the balancer, but not as it begins a connection. */
function withoutHeader(gateway: TestGateway): Promise<void> {
  return new Promise((done) => {
    const socket = net.connect({ port: gateway.proxyPort, host: '127.0.0.1', localAddress: BALANCER });
    socket.on('error', () => undefined).on('close', () => done());
    socket.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  });
}

/** More requests at once than the small gateway takes, and more connections. */
async function smallRound(small: TestGateway): Promise<void> {
  const idle = Array.from({ length: 12 }, () =>
    net.connect({ port: small.proxyPort, host: '127.0.0.1' }).on('error', () => undefined),
  );
  await Promise.all(idle.map((socket) => new Promise((done) => socket.once('connect', done))));
  await Promise.allSettled(Array.from({ length: 9 }, () => request(small, '/held/v1/slow')));
  for (const socket of idle) socket.destroy();
}

/** So many callers that their counters have no room. */
async function crowd(small: TestGateway): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 2 });
  let caller = 0;
  const client = async (): Promise<void> => {
    while (caller < CALLERS) {
      const number = ++caller;
      const address = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
      // Its connection may make room for another one.
      await send(small, '/held/v1/fast', { headers: { 'X-Forwarded-For': address } }, { agent }).catch(
        () => undefined,
      );
    }
  };
  await Promise.all([client(), client()]);
  agent.destroy();
}

export async function startScene(): Promise<Scene> {
  const cleaners: Cleaner[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'headgate-scene-'));
  cleaners.push(() => rmSync(folder, { recursive: true, force: true }));
  const [redis, collector] = await Promise.all([startRedis(['--maxmemory', '64mb']), startCollector()]);
  cleaners.push(() => redis.close());
  const edge = await startEdge(folder, redis, collector);
  cleaners.push(() => edge.stop());
  await furnish(edge, folder, cleaners);
  const small = await startSmall();
  cleaners.push(() => small.stop());
  const held = await startOrigin((incoming, response) => {
    setTimeout(() => response.end('ok'), incoming.url?.includes('slow') === true ? 300 : 0);
  });
  cleaners.push(() => held.close());
  await createService(small, 'held', held.port);
  const files = await startFileRig();
  cleaners.push(() => files.end());
  files.write('gateway.yaml', configYaml({ port: files.origin.port }));
  const fromFiles = await files.start('gateway.yaml');
  const ordering = await startOrdering(cleaners);
  const skewed = await startSkewed(cleaners);
  const well = await startGateway();
  cleaners.push(() => well.stop());
  await createService(well, 'well', held.port);
  const live = await openEvents(`${edge.base}/api/v1/live`, ADMIN_TOKEN);
  cleaners.push(() => live.close());
  let crowded: Promise<void> | undefined;
  return {
    well,
    gateways: [edge, small, fromFiles, ordering, skewed, well],
    round: async () => {
      crowded ??= crowd(small);
      await Promise.all([
        edgeRound(edge),
        smallRound(small),
        request(well, '/well/v1/x').catch(() => undefined),
      ]);
    },
    breakEverything: async () => {
      await crowded;
      await redis.stop();
      await collector.close();
      renameSync(join(folder, 'headgate.db'), join(folder, 'headgate.db.away'));
      writeFileSync(join(folder, 'targets', 'shop.json'), 'no targets');
      breakFiles(files);
      await well.kill();
    },
    close: async () => {
      for (const clean of cleaners.toReversed()) await clean();
    },
  };
}

function breakFiles(files: FileRig): void {
  files.write('gateway.yaml', configYaml({ port: files.origin.port }).replace('port:', 'prt:'));
}
