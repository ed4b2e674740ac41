/** Events of two gateways with one database: who joins and leaves, a stream that goes on elsewhere, and an outage. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADMIN_TOKEN, type TestGateway } from '../../support/gateway.ts';
import { startNode, startNodesRig, type NodesRig } from '../../support/nodes.ts';
import { openEvents, type EventClient } from '../../support/clients/event-stream.ts';
import { startTcpRelay, type TcpRelay } from '../../support/backends/tcp-relay.ts';
import { until } from '../../support/measure/until.ts';
import type { Served } from '../../support/traffic.ts';

const TIMEOUT_MS = 90_000;
const ENV = {
  GATEWAY_WORKERS: '1',
  GATEWAY_CLUSTER__HEARTBEAT_MS: '200',
  GATEWAY_CLUSTER__NODE_TIMEOUT_MS: '2000',
  GATEWAY_DATABASE__TIMEOUT_MS: '1200',
};

let rig: NodesRig;
let relay: TcpRelay;
let url: string;
let a: TestGateway;
let b: TestGateway;
const open: EventClient[] = [];

beforeAll(async () => {
  rig = await startNodesRig();
  relay = await startTcpRelay(rig.server.port);
  url = (await rig.server.createDatabase()).replace(`:${rig.server.port}/`, `:${relay.port}/`);
  a = await startNode({ url, folder: rig.folder, name: 'a', env: ENV });
  b = await startNode({ url, folder: rig.folder, name: 'b', env: ENV });
}, TIMEOUT_MS);
afterAll(async () => {
  for (const client of open) client.close();
  await a.stop();
  await b.stop();
  relay.close();
  await rig.close();
});

async function watch(node: TestGateway, type: string, lastEventId?: string): Promise<EventClient> {
  const client = await openEvents(`${node.base}/api/v1/events?type=${type}`, ADMIN_TOKEN, {
    Accept: 'text/event-stream',
    ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
  });
  open.push(client);
  return client;
}

async function eventsOf(node: TestGateway, type: string): Promise<string[]> {
  const { body } = await node.api('GET', `/events?type=${type}&order=oldest_first`);
  return (body.data as Served[]).map(({ subject, data, type: told }) =>
    [told, subject.name, data.reason].filter((word) => word !== undefined).join(' '),
  );
}

test(
  'a stream continues at the other gateway, with nothing lost or repeated',
  async () => {
    const first = await watch(a, 'config.changed');
    for (const slug of ['one', 'two'])
      await b.must('POST', '/apps', { name: slug, slug, gateway_path: `/${slug}` });
    await until(() => first.of('event').length === 2);
    first.close();
    await a.must('POST', '/apps', { name: 'three', slug: 'three', gateway_path: '/three' });
    const second = await watch(b, 'config.changed', first.events[0]?.id);
    await until(() => second.of('event').length === 2);
    await a.must('POST', '/apps', { name: 'four', slug: 'four', gateway_path: '/four' });
    await until(() => second.of('event').length === 3);
    expect(
      [...first.of('event').slice(0, 1), ...second.of('event')].map(({ subject }) => subject.name),
    ).toEqual(['one', 'two', 'three', 'four']);
    expect(second.of('event').map(({ node }) => node)).toEqual(['b', 'a', 'a']);
  },
  TIMEOUT_MS,
);

test(
  'gateways that join, stop or fall silent are reported',
  async () => {
    await until(async () => (await eventsOf(a, 'node.*')).length === 2);
    await b.kill();
    await until(async () => (await eventsOf(a, 'node.*')).length === 3);
    b = await startNode({ url, folder: rig.folder, name: 'b', env: ENV });
    await until(async () => (await eventsOf(a, 'node.*')).length === 4);
    await b.stop();
    await until(async () => (await eventsOf(a, 'node.*')).length === 5);
    expect(await eventsOf(a, 'node.*')).toEqual([
      'node.joined a',
      'node.joined b',
      'node.left b silent',
      'node.joined b',
      'node.left b stopped',
    ]);
    b = await startNode({ url, folder: rig.folder, name: 'b', env: ENV });
  },
  TIMEOUT_MS,
);

test(
  'an outage of the database is reported when it is over, and a stream is still open',
  async () => {
    const client = await watch(a, 'database.*');
    relay.refuse();
    await until(() => a.output().includes('the database cannot be used'), 40_000);
    // Longer than what is not worth an event.
    await new Promise((done) => setTimeout(done, 12_000));
    relay.heal();
    await until(
      () => client.of('event').some(({ type, node }) => type === 'database.back' && node !== null),
      40_000,
    );
    const types = client.of('event').map(({ type }) => type);
    expect(types[0]).toBe('database.away');
    expect(client.of('event').at(-1)?.data.away_seconds).toBeGreaterThan(4);
    expect(client.ended).toBe(false);
  },
  TIMEOUT_MS,
);
