/**
 * What deploy/compose.yaml starts, started by hand: two gateways with its settings, on one real PostgreSQL database and
 * one real Valkey or Redis, behind a real HAProxy with the very deploy/haproxy.cfg. They count limits together, and one
 * after the other is restarted under traffic.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DEPLOY, readComposeFile } from '../../support/programs/compose-file.ts';
import { runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { installedProgram } from '../../support/programs/install-program.ts';
import { freePorts } from '../../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { quietWindowSecs } from '../../support/policies.ts';
import { startPostgres, type PostgresServer } from '../../support/programs/postgres.ts';
import { startRedis, type TestRedis } from '../../support/programs/redis.ts';
import { PATIENT } from '../../scenarios/limit-outage-scenario.ts';

const CLIENTS = 4;
const REQUESTS_MAX = 200_000;
const LIMIT = 60;

interface Node {
  readonly name: string;
  readonly traffic: string;
  readonly management: string;
}

const folder = mkdtempSync(join(tmpdir(), 'headgate-deploy-'));
let server: PostgresServer;
let redis: TestRedis;
let origin: Origin;
let settings: Readonly<Record<string, string>>;
let nodes: readonly Node[] = [];
let balancer: { readonly process: ChildProcess; readonly traffic: string; readonly management: string };
const running = new Map<string, TestGateway>();

beforeAll(async () => {
  [server, redis, origin] = await Promise.all([startPostgres(), startRedis(), startOrigin()]);
  settings = composeSettings(await server.createDatabase());
  const migrated = await runToEnd(settings, ['migrate'], { cwd: folder });
  if (migrated.code !== 0) throw new Error(migrated.output);
  const [a = '', b = '', c = '', d = '', e = '', f = ''] = (await freePorts(6)).map(String);
  nodes = [
    { name: 'gateway-1', traffic: a, management: b },
    { name: 'gateway-2', traffic: c, management: d },
  ];
  balancer = { process: startBalancer(e, f), traffic: e, management: f };
});
afterAll(async () => {
  await Promise.all([...running.values()].map((gateway) => gateway.kill()));
  balancer?.process.kill('SIGKILL');
  await server?.stop();
  await redis?.close();
  await origin?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Those of the file, but for what only containers have: names of hosts, addresses, a folder at the root. */
function composeSettings(databaseUrl: string): Record<string, string> {
  return {
    ...readComposeFile().services['gateway-1']?.environment,
    GATEWAY_DATABASE_URL: databaseUrl,
    GATEWAY_REDIS_URL: redis.url,
    GATEWAY_SECRET_KEY: 'ab'.repeat(32),
    GATEWAY_ADMIN_TOKEN: 'test-admin-token-0123456789abcdef0123456789',
    GATEWAY_SERVER__HOST: '127.0.0.1',
    GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1',
  };
}

function startBalancer(traffic: string, management: string): ChildProcess {
  const haproxy = installedProgram('haproxy', 'haproxy');
  const [one, two] = nodes;
  return spawn(haproxy, ['-db', '-f', join(DEPLOY, 'haproxy.cfg')], {
    cwd: folder,
    stdio: 'ignore',
    env: {
      PATH: dirname(haproxy),
      HEADGATE_TRAFFIC_PORT: traffic,
      HEADGATE_MANAGEMENT_PORT: management,
      HEADGATE_1_HOST: '127.0.0.1',
      HEADGATE_1_TRAFFIC_PORT: one?.traffic,
      HEADGATE_1_MANAGEMENT_PORT: one?.management,
      HEADGATE_2_HOST: '127.0.0.1',
      HEADGATE_2_TRAFFIC_PORT: two?.traffic,
      HEADGATE_2_MANAGEMENT_PORT: two?.management,
    },
  });
}

async function startNode({ name, traffic, management }: Node): Promise<TestGateway> {
  const gateway = await startGateway({
    folder,
    env: {
      ...settings,
      GATEWAY_SERVER__PORT: management,
      GATEWAY_PROXY__PORT: traffic,
      GATEWAY_SNAPSHOT_FILE: join(folder, `${name}.snapshot`),
      // A store that a busy machine keeps waiting is not what this is about.
      ...PATIENT,
    },
  });
  running.set(name, gateway);
  return gateway;
}

/** Through the balancer to whichever gateway. */
function callManagement(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`http://127.0.0.1:${balancer.management}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${settings['GATEWAY_ADMIN_TOKEN']}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/** The status of the answer. */
async function manage(method: string, path: string, body?: unknown): Promise<number> {
  const response = await callManagement(method, path, body);
  await response.arrayBuffer();
  return response.status;
}

/** How many gateways answer management calls through the balancer, each knowing of both. */
async function serving(): Promise<number> {
  const found = new Set<string>();
  for (let index = 0; index < nodes.length * 2; index++) {
    const response = await callManagement('GET', '/nodes').catch(() => undefined);
    if (response?.status !== 200) continue;
    const { data } = (await response.json()) as { data: { nodes: { id: string; is_self: boolean }[] } };
    const self = data.nodes.find((node) => node.is_self);
    if (self !== undefined && data.nodes.length === nodes.length) found.add(self.id);
  }
  return found.size;
}

const accessLines = (gateway: TestGateway | undefined): number =>
  (gateway?.logs() ?? []).filter(({ msg }) => msg === 'access').length;

/** Clients that go on until they are told to end; what went wrong for them. */
function startClients(): { stop(): Promise<{ readonly sent: number; readonly failures: string[] }> } {
  const failures: string[] = [];
  let sent = 0;
  let done = false;
  const client = async (method: string): Promise<void> => {
    while (!done && sent < REQUESTS_MAX) {
      sent += 1;
      try {
        const response = await fetch(`http://127.0.0.1:${balancer.traffic}/demo/v1/x`, {
          method,
          headers: { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-host': 'elsewhere.example' },
        });
        await response.arrayBuffer();
        if (response.status !== 200) failures.push(`${method} ${response.status}`);
      } catch (error) {
        failures.push(`${method} ${String((error as Error).cause ?? error)}`);
      }
      // At the pace of people: what is counted is failures and not throughput.
      await new Promise((next) => setTimeout(next, 50));
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, index) => client(index % 2 === 0 ? 'GET' : 'POST'));
  return {
    async stop() {
      done = true;
      await Promise.all(clients);
      return { sent, failures };
    },
  };
}

/** Through the balancer, so that one write comes to this gateway and the next one to that. */
async function configure(): Promise<void> {
  const limited = { rate_limit: { enabled: true, requests: LIMIT, window_seconds: quietWindowSecs() } };
  for (const [slug, default_policy] of [
    ['demo', {}],
    ['limited', limited],
  ] as const) {
    const app = { name: slug, slug, gateway_path: `/${slug}`, default_policy };
    expect(await manage('POST', '/apps', app)).toBe(201);
    expect(await manage('POST', `/apps/${slug}/versions`, { version: 'v1' })).toBe(201);
    const revision = {
      revision: 'r1',
      backend_scheme: 'http',
      backend_host: '127.0.0.1',
      backend_port: origin.port,
      is_current: true,
    };
    expect(await manage('POST', `/apps/${slug}/versions/v1/revisions`, revision)).toBe(201);
  }
}

test('traffic goes through both gateways, and no request fails while one after the other is restarted', async () => {
  await Promise.all(nodes.map(startNode));
  await expect.poll(serving, { interval: 200 }).toBe(nodes.length);
  await configure();

  const clients = startClients();
  for (const node of nodes) {
    await expect.poll(() => accessLines(running.get(node.name))).toBeGreaterThan(10);
    expect(await running.get(node.name)?.stop()).toBe(0);
    expect(await manage('PATCH', '/apps/demo', { description: `without ${node.name}` })).toBe(200);
    await startNode(node);
    await expect.poll(() => accessLines(running.get(node.name))).toBeGreaterThan(10);
  }
  const { sent, failures } = await clients.stop();
  expect(failures).toEqual([]);
  expect(sent).toBeGreaterThan(100);

  const seen = origin.seen.at(-1)?.headers ?? {};
  expect(seen['x-forwarded-for'], 'the client, as the balancer saw it').toMatch(/^127\.0\.0\.1\b/);
  expect(JSON.stringify(seen)).not.toMatch(/203\.0\.113\.9|elsewhere/);
}, 120_000);

test('a limit is one limit for both', async () => {
  const statuses: number[] = [];
  for (let index = 0; index < 3 * LIMIT; index++) {
    const response = await fetch(`http://127.0.0.1:${balancer.traffic}/limited/v1/x`);
    await response.arrayBuffer();
    statuses.push(response.status);
  }
  const admitted = statuses.filter((status) => status === 200).length;
  expect(statuses.filter((status) => status === 429)).toHaveLength(statuses.length - admitted);
  // Each for itself they would admit twice as many.
  expect(admitted).toBeLessThanOrEqual(LIMIT);
  expect(admitted).toBeGreaterThan(LIMIT * 0.8);
}, 60_000);

test('tokens are not guessed under other addresses: the balancer tells that of the client', async () => {
  for (const address of ['203.0.113.7', '203.0.113.8']) {
    const headers = { authorization: 'Bearer a-wrong-token', 'x-forwarded-for': address };
    const refused = await fetch(`http://127.0.0.1:${balancer.management}/api/v1/apps`, { headers });
    expect(refused.status).toBe(401);
  }
  await vi.waitFor(async () => {
    const audit = await callManagement('GET', '/audit?action=login.refused');
    const { data } = (await audit.json()) as { data: readonly { readonly address: string }[] };
    expect(new Set(data.map(({ address }) => address))).toEqual(new Set(['127.0.0.1']));
  }, 10_000);
});
