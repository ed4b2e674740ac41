/**
 * Contract part 1 GATEWAY_DATABASE_URL and GATEWAY_AUTO_MIGRATE through the program: the forms of the URL, what is made
 * at the first start, migrations by command, and databases that cannot be used, each of which ends the start with one
 * plain message and is left as it was.
 */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runToEnd, startGateway, type RunOptions } from '../../support/gateway.ts';
import { callPlain, expectData } from '../../support/management.ts';

const NOBODY = 65_534;
/** Each test starts the program up to four times. */
const SLOW = { timeout: 90_000 } as const;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-database-'));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = (...names: string[]): string => join(folder, ...names);

/** `headgate migrate` with a database URL. */
function migrate(url: string, options: RunOptions = {}): ReturnType<typeof runToEnd> {
  return runToEnd({ GATEWAY_DATABASE_URL: url }, ['migrate'], options);
}

/** The one message of a start that must fail. */
async function startMessage(path: string, env: Record<string, string> = {}, uid?: number): Promise<string> {
  const settings = {
    GATEWAY_DATABASE_URL: `sqlite://${path}`,
    GATEWAY_PROXY__HOST: '127.0.0.1',
    GATEWAY_WORKERS: '1',
    ...env,
  };
  const { code, output } = await runToEnd(settings, [], uid === undefined ? {} : { uid });
  expect(code, output).toBe(1);
  const lines = output.trimEnd().split('\n');
  expect(lines, 'one plain line, no stack').toHaveLength(1);
  expect(lines[0]).toMatch(/^headgate: Cannot /);
  return lines[0] ?? '';
}

describe('spec 1: the forms of GATEWAY_DATABASE_URL', SLOW, () => {
  it.each([
    ['sqlite://relative/a.db', () => at('relative', 'a.db')],
    ['sqlite://<folder>/absolute/b.db', () => at('absolute', 'b.db')],
    ['sqlite:c.db?mode=rwc', () => at('c.db')],
    ['file:data/d.db', () => at('data', 'd.db')],
    ['SQLITE:with%20space/e.db', () => at('with space', 'e.db')],
  ])('%s', async (url, path) => {
    const { code, output } = await migrate(url.replace('<folder>', folder), { cwd: folder });
    expect([code, output]).toEqual([0, expect.stringMatching(/^Applied 0001-initial/)]);
    expect(statSync(path()).isFile()).toBe(true);
    expect(statSync(path()).mode & 0o777, 'for its owner only').toBe(0o600);
  });

  it('sqlite://:memory: starts a gateway that keeps nothing', async () => {
    const gateway = await startGateway({ env: { GATEWAY_DATABASE_URL: 'sqlite://:memory:' } });
    try {
      expect(expectData(await callPlain(gateway, {}, 'GET', '/health')).db).toBe('ok');
      const app = { name: 'x', slug: 'x', gateway_path: '/x' };
      expectData(await gateway.api('POST', '/apps', app), 201);
      expect(statSync(gateway.folder).nlink, 'no folder was made').toBe(2);
    } finally {
      await gateway.stop();
    }
  });

  it.each(['sqlite://', 'sqlite://a%zz', 'sqlserver://x'])(
    '%s stops the start and names the variable',
    async (url) => {
      const { code, output } = await migrate(url, { cwd: folder });
      expect(code).toBe(1);
      expect(output).toMatch(/^headgate: Cannot use GATEWAY_DATABASE_URL.*expected.*sqlite:\/\//);
    },
  );
});

describe('spec 1: GATEWAY_AUTO_MIGRATE', SLOW, () => {
  it('false on a fresh database stops the start with the command to run, which then helps', async () => {
    const path = at('manual.db');
    const manual = { GATEWAY_AUTO_MIGRATE: 'false' };
    const message = await startMessage(path, manual);
    expect(message).toMatch(
      /its schema is out of date \(0001-initial.* not applied\); run `headgate migrate`/,
    );
    expect(message).toContain(path);

    const first = await migrate(`sqlite://${path}`);
    expect([first.code, first.output]).toEqual([0, expect.stringMatching(/^Applied 0001-initial/)]);
    const second = await migrate(`sqlite://${path}`);
    expect([second.code, second.output]).toEqual([0, expect.stringMatching(/up to date/)]);

    const gateway = await startGateway({ env: { ...manual, GATEWAY_DATABASE_URL: `sqlite://${path}` } });
    expect(expectData(await callPlain(gateway, {}, 'GET', '/health')).db).toBe('ok');
    expect(await gateway.stop()).toBe(0);
  });

  it('true (and unset, on SQLite) migrates at start, in folders that are made on the way; data survives', async () => {
    const path = at('new', 'folders', 'auto.db');
    const app = { name: 'x', slug: 'kept', gateway_path: '/kept' };
    for (const [autoMigrate, status] of [
      ['true', 201],
      ['', 409],
    ] as const) {
      const env = { GATEWAY_DATABASE_URL: `sqlite://${path}`, GATEWAY_AUTO_MIGRATE: autoMigrate };
      const gateway = await startGateway({ env });
      expect((await gateway.api('POST', '/apps', app)).status).toBe(status);
      expect(await gateway.stop()).toBe(0);
    }
    expect(statSync(at('new', 'folders')).mode & 0o777, 'for its owner only').toBe(0o700);
  });
});

describe('a database that cannot be used ends the start with one plain message', SLOW, () => {
  it('a folder in its place', async () => {
    mkdirSync(at('folder.db'));
    expect(await startMessage(at('folder.db'))).toMatch(
      /Cannot open the database ".*folder\.db": it is a folder; expected/,
    );
  });

  it('a file in the place of its folder', async () => {
    writeFileSync(at('file'), 'x');
    expect(await startMessage(at('file', 'x.db'))).toMatch(
      /Cannot create the database folder ".*file": .*; expected a folder/,
    );
  });

  it.runIf(process.platform === 'linux')('a folder in which nothing can be made', async () => {
    expect(await startMessage('/proc/whatever/x.db')).toBe(
      'headgate: Cannot create the database folder "/proc/whatever": nothing can be created in "/proc"; expected a folder that Headgate may write',
    );
  });

  it('a folder that may not be written', async () => {
    mkdirSync(at('locked'), { mode: 0o555 });
    const message = await startMessage(at('locked', 'x.db'), {}, NOBODY);
    expect(message).toMatch(
      /Cannot write the database folder ".*locked": permission denied; expected a folder/,
    );
  });

  it('a folder that may not be read, in which a lost database could not be told from a new one', async () => {
    mkdirSync(at('closed'), { mode: 0o700 });
    const message = await startMessage(at('closed', 'x.db'), {}, NOBODY);
    expect(message).toMatch(
      /^headgate: Cannot look for the snapshot file ".*x\.db\.snapshot": permission denied; expected a folder/,
    );
  });

  it('a file of SQLite beside it that another user has left', async () => {
    mkdirSync(at('left'));
    chmodSync(at('left'), 0o777);
    writeFileSync(at('left', 'x.db-shm'), '', { mode: 0o600 });
    const message = await startMessage(at('left', 'x.db'), {}, NOBODY);
    expect(message).toMatch(/Cannot open ".*x\.db-shm": permission denied; expected a file of the user of/);
  });

  it('a file that may not be written', async () => {
    mkdirSync(at('read-only'));
    chmodSync(at('read-only'), 0o777);
    writeFileSync(at('read-only', 'x.db'), '', { mode: 0o444 });
    const message = await startMessage(at('read-only', 'x.db'), {}, NOBODY);
    expect(message).toMatch(/Cannot open the database ".*x\.db": permission denied; expected a file/);
  });

  it('a file that is not a database, which is not changed', async () => {
    const text = 'these are my notes\n'.repeat(500);
    writeFileSync(at('notes.txt'), text);
    expect(await startMessage(at('notes.txt'))).toMatch(/the file is not an SQLite database; expected/);
    expect(readFileSync(at('notes.txt'), 'utf8')).toBe(text);
  });

  it('a corrupt database', async () => {
    expect((await migrate(`sqlite://${at('corrupt.db')}`)).code).toBe(0);
    const bytes = readFileSync(at('corrupt.db'));
    bytes.fill(0xa5, 4096, 4096 * 6);
    writeFileSync(at('corrupt.db'), bytes);
    expect(await startMessage(at('corrupt.db'))).toMatch(
      /Cannot open the database ".*": the file is corrupt/,
    );
  });

  it('a database of another program, which is not changed', async () => {
    const db = new DatabaseSync(at('other.db'));
    db.exec('create table notes (text)');
    db.close();
    const before = readFileSync(at('other.db'));
    expect(await startMessage(at('other.db'))).toMatch(/it contains tables of another program/);
    expect(readFileSync(at('other.db')).equals(before)).toBe(true);
  });

  it('a schema that is newer than the program, which neither start nor migrate changes', async () => {
    expect((await migrate(`sqlite://${at('newer.db')}`)).code).toBe(0);
    const db = new DatabaseSync(at('newer.db'));
    db.exec(
      "insert into schema_migration (name, applied_at) values ('9999-future', '2099-01-01T00:00:00.000Z')",
    );
    db.close();
    for (const autoMigrate of ['true', 'false']) {
      const message = await startMessage(at('newer.db'), { GATEWAY_AUTO_MIGRATE: autoMigrate });
      expect(message).toMatch(/its schema is newer than this program \(it has 9999-future\); expected/);
    }
    const { code, output } = await migrate(`sqlite://${at('newer.db')}`);
    expect([code, output]).toEqual([1, expect.stringMatching(/newer than this program/)]);
  });
});
