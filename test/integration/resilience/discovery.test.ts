/**
 * Targets that are discovered (docs/reference/discovery.md), with the real program and two workers, real files and a
 * real DNS server: what is found gets requests, none is lost while it changes under load, and what was found last stays
 * when looking fails.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDnsServer, type DnsServer } from '../../support/backends/dns-server.ts';
import { startFleet, targetsOf, type FleetTarget } from '../../support/backends/target-fleet.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { loadTargets, serviceOver, type TargetLoad } from '../../support/target-service.ts';
import { revisionPath, versionPath, type Fields, type Served } from '../../support/traffic.ts';

const closers = closeAfterEach();
const AUTHORIZED = { authorization: `Bearer ${ADMIN_TOKEN}` };
const folder = mkdtempSync(join(tmpdir(), 'headgate-targets-'));
let dns: DnsServer;
let gateway: TestGateway;

beforeAll(async () => {
  dns = await startDnsServer();
  gateway = await startGateway({
    env: {
      GATEWAY_WORKERS: '2',
      GATEWAY_DISCOVERY__FOLDER: folder,
      GATEWAY_DISCOVERY__DNS_SERVERS: dns.address,
      GATEWAY_DISCOVERY__DNS_TIMEOUT_MS: '300',
      GATEWAY_DISCOVERY__MIN_INTERVAL_MS: '100',
      GATEWAY_DISCOVERY__SRV_INTERVAL_MS: '200',
      GATEWAY_EGRESS__DENY: '127.0.66.0/24,forbidden.test',
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  dns.close();
  rmSync(folder, { recursive: true });
});

async function fleetOf(count: number): Promise<readonly FleetTarget[]> {
  const fleet = await startFleet(count);
  closers.push(() => Promise.all(fleet.map((target) => target.close())));
  return fleet;
}

const discovered = (slug: string, discovery: Fields, fields: Fields = {}): Promise<void> =>
  serviceOver(gateway, slug, [], { targets: undefined, discovery, ...fields });

const healthOf = (slug: string): Promise<Served> => gateway.must('GET', `${revisionPath(slug)}/health`);

/** Until the gateway uses so many targets. */
async function found(slug: string, count: number): Promise<void> {
  await until(async () => (await healthOf(slug))['discovery'].targets === count, 10_000);
}

function load(path: string, clients = 8): TargetLoad {
  const traffic = loadTargets(gateway, path, clients);
  closers.push(() => traffic.stop());
  return traffic;
}

/** As a whole, under its name at once. */
function writeTargets(name: string, content: unknown): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

const status = async (path: string): Promise<Response> => fetch(`${gateway.proxy}${path}`);
const configVersion = async (): Promise<number> =>
  Number((await gateway.must('GET', '/config/versions?limit=1'))[0]?.config_version);

describe('a file', () => {
  it('is followed under load without a lost request or a config version, and no request goes to what has gone', async () => {
    const fleet = await fleetOf(5);
    const targets = targetsOf(fleet);
    writeTargets('moving.json', targets.slice(0, 3));
    await discovered('moving', { type: 'file', path: 'moving.json' });
    const unchanged = await gateway.api('PATCH', revisionPath('moving'), { traffic_weight: 100 });
    expect(unchanged.body.warnings).toBeUndefined();
    await found('moving', 3);
    const before = await configVersion();
    const traffic = load('/moving/v1/x');
    await traffic.more(300);
    expect(fleet.slice(0, 3).every(({ requests }) => requests > 0)).toBe(true);
    for (const [first, last] of [
      [1, 5],
      [2, 5],
      [0, 4],
      [0, 2],
    ] as const) {
      writeTargets('moving.json', targets.slice(first, last));
      await found('moving', last - first);
      // Requests that had been sent are answered.
      await traffic.more(50);
      const gone = fleet.filter((_target, index) => index < first || index >= last);
      const counts = gone.map(({ requests }) => requests);
      await traffic.more(200);
      expect(gone.map(({ requests }) => requests)).toEqual(counts);
    }
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    expect(await configVersion()).toBe(before);
    expect(
      gateway.logs().filter(({ msg }) => msg === 'discovered targets have changed').length,
    ).toBeGreaterThan(4);
  });

  it('keeps the state of targets that stay, closes connections to those that go, and begins slowly with new ones', async () => {
    const fleet = await fleetOf(3);
    const targets = targetsOf(fleet);
    writeTargets('states.yaml', targets.slice(0, 2));
    const ejection = { consecutive_failures: 2, base_secs: 60 };
    await discovered(
      'states',
      { type: 'file', path: 'states.yaml' },
      {
        load_balancing: { algorithm: 'round_robin', slow_start_secs: 60, ejection },
        default_policy: { retries: { max: 2, on: ['500'] } },
      },
    );
    await found('states', 2);
    await fleet[0]?.become('failing');
    const traffic = load('/states/v1/x', 4);
    const stateOf = async (index: number): Promise<string | undefined> =>
      (await healthOf('states'))['targets'].find(
        ({ port }: { readonly port: number }) => port === fleet[index]?.port,
      )?.state;
    await until(async () => (await stateOf(0)) === 'ejected', 10_000);
    writeTargets('states.yaml', targets);
    await found('states', 3);
    expect(await stateOf(0)).toBe('ejected');
    expect(await stateOf(2)).toBe('warming');
    writeTargets('states.yaml', [targets[0], targets[2]]);
    await found('states', 2);
    await traffic.more(50);
    await until(() => fleet[1]?.sockets.size === 0, 5_000);
    expect(await stateOf(0)).toBe('ejected');
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
  });

  it('that is invalid, empty or missing leaves the found targets in use, and is reported with its place', async () => {
    const fleet = await fleetOf(2);
    const targets = targetsOf(fleet);
    writeTargets('broken.json', { targets });
    await discovered('broken', { type: 'file', path: 'broken.json' });
    await found('broken', 2);
    const cases: readonly (readonly [content: string, error: RegExp])[] = [
      ['[{"host": "127.0.0.1", "por', /^broken\.json:1:\d+: is not valid YAML/],
      ['[]', /must have at least 1 item/],
      ['[{"host": "127.0.0.1", "weight": -1}]', /^broken\.json:1:\d+: \/0\/weight must be an integer/],
      ['targets:\n  - host: a b\n', /^broken\.json:2:5: \/targets\/0\/host must be a host name/],
      ['- host: a.test\n- host: a.test\n', /^broken\.json:2:\d+: \/1 is the same place as target 0/],
      [
        JSON.stringify(Array.from({ length: 257 }, (_none, port) => ({ host: 'a.test', port: port + 1 }))),
        /at most 256/,
      ],
    ];
    for (const [content, error] of cases) {
      writeTargets('broken.json', content);
      await until(async () => error.test((await healthOf('broken'))['discovery'].error ?? ''), 5_000);
      const { discovery } = await healthOf('broken');
      expect(discovery).toMatchObject({ targets: 2, stale_since: expect.any(String) });
      expect((await status('/broken/v1/x')).status).toBe(200);
    }
    unlinkSync(join(folder, 'broken.json'));
    await until(
      async () => /it does not exist/.test((await healthOf('broken'))['discovery'].error ?? ''),
      5_000,
    );
    expect((await status('/broken/v1/x')).status).toBe(200);
    writeTargets('broken.json', targets.slice(0, 1));
    await found('broken', 1);
    expect((await healthOf('broken'))['discovery']).toMatchObject({ stale_since: null, error: null });
  });

  it('that is written in place is read once it is whole', async () => {
    const fleet = await fleetOf(4);
    const targets = targetsOf(fleet);
    const lines = targets.map(({ host, port }) => `- host: ${host}\n  port: ${port}\n`);
    writeTargets('whole.yaml', lines.slice(0, 1).join(''));
    await discovered('whole', { type: 'file', path: 'whole.yaml' });
    await found('whole', 1);
    const seen = new Set<number>();
    const end = Date.now() + 1_500;
    // Every part of it is a valid list.
    for (let count = 1; Date.now() < end; count = (count % 3) + 1) {
      writeFileSync(join(folder, 'whole.yaml'), lines.slice(0, count).join(''));
      await new Promise((done) => setTimeout(done, 30));
      seen.add((await healthOf('whole'))['discovery'].targets);
    }
    expect([...seen]).toEqual([1]);
    writeFileSync(join(folder, 'whole.yaml'), lines.join(''));
    await found('whole', 4);
  });

  it('is read below its folder only, links included', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'headgate-outside-'));
    closers.push(() => rmSync(outside, { recursive: true }));
    writeFileSync(join(outside, 'secret.json'), '[{"host": "127.0.0.1", "port": 1}]');
    symlinkSync(join(outside, 'secret.json'), join(folder, 'link.json'));
    await discovered('linked', { type: 'file', path: 'link.json' });
    await until(async () => (await healthOf('linked'))['discovery'].error !== null, 5_000);
    const { discovery } = await healthOf('linked');
    expect(discovery).toMatchObject({
      targets: 0,
      error: 'link.json leads out of GATEWAY_DISCOVERY__FOLDER through a link',
    });
    for (const path of ['../x.json', '/etc/passwd', 'a/../b', 'a//b', '.']) {
      const { status: code, body } = await gateway.api('PATCH', revisionPath('linked'), {
        discovery: { path },
      });
      expect([code, body.errors?.[0]?.pointer]).toEqual([422, '/discovery/path']);
    }
  });
});

describe('no targets yet', () => {
  it('is 503 with its own reason, is explained, and begins by itself', async () => {
    const fleet = await fleetOf(1);
    await discovered('late', { type: 'file', path: 'late/targets.json' });
    await until(async () => (await healthOf('late'))['discovery'].error !== null, 5_000);
    const failed = await until(() =>
      gateway
        .logs()
        .find(({ source, msg }) => source === 'file late/targets.json' && /fails/.test(String(msg))),
    );
    expect(failed['msg']).toBe('discovery fails; no targets were found before');
    const refused = await status('/late/v1/x');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({ code: 'no_targets' });
    const explained = await gateway.must('POST', '/explain', { method: 'GET', url: '/late/v1/x' });
    expect(JSON.stringify(explained)).toContain(
      'discovery (file late/targets.json) has found no targets yet',
    );
    expect(explained.fix).toMatchObject({ action: 'fix_backend', target: { type: 'revision' } });
    writeTargets('late/targets.json', targetsOf(fleet));
    await found('late', 1);
    expect((await status('/late/v1/x')).status).toBe(200);
    const told = await gateway.must('POST', '/explain', { method: 'GET', url: '/late/v1/x' });
    expect(told.target).toMatchObject({
      source: 'file late/targets.json',
      target: `127.0.0.1:${fleet[0]?.port}`,
    });
  });

  it('leaves the traffic to another current revision', async () => {
    const [target] = await fleetOf(1);
    await discovered('beside', { type: 'file', path: 'never.json' });
    await gateway.must('POST', `${versionPath('beside')}/revisions`, {
      revision: 'r2',
      backend_scheme: 'http',
      backend_host: '127.0.0.1',
      backend_port: target?.port,
      is_current: true,
    });
    const traffic = load('/beside/v1/x', 4);
    await traffic.more(100);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
  });
});

describe('a name', () => {
  it('has all its addresses as targets, which get Host and the rules of egress as the name does', async () => {
    const [target] = await fleetOf(1);
    const port = target?.port ?? 0;
    dns.setA('several.test', ['127.0.0.1', '127.0.66.6', '169.254.169.254']);
    await discovered('several', { type: 'dns', host: 'several.test', port });
    await found('several', 1);
    const health = await healthOf('several');
    expect(health['targets']).toMatchObject([{ host: '127.0.0.1', port }]);
    expect(health['discovery'].notes).toEqual([
      'not used: 127.0.66.6 is denied by GATEWAY_EGRESS__DENY',
      expect.stringMatching(/^not used: 169\.254\.169\.254 is .*metadata/),
    ]);
    expect((await status('/several/v1/x')).status).toBe(200);
    const told = await gateway.must('POST', '/explain', { method: 'GET', url: '/several/v1/x' });
    expect(told.upstream.headers).toContainEqual({ name: 'Host', value: `several.test:${port}` });
    expect(told.target).toMatchObject({
      source: `dns several.test:${port}`,
      target: `127.0.0.1:${port}`,
    });
    // The gateway's own listeners too.
    dns.setA('own.test', ['127.0.0.1']);
    await discovered('own', { type: 'dns', host: 'own.test', port: gateway.managementPort });
    await until(
      async () => /management listener/.test((await healthOf('own'))['discovery'].error ?? ''),
      5_000,
    );
    expect((await status('/own/v1/x')).status).toBe(503);
    const { status: code, body } = await gateway.api('PATCH', revisionPath('own'), {
      discovery: { host: 'forbidden.test' },
    });
    expect([code, body.errors[0].pointer]).toEqual([422, '/discovery/host']);
  });

  it('keeps its targets in every failure of DNS, and says since when', async () => {
    const [target] = await fleetOf(1);
    dns.setA('fails.test', ['127.0.0.1']);
    await discovered('fails', { type: 'dns', host: 'fails.test', port: target?.port });
    await found('fails', 1);
    const traffic = load('/fails/v1/x', 4);
    const errors = {
      servfail: /the DNS server failed/,
      refused: /the DNS server refused/,
      nxdomain: /the name does not exist/,
      silent: /no DNS server answered in time/,
    } as const;
    let since: string | undefined;
    for (const [mode, error] of Object.entries(errors)) {
      dns.mode = mode as keyof typeof errors;
      await until(async () => error.test((await healthOf('fails'))['discovery'].error ?? ''), 15_000);
      const { discovery } = await healthOf('fails');
      since ??= discovery.stale_since;
      expect(discovery).toMatchObject({ targets: 1, stale_since: since });
    }
    const metrics = await (await fetch(`${gateway.base}/metrics`, { headers: AUTHORIZED })).text();
    expect(metrics).toMatch(/headgate_discovery_stale\{[^}]*app="fails"[^}]*\} 1/);
    expect(metrics).toMatch(/headgate_discovery_looks_total\{type="dns",outcome="failed"\} [1-9]/);
    dns.mode = 'ok';
    await until(async () => (await healthOf('fails'))['discovery'].stale_since === null, 40_000);
    await traffic.more(50);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
  });

  it('is asked again when its records expire, once for all revisions of a node that name it', async () => {
    const [target] = await fleetOf(1);
    dns.setA('ttl.test', ['127.0.0.1'], 2);
    const discovery = { type: 'dns', host: 'ttl.test', port: target?.port };
    for (const slug of ['ttl-a', 'ttl-b', 'ttl-c']) await discovered(slug, discovery);
    for (const slug of ['ttl-a', 'ttl-b', 'ttl-c']) await found(slug, 1);
    expect(dns.count('A ttl.test')).toBe(1);
    const askedMs = performance.now();
    await until(() => dns.count('A ttl.test') === 2, 5_000);
    expect(performance.now() - askedMs).toBeGreaterThan(1_000);
  });

  it('loses more than half of its targets only when a second answer says the same', async () => {
    const [target] = await fleetOf(1);
    const addresses = Array.from({ length: 8 }, (_none, index) => `127.0.1.${index + 1}`);
    dns.setA('shrinks.test', addresses, 1);
    await discovered('shrinks', { type: 'dns', host: 'shrinks.test', port: target?.port });
    await found('shrinks', 8);
    // Other addresses with every answer, as from a server that has just lost its own sources.
    let next = 0;
    const end = Date.now() + 4_000;
    while (Date.now() < end) {
      const asked = dns.count('A shrinks.test');
      dns.setA('shrinks.test', addresses.slice(next, next + 2), 0);
      next = (next + 2) % 8;
      await until(() => dns.count('A shrinks.test') > asked, 5_000);
      expect((await healthOf('shrinks'))['discovery'].targets).toBe(8);
    }
    await until(async () => (await healthOf('shrinks'))['discovery'].doubted === 2, 5_000);
    await found('shrinks', 2);
    // Half is not less than half.
    dns.setA('shrinks.test', addresses.slice(0, 1), 0);
    await found('shrinks', 1);
  });

  it('has 256 targets at most, always the same ones', async () => {
    const [target] = await fleetOf(1);
    const addresses = Array.from({ length: 300 }, (_none, index) => `127.3.${index >> 8}.${index & 255}`);
    dns.setA('many.test', addresses, 1);
    await discovered('many', { type: 'dns', host: 'many.test', port: target?.port });
    await found('many', 256);
    const hosts = async (): Promise<string[]> =>
      (await healthOf('many'))['targets'].map(({ host }: { readonly host: string }) => host);
    const before = await hosts();
    expect((await healthOf('many'))['discovery'].left_out).toBe(44);
    dns.setA('many.test', addresses.toReversed(), 1);
    const asked = dns.count('A many.test');
    await until(() => dns.count('A many.test') > asked + 1, 10_000);
    expect(await hosts()).toEqual(before);
  });

  it('keeps the addresses of a kind of record that cannot be had', async () => {
    const [target] = await fleetOf(1);
    dns.setA('both.test', ['127.0.0.1']);
    dns.setAaaa('both.test', ['0:0:0:0:0:0:0:1']);
    await discovered('both', { type: 'dns', host: 'both.test', port: target?.port });
    await found('both', 2);
    dns.modes.set('AAAA', 'servfail');
    closers.push(() => dns.modes.clear());
    dns.setA('both.test', ['127.0.0.1', '127.0.0.2']);
    await found('both', 3);
    expect((await healthOf('both'))['discovery'].notes).toEqual([
      expect.stringMatching(/^AAAA both\.test: the DNS server failed/),
    ]);
    dns.modes.clear();
    dns.setAaaa('both.test', []);
    await found('both', 2);
  });
});

describe('a service', () => {
  it('has its places of the first priority as targets, with their weights and ports', async () => {
    const fleet = await fleetOf(3);
    const [first, second, third] = fleet.map(({ port }) => port) as [number, number, number];
    dns.setA('a.svc.test', ['127.0.0.1']);
    dns.setA('b.svc.test', ['127.0.0.1', '127.0.0.2']);
    dns.setSrv('_http._tcp.svc.test', [
      { name: 'a.svc.test', port: first, priority: 1, weight: 30 },
      { name: 'b.svc.test', port: second, priority: 1, weight: 10 },
      { name: 'a.svc.test', port: third, priority: 2, weight: 100 },
    ]);
    await discovered('service', { type: 'dns_srv', name: '_http._tcp.svc.test' });
    await found('service', 3);
    expect((await healthOf('service'))['targets']).toMatchObject([
      { host: '127.0.0.1', port: Math.min(first, second) },
      { host: '127.0.0.1', port: Math.max(first, second) },
      { host: '127.0.0.2', port: second, weight: 50 },
    ]);
    const told = await gateway.must('POST', '/explain', { method: 'GET', url: '/service/v1/x' });
    expect(told.upstream.headers).toContainEqual({
      name: 'Host',
      value: expect.stringMatching(/^svc\.test:\d+$/),
    });
    dns.setSrv('_http._tcp.svc.test', [
      { name: 'a.svc.test', port: third, priority: 2 },
      { name: 'gone.test', port: 1, priority: 2 },
    ]);
    await found('service', 1);
    const traffic = load('/service/v1/x', 4);
    await traffic.more(50);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    expect(fleet[2]?.requests).toBeGreaterThan(0);
    // RFC 2782: no service at all, so what was found stays.
    dns.setSrv('_http._tcp.svc.test', [{ name: '', port: 0 }]);
    await until(async () => (await healthOf('service'))['discovery'].stale_since !== null, 5_000);
    expect((await healthOf('service'))['discovery']).toMatchObject({ targets: 1, error: expect.any(String) });
  });

  it('is followed under load without a lost request, with health checks of what was found', async () => {
    const fleet = await fleetOf(4);
    dns.setA('moves.svc.test', ['127.0.0.1']);
    const set = (...indexes: number[]): void =>
      dns.setSrv(
        '_http._tcp.moves.test',
        indexes.map((index) => ({ name: 'moves.svc.test', port: fleet[index]?.port ?? 0 })),
      );
    set(0, 1, 2);
    await discovered(
      'moves',
      { type: 'dns_srv', name: '_http._tcp.moves.test' },
      {
        health_check_path: '/healthz',
        circuit_breaker: { probe: { interval_ms: 100, timeout_ms: 200, unhealthy_threshold: 2 } },
        default_policy: {
          retries: { max: 2, on: ['connect', 'reset', 'timeout'] },
          timeouts: { first_byte_ms: 500 },
        },
      },
    );
    await found('moves', 3);
    const traffic = load('/moves/v1/x');
    for (const indexes of [
      [1, 2, 3],
      [0, 3],
      [0, 1, 2, 3],
    ]) {
      set(...indexes);
      await found('moves', indexes.length);
      await traffic.more(150);
    }
    await fleet[3]?.become('frozen');
    const stateOf = async (): Promise<string> =>
      (await healthOf('moves'))['targets'].find(
        ({ port }: { readonly port: number }) => port === fleet[3]?.port,
      )?.state;
    await until(async () => (await stateOf()) === 'unhealthy', 10_000);
    set(1, 2, 3);
    await found('moves', 3);
    expect(await stateOf()).toBe('unhealthy');
    await traffic.more(100);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    expect(fleet[3]?.checks).toBeGreaterThan(0);
  });
});
