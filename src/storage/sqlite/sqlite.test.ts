import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import { assert } from '../../lib/assert.ts';
import { systemClock } from '../../lib/clock.ts';
import { MIGRATIONS } from '../migrate.ts';
import type { Repository } from '../repository.ts';
import { SchemaBehind, StorageUnavailable } from '../storage-errors.ts';
import { migrateSqlite, openSqlite } from './sqlite.ts';

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-sqlite-'));
  path = join(folder, 'headgate.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (at = path, autoMigrate = true): Promise<Repository> =>
  openSqlite({ secretPlaces: SECRET_PLACES, path: at, autoMigrate, clock: systemClock });

async function openAndClose(at = path, autoMigrate = true): Promise<void> {
  await (await open(at, autoMigrate)).close();
}

/** The message of the start error; fails the test if there is none or it is of another kind. */
async function startError(at = path, autoMigrate = true): Promise<string> {
  const result = await open(at, autoMigrate).catch((error: unknown) => error);
  expect(result).toBeInstanceOf(StorageUnavailable);
  return (result as StorageUnavailable).message;
}

const modeOf = (at: string): string => (statSync(at).mode & 0o777).toString(8);
const write = (repository: Repository) =>
  repository.write(async () => ({ value: 0, touched: { appIds: ['x'], versionIds: [], keyIds: [] } }));

function inDatabase<T>(work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

describe('a new database', () => {
  test('is made with its folders, readable only by the owner', async () => {
    const deep = join(folder, 'a', 'b', 'headgate.db');
    const repository = await open(deep);
    expect(modeOf(join(folder, 'a'))).toBe('700');
    for (const name of readdirSync(join(folder, 'a', 'b'))) {
      expect([name, modeOf(join(folder, 'a', 'b', name))]).toEqual([name, '600']);
    }
    expect(existsSync(`${deep}-wal`), 'the log is beside it').toBe(true);
    await repository.close();
    expect(readdirSync(join(folder, 'a', 'b')).sort(), 'closing leaves no log').toEqual([
      'headgate.db',
      'secret-key',
    ]);
  });

  test('keeps its content when closed and opened again', async () => {
    const first = await open();
    await write(first);
    await first.close();
    const second = await open();
    expect(await second.loadAll()).toMatchObject({ configVersion: 1 });
    await second.close();
  });

  test('uses a write-ahead log and checks foreign keys', async () => {
    const repository = await open();
    expect(inDatabase((db) => db.prepare('pragma journal_mode').get())).toEqual({ journal_mode: 'wal' });
    const orphan = repository.write((writer) =>
      writer
        .insertEndpoint({
          id: 'e',
          revision_id: 'none',
          method: 'GET',
          path: '/',
          backend_path: null,
          policy_override: null,
          is_active: true,
          created_at: '',
          updated_at: '',
        })
        .then(() => ({ abort: 0 })),
    );
    await expect(orphan).rejects.toThrow(/FOREIGN KEY/);
    await repository.close();
  });
});

describe('the schema', () => {
  test('is migrated by the command, once', async () => {
    const names = MIGRATIONS.map(({ name }) => name);
    expect(await migrateSqlite({ secretPlaces: SECRET_PLACES, path, clock: systemClock })).toEqual({
      applied: names,
    });
    expect(await migrateSqlite({ secretPlaces: SECRET_PLACES, path, clock: systemClock })).toEqual({
      applied: [],
    });
    await openAndClose(path, false);
    const recorded = inDatabase((db) => db.prepare('select name from schema_migration').all());
    expect(recorded.map((row) => row['name'])).toEqual(names);
  });

  test('with an old schema stops the start and names the command, if migration is off', async () => {
    expect(await startError(path, false)).toMatch(
      /^Cannot open the database ".*headgate\.db": its schema is out of date \(0001-initial.* not applied\); run `headgate migrate`/,
    );
    await expect(open(path, false)).rejects.toBeInstanceOf(SchemaBehind);
    inDatabase((db) => {
      expect(db.prepare('select * from sqlite_schema').all(), 'nothing was made').toEqual([]);
    });
  });

  test.each([true, false])(
    'with a newer schema stops the start and is not changed (autoMigrate %s)',
    async (auto) => {
      await openAndClose();
      inDatabase((db) =>
        db.exec("insert into schema_migration values ('9999-future', '2099-01-01T00:00:00.000Z')"),
      );
      const before = readFileSync(path);
      expect(await startError(path, auto)).toMatch(
        /its schema is newer than this program \(it has 9999-future\)/,
      );
      await expect(migrateSqlite({ secretPlaces: SECRET_PLACES, path, clock: systemClock })).rejects.toThrow(
        /newer than this program/,
      );
      expect(readFileSync(path).equals(before)).toBe(true);
    },
  );

  test('is migrated once by two simultaneous starts', async () => {
    const both = await Promise.all([open(), open()]);
    for (const repository of both) {
      expect(await repository.loadAll()).toMatchObject({ configVersion: 0 });
      await repository.close();
    }
  });
});

describe('a path that cannot be a database file stops the start', () => {
  test('a folder', async () => {
    expect(await startError(folder)).toMatch(
      /^Cannot open the database ".*": it is a folder; expected a file that/,
    );
  });

  test('a file as a folder', async () => {
    writeFileSync(join(folder, 'file'), '');
    expect(await startError(join(folder, 'file', 'headgate.db'))).toMatch(
      /^Cannot create the database folder ".*file": something else has this name; expected a folder that/,
    );
  });

  test('a device', async () => {
    expect(await startError('/dev/null')).toMatch(
      /^Cannot open the database "\/dev\/null": it is not a file/,
    );
  });

  test('a loop of links', async () => {
    symlinkSync(path, path);
    expect(await startError()).toMatch(/^Cannot open the database ".*": it is a loop of symbolic links/);
  });

  test('a file or a folder without permission', () => {
    const [locked, readOnly, secret] = ['locked', 'read-only', 'secret'].map((name) => join(folder, name));
    assert(locked !== undefined && readOnly !== undefined && secret !== undefined, 'three folders');
    for (const at of [locked, readOnly, secret]) mkdirSync(at);
    for (const at of [readOnly, secret]) writeFileSync(join(at, 'headgate.db'), '');
    chmodSync(folder, 0o755);
    chmodSync(locked, 0o555);
    chmodSync(readOnly, 0o777);
    chmodSync(join(readOnly, 'headgate.db'), 0o444);
    chmodSync(secret, 0o777);
    chmodSync(join(secret, 'headgate.db'), 0o000);
    expect(openAsNobody([locked, readOnly, secret].map((at) => join(at, 'headgate.db')))).toEqual([
      expect.stringMatching(
        /^StorageUnavailable: Cannot write the database folder ".*locked": permission denied; /,
      ),
      expect.stringMatching(
        /^StorageUnavailable: Cannot open the database ".*only.headgate.db": permission denied; /,
      ),
      expect.stringMatching(
        /^StorageUnavailable: Cannot open the database ".*cret.headgate.db": permission denied; /,
      ),
    ]);
  });
});

/** Opens each path in a process without root rights, since root may write everywhere; returns the outcomes. */
function openAsNobody(paths: readonly string[]): string[] {
  const script = `
    import { openSqlite } from ${JSON.stringify(new URL('./sqlite.ts', import.meta.url).href)};
    const clock = { nowMs: () => 0, monotonicMs: () => 0 };
    for (const path of ${JSON.stringify(paths)}) {
      const outcome = await openSqlite({ secretPlaces: ${JSON.stringify(SECRET_PLACES)}, path, autoMigrate: true, clock }).catch((error) => error);
      console.log(String(outcome));
    }`;
  const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const options = { ...unprivileged, encoding: 'utf8' } as const;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], options);
  return output.trim().split('\n');
}

describe('an invalid database file stops the start', () => {
  test('another kind of file, which is not changed', async () => {
    const text = 'these are my notes, not a database\n'.repeat(100);
    writeFileSync(path, text);
    expect(await startError()).toMatch(
      /^Cannot open the database ".*": the file is not an SQLite database; expected an undamaged SQLite database/,
    );
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('a database of another program, which is not changed', async () => {
    inDatabase((db) => db.exec('create table notes (text)'));
    const before = readFileSync(path);
    expect(await startError()).toMatch(/it contains tables of another program/);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('a database with overwritten pages', async () => {
    await openAndClose();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 4096, 4096 * 6);
    writeFileSync(path, bytes);
    expect(await startError()).toMatch(/^Cannot open the database ".*": the file is corrupt/);
  });

  test('a truncated database', async () => {
    await openAndClose();
    writeFileSync(path, readFileSync(path).subarray(0, 4096 * 3));
    expect(await startError()).toMatch(/^Cannot open the database ".*": the file is corrupt/);
  });
});

describe('a database that goes away while it is open is unavailable', () => {
  test('deleted: no write is acknowledged', async () => {
    const repository = await open();
    await write(repository);
    rmSync(path);
    const message =
      /^Cannot use the database ".*": it does not exist; expected the file that was opened at start, in the folder ".*"$/;
    await expect(write(repository)).rejects.toThrow(message);
    await expect(repository.ping()).rejects.toThrow(message);
    await expect(repository.loadAll()).rejects.toBeInstanceOf(StorageUnavailable);
    await repository.close();
  });

  test('deleted while a write runs', async () => {
    const repository = await open();
    const running = repository.write(async () => {
      rmSync(path);
      return { value: 0, touched: { appIds: ['x'], versionIds: [], keyIds: [] } };
    });
    await expect(running).rejects.toBeInstanceOf(StorageUnavailable);
    await repository.close();
  });

  test('replaced by another', async () => {
    const repository = await open();
    renameSync(path, `${path}.old`);
    await openAndClose();
    await expect(write(repository)).rejects.toThrow(/its file was replaced by another; restart Headgate/);
    await repository.close();
  });

  test('moved away and back: works again', async () => {
    const repository = await open();
    renameSync(path, `${path}.moved`);
    await expect(write(repository)).rejects.toBeInstanceOf(StorageUnavailable);
    renameSync(`${path}.moved`, path);
    expect(await write(repository)).toMatchObject({ configVersion: 1 });
    await repository.close();
  });

  test('locked by another process: writes wait for it without blocking the thread', async () => {
    const repository = await open();
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    let ended = false;
    const waiting = write(repository).finally(() => {
      ended = true;
    });
    expect(await repository.loadAll(), 'reads go on').toMatchObject({ configVersion: 0 });
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(ended).toBe(false);
    other.exec('rollback');
    other.close();
    expect(await waiting).toMatchObject({ configVersion: 1 });
    await repository.close();
  });

  test('locked by another process for too long: writes are refused until the lock is released', async () => {
    const repository = await open();
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    await expect(write(repository)).rejects.toThrow(
      /^Cannot use the database: another process holds a lock on it/,
    );
    other.exec('rollback');
    other.close();
    expect(await write(repository)).toMatchObject({ configVersion: 1 });
    await repository.close();
  });
});
