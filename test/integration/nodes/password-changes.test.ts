/**
 * docs/how-to/change-secrets.md: the passwords of PostgreSQL and of the store of limits change under clients who never
 * stop asking. No request fails; the gateway says what is refused until a new process takes over with the new ones.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { startPostgres, type PostgresServer } from '../../support/programs/postgres.ts';
import { startRedis, type TestRedis } from '../../support/programs/redis.ts';
import { createService, request } from '../../support/traffic.ts';

let server: PostgresServer;
let store: TestRedis;
let origin: Origin;
let folder: string;
let superuser: string;
let env: Record<string, string>;
const running: TestGateway[] = [];

beforeAll(async () => {
  [server, store, origin] = await Promise.all([startPostgres('fsync=off'), startRedis(), startOrigin()]);
  folder = mkdtempSync(join(tmpdir(), 'headgate-passwords-'));
  superuser = await server.createDatabase();
  const owner = new URL(superuser).username;
  const sql = (text: string): Promise<unknown> => server.query(superuser, text);
  await sql(`create role gateway login password 'first'`);
  await sql(`create database of_gateway owner gateway`);
  const [{ hba_file: rules = '' } = {}] = await server.query(superuser, 'show hba_file');
  const lines = [`host all ${owner} all trust`, 'host all gateway all scram-sha-256'];
  await sql(`copy (values ${lines.map((line) => `('${line}')`).join(', ')}) to '${String(rules)}'`);
  await sql('select pg_reload_conf()');
  await store.command('ACL', 'SETUSER', 'gateway', 'on', '>first', '~*', '&*', '+@all');
  env = {
    GATEWAY_AUTO_MIGRATE: 'true',
    GATEWAY_SECRET_KEY: '0123456789abcdef'.repeat(4),
    GATEWAY_SNAPSHOT_FILE: join(folder, 'copy.snapshot'),
    GATEWAY_SERVER__PORT: String(await freePort()),
    GATEWAY_PROXY__PORT: String(await freePort()),
    GATEWAY_WORKERS: '2',
  };
}, 120_000);
afterAll(async () => {
  for (const gateway of running) await gateway.kill();
  await Promise.all([server.stop(), store.close(), origin.close()]);
  rmSync(folder, { recursive: true, force: true });
});

async function start(database: string, ofStore: string, ...args: string[]): Promise<TestGateway> {
  const url = new URL(superuser);
  [url.username, url.password, url.pathname, url.search] = ['gateway', database, '/of_gateway', ''];
  const redis = `redis://gateway:${ofStore}@127.0.0.1:${store.port}`;
  const secrets = { GATEWAY_DATABASE_URL: url.href, GATEWAY_REDIS_URL: redis };
  const gateway = await startGateway({ folder, args, env: { ...env, ...secrets } });
  running.push(gateway);
  return gateway;
}

async function problemsOf(gateway: TestGateway): Promise<Map<string, string>> {
  const found = (await gateway.must('GET', '/problems')) as { code: string; detail: string }[];
  return new Map(found.map(({ code, detail }) => [code, detail]));
}

it('no request fails while both passwords change', { timeout: 120_000 }, async () => {
  const old = await start('first', 'first');
  const limit = { enabled: true, requests: 1_000_000, window_seconds: 60 };
  await createService(old, 'svc', origin.port, { app: { default_policy: { rate_limit: limit } } });
  let isDone = false;
  const statuses = new Map<number | string, number>();
  const asking = (async () => {
    while (!isDone) {
      const status = await request(old, '/svc/v1/x').then(
        (answer) => answer.status,
        (error: unknown) => String(error),
      );
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  })();

  await server.query(superuser, `alter role gateway password 'second'`);
  await store.command('ACL', 'SETUSER', 'gateway', '<first', '>second');
  // By connections that are open; a write for which a new one is opened is refused.
  await until(async () => (await old.api('PATCH', '/apps/svc', { description: 'still' })).status === 200);

  const ended = 'select pg_terminate_backend(pid) from pg_stat_activity where usename = $$gateway$$';
  await server.query(superuser, ended);
  await store.command('CLIENT', 'KILL', 'USER', 'gateway');
  const told = await until(async () => {
    const problems = await problemsOf(old);
    // At first it only knows that the connection has ended.
    return (
      problems.has('database_unavailable') &&
      /PASS/.test(problems.get('limit_store_unavailable') ?? '') &&
      problems
    );
  });
  expect(told.get('database_unavailable')).toContain('it refuses the user or the password');
  expect(told.get('limit_store_unavailable')).toContain('WRONGPASS');
  expect((await old.api('PATCH', '/apps/svc', { description: 'no' })).status).toBe(503);

  const next = await start('second', 'second', 'start', '--take-over');
  await until(async () => (await problemsOf(next)).size === 0);
  expect((await next.api('PATCH', '/apps/svc', { description: 'again' })).status).toBe(200);
  await until(() => old.process.exitCode !== null);
  isDone = true;
  await asking;
  expect([...statuses.keys()]).toEqual([200]);
  expect(statuses.get(200)).toBeGreaterThan(100);
});
