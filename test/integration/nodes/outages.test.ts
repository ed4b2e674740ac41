/**
 * Several gateways and what may become of their PostgreSQL server: slow, stopped, failed over to another with the same
 * data or with older ones, emptied. Traffic goes on in all of that, and no gateway has to be restarted.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runToEnd, type TestGateway } from '../../support/gateway.ts';
import {
  listNodes,
  makeService,
  readNumber,
  SECRET_KEY,
  startNode,
  startNodesRig,
  traffic,
  writeNumber,
  type NodesRig,
} from '../../support/nodes.ts';
import type { Origin } from '../../support/backends/origin.ts';
import type { PostgresServer } from '../../support/programs/postgres.ts';
import { startTcpRelay, type TcpRelay } from '../../support/backends/tcp-relay.ts';
import { awakeMs } from '../../support/measure/steady.ts';

const TIMEOUT_MS = 90_000;
/** Of a client; each of what goes wrong here lasts for much longer. */
const ASK_PAUSE_MS = 25;
const CLUSTER = {
  GATEWAY_WORKERS: '1',
  GATEWAY_CLUSTER__HEARTBEAT_MS: '200',
  GATEWAY_CLUSTER__NODE_TIMEOUT_MS: '2000',
  GATEWAY_CLUSTER__WRITE_WAIT_MS: '1000',
  // What is left of the two seconds is for a machine that has other things to do.
  GATEWAY_DATABASE__TIMEOUT_MS: '1200',
};

/** Of the table of the audit log, which each write extends. */
const FULL_DISK = {
  why: 'its disk is full',
  breaking: `create function full_disk() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$;
    create trigger full_disk before insert on audit_entry execute function full_disk()`,
  repair: 'drop trigger full_disk on audit_entry; drop function full_disk',
};
const MISSING_TABLE = {
  why: 'a table is missing',
  breaking: 'alter table audit_entry rename to audit_gone',
  repair: 'alter table audit_gone rename to audit_entry',
};

let rig: NodesRig;
let server: PostgresServer;
let origin: Origin;
let folder: string;
beforeAll(async () => {
  rig = await startNodesRig();
  ({ server, origin, folder } = rig);
});
afterAll(() => rig.close());

const BACK = { timeout: 15_000, interval: 100 };
/** Until the two have found each other again; further writes in between do no harm. */
const untilBothApply = async (node: TestGateway, number: number): Promise<void> => {
  await expect.poll(async () => (await writeNumber(node, number)).applied, BACK).toBe('2/2');
};

async function refusedInTime(node: TestGateway): Promise<void> {
  const startedMs = awakeMs();
  const { status } = await writeNumber(node, 1);
  expect(status).toBe(503);
  expect(awakeMs() - startedMs).toBeLessThan(2_000);
}

describe('two gateways', () => {
  let a: TestGateway;
  let b: TestGateway;
  let relay: TcpRelay;
  let url: string;
  beforeAll(async () => {
    relay = await startTcpRelay(server.port);
    url = (await server.createDatabase()).replace(`:${server.port}/`, `:${relay.port}/`);
    a = await startNode({ url, folder, name: 'a', env: CLUSTER });
    b = await startNode({ url, folder, name: 'b', env: CLUSTER });
    await makeService(a, origin);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await a.stop();
    await b.stop();
    relay.close();
  });

  test.each([FULL_DISK, MISSING_TABLE])(
    'whose server refuses writes for a reason that the test write does not meet: $why',
    async ({ breaking, why, repair }) => {
      const logged = () => a.logs().filter(({ msg }) => msg === 'the database cannot be written');
      const before = logged().length;
      await server.query(url, breaking);
      const load = traffic([a, b], ASK_PAUSE_MS);
      await refusedInTime(a);
      const reason = `The database cannot be written: ${why}`;
      await expect.poll(async () => (await a.api('GET', '//readyz')).body.data.reason, BACK).toBe(reason);
      const { status, body } = await a.api('GET', '/health');
      expect([status, body.data.db]).toEqual([503, 'degraded']);
      expect(logged().slice(before)).toMatchObject([
        { level: 'error', reason: expect.stringContaining(`${why} (`) },
      ]);
      const codes = ((await a.must('GET', '/problems')) as { code: string }[]).map(({ code }) => code);
      expect(codes).toContain('database_unwritable');
      await server.query(url, repair);
      const isWell = async (): Promise<boolean> => {
        await writeNumber(a, 10);
        return (await a.api('GET', '//readyz')).body.data.reason === null;
      };
      await expect.poll(isWell, BACK).toBe(true);
      expect((await load.stop()).failed).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'whose server is slow, or cannot be reached',
    async () => {
      const load = traffic([a, b], ASK_PAUSE_MS);
      relay.delay(1_000);
      await refusedInTime(a);
      await refusedInTime(b);
      relay.heal();
      await untilBothApply(a, 11);
      relay.refuse();
      await refusedInTime(a);
      await refusedInTime(b);
      relay.heal();
      await untilBothApply(b, 12);
      expect([await readNumber(a), await readNumber(b)]).toEqual([12, 12]);
      expect((await load.stop()).failed).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'whose server is stopped; one of them starts meanwhile',
    async () => {
      const load = traffic([a], ASK_PAUSE_MS);
      await expect.poll(() => existsSync(join(folder, 'b', 'copy.snapshot')), BACK).toBe(true);
      await b.stop();
      await server.crash();
      await refusedInTime(a);
      b = await startNode({ url, folder, name: 'b', env: CLUSTER });
      expect(await readNumber(b), 'of the snapshot file').toBe(12);
      await refusedInTime(b);
      await server.start();
      await untilBothApply(a, 13);
      expect(await readNumber(b)).toBe(13);
      expect(Object.keys(await listNodes(b)).toSorted()).toEqual(['a', 'b']);
      expect((await load.stop()).failed).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'whose server fails over to one with the same data, and to one that lacks the last writes',
    async () => {
      const load = traffic([a, b], ASK_PAUSE_MS);
      await server.crash();
      const same = await server.copyData();
      const older = await server.copyData();
      await server.start(same);
      expect([await readNumber(a), await readNumber(b)]).toEqual([13, 13]);
      await untilBothApply(a, 14);
      await untilBothApply(b, 15);
      const { config_version: lost } = await a.must('GET', '/nodes');
      await server.crash();
      await server.start(older);
      // Those writes were answered, and the server has lost them; what it has now is what counts, on both.
      await expect.poll(async () => [await readNumber(a), await readNumber(b)], BACK).toEqual([13, 13]);
      await untilBothApply(b, 16);
      await untilBothApply(a, 17);
      expect([await readNumber(a), await readNumber(b)]).toEqual([17, 17]);
      expect((await a.must('GET', '/nodes')).config_version).toBe(lost);
      await expect.poll(() => a.output()).toMatch(/whole configuration was read again/);
      expect((await load.stop()).failed).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe('a database that is empty', () => {
  let url: string;
  /** Takes a database away from all that use it, and puts it under another name. */
  async function rename(from: string, to: string): Promise<void> {
    const admin = url.replace(/[^/]+$/, 'postgres');
    await server.query(admin, `alter database ${from} allow_connections false`);
    await server.query(
      admin,
      `select pg_terminate_backend(pid, 2000) from pg_stat_activity where datname = '${from}'`,
    );
    await server.query(admin, `alter database ${from} rename to ${to}`);
    await server.query(admin, `alter database ${to} allow_connections true`);
  }
  const drop = (name: string): Promise<unknown> =>
    server.query(url.replace(/[^/]+$/, 'postgres'), `drop database ${name} with (force)`);
  const create = (name: string): Promise<unknown> =>
    server.query(url.replace(/[^/]+$/, 'postgres'), `create database ${name}`);
  const tables = (): Promise<unknown> => server.query(url, "select to_regclass('app') as app");

  test(
    'is not used while there is a snapshot file, which is served until the old database is back',
    async () => {
      url = await server.createDatabase();
      const name = url.slice(url.lastIndexOf('/') + 1);
      const start = (migrates: boolean): Promise<TestGateway> =>
        startNode({
          url,
          folder,
          name: 'alone',
          env: { GATEWAY_AUTO_MIGRATE: String(migrates), GATEWAY_WORKERS: '1' },
        });
      const first = await start(true);
      await makeService(first, origin);
      await writeNumber(first, 20);
      await first.stop();
      await rename(name, 'kept');
      await create(name);

      const migrating = await start(true);
      expect(await readNumber(migrating)).toBe(20);
      expect((await writeNumber(migrating, 1)).status).toBe(503);
      await expect
        .poll(() => migrating.output())
        .toMatch(/it has no tables of Headgate; expected the database from which the snapshot file/);
      expect(await tables()).toEqual([{ app: null }]);
      await migrating.stop();

      // The tables are made by hand: the database is still empty.
      const env = { GATEWAY_DATABASE_URL: url, GATEWAY_SECRET_KEY: SECRET_KEY, GATEWAY_SNAPSHOT_FILE: 'off' };
      expect((await runToEnd(env, ['migrate'], { cwd: folder })).code).toBe(0);
      const waiting = await start(false);
      expect(await readNumber(waiting)).toBe(20);
      expect((await writeNumber(waiting, 1)).status).toBe(503);
      await expect
        .poll(() => waiting.output())
        .toMatch(/it is empty; expected the database from which the snapshot file/);
      await rename(name, 'made_by_hand');
      await rename('kept', name);
      await expect.poll(async () => (await writeNumber(waiting, 21)).status, BACK).toBe(200);
      expect(await readNumber(waiting)).toBe(21);

      // And while it runs.
      await rename(name, 'kept');
      await rename('made_by_hand', name);
      await expect
        .poll(() => waiting.output(), BACK)
        .toMatch(/the database is empty; traffic is served as before/);
      expect(await readNumber(waiting)).toBe(21);
      const into = await waiting.api('POST', '/apps', { name: 'x', slug: 'x', gateway_path: '/x' });
      expect(into.status).toBe(503);
      await drop(name);
      await rename('kept', name);
      await expect.poll(async () => (await writeNumber(waiting, 22)).status, BACK).toBe(200);
      expect(await readNumber(waiting)).toBe(22);
      expect(await waiting.stop()).toBe(0);
    },
    TIMEOUT_MS,
  );
});
