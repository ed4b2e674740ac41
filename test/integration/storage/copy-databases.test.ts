/**
 * `headgate copy` between SQLite files and a real PostgreSQL server: everything arrives, in both directions and also
 * while the gateway writes on; and whatever goes wrong leaves the target empty.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  everythingOf,
  fillGateway,
  makeKeys,
  useCredentials,
  type Credentials,
} from '../../scenarios/copying.ts';
import { MAIN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { SECRET } from '../../support/data/jwts.ts';
import { startPostgres, type PostgresServer } from '../../support/programs/postgres.ts';
import { createService } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const TIMEOUT_MS = 90_000;
const SECRET_KEY = '0123456789abcdef'.repeat(4);
const TABLES = [
  'app',
  'version',
  'revision',
  'endpoint',
  'api_key',
  'key_usage',
  'admin_token',
  'audit_entry',
];

const folder = mkdtempSync(join(tmpdir(), 'headgate-copy-'));
/** In a folder of its own, with the key file that its making leaves there. */
const MANY = join(folder, 'many', 'many.db');
const KEYS = 12_000;
const sqlite = (name: string): string => `sqlite://${join(folder, name)}`;
const env = { GATEWAY_SECRET_KEY: SECRET_KEY, GATEWAY_SNAPSHOT_FILE: 'off' };

let server: PostgresServer;
let origin: Origin;
let gateway: TestGateway;
let credentials: Credentials;
beforeAll(async () => {
  [server, origin, gateway] = await Promise.all([
    startPostgres('fsync=off'),
    startOrigin(),
    startGateway({ folder, env }),
  ]);
  credentials = await fillGateway(gateway, origin.port);
});
afterAll(async () => {
  await gateway?.stop();
  await server?.stop();
  await origin?.close();
  rmSync(folder, { recursive: true, force: true });
});

const copy = (from: string, to: string, more: Readonly<Record<string, string>> = env) =>
  runToEnd(more, ['copy', '--from', from, '--to', to], { cwd: folder });

const checksums = (output: string): string[] =>
  [...output.matchAll(/^SHA-256 of the (?:source|target): ([0-9a-f]{64})$/gm)].map(
    ([, digits = '']) => digits,
  );

/** Rows of all tables of a Postgres database, without those that every new one has. */
async function rowsIn(url: string): Promise<number> {
  const count = TABLES.map((table) => `(select count(*) from ${table})`).join(' + ');
  const [row] = await server.query(url, `select ${count} + config_version as rows from config_state`);
  return Number(row?.['rows']);
}

test(
  'everything arrives on PostgreSQL and in a new file again, and the same credentials work there',
  async () => {
    const expected = {
      key: 200,
      noScope: 403,
      rotated: 200,
      beforeRotation: 200,
      wrongKey: 401,
      jwt: 200,
      wrongJwt: 401,
      viewer: 200,
    };
    expect(await useCredentials(gateway, credentials)).toEqual(expected);
    // Counts of keys are written every two seconds; nothing must come after the copy.
    await expect
      .poll(async () => JSON.stringify(await everythingOf(gateway)), { interval: 500 })
      .toMatch(/"allowed":2.*"allowed":1|"allowed":1.*"allowed":2/);
    const before = await everythingOf(gateway);
    const url = await server.createDatabase();

    const there = await copy(sqlite('headgate.db'), url);
    expect(there.output).toMatch(/^Rows: app 3, app_host 2, version 4, revision 4, endpoint 1, api_key 2, /m);
    expect(there.code).toBe(0);
    const [source = '', target] = checksums(there.output);
    expect(target).toBe(source);
    const back = await copy(url, sqlite('back.db'));
    expect(checksums(back.output)).toEqual([source, source]);

    for (const [name, moved] of [
      ['postgres', url],
      ['file', sqlite('back.db')],
    ] as const) {
      const other = await startGateway({ folder, env: { ...env, GATEWAY_DATABASE_URL: moved } });
      try {
        expect(await everythingOf(other), name).toEqual(before);
        expect(await useCredentials(other, credentials), name).toEqual(expected);
        const { body } = await other.api('PATCH', '/apps/shop', { name: 'on' });
        expect(body.status, name).toBe(200);
      } finally {
        await other.stop();
      }
    }
  },
  TIMEOUT_MS,
);

test(
  'a copy is of one moment while the gateway writes on',
  async () => {
    let done = false;
    let writes = 0;
    const writing = (async () => {
      for (; !done && writes < 5_000; writes++) {
        await gateway.must('POST', '/apps/shop/tokens', { name: `k${writes}`, scopes: [] });
      }
    })();
    const url = await until(async () => {
      const [target, before] = [await server.createDatabase(), writes];
      const { code, output } = await copy(sqlite('headgate.db'), target);
      expect(code, output).toBe(0);
      // On a busy machine the gateway may not have come to any meanwhile.
      return writes > before + 3 && target;
    }).finally(() => (done = true));
    await writing;
    const [row] = await server.query(
      url,
      "select config_version, (select max(config_version) from audit_entry) as last, (select count(*) from audit_entry where action = 'token.create') as made, (select count(*) from api_key) as keys from config_state",
    );
    expect(row?.['last']).toBe(row?.['config_version']);
    expect(row?.['made']).toBe(row?.['keys']);
  },
  TIMEOUT_MS,
);

test(
  'a target that is not empty is refused, and not changed',
  async () => {
    const url = await server.createDatabase();
    expect((await runToEnd({ ...env, GATEWAY_DATABASE_URL: url }, ['migrate'], { cwd: folder })).code).toBe(
      0,
    );
    await server.query(
      url,
      "insert into admin_token (id, name, role, token_prefix, token_hash, created_at, updated_at) values ('x', 'x', 'admin', 'x', 'x', 'x', 'x')",
    );
    const refused = await copy(sqlite('headgate.db'), url);
    expect(refused.output).toMatch(/Cannot copy to postgres:.*it is not empty \(1 row in admin_token\)/);
    expect(refused.code).toBe(1);
    expect(await rowsIn(url)).toBe(1);
    await server.query(url, 'delete from admin_token; update config_state set config_version = 3');
    expect((await copy(sqlite('headgate.db'), url)).output).toMatch(/it is not empty \(config version 3\)/);
    const backwards = await copy(url, sqlite('headgate.db'));
    expect(backwards.output).toMatch(/Cannot write to ".*headgate\.db": a gateway serves it/);
    expect(backwards.code).toBe(1);
    // What a gateway on an empty database records of itself is replaced.
    await server.query(
      url,
      "update config_state set config_version = 0; insert into event (id, type, at, subject_kind, subject_id, subject_name, data) values ('x', 'node.joined', 'x', 'node', 'x', 'x', '{}'); insert into key_sweep (name, until) values ('expiry', 'x')",
    );
    const replaced = await copy(sqlite('headgate.db'), url);
    expect([replaced.code, replaced.output]).toEqual([0, expect.not.stringContaining('Cannot')]);
  },
  TIMEOUT_MS,
);

test(
  'a target that changes what it is given keeps nothing of it',
  async () => {
    const url = await server.createDatabase();
    await runToEnd({ ...env, GATEWAY_DATABASE_URL: url }, ['migrate'], { cwd: folder });
    await server.query(
      url,
      "create function other() returns trigger language plpgsql as $$ begin new.name := 'other'; return new; end $$; create trigger other before insert on admin_token for each row execute function other()",
    );
    const changed = await copy(sqlite('headgate.db'), url);
    expect(changed.output).toMatch(
      /it has stored something else than was sent \(checksum [0-9a-f]{64} instead of [0-9a-f]{64}\)/,
    );
    expect(changed.code).toBe(1);
    expect(await rowsIn(url)).toBe(0);
    await server.query(
      url,
      'drop trigger other on admin_token; create rule other as on insert to admin_token do instead nothing',
    );
    expect((await copy(sqlite('headgate.db'), url)).output).toMatch(/admin_token has 0 rows instead of 1/);
    expect(await rowsIn(url)).toBe(0);
  },
  TIMEOUT_MS,
);

/**
 * A copy of the many keys to a new place each time, in the middle of which something is done; resolves when it was in
 * time, which on a busy machine it may not be: with the place, how the copy ended, and what it has said.
 */
function interrupted(
  from: string,
  newPlace: () => string | Promise<string>,
  interrupt: (child: ChildProcess, to: string) => unknown,
): Promise<{ readonly to: string; readonly end: unknown; readonly text: string }> {
  return until(async () => {
    const to = await newPlace();
    const child = spawn(process.execPath, [MAIN, 'copy', '--from', from, '--to', to], { env });
    let text = '';
    const ended = new Promise<unknown>((done) => child.once('close', (code, signal) => done(signal ?? code)));
    await new Promise<void>((done) => {
      child.stderr.on('data', (chunk: Buffer) => {
        text += String(chunk);
        if (text.includes('api_key: ')) done();
      });
      child.once('exit', () => done());
    });
    await interrupt(child, to);
    const end = await ended;
    return end === 0 ? undefined : { to, end, text };
  });
}

test(
  'a copy that is killed on its way leaves the target empty for the next one',
  async () => {
    await makeKeys(MANY, KEYS);
    const kill = (child: ChildProcess): unknown => child.kill('SIGKILL');
    const onServer = await interrupted(`sqlite://${MANY}`, () => server.createDatabase(), kill);
    expect(onServer.end).toBe('SIGKILL');
    await expect.poll(() => rowsIn(onServer.to)).toBe(0);
    await expectCopied(`sqlite://${MANY}`, onServer.to);
    let files = 0;
    const inFile = await interrupted(onServer.to, () => sqlite(`killed-${(files += 1)}.db`), kill);
    expect(inFile.end).toBe('SIGKILL');
    await expectCopied(onServer.to, inFile.to);
  },
  TIMEOUT_MS,
);

async function expectCopied(from: string, to: string): Promise<void> {
  const { code, output } = await copy(from, to);
  expect(code, output).toBe(0);
  expect(output).toMatch(new RegExp(`api_key ${KEYS},`));
}

test(
  'a connection that is lost on the way is reported, and nothing was copied',
  async () => {
    const { to, end, text } = await interrupted(
      `sqlite://${MANY}`,
      () => server.createDatabase(),
      (_child, url) =>
        server.query(
          url,
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'headgate' and datname = current_database()",
        ),
    );
    expect(end).toBe(1);
    expect(text).toMatch(/^headgate: postgres:\/\/127.0.0.1:\d+\/\w+: Cannot use the database/m);
    expect(await rowsIn(to)).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  'databases that cannot be meant are refused in words, without a password',
  async () => {
    const missing = await copy(sqlite('missing.db'), sqlite('new.db'));
    expect(missing.output).toMatch(/Cannot copy from ".*missing\.db": it does not exist/);
    expect(missing.code).toBe(1);
    expect(existsSync(join(folder, 'missing.db'))).toBe(false);
    expect((await copy(sqlite('headgate.db'), sqlite('headgate.db'))).output).toMatch(
      /are the same database/,
    );
    expect((await runToEnd(env, ['copy'], { cwd: folder })).output).toMatch(
      /neither --from nor --to is given/,
    );
    const unreachable = await copy(sqlite('headgate.db'), 'postgres://me:a-password@127.0.0.1:1/x');
    expect(unreachable.output).toMatch(/postgres:\/\/127\.0\.0\.1:1\/x: Cannot .*ECONNREFUSED/);
    expect(unreachable.output).not.toContain('a-password');
    expect(unreachable.code).toBe(1);

    // The database of the settings is another one, which has no part in this.
    const elsewhere = { GATEWAY_DATABASE_URL: 'postgres://127.0.0.1:1/x' };
    for (const to of ['postgres://db/x?sslmode=prefer', 'postgres://me:pass/word@db/x']) {
      const refused = await copy(sqlite('headgate.db'), to, elsewhere);
      expect(refused.output).toMatch(/^headgate: Cannot use --to: [^\n]+\n$/);
    }

    copyFileSync(MANY, join(folder, 'behind.db'));
    const db = new DatabaseSync(join(folder, 'behind.db'));
    db.exec("delete from schema_migration where name > '0001-initial'");
    db.close();
    const behind = await copy(sqlite('behind.db'), sqlite('new.db'));
    expect(behind.output).toMatch(
      /its schema is out of date \(0002-key-usage.*copy it with the version of Headgate that it belongs to, or run `headgate migrate`/,
    );
    expect(behind.code).toBe(1);
  },
  TIMEOUT_MS,
);

test(
  'secrets keep their key: a different key is refused, and a key that must be copied is named',
  async () => {
    const url = await server.createDatabase();
    const other = await copy(sqlite('headgate.db'), url, { GATEWAY_SECRET_KEY: 'f'.repeat(64) });
    expect(other.output).toMatch(/not encrypted with the key of GATEWAY_SECRET_KEY/);
    expect(other.code).toBe(1);
    const without = await copy(sqlite('headgate.db'), url, {});
    expect(without.output).toMatch(/it contains encrypted secrets, but there is no key for them/);
    expect(without.code).toBe(1);

    const home = mkdtempSync(join(folder, 'own-key-'));
    const own = await startGateway({ folder: home });
    await createService(own, 'signed', origin.port, {
      app: { default_policy: { auth: { auth_type: 'jwt', jwt: { secret: SECRET } } } },
    });
    await own.stop();
    const moved = await copy(`sqlite://${join(home, 'headgate.db')}`, url, {});
    expect(moved.output).toMatch(
      /Encrypted secrets: 1\. They stay encrypted with the key of the file ".*secret-key": set GATEWAY_SECRET_KEY to it/,
    );
    expect(moved.code).toBe(0);
  },
  TIMEOUT_MS,
);
