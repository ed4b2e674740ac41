/**
 * The time series of several gateways on one database: any of them answers for all, names those that it could not
 * reach, and takes no longer than half a second for them.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestGateway } from '../../support/gateway.ts';
import { makeService, readNumber, startNode, startNodesRig, type NodesRig } from '../../support/nodes.ts';
import { awakeMs } from '../../support/measure/steady.ts';
import { createService, request } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const TIMEOUT_MS = 90_000;
const CLUSTER = {
  GATEWAY_CLUSTER__HEARTBEAT_MS: '300',
  GATEWAY_CLUSTER__NODE_TIMEOUT_MS: '5000',
};
/** What a gateway waits for others, and the time of a machine that has other things to do. */
const BOUND_MS = 500 + 1_000;
const SENT = { a: 5, b: 7, c: 11 };

// oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely by tests
type Json = any;

let rig: NodesRig;
let a: TestGateway;
let b: TestGateway;
let c: TestGateway;

const stats = (node: TestGateway, query = ''): Promise<Json> => node.must('GET', `/stats?${query}`);
const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);
const answeredBy = ({ nodes }: Json): string[] =>
  nodes
    .filter(({ answered }: Json) => answered)
    .map(({ name }: Json) => name)
    .sort();
const missingIn = ({ nodes }: Json): string[] =>
  nodes
    .filter(({ answered }: Json) => !answered)
    .map(({ name }: Json) => name)
    .sort();
const untilAnsweredBy = (node: TestGateway, names: readonly string[], requests: number): Promise<Json> =>
  until(async () => {
    const answer = await stats(node);
    return answeredBy(answer).join() === names.join() && answer.totals.requests === requests && answer;
  });

beforeAll(async () => {
  rig = await startNodesRig();
  const url = await rig.server.createDatabase();
  const start = (name: string): Promise<TestGateway> =>
    startNode({ url, folder: rig.folder, name, env: CLUSTER });
  a = await start('a');
  [b, c] = await Promise.all([start('b'), start('c')]);
  await makeService(a, rig.origin);
  await createService(a, 'other', rig.origin.port);
  for (const [node, count] of [
    [a, SENT.a],
    [b, SENT.b],
    [c, SENT.c],
  ] as const) {
    for (let sent = 1; sent < count; sent++) await readNumber(node);
    await request(node, '/other/v1/x');
  }
}, TIMEOUT_MS);
afterAll(async () => {
  await Promise.all([a, b, c].map((node) => node.kill()));
  await rig.close();
});

test('add up exactly, whichever gateway is asked, and are named', async () => {
  const all = SENT.a + SENT.b + SENT.c;
  const answers = [];
  for (const node of [a, b, c]) answers.push(await untilAnsweredBy(node, ['a', 'b', 'c'], all));
  for (const { points, totals, nodes } of answers) {
    expect(sum(points.requests)).toBe(all);
    expect(totals).toEqual(answers[0].totals);
    expect(totals.p95_ms).toBeGreaterThan(0);
    expect(nodes).toHaveLength(3);
    expect(nodes.every(({ since }: Json) => since !== null)).toBe(true);
  }
  for (const query of ['window=24h', 'step=60', 'app=svc', 'app=svc&version=v1']) {
    const expected = query.startsWith('app') ? all - 3 : all;
    await expect
      .poll(async () => [query, (await stats(b, query)).totals.requests])
      .toEqual([query, expected]);
  }
  const { rows, requests } = await b.must('GET', '/stats/top?by=app');
  expect(requests).toBe(all);
  expect(rows.map((row: Json) => [row.app, row.requests, sum(row.sparkline)])).toEqual([
    ['svc', all - 3, all - 3],
    ['other', 3, 3],
  ]);
});

test('go on from an earlier answer', async () => {
  const { points } = await stats(a);
  const since = new Date(points.time.at(-10) * 1_000).toISOString();
  const next = await stats(a, `since=${since}`);
  expect(next.points.time[0]).toBe(points.time.at(-10));
  expect(answeredBy(next)).toEqual(['a', 'b', 'c']);
  await readNumber(c);
  SENT.c += 1;
  const all = SENT.a + SENT.b + SENT.c;
  await until(async () => (await stats(a, 'step=1')).totals.requests === all);
  const before = sum(points.requests.slice(0, -10));
  await expect.poll(async () => sum((await stats(a, `since=${since}`)).points.requests)).toBe(all - before);
});

const statesOf = async (node: TestGateway): Promise<[string, boolean][]> =>
  (await node.must('GET', '/state')).map(({ node: name, state }: Json) => [name, state !== null]);

test('are shown with the state of each gateway, without the password of the database', async () => {
  const states = await until(async () => {
    const found: Json[] = await b.must('GET', '/state');
    return found.every(({ state }) => state !== null) && found;
  });
  expect(states.map(({ node, is_self: isSelf }) => [node, isSelf])).toEqual([
    ['b', true],
    ['a', false],
    ['c', false],
  ]);
  for (const { state } of states) {
    expect(state.database).toMatchObject({ driver: 'postgres', state: 'ok', detail: null });
    expect(state.database.address).toMatch(/^postgres:\/\/127\.0\.0\.1:\d+\/\w+$/);
    expect(state.workers).toEqual({ listening: 2, configured: 2 });
    expect(state.breakers).toEqual({ closed: 2, half_open: 0, open: 0 });
  }
});

test('miss a gateway that hangs, which costs one question half a second at most', async () => {
  b.process.kill('SIGSTOP');
  try {
    let startedMs = awakeMs();
    await expect.poll(async () => missingIn(await stats(a, 'step=30'))).toEqual(['b']);
    expect(awakeMs() - startedMs).toBeLessThan(BOUND_MS);
    startedMs = awakeMs();
    const answer = await stats(a, 'step=20');
    expect(awakeMs() - startedMs).toBeLessThan(400);
    expect([missingIn(answer), answer.totals.requests]).toEqual([['b'], SENT.a + SENT.c]);
    expect(await statesOf(a)).toEqual([
      ['a', true],
      ['b', false],
      ['c', true],
    ]);
  } finally {
    b.process.kill('SIGCONT');
  }
  await untilAnsweredBy(a, ['a', 'b', 'c'], SENT.a + SENT.b + SENT.c);
});

test(
  'are those of the gateway alone while the database is away, and say so',
  async () => {
    await rig.server.crash();
    const startedMs = awakeMs();
    const alone = await stats(a, 'step=12');
    expect(awakeMs() - startedMs).toBeLessThan(BOUND_MS);
    expect([answeredBy(alone), missingIn(alone), alone.totals.requests]).toEqual([['a'], ['b', 'c'], SENT.a]);
    const codes = async (): Promise<string[]> =>
      ((await a.must('GET', '/problems')) as Json[]).map(({ code }) => code);
    expect(await codes()).toContain('database_unavailable');
    await rig.server.start();
    await untilAnsweredBy(a, ['a', 'b', 'c'], SENT.a + SENT.b + SENT.c);
    await expect.poll(codes).not.toContain('database_unavailable');
  },
  TIMEOUT_MS,
);

test(
  'name a gateway that died as missing, also when its row is gone',
  async () => {
    await c.kill();
    await expect.poll(async () => missingIn(await stats(a, 'step=10'))).toEqual(['c']);
    await until(async () => ((await a.must('GET', '/nodes')).nodes as Json[]).length === 2);
    const answer = await untilAnsweredBy(a, ['a', 'b'], SENT.a + SENT.b);
    expect(missingIn(answer)).toEqual(['c']);
    expect(await a.must('GET', '/problems')).toContainEqual(
      expect.objectContaining({ code: 'node_missing', link: { kind: 'nodes', node: 'c' } }),
    );
  },
  TIMEOUT_MS,
);
