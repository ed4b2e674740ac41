/**
 * Targets behind two gateways on one database: a value leads to the same target through both, a change of the list
 * reaches both before it is answered, and each has its own zone and its own opinion of a target.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startFleet, targetsOf, type FleetTarget } from '../../support/backends/target-fleet.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { startNode, startNodesRig, type NodesRig } from '../../support/nodes.ts';
import { getTarget, loadTargets, serviceOver, type TargetAnswer } from '../../support/target-service.ts';
import { revisionPath, type Served } from '../../support/traffic.ts';

const TIMEOUT = { timeout: 90_000 };
const USERS = Array.from({ length: 30 }, (_none, index) => `user-${index}`);

/** Each node has a folder of its own for lists of targets. */
const lists = (name: string): string => join(rig.folder, `lists-${name}`);

const agent = new Agent({ keepAlive: true });
let rig: NodesRig;
let a: TestGateway;
let b: TestGateway;
let fleet: readonly FleetTarget[];

beforeAll(async () => {
  rig = await startNodesRig();
  fleet = await startFleet(4);
  const url = await rig.server.createDatabase();
  for (const name of ['a', 'b']) mkdirSync(lists(name));
  const start = (name: string): Promise<TestGateway> =>
    startNode({
      url,
      folder: rig.folder,
      name,
      env: {
        GATEWAY_WORKERS: '1',
        GATEWAY_ZONE: `zone-${name}`,
        GATEWAY_DISCOVERY__FOLDER: lists(name),
      },
    });
  a = await start('a');
  b = await start('b');
}, 120_000);
afterAll(async () => {
  agent.destroy();
  await Promise.all([a.stop(), b.stop()]);
  await Promise.all(fleet.map((target) => target.close()));
  await rig.close();
});

const get = (node: TestGateway, path: string, user = ''): Promise<TargetAnswer> =>
  getTarget(node, agent, path, { 'X-User': user });

it(
  'a value leads to the same target through both, also after a target was added through one',
  TIMEOUT,
  async () => {
    await serviceOver(a, 'agreed', fleet, {
      targets: targetsOf(fleet.slice(0, 3)),
      load_balancing: { algorithm: 'hash', hash: { by: 'header', name: 'X-User' }, slow_start_secs: 0 },
    });
    const homes = async (node: TestGateway): Promise<string[]> => {
      const targets: string[] = [];
      for (const user of USERS) targets.push((await get(node, '/agreed/v1/x', user)).target);
      return targets;
    };
    const before = await homes(a);
    expect(await homes(b)).toEqual(before);
    await a.must('PATCH', revisionPath('agreed'), { targets: targetsOf(fleet) });
    const after = await homes(b);
    expect(await homes(a)).toEqual(after);
    expect(after.filter((target, index) => target !== before[index])).not.toContain('t0');
    expect(after).toContain('t3');
  },
);

it('a target removed through one gets nothing more through the other, under load', TIMEOUT, async () => {
  await serviceOver(a, 'shrunk', fleet);
  const traffic = loadTargets(b, '/shrunk/v1/x', 6);
  try {
    await traffic.more(100);
    const [removed, ...others] = fleet as readonly [FleetTarget, ...FleetTarget[]];
    await a.must('PATCH', revisionPath('shrunk'), { targets: targetsOf(others) });
    // Requests under way end, and their connections with them.
    await traffic.more(12);
    const before = removed.requests;
    await traffic.more(200);
    expect(removed.requests).toBe(before);
  } finally {
    await traffic.stop();
  }
  expect(traffic.failures).toEqual([]);
});

it('each prefers its own zone, and counts the failures of its own requests', TIMEOUT, async () => {
  const zones = ['zone-a', 'zone-a', 'zone-b', 'zone-b'];
  await serviceOver(a, 'zoned', fleet, {
    targets: targetsOf(fleet).map((target, index) => ({ ...target, zone: zones[index] })),
    load_balancing: { ejection: { consecutive_failures: 2, base_secs: 60 } },
  });
  const used = async (node: TestGateway): Promise<Set<string>> => {
    const targets = new Set<string>();
    for (let request = 0; request < 30; request++) targets.add((await get(node, '/zoned/v1/x')).target);
    return targets;
  };
  expect(await used(a)).toEqual(new Set(['t0', 't1']));
  expect(await used(b)).toEqual(new Set(['t2', 't3']));
  await fleet[0]?.become('down');
  expect(await used(a)).toEqual(new Set(['t1']));
  expect(await used(b)).toEqual(new Set(['t2', 't3']));
  const statesOf = async (node: TestGateway): Promise<string[]> =>
    (await node.must('GET', `${revisionPath('zoned')}/health`)).targets.map(({ state }: Served) => state);
  expect((await statesOf(a))[0]).toBe('ejected');
  expect((await statesOf(b))[0]).toBe('in_service');
  const states = await until(async () => {
    const all = (await b.must('GET', '/state')) as Served[];
    return all.every(({ state }) => state !== null) && all;
  });
  const byName = Object.fromEntries(states.map(({ node, state }: Served) => [node, state]));
  expect(byName['a']).toMatchObject({ zone: 'zone-a', targets: { ejected: 1 } });
  expect(byName['b']).toMatchObject({ zone: 'zone-b', targets: { ejected: 0 } });
});

it(
  'each looks targets up for itself, and follows a revision that begins or ends to be looked up',
  TIMEOUT,
  async () => {
    await fleet[0]?.become('well');
    const targets = targetsOf(fleet);
    writeFileSync(join(lists('a'), 'own.json'), JSON.stringify(targets.slice(0, 2)));
    writeFileSync(join(lists('b'), 'own.json'), JSON.stringify(targets.slice(2)));
    await serviceOver(a, 'looked', fleet.slice(0, 1));
    await a.must('PATCH', revisionPath('looked'), {
      discovery: { type: 'file', path: 'own.json' },
      load_balancing: { algorithm: 'round_robin', slow_start_secs: 0 },
    });
    const used = async (node: TestGateway): Promise<Set<string>> => {
      await until(async () => (await get(node, '/looked/v1/x')).status === 200, 10_000);
      const names = new Set<string>();
      for (let request = 0; request < 30; request++) names.add((await get(node, '/looked/v1/x')).target);
      return names;
    };
    expect(await used(a)).toEqual(new Set(['t0', 't1']));
    expect(await used(b)).toEqual(new Set(['t2', 't3']));
    writeFileSync(join(lists('b'), 'own.json'), JSON.stringify(targets.slice(1, 2)));
    await until(
      async () => (await b.must('GET', `${revisionPath('looked')}/health`)).discovery.targets === 1,
      10_000,
    );
    expect(await used(b)).toEqual(new Set(['t1']));
    expect(await used(a)).toEqual(new Set(['t0', 't1']));
    await b.must('PATCH', revisionPath('looked'), { targets: targets.slice(3) });
    for (const node of [a, b]) expect(await used(node)).toEqual(new Set(['t3']));
  },
);
