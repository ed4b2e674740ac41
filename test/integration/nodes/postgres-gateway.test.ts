/**
 * The program on a real PostgreSQL server: migrated by command, started, restarted; and a server that goes away while
 * it runs or before it starts. Traffic goes on in all of that.
 */
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runToEnd, type TestGateway } from '../../support/gateway.ts';
import { SECRET_KEY, startNode, startNodesRig, type NodesRig } from '../../support/nodes.ts';
import type { Origin } from '../../support/backends/origin.ts';
import type { PostgresServer } from '../../support/programs/postgres.ts';
import { startTcpRelay, type TcpRelay } from '../../support/backends/tcp-relay.ts';
import { createService } from '../../support/traffic.ts';
import { awakeMs } from '../../support/measure/steady.ts';

const SKEWED_CLOCK = new URL('../../support/measure/skewed-clock.cjs', import.meta.url).pathname;
/** Each test starts the program several times. */
const TIMEOUT_MS = 90_000;

let rig: NodesRig;
let server: PostgresServer;
let origin: Origin;
let folder: string;
beforeAll(async () => {
  rig = await startNodesRig();
  ({ server, origin, folder } = rig);
});
afterAll(() => rig.close());

const start = (url: string, name: string, env: Readonly<Record<string, string>> = {}): Promise<TestGateway> =>
  startNode({ url, folder, name, env: { GATEWAY_WORKERS: '1', ...env } });

const through = (relay: TcpRelay, url: string): string => url.replace(`:${server.port}/`, `:${relay.port}/`);

const status = async (gateway: TestGateway, path: string): Promise<number> =>
  (await fetch(`${gateway.proxy}${path}`)).status;

test(
  'a schema that is out of date stops the start and names the command to run, after which the gateway starts',
  async () => {
    const url = await server.createDatabase();
    // What a slow machine needs is not to be taken for an outage here.
    const patient = { GATEWAY_DATABASE__TIMEOUT_MS: '20000', GATEWAY_AUTO_MIGRATE: 'false' };
    const env = {
      ...patient,
      GATEWAY_DATABASE_URL: url,
      GATEWAY_SECRET_KEY: SECRET_KEY,
      GATEWAY_SNAPSHOT_FILE: 'off',
    };
    const behind = await runToEnd(env, [], { cwd: folder });
    expect(behind.code).toBe(1);
    expect(behind.output).toMatch(/schema is out of date.*run `headgate migrate`/);
    const doctor = await runToEnd(env, ['doctor'], { cwd: folder });
    expect(doctor.output).toMatch(
      /it has no tables of Headgate[^]*run headgate migrate, after a backup, or set/,
    );
    const permitted = { ...env, GATEWAY_AUTO_MIGRATE: 'true' };
    const allowed = await runToEnd(permitted, ['doctor'], { cwd: folder });
    expect(allowed.output).toMatch(/PostgreSQL answers; the next start makes or updates its tables/);
    const migrated = await runToEnd(env, ['migrate'], { cwd: folder });
    expect(migrated.output).toMatch(/Applied 0001-initial/);
    expect(migrated.code).toBe(0);
    expect((await runToEnd(env, ['migrate'], { cwd: folder })).output).toMatch(/up to date/);
    const skewed = { ...env, NODE_OPTIONS: `--require=${SKEWED_CLOCK}`, TEST_CLOCK_SKEW_MS: '3600000' };
    const ahead = await runToEnd(skewed, ['doctor'], { cwd: folder });
    expect(ahead.output).toMatch(/warning +clock +it is 3600 s ahead of that of the database[^]*chrony/);

    const first = await start(url, 'behind', patient);
    const health = await first.api('GET', '/health');
    expect(health.body.data).toMatchObject({ db: 'ok', db_driver: 'postgres' });
    await createService(first, 'kept', origin.port);
    expect(await status(first, '/kept/v1/')).toBe(200);
    const tagged = await first.api('GET', '/apps/kept');
    await first.must('PATCH', '/apps/kept', { name: 'again' });
    const stale = await first.api(
      'PATCH',
      '/apps/kept',
      { name: 'stale' },
      {
        'If-Match': tagged.headers.get('etag') ?? '',
      },
    );
    expect(stale.status).toBe(412);
    expect((await first.api('GET', '/apps/a%00b')).status).toBe(404);
    expect(await first.stop()).toBe(0);

    const second = await start(url, 'behind', patient);
    expect(await status(second, '/kept/v1/')).toBe(200);
    expect((await second.must('GET', '/apps/kept')).name).toBe('again');
    expect(await second.stop()).toBe(0);
  },
  TIMEOUT_MS,
);

describe('a gateway whose server, or whose connection to it, goes away', () => {
  let url: string;
  let relay: TcpRelay;
  let gateway: TestGateway;
  beforeAll(async () => {
    relay = await startTcpRelay(server.port);
    url = through(relay, await server.createDatabase());
    gateway = await start(url, 'lost');
    await createService(gateway, 'there', origin.port);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await gateway.stop();
    relay.close();
  });

  test(
    'a server that crashes, freezes and comes back is a 503 within two seconds, and no failed request',
    async () => {
      const answers: number[] = [];
      let done = false;
      const traffic = (async () => {
        while (!done && answers.length < 20_000) {
          answers.push(await status(gateway, '/there/v1/'));
          await pause(5);
        }
      })();
      const refusedInTime = async (): Promise<void> => {
        const startedMs = awakeMs();
        const write = await gateway.api('PATCH', '/apps/there', { name: 'no' });
        expect(write.body).toMatchObject({ status: 503, code: 'storage_unavailable' });
        expect(awakeMs() - startedMs).toBeLessThan(2_000);
      };
      server.signalAll('SIGSTOP');
      try {
        // A call that comes while others wait has no more time than they have.
        await Promise.all([0, 300, 600].map((ms) => pause(ms).then(refusedInTime)));
      } finally {
        server.signalAll('SIGCONT');
      }
      await gateway.must('PATCH', '/apps/there', { name: 'thawed' });
      await server.crash();
      await refusedInTime();
      await server.start();
      await gateway.must('PATCH', '/apps/there', { name: 'restarted' });
      done = true;
      await traffic;
      expect(answers.length).toBeGreaterThan(10);
      expect(answers.filter((code) => code !== 200)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'a start without the server is served from the snapshot file, and recovers when it is back',
    async () => {
      await expect.poll(() => existsSync(join(folder, 'lost', 'copy.snapshot'))).toBe(true);
      await gateway.stop();
      await server.crash();
      gateway = await start(url, 'lost');
      expect(await status(gateway, '/there/v1/')).toBe(200);
      const read = await gateway.api('GET', '/apps');
      expect([read.status, read.headers.get('headgate-stale')]).toEqual([200, 'true']);
      expect((await gateway.api('GET', '/audit')).status).toBe(503);
      await server.start();
      await expect.poll(async () => (await gateway.api('GET', '/audit')).status).toBe(200);
      expect(await status(gateway, '/there/v1/')).toBe(200);
    },
    TIMEOUT_MS,
  );

  test(
    'with a slow server there is an answer, or a 503 within two seconds, also for a caller whose token is in the database',
    async () => {
      const { token } = await gateway.must('POST', '/admin/tokens', { name: 'stored', role: 'admin' });
      const asked = async (method: string, path: string, body?: unknown): Promise<number> => {
        const startedMs = awakeMs();
        const answer = await gateway.api(method, path, body, { authorization: `Bearer ${token}` });
        if (answer.status === 200) return 200;
        expect(awakeMs() - startedMs, `${method} ${path}`).toBeLessThan(2_000);
        return answer.status;
      };
      const all = (): Promise<number[]> =>
        Promise.all([
          asked('GET', '/apps/there'),
          asked('GET', '/nodes'),
          asked('PATCH', '/apps/there', { name: 'slowly' }),
        ]);
      await expect.poll(all).toEqual([200, 200, 200]);
      for (const delayMs of [200, 150, 1_000]) {
        relay.delay(delayMs);
        expect((await all()).filter((code) => code !== 200 && code !== 503)).toEqual([]);
        expect(await status(gateway, '/there/v1/')).toBe(200);
      }
      // Nothing is left of the time by then: what is read comes from the copy.
      expect(await all()).toEqual([200, 503, 503]);
      relay.heal();
      await expect.poll(all).toEqual([200, 200, 200]);
    },
    TIMEOUT_MS,
  );

  test(
    'an answer that is lost at the commit leaves it open whether the change was stored, and the 503 says so',
    async () => {
      let name = '';
      let tries = 0;
      // The next commit may be that of a read, which leaves nothing open.
      const cutAtCommit = async (): Promise<string> => {
        relay.cutAt('commit\0');
        tries += 1;
        const read = await gateway.api('GET', '/audit');
        expect(read.body.detail ?? '').not.toContain('stored');
        name = `perhaps ${tries}`;
        relay.cutAt('commit\0');
        return (await gateway.api('PATCH', '/apps/there', { name })).body.detail ?? '';
      };
      await expect
        .poll(cutAtCommit, { timeout: 30_000 })
        .toMatch(/may have been stored; read before you write again$/);
      // This time it was.
      await expect.poll(async () => (await gateway.must('GET', '/apps/there')).name).toBe(name);
    },
    TIMEOUT_MS,
  );
});

test(
  'a start whose connection is cut at any moment, or that finds the server frozen, serves at once, and recovers',
  async () => {
    const url = await server.createDatabase();
    const startMs = awakeMs();
    const before = await start(url, 'cut');
    // One of a start that finds everything, on this machine; what a database may take comes on top.
    const plainMs = awakeMs() - startMs;
    await createService(before, 'saved', origin.port);
    await expect.poll(() => existsSync(join(folder, 'cut', 'copy.snapshot'))).toBe(true);
    await before.stop();

    const relays: TcpRelay[] = [];
    const gateways: TestGateway[] = [];
    const startCut = async (name: string, cut: (relay: TcpRelay) => void): Promise<void> => {
      const relay = await startTcpRelay(server.port);
      relays.push(relay);
      cut(relay);
      cpSync(join(folder, 'cut'), join(folder, name), { recursive: true });
      const startedMs = awakeMs();
      const gateway = await start(through(relay, url), name);
      gateways.push(gateway);
      expect(awakeMs() - startedMs, name).toBeLessThan(3_000 + 3 * plainMs);
      expect(await status(gateway, '/saved/v1/'), name).toBe(200);
    };
    try {
      await startCut('cut-after-login', (relay) => relay.swallowAt('server_encoding'));
      await startCut('cut-while-read', (relay) => relay.cutAt('from "api_key"'));
      // Connections are accepted, and nothing else comes, as where one is cut before the first byte.
      server.signalAll('SIGSTOP');
      try {
        await startCut('frozen', () => undefined);
      } finally {
        server.signalAll('SIGCONT');
      }
      for (const relay of relays) relay.heal();
      for (const gateway of gateways) {
        await expect
          .poll(() => gateway.output())
          .toMatch(/served with the configuration of the snapshot file/);
        await expect.poll(async () => (await gateway.api('GET', '/apps')).status).toBe(200);
        expect(await status(gateway, '/saved/v1/')).toBe(200);
      }
    } finally {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      for (const relay of relays) relay.close();
    }
  },
  TIMEOUT_MS,
);

test(
  'there are as many connections as the settings allow; they are closed when idle, and callers wait for them as long as the settings say',
  async () => {
    const relay = await startTcpRelay(server.port);
    const direct = await server.createDatabase();
    const gateway = await start(through(relay, direct), 'settings', {
      GATEWAY_DATABASE__POOL_MAX: '2',
      GATEWAY_DATABASE__IDLE_TIMEOUT_MS: '2000',
      // Not what ends a wait here.
      GATEWAY_DATABASE__TIMEOUT_MS: '20000',
      GATEWAY_DATABASE__CONNECT_TIMEOUT_MS: '1200',
      GATEWAY_DATABASE__STATEMENT_TIMEOUT_MS: '1200',
    });
    const connections = async (): Promise<number> =>
      (
        await server.query(
          direct,
          "select 1 from pg_stat_activity where application_name = 'headgate' and datname = current_database()",
        )
      ).length;
    const isStale = async (): Promise<boolean> => {
      const { status: code, headers } = await gateway.api('GET', '/apps');
      expect(code).toBe(200);
      return headers.get('headgate-stale') === 'true';
    };
    /** The database is given up soon, and the copy answers. */
    const staleSoon = async (): Promise<void> => {
      const startedMs = awakeMs();
      expect(await isStale()).toBe(true);
      expect(awakeMs() - startedMs).toBeLessThan(2_000);
    };
    try {
      await createService(gateway, 'there', origin.port);
      const reads = Array.from({ length: 30 }, () => gateway.api('GET', '/apps'));
      const writes = Array.from({ length: 5 }, () => gateway.api('PATCH', '/apps/there', { name: 'x' }));
      const answers = await Promise.all([...reads, ...writes]);
      expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
      // Two read and one writes; one listens, and the one that has loaded everything may still be there.
      expect(await connections()).toBeLessThanOrEqual(5);
      await expect.poll(connections).toBe(1);

      relay.swallow();
      await staleSoon();
      relay.heal();
      await expect.poll(isStale).toBe(false);
      const holding = server.query(
        direct,
        'begin; lock table app in access exclusive mode; select pg_sleep(3); commit',
      );
      await expect
        .poll(() =>
          server.query(
            direct,
            "select 1 from pg_locks where relation = 'app'::regclass and granted and mode like 'AccessEx%'",
          ),
        )
        .not.toEqual([]);
      await staleSoon();
      await holding;
    } finally {
      await gateway.stop();
      relay.close();
    }
  },
  TIMEOUT_MS,
);
