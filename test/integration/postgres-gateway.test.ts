/**
 * The program on a real PostgreSQL server: migrated by command, started, restarted; and a server that goes away while
 * it runs or before it starts. Traffic goes on in all of that.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runToEnd, type TestGateway } from '../support/gateway.ts';
import { SECRET_KEY, startNode, startNodesRig, type NodesRig } from '../support/nodes.ts';
import type { Origin } from '../support/origin.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { createService } from '../support/traffic.ts';

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
  startNode({ url, folder, name, env });

const status = async (gateway: TestGateway, path: string): Promise<number> =>
  (await fetch(`${gateway.proxy}${path}`)).status;

test(
  'a schema that is behind stops the start with the command to run, after which it starts',
  async () => {
    const url = await server.createDatabase();
    const env = { GATEWAY_DATABASE_URL: url, GATEWAY_SECRET_KEY: SECRET_KEY, GATEWAY_SNAPSHOT_FILE: 'off' };
    const behind = await runToEnd(env, [], { cwd: folder });
    expect(behind.code).toBe(1);
    expect(behind.output).toMatch(/schema is behind.*run `headgate migrate`/);
    const migrated = await runToEnd(env, ['migrate'], { cwd: folder });
    expect(migrated.output).toMatch(/Applied 0001-initial/);
    expect(migrated.code).toBe(0);
    expect((await runToEnd(env, ['migrate'], { cwd: folder })).output).toMatch(/up to date/);

    const first = await start(url, 'behind', { GATEWAY_AUTO_MIGRATE: 'false' });
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

    const second = await start(url, 'behind', { GATEWAY_AUTO_MIGRATE: 'false' });
    expect(await status(second, '/kept/v1/')).toBe(200);
    expect((await second.must('GET', '/apps/kept')).name).toBe('again');
    expect(await second.stop()).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  'a server that crashes, freezes and comes back is a 503 within two seconds, and no failed request',
  async () => {
    const url = await server.createDatabase();
    const gateway = await start(url, 'outage');
    try {
      await createService(gateway, 'there', origin.port);
      const answers: number[] = [];
      let done = false;
      const traffic = (async () => {
        while (!done && answers.length < 20_000) answers.push(await status(gateway, '/there/v1/'));
      })();
      const refusedInTime = async (): Promise<void> => {
        const startedMs = performance.now();
        const write = await gateway.api('PATCH', '/apps/there', { name: 'no' });
        expect(write.body).toMatchObject({ status: 503, code: 'storage_unavailable' });
        expect(performance.now() - startedMs).toBeLessThan(2_000);
      };
      server.signalAll('SIGSTOP');
      try {
        await refusedInTime();
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
    } finally {
      await gateway.stop();
    }
  },
  TIMEOUT_MS,
);

test(
  'a start without the server is served from the snapshot file, and recovers when it is back',
  async () => {
    const url = await server.createDatabase();
    const before = await start(url, 'lost');
    await createService(before, 'saved', origin.port);
    await expect
      .poll(() => existsSync(join(folder, 'lost', 'copy.snapshot')), { timeout: 10_000 })
      .toBe(true);
    await before.stop();
    await server.crash();
    const gateway = await start(url, 'lost');
    try {
      expect(await status(gateway, '/saved/v1/')).toBe(200);
      expect((await gateway.api('GET', '/apps')).status).toBe(503);
      await server.start();
      await expect
        .poll(async () => (await gateway.api('GET', '/apps')).status, { timeout: 15_000 })
        .toBe(200);
      expect(await status(gateway, '/saved/v1/')).toBe(200);
    } finally {
      await gateway.stop();
    }
  },
  TIMEOUT_MS,
);
