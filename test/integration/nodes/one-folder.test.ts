/**
 * Several gateways of one host: what they may have in common, what they are called, and how one of them tells that its
 * database is away.
 */
import { once } from 'node:events';
import { existsSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { type PostgresServer, startPostgres } from '../../support/programs/postgres.ts';

const TIMEOUT = { timeout: 90_000 };
const TAKE_OVER = ['start', '--take-over'];
let server: PostgresServer;
/** Of an empty database with tables, from which that of each test is made. */
let template: string;
let folder: string;
let url: string;
let gateways: TestGateway[];

beforeAll(async () => {
  server = await startPostgres('fsync=off');
  const migrated = await server.createDatabase();
  template = migrated.slice(migrated.lastIndexOf('/') + 1);
  const { code, output } = await runToEnd({ GATEWAY_DATABASE_URL: migrated }, ['migrate']);
  if (code !== 0) throw new Error(output);
}, 60_000);
afterAll(() => server.stop());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-folder-'));
  url = await server.createDatabase(`template ${template}`);
  gateways = [];
});
afterEach(async () => {
  for (const gateway of gateways) if (gateway.process.exitCode === null) await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});

const settings = (): Record<string, string> => ({ GATEWAY_DATABASE_URL: url });

type Ports = Pick<TestGateway, 'managementPort' | 'proxyPort'>;

const newPorts = async (): Promise<Ports> => ({
  managementPort: await freePort(),
  proxyPort: await freePort(),
});

/** @param ports by default new ones; of another gateway, to start in its place */
async function start(
  env: Record<string, string> = {},
  args: readonly string[] = [],
  ports?: Ports,
): Promise<TestGateway> {
  const { managementPort, proxyPort } = ports ?? (await newPorts());
  const listening = { GATEWAY_SERVER__PORT: String(managementPort), GATEWAY_PROXY__PORT: String(proxyPort) };
  const gateway = await startGateway({ folder, env: { ...settings(), ...listening, ...env }, args });
  gateways.push(gateway);
  return gateway;
}

/** One that does not get as far as serving. */
const attempt = (cwd = folder) =>
  runToEnd(
    {
      ...settings(),
      GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
      GATEWAY_SERVER__PORT: '0',
      GATEWAY_PROXY__PORT: '0',
      GATEWAY_PROXY__HOST: '127.0.0.1',
    },
    [],
    { cwd },
  );

describe('two gateways on PostgreSQL in one folder', TIMEOUT, () => {
  it('do not share their files: the second is refused with the setting to change, until the first was killed', async () => {
    const first = await start();
    const { code, output } = await attempt();
    expect(code).toBe(1);
    expect(output).toContain(
      `the gateway with the process id ${first.process.pid} uses the same files there`,
    );
    expect(output).toContain('GATEWAY_SNAPSHOT_FILE');
    expect((await first.api('GET', '/apps')).status).toBe(200);
    // And the first one is still the one to take over from.
    expect(existsSync(join(folder, 'data/headgate.pid'))).toBe(true);
    // A copy of its folder claims nothing, and neither does one that was killed.
    const copy = join(folder, 'copy');
    cpSync(join(folder, 'data'), join(copy, 'data'), { recursive: true });
    const beside = await startGateway({ folder: copy, env: settings() });
    gateways.push(beside);
    await first.kill();
    expect((await (await start()).api('GET', '/apps')).status).toBe(200);
  });

  it('that start at the same moment are distinguished, too', async () => {
    const results = await Promise.allSettled([start(), start()]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) {
      if (result.status === 'rejected') expect(String(result.reason)).toContain('GATEWAY_SNAPSHOT_FILE');
    }
  });

  it('run side by side with a snapshot file each, have names of their own, and are taken over each by itself', async () => {
    const first = await start();
    const second = await start({ GATEWAY_SNAPSHOT_FILE: 'data/second.snapshot' });
    expect(existsSync(join(folder, 'data/second.pid'))).toBe(true);
    const namesOf = async (gateway: TestGateway): Promise<string[]> => {
      const { nodes } = (await gateway.api('GET', '/nodes')).body.data as { nodes: { name: string }[] };
      return nodes.map(({ name }) => name).toSorted();
    };
    const names = gateways.map(({ managementPort }) => `${hostname()}:${managementPort}`).toSorted();
    expect(await namesOf(first)).toEqual(names);
    await first.stop();
    const restarted = await start({}, [], first);
    expect(await namesOf(restarted)).toEqual(names);
    const exited = once(restarted.process, 'exit');
    await start({}, TAKE_OVER, first);
    expect((await exited)[0]).toBe(0);
    expect(second.process.exitCode).toBeNull();
    expect(await namesOf(second)).toEqual(names);
  });
});

describe('two gateways on SQLite in one folder', TIMEOUT, () => {
  it('with a database each are taken over each by itself', async () => {
    const sqlite = (name: string) => ({ GATEWAY_DATABASE_URL: `sqlite://${join(folder, name)}` });
    const [first, second] = [await start(sqlite('a.db')), await start(sqlite('b.db'))];
    const exited = once(first.process, 'exit');
    await start(sqlite('a.db'), TAKE_OVER, first);
    expect((await exited)[0]).toBe(0);
    expect(second.process.exitCode).toBeNull();
    expect((await second.api('GET', '/apps')).status).toBe(200);
  });
});

describe('takeovers of a gateway that is still starting', TIMEOUT, () => {
  it('are done by one process, and the other one is told about it', async () => {
    const ports = await newPorts();
    const data = join(folder, 'data');
    const first = start({}, [], ports);
    // It has served, or has found its port taken.
    const ended = first.then(
      async ({ process: child }) => {
        if (child.exitCode === null) await once(child, 'exit');
      },
      () => undefined,
    );
    await expect.poll(() => existsSync(join(data, 'headgate.pid')), { timeout: 20_000 }).toBe(true);
    const started = await Promise.allSettled([start({}, TAKE_OVER, ports), start({}, TAKE_OVER, ports)]);
    // One of them may be so late that it takes over from the other.
    expect(started.some(({ status }) => status === 'fulfilled')).toBe(true);
    for (const one of started)
      if (one.status === 'rejected')
        expect(String(one.reason)).toMatch(
          /Cannot take over: the process with the id \d+ takes over from the gateway with the process id \d+ already/,
        );
    await ended;
    const serving = () => gateways.filter(({ process: child }) => child.exitCode === null);
    await expect.poll(() => serving().length, { timeout: 20_000 }).toBe(1);
    const [after] = serving() as [TestGateway];
    expect((await after.api('GET', '/apps')).status).toBe(200);
    expect(await after.stop()).toBe(0);
    expect(readdirSync(data).filter((name) => name.includes('.pid'))).toEqual([]);
  });
});

describe('a database that is away', TIMEOUT, () => {
  /** Of what is worth a look. */
  const problems = (gateway: TestGateway) => gateway.logs().filter(({ level }) => level !== 'info');

  it('is one line in the log at a start, and one when it is lost, without a stack', async () => {
    const before = await start();
    expect(await before.stop()).toBe(0);
    expect(problems(before)).toEqual([]);
    await server.crash();
    const gateway = await start();
    await expect
      .poll(async () => (await gateway.api('GET', '/apps')).headers.get('headgate-stale'), {
        timeout: 20_000,
      })
      .toBe('true');
    expect(problems(gateway)).toEqual([
      expect.objectContaining({
        level: 'error',
        reason: expect.stringContaining('ECONNREFUSED') as string,
        msg: expect.stringContaining('the database cannot be used') as string,
      }),
    ]);
    await server.start();
    // Back among the nodes, which it is a moment after it can be asked.
    const isBack = () => gateway.logs().some(({ msg }) => String(msg).startsWith('the database is back'));
    await expect.poll(isBack).toBe(true);
    await server.crash();
    await expect.poll(() => problems(gateway).length).toBeGreaterThan(1);
    await expect
      .poll(async () => (await gateway.api('GET', '/apps')).headers.get('headgate-stale'), {
        timeout: 20_000,
      })
      .toBe('true');
    const lost = problems(gateway).slice(1);
    expect(lost.map(({ msg }) => msg)).toEqual(['lost the connection to the other nodes']);
    expect(gateway.output()).not.toMatch(/"stack"|\\n {4}at /);
    await server.start();
  });
});
