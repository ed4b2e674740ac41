/**
 * Several targets of one revision (docs/reference/targets.md), with the real program and two workers: how requests are
 * spread over them, and that none of them is lost while targets fail, come and go under load.
 */
import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startFleet,
  targetsOf,
  type FleetTarget,
  type TargetMode,
} from '../../support/backends/target-fleet.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import {
  getTarget,
  loadTargets,
  serviceOver as createServiceOver,
  type TargetAnswer,
  type TargetLoad,
} from '../../support/target-service.ts';
import { revisionPath, type Fields, type Served } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';
import { closeAfterEach } from '../../support/closers.ts';

const closers = closeAfterEach();
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_WORKERS: '2' } });
});
afterAll(() => gateway.stop());

async function fleetOf(count: number): Promise<readonly FleetTarget[]> {
  const fleet = await startFleet(count);
  closers.push(() => Promise.all(fleet.map((target) => target.close())));
  return fleet;
}

const serviceOver = (slug: string, fleet: readonly FleetTarget[], fields: Fields = {}): Promise<void> =>
  createServiceOver(gateway, slug, fleet, fields);

const healthOf = (slug: string): Promise<Served> => gateway.must('GET', `${revisionPath(slug)}/health`);

const get = (agent: Agent, path: string, headers: Record<string, string> = {}): Promise<TargetAnswer> =>
  getTarget(gateway, agent, path, headers);

function load(path: string, clients = 12): TargetLoad {
  const traffic = loadTargets(gateway, path, clients);
  closers.push(() => traffic.stop());
  return traffic;
}

describe('one target', () => {
  it('is stored and shown alike, whichever form it came in', async () => {
    const [target] = await fleetOf(1);
    const port = target?.port;
    await serviceOver('one', [], { targets: undefined, backend_host: '127.0.0.1', backend_port: port });
    const short = await gateway.must('GET', revisionPath('one'));
    expect(short).toMatchObject({
      backend_host: '127.0.0.1',
      backend_port: port,
      targets: null,
    });
    const { body } = await gateway.api('PATCH', revisionPath('one'), {
      targets: [{ host: '127.0.0.1', port }],
    });
    expect(body.message).toBe('Revision unchanged');
  });
});

describe('round_robin', () => {
  it('gives each target its share within one percent, over all workers', async () => {
    const fleet = await fleetOf(3);
    const weights = [10, 30, 60];
    const targets = targetsOf(fleet).map((target, index) => ({ ...target, weight: weights[index] }));
    await serviceOver('turns', fleet, { targets, load_balancing: { algorithm: 'round_robin' } });
    const traffic = load('/turns/v1/x');
    await traffic.more(3_000);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    const sum = traffic.answers.length;
    fleet.forEach(({ requests }, index) => {
      expect(Math.abs(requests / sum - (weights[index] ?? 0) / 100)).toBeLessThan(0.01);
    });
  });
});

describe('least_requests', () => {
  it('sends less to a target that is slow', async () => {
    const fleet = await fleetOf(3);
    await fleet[0]?.become('slow');
    await serviceOver('least', fleet);
    const traffic = load('/least/v1/x');
    await traffic.more(1_500);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    const slow = traffic.answers.filter(({ target }) => target === 't0').length;
    expect(slow / traffic.answers.length).toBeLessThan(0.15);
  });
});

describe('hash', () => {
  const agent = new Agent({ keepAlive: true });
  afterAll(() => agent.destroy());

  it('sends what has the same header to the same target, also when another target is added', async () => {
    const fleet = await fleetOf(4);
    await serviceOver('hashed', fleet, {
      targets: targetsOf(fleet.slice(0, 3)),
      load_balancing: { algorithm: 'hash', hash: { by: 'header', name: 'X-User' }, slow_start_secs: 0 },
    });
    const users = Array.from({ length: 60 }, (_none, index) => `user-${index}`);
    const homes = async (): Promise<string[]> => {
      const found: string[] = [];
      for (const user of users) found.push((await get(agent, '/hashed/v1/x', { 'X-User': user })).target);
      return found;
    };
    const before = await homes();
    expect(await homes()).toEqual(before);
    expect(new Set(before)).toEqual(new Set(['t0', 't1', 't2']));
    await gateway.must('PATCH', revisionPath('hashed'), { targets: targetsOf(fleet) });
    const after = await homes();
    const moved = after.filter((target, index) => target !== before[index]);
    expect(new Set(moved)).toEqual(new Set(['t3']));
    expect(moved.length).toBeLessThan(users.length / 2);
  });

  it('sets a cookie where it is missing, which leads back to the same target', async () => {
    const fleet = await fleetOf(3);
    await serviceOver('cookie', fleet, {
      load_balancing: { algorithm: 'hash', hash: { by: 'cookie', name: 'route', ttl_secs: 600 } },
    });
    for (let visitor = 0; visitor < 10; visitor++) {
      const first = await get(agent, '/cookie/v1/x');
      expect(first.cookie).toMatch(
        /^route=[0-9a-f]{32}; Path=\/cookie\/v1; Max-Age=600; HttpOnly; SameSite=Lax$/,
      );
      const [pair = ''] = first.cookie?.split(';') ?? [];
      for (let visit = 0; visit < 3; visit++) {
        const again = await get(agent, '/cookie/v1/x', { Cookie: `other=1; ${pair}` });
        expect(again).toEqual({ status: 200, target: first.target, cookie: undefined });
      }
    }
  });
});

describe('no idempotent request fails while one target is well', { timeout: 120_000 }, () => {
  const policy = {
    retries: { max: 2, on: ['connect', 'reset', 'timeout', '500'] },
    timeouts: { first_byte_ms: 1_000, connect_ms: 1_000 },
  };

  it.each<TargetMode>(['down', 'frozen', 'slow', 'failing', 'resetting'])(
    'when two of three become %s under load, and well again',
    async (mode) => {
      const fleet = await fleetOf(3);
      const slug = `mode-${mode}`;
      await serviceOver(slug, fleet, {
        default_policy: policy,
        health_check_path: '/healthz',
        circuit_breaker: { probe: { interval_ms: 100, timeout_ms: 1_000, unhealthy_threshold: 2 } },
        load_balancing: { slow_start_secs: 1, ejection: { base_secs: 1, max_secs: 2 } },
      });
      const traffic = load(`/${slug}/v1/x`, 8);
      await traffic.more(200);
      await fleet[0]?.become(mode);
      await traffic.more(200);
      await fleet[1]?.become(mode);
      await traffic.more(200);
      if (mode !== 'slow') {
        await until(async () => {
          const { targets } = await healthOf(slug);
          return targets.filter((one: Served) => one.state === 'unhealthy').length === 2;
        });
        const before = fleet.map(({ requests }) => requests);
        await traffic.more(200);
        // What was on its way while they became unhealthy may still arrive.
        expect(fleet[0]!.requests - before[0]!).toBeLessThan(10);
        expect(fleet[2]!.requests - before[2]!).toBeGreaterThan(150);
      }
      await Promise.all([fleet[0]?.become('well'), fleet[1]?.become('well')]);
      await until(async () => {
        const { targets } = await healthOf(slug);
        return targets.every((one: Served) => one.state === 'in_service');
      });
      const before = fleet.map(({ requests }) => requests);
      // What was slow has requests under way for a moment.
      await traffic.more(1_500);
      await traffic.stop();
      fleet.forEach(({ requests }, index) => expect(requests - before[index]!).toBeGreaterThan(100));
      expect(traffic.failures).toEqual([]);
      expect((await healthOf(slug)).state).toBe('closed');
    },
  );

  it('when targets flap', async () => {
    const fleet = await fleetOf(4);
    await serviceOver('flap', fleet, {
      default_policy: policy,
      load_balancing: { slow_start_secs: 1, ejection: { base_secs: 1, max_secs: 2 } },
    });
    const traffic = load('/flap/v1/x', 8);
    for (let turn = 0; turn < 8; turn++) {
      const target = fleet[turn % 3];
      await target?.become(turn % 2 === 0 ? 'down' : 'resetting');
      // In requests, not in time: what may be sent again is a share of them.
      await traffic.more(80);
      await target?.become('well');
      await traffic.more(40);
    }
    await traffic.stop();
    expect(traffic.answers.length).toBeGreaterThan(100);
    expect(traffic.failures).toEqual([]);
  });

  it('when targets are removed and added, and nothing goes to one that is removed', async () => {
    const fleet = await fleetOf(5);
    await serviceOver('moving', fleet, {
      targets: targetsOf(fleet.slice(0, 3)),
      load_balancing: { slow_start_secs: 0 },
    });
    const traffic = load('/moving/v1/x', 8);
    await traffic.more(200);
    for (let turn = 0; turn < 6; turn++) {
      const chosen = [0, 1, 2].map((place) => fleet[(turn + place) % 5]!);
      await gateway.must('PATCH', revisionPath('moving'), { targets: targetsOf(chosen) });
      const others = fleet.filter((target) => !chosen.includes(target));
      // Requests under way end; their connections end with them.
      await until(() => others.every(({ sockets }) => sockets.size === 0));
      const before = others.map(({ requests }) => requests);
      await traffic.more(150);
      expect(others.map(({ requests }) => requests)).toEqual(before);
      for (const { requests } of chosen) expect(requests).toBeGreaterThan(0);
    }
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
  });
});

describe('an ejection', () => {
  it('is reported, survives unrelated writes, and ends by itself', async () => {
    const fleet = await fleetOf(3);
    await serviceOver('told', fleet, {
      load_balancing: { slow_start_secs: 0, ejection: { consecutive_failures: 3, base_secs: 3 } },
    });
    await fleet[1]?.become('down');
    const agent = new Agent({ keepAlive: true });
    closers.push(() => agent.destroy());
    const ejected = await until(async () => {
      expect((await get(agent, '/told/v1/x')).status).toBe(200);
      const { targets } = await healthOf('told');
      return targets[1].state === 'ejected' ? targets[1] : undefined;
    });
    expect(ejected).toMatchObject({ cause: 'failures_in_a_row', ejections: 1, share: 0, in_flight: 0 });
    // The version is compiled again and its snapshot swapped.
    await gateway.must('PATCH', revisionPath('told'), { traffic_weight: 50 });
    const { targets } = await healthOf('told');
    expect(targets[1]).toMatchObject({ state: 'ejected', ejected_until: ejected.ejected_until });
    const isOfIt = ({ app, version, revision }: Record<string, unknown>): boolean =>
      app === 'told' && version === 'v1' && revision === 'r1';
    await until(() =>
      gateway.logs().some((line) => isOfIt(line) && line['msg'] === 'a target of a revision was ejected'),
    );
    await fleet[1]?.become('well');
    await until(async () => (await healthOf('told')).targets[1].state === 'in_service');
    await until(async () => (await get(agent, '/told/v1/x')).target === 't1');
  });

  it('is not brought about by a client that asks for what the targets do not have', async () => {
    const fleet = await fleetOf(2);
    await serviceOver('asked', fleet, { load_balancing: { ejection: { consecutive_failures: 2 } } });
    for (const target of fleet) await target.become('refusing');
    const agent = new Agent({ keepAlive: true });
    closers.push(() => agent.destroy());
    for (let count = 0; count < 8; count++) expect((await get(agent, '/asked/v1/x')).status).toBe(501);
    const { targets } = await healthOf('asked');
    expect(targets.map(({ state }: { state: string }) => state)).toEqual(['in_service', 'in_service']);
  });

  it('keeps no request from a target that is well when the other one is down', async () => {
    const fleet = await fleetOf(2);
    await serviceOver('guessed', fleet, { load_balancing: { ejection: { consecutive_failures: 2 } } });
    const agent = new Agent({ keepAlive: true });
    closers.push(() => agent.destroy());
    // What some requests bring about is no sign that others would fail.
    await fleet[0]?.become('failing');
    await until(async () => {
      await get(agent, '/guessed/v1/x');
      return (await healthOf('guessed')).targets[0].state === 'ejected';
    });
    await fleet[0]?.become('well');
    await fleet[1]?.become('down');
    for (let count = 0; count < 8; count++) {
      expect(await get(agent, '/guessed/v1/x')).toMatchObject({ status: 200, target: 't0' });
    }
    expect((await healthOf('guessed')).targets[0].state).toBe('ejected');
  });

  it('hits a target that fails much more often than its peers, though not in a row', async () => {
    const fleet = await fleetOf(3);
    await serviceOver('often', fleet, {
      load_balancing: { ejection: { consecutive_failures: 10_000, failure_percent: 30, min_requests: 10 } },
    });
    await fleet[2]?.become('failing');
    const traffic = load('/often/v1/x', 4);
    const target = await until(async () => {
      const { targets } = await healthOf('often');
      return targets[2].state === 'ejected' ? targets[2] : undefined;
    });
    await traffic.stop();
    expect(target.cause).toBe('more_failures_than_its_peers');
  });
});
