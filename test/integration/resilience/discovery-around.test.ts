/**
 * What discovered targets (docs/reference/discovery.md) have to do with: TLS, workers that die, restarts, configuration
 * files, and configurations that are not in force. With the real program and a real DNS server.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createSecureServer, type ServerHttp2Session } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDnsServer, type DnsServer } from '../../support/backends/dns-server.ts';
import { startFleet, targetsOf, type FleetTarget } from '../../support/backends/target-fleet.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { until } from '../../support/measure/until.ts';
import { loadTargets, serviceOver } from '../../support/target-service.ts';
import { revisionPath, type Fields, type Served } from '../../support/traffic.ts';

const closers = closeAfterEach();
let dns: DnsServer;
let fleet: readonly FleetTarget[];

beforeAll(async () => {
  dns = await startDnsServer();
  fleet = await startFleet(2);
});
afterAll(async () => {
  dns.close();
  await Promise.all(fleet.map((target) => target.close()));
});

const settings = (): Record<string, string> => ({
  GATEWAY_DISCOVERY__DNS_SERVERS: dns.address,
  GATEWAY_DISCOVERY__DNS_TIMEOUT_MS: '300',
  GATEWAY_DISCOVERY__MIN_INTERVAL_MS: '100',
  GATEWAY_DISCOVERY__SRV_INTERVAL_MS: '200',
});

async function start(options: Parameters<typeof startGateway>[0] = {}): Promise<TestGateway> {
  const gateway = await startGateway({ ...options, env: { ...settings(), ...options.env } });
  closers.push(() => gateway.stop());
  return gateway;
}

const discovered = (
  gateway: TestGateway,
  slug: string,
  discovery: Fields,
  fields: Fields = {},
): Promise<void> => serviceOver(gateway, slug, [], { targets: undefined, discovery, ...fields });

const healthOf = (gateway: TestGateway, slug: string): Promise<Served> =>
  gateway.must('GET', `${revisionPath(slug)}/health`);

async function found(gateway: TestGateway, slug: string, count: number): Promise<void> {
  await until(async () => (await healthOf(gateway, slug))['discovery'].targets === count, 10_000);
}

it('the certificate and Host are those of the service, not of an address or of a name that DNS has chosen', async () => {
  const gateway = await start();
  const pem = (name: string): string =>
    readFileSync(join(import.meta.dirname, '../../support/tls', name), 'utf8');
  const seen: unknown[] = [];
  const secure = createTlsServer(
    { cert: pem('backend.pem'), key: pem('backend-key.pem') },
    (request, response) => {
      seen.push([(request.socket as TLSSocket & { servername: string }).servername, request.headers.host]);
      response.end();
    },
  );
  await new Promise<void>((done) => secure.listen(0, '127.0.0.1', done));
  closers.push(() => {
    secure.closeAllConnections();
    secure.close();
  });
  const { port } = secure.address() as AddressInfo;
  const fields = { backend_scheme: 'https', backend_tls: { ca: pem('ca.pem') } };
  dns.setA('backend.test', ['127.0.0.1']);
  dns.setA('other.test', ['127.0.0.1']);
  await discovered(gateway, 'tls', { type: 'dns', host: 'backend.test', port }, fields);
  await found(gateway, 'tls', 1);
  expect((await fetch(`${gateway.proxy}/tls/v1/x`)).status).toBe(200);
  expect(seen).toEqual([['backend.test', `backend.test:${port}`]]);
  // The server has no certificate for other.test.
  await discovered(gateway, 'wrong', { type: 'dns', host: 'other.test', port }, fields);
  await found(gateway, 'wrong', 1);
  expect((await fetch(`${gateway.proxy}/wrong/v1/x`)).status).toBe(502);
  // DNS says that the places of other.test are at backend.test, which has a valid certificate of its own.
  dns.setSrv('_https._tcp.other.test', [{ name: 'backend.test', port }]);
  await discovered(gateway, 'led', { type: 'dns_srv', name: '_https._tcp.other.test' }, fields);
  await found(gateway, 'led', 1);
  expect((await fetch(`${gateway.proxy}/led/v1/x`)).status).toBe(502);
  dns.setSrv('_https._tcp.backend.test', [{ name: 'other.test', port }]);
  await discovered(gateway, 'named', { type: 'dns_srv', name: '_https._tcp.backend.test' }, fields);
  await found(gateway, 'named', 1);
  expect((await fetch(`${gateway.proxy}/named/v1/x`)).status).toBe(200);
  expect(seen.at(-1)).toEqual(['backend.test', `backend.test:${port}`]);
});

it('a backend of HTTP/2 gets the name of the service, too, and leaves with the set', async () => {
  const gateway = await start();
  const pem = (name: string): string =>
    readFileSync(join(import.meta.dirname, '../../support/tls', name), 'utf8');
  const seen: unknown[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const secure = createSecureServer({ cert: pem('backend.pem'), key: pem('backend-key.pem') });
  secure.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  secure.on('stream', (stream, headers) => {
    const socket = stream.session?.socket as (TLSSocket & { servername: string }) | undefined;
    seen.push([socket?.servername, headers[':authority']]);
    stream.respond({ ':status': 200 });
    stream.end();
  });
  await new Promise<void>((done) => secure.listen(0, '127.0.0.1', done));
  closers.push(() => {
    for (const session of sessions) session.destroy();
    secure.close();
  });
  const { port } = secure.address() as AddressInfo;
  dns.setA('backend.test', ['127.0.0.1', '127.0.0.2']);
  await discovered(
    gateway,
    'h2',
    { type: 'dns', host: 'backend.test', port },
    { backend_scheme: 'https', backend_protocol: 'h2', backend_tls: { ca: pem('ca.pem') } },
  );
  await found(gateway, 'h2', 2);
  // The server listens on one of them.
  for (let request = 0; request < 10; request++)
    expect((await fetch(`${gateway.proxy}/h2/v1/x`)).status).toBe(200);
  expect(new Set(seen.map(String))).toEqual(new Set([`backend.test,backend.test:${port}`]));
  expect(sessions.size).toBeGreaterThan(0);
  dns.setA('backend.test', ['127.0.0.2']);
  await found(gateway, 'h2', 1);
  await until(() => sessions.size === 0, 5_000);
});

it('a worker that replaces another has what was found, also while DNS is away', async () => {
  const gateway = await start({ env: { GATEWAY_WORKERS: '1', ...INSPECTABLE } });
  const port = fleet[0]?.port;
  dns.setA('worker.test', ['127.0.0.1']);
  closers.push(() => (dns.mode = 'ok'));
  await discovered(gateway, 'worker', { type: 'dns', host: 'worker.test', port });
  await found(gateway, 'worker', 1);
  dns.mode = 'servfail';
  await until(async () => (await healthOf(gateway, 'worker'))['discovery'].stale_since !== null, 5_000);
  await crashWorkers(gateway, () => true, 'exception');
  await until(() => gateway.logs().some(({ msg }) => msg === 'a proxy worker died and is replaced'), 30_000);
  // It was the only one.
  await until(async () => (await fetch(`${gateway.proxy}/worker/v1/x`).catch(() => undefined))?.ok, 10_000);
  for (let request = 0; request < 20; request++)
    expect((await fetch(`${gateway.proxy}/worker/v1/x`)).status).toBe(200);
});

it('a restart serves its first request, also while DNS is away; without what it had found, it is not kept down', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-restart-'));
  closers.push(() => rmSync(folder, { recursive: true }));
  closers.push(() => (dns.mode = 'ok'));
  dns.setA('restart.test', ['127.0.0.1']);
  // A file, on PostgreSQL too.
  const env = { GATEWAY_SNAPSHOT_FILE: join(folder, 'kept.snapshot') };
  const first = await start({ folder, env });
  await discovered(first, 'restart', { type: 'dns', host: 'restart.test', port: fleet[0]?.port });
  await found(first, 'restart', 1);
  await first.stop();
  dns.mode = 'silent';
  const second = await start({ folder, env });
  expect((await fetch(`${second.proxy}/restart/v1/x`)).status).toBe(200);
  await until(async () => (await healthOf(second, 'restart'))['discovery'].stale_since !== null, 5_000);
  expect(await second.must('GET', '/problems')).toContainEqual(
    expect.objectContaining({ code: 'discovery_failing', severity: 'warning' }),
  );
  await second.stop();
  rmSync(join(folder, 'kept.snapshot.targets'));
  const third = await start({ folder, env });
  expect((await fetch(`${third.proxy}/restart/v1/x`)).status).toBe(503);
  expect(await third.must('GET', '/problems')).toContainEqual(
    expect.objectContaining({ code: 'no_targets', severity: 'critical' }),
  );
  await third.stop();
  dns.mode = 'ok';
  rmSync(join(folder, 'kept.snapshot.targets'), { force: true });
  const fourth = await start({ folder, env });
  expect((await fetch(`${fourth.proxy}/restart/v1/x`)).status).toBe(200);
});

it('a configuration file can have it, and a dump says it as it was written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-declared-'));
  closers.push(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'targets.yaml'), JSON.stringify(targetsOf(fleet)));
  dns.setA('declared.test', ['127.0.0.1']);
  const revisions = {
    r1: { backend_scheme: 'http', is_current: true, discovery: { type: 'file', path: 'targets.yaml' } },
    r2: {
      backend_scheme: 'http',
      is_current: true,
      discovery: { type: 'dns', host: 'declared.test', port: fleet[0]?.port },
    },
  };
  const apps = { declared: { gateway_path: '/declared', versions: { v1: { revisions } } } };
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify({ apps }));
  const gateway = await start({
    env: {
      GATEWAY_DATABASE_URL: '',
      GATEWAY_CONFIG_FILE: join(folder, 'config.yaml'),
      GATEWAY_DISCOVERY__FOLDER: folder,
    },
  });
  const traffic = loadTargets(gateway, '/declared/v1/x', 4);
  await traffic.more(100);
  await traffic.stop();
  expect(traffic.failures).toEqual([]);
  expect(fleet.every(({ requests }) => requests > 0)).toBe(true);
  const dumped = await gateway.must('GET', '/config');
  expect(JSON.stringify(dumped)).toContain(JSON.stringify(revisions.r1.discovery));
});

it('a configuration that is not in force is tried without what was found', async () => {
  const gateway = await start();
  dns.setA('tried.test', ['127.0.0.1']);
  await discovered(gateway, 'tried', { type: 'dns', host: 'tried.test', port: fleet[0]?.port });
  await found(gateway, 'tried', 1);
  const before = Number((await gateway.api('GET', '/config')).body.data.config_version);
  await gateway.must('PATCH', revisionPath('tried'), { discovery: null });
  const explained = await gateway.must('POST', '/config/explain', {
    version: before,
    request: { method: 'GET', url: '/tried/v1/x' },
  });
  expect(JSON.stringify(explained)).toContain(`http://tried.test:${fleet[0]?.port}/x`);
});
