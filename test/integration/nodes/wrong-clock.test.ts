/** Gateways on one PostgreSQL, one of them with a wrong clock: all of them say which one, and it stays in service. */
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { startNode, startNodesRig, type NodesRig } from '../../support/nodes.ts';

const SKEWED_CLOCK = resolve(import.meta.dirname, '../../support/measure/skewed-clock.cjs');
const START_MS = 90_000;

let rig: NodesRig;
let right: TestGateway;
let wrong: TestGateway;
beforeAll(async () => {
  rig = await startNodesRig();
  const url = await rig.server.createDatabase();
  const start = (name: string, env = {}): Promise<TestGateway> =>
    startNode({ url, folder: rig.folder, name, env: { GATEWAY_WORKERS: '1', ...env } });
  right = await start('right');
  wrong = await start('wrong', { NODE_OPTIONS: `--require=${SKEWED_CLOCK}`, TEST_CLOCK_SKEW_MS: '-30000' });
}, START_MS);
afterAll(async () => {
  await Promise.all([right.stop(), wrong.stop()]);
  await rig.close();
});

const TEXT = /30 s behind that of the database/;
// oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely by tests
const problems = (of: TestGateway): Promise<any[]> => of.must('GET', '/problems');

it('a gateway with a wrong clock is a problem of every gateway, by its name', async () => {
  for (const gateway of [wrong, right]) {
    const problem = await until(async () =>
      (await problems(gateway)).find(({ code }) => code === 'clock_differs'),
    );
    expect(problem).toMatchObject({
      severity: 'warning',
      detail: expect.stringMatching(/^The clock of wrong is 30 s behind.*chrony/),
      link: { kind: 'nodes', node: 'wrong' },
    });
  }
  const codes = (await problems(right)).map(({ code }) => code);
  expect(codes.filter((code) => code === 'clock_differs')).toHaveLength(1);
});

it('stays ready and healthy, and gives the reason', async () => {
  for (const path of ['//readyz', '/health']) {
    const { status, body } = await wrong.api('GET', path);
    expect([status, body.data.reason ?? body.message]).toEqual([200, expect.stringMatching(TEXT)]);
    const other = await right.api('GET', path);
    expect([other.status, JSON.stringify(other.body)]).toEqual([200, expect.not.stringMatching(/clock/)]);
  }
});

it('warns once in the log, and has the difference in its state and metrics', async () => {
  const lines = (of: TestGateway): object[] =>
    of.logs().filter(({ msg }) => msg === 'the clock differs from the clock of the database');
  expect(lines(wrong)).toMatchObject([{ level: 'warn', ahead_ms: expect.any(Number) }]);
  expect(lines(right)).toEqual([]);
  const ahead = async (of: TestGateway): Promise<number> => {
    const { body } = await of.api('GET', '//metrics');
    return Number(/^headgate_clock_ahead_seconds (\S+)$/m.exec(body as string)?.[1]);
  };
  expect(Math.abs((await ahead(wrong)) + 30)).toBeLessThan(1);
  expect(Math.abs(await ahead(right))).toBeLessThan(1);
  const states = (await right.must('GET', '/state')) as {
    node: string;
    state: { database: { clock_ahead_ms: number } };
  }[];
  const told = states.find(({ node }) => node === 'wrong')?.state.database.clock_ahead_ms ?? 0;
  expect(Math.abs(told + 30_000)).toBeLessThan(1_000);
});

it('has its difference on the command line', async () => {
  const env = { HEADGATE_SERVER: right.base, HEADGATE_TOKEN: ADMIN_TOKEN };
  const shown = await runToEnd(env, ['state'], { cwd: rig.folder });
  expect(shown.output).toMatch(/clock +\d+ ms behind that of the database/);
});
