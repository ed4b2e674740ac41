/**
 * Where the requests of a revision with several targets go, and what is said of it: hashes of all kinds, the zone of
 * the gateway, and explain, state, tree, metrics and access log (docs/reference/targets.md).
 */
import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFleet, targetsOf, type FleetTarget } from '../../support/backends/target-fleet.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { SECRET, signed } from '../../support/data/jwts.ts';
import { explain } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { bearer } from '../../support/policies.ts';
import { getTarget, serviceOver, type TargetAnswer } from '../../support/target-service.ts';
import { createEndpoint, revisionPath, type Served } from '../../support/traffic.ts';

const closers = closeAfterEach();
const agent = new Agent({ keepAlive: true });
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_WORKERS: '2', GATEWAY_ZONE: 'eu-1a' } });
});
afterAll(async () => {
  agent.destroy();
  await gateway.stop();
});

async function fleetOf(count: number): Promise<readonly FleetTarget[]> {
  const fleet = await startFleet(count);
  closers.push(() => Promise.all(fleet.map((target) => target.close())));
  return fleet;
}

const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<TargetAnswer> =>
  getTarget(gateway, agent, path, headers);
const hashBy = (hash: object) => ({ load_balancing: { algorithm: 'hash', hash } });
const names = Array.from({ length: 24 }, (_none, index) => `name-${index}`);

/** Each name leads to one target, also a second time, and all targets have some. */
async function expectHomes(targetOf: (name: string) => Promise<TargetAnswer>): Promise<void> {
  const homes = new Map<string, string>();
  for (const name of names) {
    const { status, target } = await targetOf(name);
    expect([name, status]).toEqual([name, 200]);
    homes.set(name, target);
  }
  for (const name of names) expect([name, (await targetOf(name)).target]).toEqual([name, homes.get(name)]);
  expect(new Set(homes.values())).toEqual(new Set(['t0', 't1', 't2']));
}

describe('the hash', () => {
  it('of a claim of the token leads each user to one target', async () => {
    await serviceOver(gateway, 'claim', await fleetOf(3), {
      ...hashBy({ by: 'claim', name: 'tenant' }),
      default_policy: { auth: { auth_type: 'jwt', jwt: { secret: SECRET } } },
    });
    // Tokens of one tenant are of different users.
    let user = 0;
    await expectHomes(async (tenant) =>
      get('/claim/v1/x', bearer(await signed({ sub: `u${user++}`, tenant }))),
    );
    expect((await get('/claim/v1/x')).status).toBe(401);
  });

  it('of a path parameter sends each tenant to one target, whatever the rest of the path', async () => {
    await serviceOver(gateway, 'path', await fleetOf(3), hashBy({ by: 'path', name: 'tenant' }));
    await createEndpoint(gateway, 'path', 'GET', '/tenants/{tenant}/orders/{order}');
    let order = 0;
    await expectHomes((tenant) => get(`/path/v1/tenants/${tenant}/orders/${order++}?n=${order}`));
    expect((await get('/path/v1/tenants')).target).not.toBe('');
  });

  it('of a cookie of the application leads each value to one target, and the gateway sets none', async () => {
    await serviceOver(gateway, 'crumb', await fleetOf(3), hashBy({ by: 'cookie', name: 'session' }));
    await expectHomes(async (name) => {
      const answer = await get('/crumb/v1/x', { Cookie: `a=1; session=${name}` });
      expect(answer.cookie).toBeUndefined();
      return answer;
    });
  });

  it('of an address leads all requests of one client to one target', async () => {
    await serviceOver(gateway, 'address', await fleetOf(3), hashBy({ by: 'ip' }));
    const targets = new Set<string>();
    for (let request = 0; request < 24; request++) targets.add((await get('/address/v1/x')).target);
    expect(targets.size).toBe(1);
  });

  it('of what a request lacks leaves the choice to the requests under way', async () => {
    await serviceOver(gateway, 'lacking', await fleetOf(3), hashBy({ by: 'header', name: 'X-User' }));
    const targets = [];
    for (let request = 0; request < 60; request++) targets.push((await get('/lacking/v1/x')).target);
    expect(new Set(targets).size).toBe(3);
    const { target } = await explain(gateway, { method: 'GET', url: '/lacking/v1/x' });
    expect(target?.reason).toContain('drawn by weight');
  });
});

describe('the zone of the gateway', () => {
  it('gets all requests while half of it is in service, and explain says so', async () => {
    const fleet = await fleetOf(4);
    const zones = ['eu-1a', 'eu-1a', 'eu-1b', 'eu-1b'];
    await serviceOver(gateway, 'zone', fleet, {
      targets: targetsOf(fleet).map((target, index) => ({ ...target, zone: zones[index] })),
      load_balancing: { slow_start_secs: 0 },
      health_check_path: '/healthz',
      circuit_breaker: { probe: { interval_ms: 100, unhealthy_threshold: 1, healthy_threshold: 1 } },
    });
    const used = async (): Promise<Set<string>> => {
      const targets = [];
      for (let request = 0; request < 40; request++) targets.push((await get('/zone/v1/x')).target);
      return new Set(targets);
    };
    const reason = async (): Promise<string | undefined> =>
      (await explain(gateway, { method: 'GET', url: '/zone/v1/x' })).target?.reason;
    const untilOut = (count: number): Promise<unknown> =>
      until(async () => {
        const { targets } = await gateway.must('GET', `${revisionPath('zone')}/health`);
        return targets.filter(({ share }: Served) => share === 0).length === count;
      });
    expect(await used()).toEqual(new Set(['t0', 't1']));
    expect(await reason()).toMatch(/^of the targets in eu-1a, the zone of the gateway: /);
    await fleet[0]?.become('failing');
    await untilOut(1);
    expect(await used()).toEqual(new Set(['t1']));
    await fleet[1]?.become('failing');
    await untilOut(2);
    expect(await used()).toEqual(new Set(['t2', 't3']));
    expect(await reason()).toMatch(/^too few targets in eu-1a, the zone of the gateway, are in service/);
    await fleet[1]?.become('well');
    await untilOut(1);
    expect(await used()).toEqual(new Set(['t1']));
  });
});

describe('when no target is left', () => {
  it.each(['down', 'frozen'] as const)(
    '%s: the request fails in time with a plain error, and all return',
    async (mode) => {
      const slug = `all-${mode}`;
      const fleet = await fleetOf(3);
      await serviceOver(gateway, slug, fleet, {
        default_policy: { timeouts: { first_byte_ms: 300, connect_ms: 300, total_ms: 5_000 } },
        health_check_path: '/healthz',
        circuit_breaker: {
          probe: { interval_ms: 100, timeout_ms: 300, unhealthy_threshold: 1, healthy_threshold: 1 },
        },
        load_balancing: { slow_start_secs: 0 },
      });
      expect((await get(`/${slug}/v1/x`)).status).toBe(200);
      await Promise.all(fleet.map((target) => target.become(mode)));
      const { status } = await get(`/${slug}/v1/x`);
      // 503 once the health checks have opened the breaker of the revision.
      expect([502, 503, 504]).toContain(status);
      await until(async () => {
        const [{ state }] = await gateway.must('GET', '/state');
        return state.targets.unhealthy >= 3;
      });
      await Promise.all(fleet.map((target) => target.become('well')));
      await until(async () => (await get(`/${slug}/v1/x`)).status === 200);
    },
  );
});

describe('what is said of several targets', () => {
  it('names each in health, state, tree, metrics and access log', async () => {
    // Targets of the tests above are down, and some are ejected for as long as a slow machine has tried them.
    for (const { slug } of await gateway.must('GET', '/apps'))
      await gateway.must('DELETE', `/apps/${slug}?cascade=true`);
    const fleet = await fleetOf(3);
    await serviceOver(gateway, 'said', fleet, {
      load_balancing: { algorithm: 'round_robin', ejection: { consecutive_failures: 1, base_secs: 60 } },
    });
    await fleet[2]?.become('down');
    for (let request = 0; request < 12; request++) expect((await get('/said/v1/x')).status).toBe(200);
    const authority = (index: number): string => `127.0.0.1:${fleet[index]?.port}`;
    const { targets } = await gateway.must('GET', `${revisionPath('said')}/health`);
    expect(targets.map(({ port, state }: Served) => [port, state])).toEqual([
      [fleet[0]?.port, 'in_service'],
      [fleet[1]?.port, 'in_service'],
      [fleet[2]?.port, 'ejected'],
    ]);
    // What a gateway says of itself to the others is worked out now and then.
    await expect
      .poll(async () => (await gateway.must('GET', '/state'))[0].state)
      .toMatchObject({ zone: 'eu-1a', targets: { ejected: 1 } });
    const [version] = await gateway.must('GET', '/apps/said/tree');
    expect(version.revisions[0].targets).toEqual({ total: 3, in_service: 2, source: null });
    const page = String((await gateway.api('GET', '//metrics')).body);
    // Of this app: the ports of the tests above are free again, and one of these targets may have got one of them.
    const of = (name: string, index: number): RegExp =>
      new RegExp(
        `^headgate_target_${name}\\{[^}]*app="said"[^}]*target="${authority(index)}"[^}]*\\} ([1-9]\\d*)$`,
        'm',
      );
    expect(page).toMatch(of('requests_total', 0));
    expect(page).toMatch(of('ejections_total', 2));
    expect(page).toMatch(of('failures_total', 2));
    expect(page).toMatch(of('in_service', 1));
    expect(page).not.toMatch(of('in_service', 2));
    const logged = (): Served[] => gateway.logs().filter(({ path }) => path === '/said/v1/x');
    // The access log is written a little later.
    await expect.poll(() => logged().length).toBe(12);
    expect(new Set(logged().map(({ target }) => target))).toEqual(new Set([authority(0), authority(1)]));
  });
});
