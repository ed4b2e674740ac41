/** `headgate doctor` on a machine with each thing wrong in turn. */
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Finding } from '../../../src/control/doctor/finding.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { MAIN, runToEnd, startGateway } from '../../support/gateway.ts';
import { startPostgres } from '../../support/programs/postgres.ts';
import { run } from '../../support/programs/programs.ts';
import { startRedis } from '../../support/programs/redis.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const UNPRIVILEGED_ID = 65_534;

let folder = '';
let server: Server | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-doctor-'));
});
afterEach(() => {
  server?.close();
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});
const database = (): string => join(folder, 'data/headgate.db');

interface Examined {
  readonly code: number | null;
  readonly healthy: boolean;
  readonly findings: readonly Finding[];
  /** `check state: detail` of what is not in order. */
  readonly wrong: string;
}

async function doctor(
  env: Readonly<Record<string, string>> = {},
  through: readonly string[] = [],
): Promise<Examined> {
  const [program = '', ...args]: string[] = [
    ...through,
    process.execPath,
    MAIN,
    'doctor',
    '--output',
    'json',
  ];
  const uid = env['UID'];
  const { code, stdout, stderr } = await run(program, args, {
    cwd: folder,
    ...(uid !== undefined && { uid: Number(uid), gid: Number(uid) }),
    env: {
      PATH: process.env['PATH'] ?? '',
      GATEWAY_DATABASE_URL: `sqlite://${database()}`,
      GATEWAY_SERVER__PORT: '0',
      GATEWAY_PROXY__PORT: '0',
      ...env,
    },
  });
  expect(stderr).toBe('');
  const { healthy, findings } = JSON.parse(stdout) as { healthy: boolean; findings: Finding[] };
  const wrong = findings
    .filter(({ state }) => state !== 'ok')
    .map(({ check, state, detail }) => `${check} ${state}: ${detail}`);
  for (const finding of findings) expect('fix' in finding).toBe(finding.state !== 'ok');
  expect(code).toBe(healthy ? 0 : 1);
  return { code, healthy, findings, wrong: wrong.join('\n') };
}

describe('headgate doctor', () => {
  it('finds nothing wrong on a new machine, changes nothing, and shows it to people', async () => {
    const { healthy, findings } = await doctor();
    expect(healthy).toBe(true);
    const checks = new Set(findings.map(({ check }) => check));
    const expected = ['versions', 'settings', 'descriptors', 'memory', 'kernel', 'clock', 'files', 'disk'];
    expect([...checks]).toEqual([...expected, 'database', 'store']);
    expect((await run('ls', [folder])).stdout).toBe('');
    const text = await run(process.execPath, [MAIN, 'doctor'], {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', GATEWAY_PROXY__PORT: 'x' },
    });
    expect(text.code).toBe(1);
    expect(text.stdout).toMatch(/^ok +versions +Headgate \d/);
    expect(text.stdout).toMatch(
      /^error +settings +Cannot use GATEWAY_PROXY__PORT=.*\n {2,}headgate settings --describe explains /m,
    );
    expect(text.stdout).toMatch(
      /^warning +settings +files, ports, .* were not checked.*\n.*call doctor again\n$/m,
    );
  });

  it('says which process has a port, and names the setting of the port', async () => {
    server = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => server?.once('listening', done));
    const { port } = server.address() as AddressInfo;
    const { wrong, findings } = await doctor({
      GATEWAY_PROXY__HOST: '127.0.0.1',
      GATEWAY_PROXY__TLS__PORT: String(port),
      GATEWAY_PROXY__TLS__CERT_FILE: join(TLS, 'site.pem'),
      GATEWAY_PROXY__TLS__KEY_FILE: join(TLS, 'site-key.pem'),
    });
    expect(wrong).toMatch(`on 127.0.0.1:${port}: another process listens there`);
    // The folder says which gateway it is, when doctor was called in another one.
    expect(wrong).toContain(`process ${process.pid} (node, in the folder ${process.cwd()}) has it`);
    const found = findings.find(({ check, state }) => check === 'ports' && state === 'error');
    expect(found?.fix).toContain('choose another port with GATEWAY_PROXY__TLS__PORT.');
  });

  it('says that an address is not of this machine, and why PostgreSQL and the limit store do not answer', async () => {
    const [ofDatabase, ofStore] = [await freePort(), await freePort()];
    server = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => server?.once('listening', done));
    const { port } = server.address() as AddressInfo;
    const { wrong } = await doctor({
      GATEWAY_SERVER__HOST: '192.0.2.1',
      GATEWAY_SERVER__PORT: String(port),
      GATEWAY_DATABASE_URL: `postgres://me:hunter2@127.0.0.1:${ofDatabase}/headgate`,
      GATEWAY_REDIS_URL: `redis://:hunter3@127.0.0.1:${ofStore}`,
    });
    // Without the process that has the same port at another address.
    expect(wrong.split('\n')).toContain(
      `ports error: management on 192.0.2.1:${port}: this machine does not have that address`,
    );
    expect(wrong).toMatch(
      /database error: Cannot open the database postgres:\/\/127\.0\.0\.1:\d+\/headgate: .*ECONNREFUSED/,
    );
    expect(wrong).toMatch(/store error: redis:\/\/127\.0\.0\.1:\d+(?:\/0)?: .*ECONNREFUSED/);
    expect(wrong).not.toContain('hunter');

    // Something else, or a store that hangs: it accepts connections, and does not answer.
    const silent = {
      GATEWAY_REDIS_URL: `redis://127.0.0.1:${port}`,
      GATEWAY_LIMITS__CONNECT_TIMEOUT_MS: '200',
    };
    expect((await doctor(silent)).wrong).toContain(
      `store error: redis://127.0.0.1:${port}: there is no connection: the server has not answered yet`,
    );
  });

  it('says so when another user owns the folder', async () => {
    mkdirSync(join(folder, 'data'), { mode: 0o700 });
    chmodSync(folder, 0o755);
    const { wrong, healthy } = await doctor({ UID: String(UNPRIVILEGED_ID) });
    expect(healthy).toBe(false);
    expect(wrong).toMatch(/files error: ".*\/data": permission denied/);
  });

  it('says which file of SQLite beside the database another user has left', async () => {
    mkdirSync(join(folder, 'data'));
    chownSync(join(folder, 'data'), UNPRIVILEGED_ID, UNPRIVILEGED_ID);
    chmodSync(folder, 0o755);
    writeFileSync(`${database()}-wal`, '', { mode: 0o600 });
    const { wrong, healthy } = await doctor({ UID: String(UNPRIVILEGED_ID) });
    expect(healthy).toBe(false);
    expect(wrong).toMatch(/files error: ".*headgate\.db-wal": permission denied/);
  });

  it('looks at the files and folders that settings name', async () => {
    const missing = join(folder, 'missing');
    const { wrong, findings } = await doctor({
      GATEWAY_SNAPSHOT_FILE: join(folder, 'none/snapshot'),
      GATEWAY_PROXY__CLIENT_CAS: missing,
      GATEWAY_PROXY__CLIENT_CERTIFICATES: join(TLS, 'ca.pem'),
      GATEWAY_DISCOVERY__FOLDER: missing,
      GATEWAY_OTEL__ENDPOINT: 'http://127.0.0.1:1',
      GATEWAY_OTEL__CA_FILE: missing,
      GATEWAY_OTEL__TRACES_CA_FILE: join(TLS, 'ca.pem'),
    });
    expect(wrong.split('\n').filter((line) => line.startsWith('files'))).toEqual([
      `files error: "${join(folder, 'none')}": it does not exist`,
      `files error: GATEWAY_PROXY__CLIENT_CAS: "${missing}": it does not exist`,
      `files error: GATEWAY_PROXY__CLIENT_CERTIFICATES: "${join(TLS, 'ca.pem')}": it is not a folder`,
      `files warning: GATEWAY_DISCOVERY__FOLDER: "${missing}": it does not exist`,
      `files error: GATEWAY_OTEL__CA_FILE: "${missing}": it does not exist`,
    ]);
    expect(findings.filter(({ check, state }) => check === 'files' && state === 'ok')).toHaveLength(1);
    const file = await doctor({ GATEWAY_CONFIG_FILE: missing, GATEWAY_DATABASE_URL: '' });
    expect(file.wrong).toContain(`files error: GATEWAY_CONFIG_FILE: "${missing}": it does not exist`);
    const config = join(folder, 'config.yaml');
    writeFileSync(config, 'apps:\n  shop: {gateway_pth: "${env:SHOP}"}\n');
    const wrongFile = { GATEWAY_CONFIG_FILE: config, GATEWAY_DATABASE_URL: '' };
    expect((await doctor({ ...wrongFile, SHOP: '/shop' })).wrong).toContain(
      `files error: GATEWAY_CONFIG_FILE: ${config}:2:3: /apps/shop/gateway_path is required, and 1 more problem`,
    );
    expect((await doctor(wrongFile)).wrong).toContain('needs the environment variable SHOP');
  });

  it('looks into the files for collectors, as the start does', async () => {
    const [cert, key] = [join(TLS, 'other.pem'), join(TLS, 'backend-key.pem')];
    const { wrong, healthy } = await doctor({
      GATEWAY_OTEL__ENDPOINT: 'https://127.0.0.1:1',
      GATEWAY_OTEL__CLIENT_CERT_FILE: cert,
      GATEWAY_OTEL__CLIENT_KEY_FILE: key,
    });
    expect(healthy).toBe(false);
    expect(wrong.split('\n').filter((line) => line.startsWith('files'))).toEqual([
      `files error: Cannot use GATEWAY_OTEL__CLIENT_KEY_FILE, or GATEWAY_OTEL__TRACES_CLIENT_KEY_FILE, "${key}": certificate and key do not belong together`,
    ]);
  });

  it('says that the file of the secret key has no key, unless a setting replaces it', async () => {
    mkdirSync(join(folder, 'data'), { mode: 0o700 });
    writeFileSync(join(folder, 'data/secret-key'), 'short', { mode: 0o600 });
    expect((await doctor()).wrong).toMatch(
      /^secret key error: Cannot use the secret key ".*data\/secret-key": the file does not contain a key/m,
    );
    expect((await doctor({ GATEWAY_SECRET_KEY: '1'.repeat(64) })).healthy).toBe(true);
  });

  it('says that the key of the secrets in the database is missing, as after a restore', async () => {
    mkdirSync(join(folder, 'data'), { mode: 0o700 });
    const held = new DatabaseSync(database());
    held.exec('create table schema_migration (name text); create table webhook (id text, secret text)');
    held.exec("insert into webhook values ('1', 'enc:v1:abcdefgh:AAAA')");
    held.close();
    chmodSync(database(), 0o600);
    expect((await doctor()).wrong).toContain('contains encrypted secrets, and there is no key for them');
    writeFileSync(join(folder, 'data/secret-key'), '1'.repeat(64), { mode: 0o600 });
    expect((await doctor()).healthy).toBe(true);
  });

  it('says that the secret key is being changed', async () => {
    const [first, second] = ['1'.repeat(64), '2'.repeat(64)];
    expect((await doctor({ GATEWAY_SECRET_KEY: first })).wrong).not.toContain('secret key');
    const { findings, healthy } = await doctor({ GATEWAY_SECRET_KEY: `${first},${second}` });
    expect(healthy).toBe(true);
    expect(findings.find(({ check }) => check === 'secret key')).toMatchObject({
      state: 'warning',
      detail: 'GATEWAY_SECRET_KEY has 2 keys',
      fix: expect.stringContaining('headgate secrets rekey'),
    });
  });

  it('warns of files that others may read or own, and of a database with a second name', async () => {
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data/admin-token'), 'secret', { mode: 0o644 });
    writeFileSync(database(), '', { mode: 0o600 });
    chownSync(database(), UNPRIVILEGED_ID, UNPRIVILEGED_ID);
    linkSync(database(), join(folder, 'backup.db'));
    const { wrong, healthy } = await doctor();
    expect(healthy).toBe(true);
    expect(wrong).toMatch(/files warning: ".*headgate\.db" has a second name \(a hard link\)/);
    expect(wrong).toMatch(/files warning: other users may use ".*admin-token" \(mode 644\)/);
    expect(wrong).toMatch(/files warning: ".*headgate\.db" belongs to the user 65534, and this is 0/);
  });

  it('distinguishes a database of another program from a newer, an older and a damaged one', async () => {
    mkdirSync(join(folder, 'data'));
    const write = (sql: string): void => {
      rmSync(database(), { force: true });
      using file = new DatabaseSync(database());
      file.exec(sql);
    };
    write('create table other (id)');
    expect((await doctor()).wrong).toMatch(/database error: .*it belongs to another program/);
    const table = 'create table schema_migration (name text, applied_at text);';
    write(`${table} insert into schema_migration values ('9999-later', '')`);
    expect((await doctor()).wrong).toMatch(/database error: .*newer than this program \(9999-later\)/);
    write(`${table} insert into schema_migration values ('0001-initial', '')`);
    expect((await doctor({ GATEWAY_AUTO_MIGRATE: 'false' })).wrong).toMatch(
      /database error: .*lacks 0002-key-usage/,
    );
    expect((await doctor()).wrong).not.toContain('database');
    writeFileSync(database(), 'not a database'.repeat(100));
    expect((await doctor()).wrong).toMatch(/database error: .*file is not a database/);
  });

  it('says that another program has locked the database, which a start then cannot open', async () => {
    mkdirSync(join(folder, 'data'));
    const held = new DatabaseSync(database());
    held.exec('pragma journal_mode = wal; pragma locking_mode = exclusive; create table other (id)');
    expect((await doctor()).wrong).toContain(
      `database error: "${database()}" is locked by process ${process.pid}`,
    );
    held.close();
    expect((await doctor()).wrong).not.toContain('locked');
  });

  it('says how full a store of limits is, and what it refuses', async () => {
    const store = await startRedis(['--maxmemory', '64mb']);
    try {
      const of = async (login: string): Promise<string> =>
        (await doctor({ GATEWAY_REDIS_URL: `redis://${login}127.0.0.1:${store.port}` })).wrong;
      const set = (key: string, value: string): Promise<unknown> =>
        store.command('CONFIG', 'SET', key, value);
      await set('maxmemory-policy', 'noeviction');
      expect(await of('')).not.toContain('store');
      await set('maxmemory-policy', 'allkeys-random');
      expect(await of('')).toMatch(
        /store warning: .* maxmemory-policy is allkeys-random: when it is full, it removes counters that are in use/,
      );
      await set('maxmemory-policy', 'noeviction');
      await set('maxmemory', '1');
      expect(await of('')).toMatch(/store warning: .* of 0\.0 MiB are used \(noeviction\)/);
      await set('maxmemory', '64mb');
      await store.command('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '+@all', '-@scripting');
      expect(await of('reader:wrong@')).toMatch(/store error: .*: WRONGPASS/);
      expect(await of('reader:secret@')).toMatch(/store error: .*: NOPERM/);
      await store.command('ACL', 'SETUSER', 'other', 'on', '>secret', '~other:*', '+@all');
      expect(await of('other:secret@')).toMatch(/store error: .*: NOPERM .*GATEWAY_LIMITS__KEY_PREFIX/);
      await store.command('REPLICAOF', '127.0.0.1', '1');
      expect(await of('')).toMatch(/store error: .*: READONLY .*name the primary in GATEWAY_REDIS_URL/);
      await store.command('REPLICAOF', 'NO', 'ONE');
      await store.command('ACL', 'SETUSER', 'default', '>secret', '-@all');
      await store.command('CONFIG', 'SET', 'requirepass', 'secret');
      expect(await of('')).toMatch(
        /store error: .*; the server wants a password: put it into GATEWAY_REDIS_URL/,
      );
    } finally {
      await store.close();
    }
  });

  it('says that a user of PostgreSQL may only read', { timeout: 60_000 }, async () => {
    const postgres = await startPostgres('fsync=off');
    try {
      const url = await postgres.createDatabase();
      await runToEnd({ GATEWAY_DATABASE_URL: url }, ['migrate']);
      const { searchParams } = new URL(url);
      const schema = /search_path=(\w+)/.exec(searchParams.get('options') ?? '')?.[1] ?? 'public';
      await postgres.query(
        url,
        `create role reader login password 'r'; grant usage on schema ${schema} to reader;
        grant select on all tables in schema ${schema} to reader`,
      );
      const reader = new URL(url);
      reader.username = 'reader';
      const env = { GATEWAY_SECRET_KEY: '0'.repeat(64) };
      expect((await doctor({ ...env, GATEWAY_DATABASE_URL: url })).wrong).not.toContain('database');
      expect((await doctor({ ...env, GATEWAY_DATABASE_URL: reader.href })).wrong).toMatch(
        /database error: Cannot use the database: the user lacks a privilege in it/,
      );
      const webhook = `insert into webhook (id, name, url, events, app_ids, is_active, secret, created_at, updated_at)
        values ('w', 'w', 'http://w.test', '[]', '[]', 1, 'enc:v1:00000000:${'A'.repeat(60)}', '', '')`;
      await postgres.query(url, webhook);
      expect((await doctor({ ...env, GATEWAY_DATABASE_URL: url })).wrong).toMatch(
        /secret key warning: 1 stored value cannot be decrypted \(webhooks\)/,
      );
      const { findings } = await doctor({ GATEWAY_DATABASE_URL: url });
      // Not to look at the host and the password: the server answers.
      expect(findings.find(({ check, state }) => check === 'database' && state === 'error')).toMatchObject({
        detail: expect.stringContaining('it contains encrypted secrets, but there is no key for them'),
        fix: expect.stringContaining('correct what the message names'),
      });
    } finally {
      await postgres.stop();
    }
  });

  it('says that a store which takes connections and says nothing does not answer', async () => {
    server = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => server?.once('listening', done));
    const { port } = server.address() as AddressInfo;
    const env = { GATEWAY_REDIS_URL: `redis://127.0.0.1:${port}`, GATEWAY_LIMITS__CONNECT_TIMEOUT_MS: '300' };
    expect((await doctor(env)).wrong).toMatch(/store error: /);
  });

  it('finds too few descriptors', async () => {
    const { wrong, healthy } = await doctor({}, ['sh', '-c', 'ulimit -n 64 && exec "$0" "$@"']);
    expect(healthy).toBe(false);
    expect(wrong).toContain('descriptors error: the process may have 64 file descriptors');
  });

  it('finds a certificate that has ended, and one without its key', async () => {
    const of = (cert: string, key: string): Record<string, string> => ({
      GATEWAY_PROXY__TLS__CERT_FILE: join(TLS, cert),
      GATEWAY_PROXY__TLS__KEY_FILE: join(TLS, key),
    });
    expect((await doctor(of('expired.pem', 'expired-key.pem'))).wrong).toMatch(
      /certificates error: .*expired/,
    );
    expect((await doctor(of('site.pem', 'other-key.pem'))).wrong).toMatch(
      /certificates error: Cannot use the certificate/,
    );
    expect((await doctor(of('missing.pem', 'other-key.pem'))).wrong).toMatch(
      /certificates error: Cannot read/,
    );
  });

  it('finds that the clock has gone back', async () => {
    mkdirSync(join(folder, 'data'));
    writeFileSync(database(), '', { mode: 0o600 });
    const tomorrow = Date.now() / 1_000 + 86_400;
    utimesSync(database(), tomorrow, tomorrow);
    expect((await doctor()).wrong).toMatch(/clock error: it is .*headgate\.db" was written at/);
  });

  it('finds no problem while a gateway runs with these settings', async () => {
    const ports = { management: await freePort(), proxy: await freePort() };
    const gateway = await startGateway({
      folder,
      ports,
      env: { GATEWAY_DATABASE_URL: `sqlite://${database()}` },
    });
    try {
      const { findings, healthy } = await doctor({
        GATEWAY_SERVER__PORT: String(ports.management),
        GATEWAY_PROXY__HOST: '127.0.0.1',
        GATEWAY_PROXY__PORT: String(ports.proxy),
      });
      expect(healthy).toBe(true);
      const details = findings.map(({ detail }) => detail).join('\n');
      expect(details).toContain(`the running gateway (process ${gateway.process.pid})`);
      expect(details).toContain(`is served by process ${gateway.process.pid}`);
      // As in another container with the same volume.
      rmSync(database().replace(/\.db$/, '.pid'));
      const unseen = (await doctor()).findings.find(({ check }) => check === 'database');
      expect(unseen?.detail).toContain('is served by a gateway whose process cannot be seen from here');
    } finally {
      expect(await gateway.stop()).toBe(0);
    }
  });
});
