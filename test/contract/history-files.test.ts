/**
 * The history in files and over time: databases of older programs, secrets, another secret key, copies, and gateways
 * that share a database. What every database does is in repository-history.ts.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { HISTORY_DEFAULTS } from '../../src/model/history/config-history.ts';
import { SECRET_PLACES } from '../../src/policy/secret-places.ts';
import { copyDatabase } from '../../src/storage/copy/copy.ts';
import { openSqliteSource, openSqliteTarget } from '../../src/storage/copy/sqlite-end.ts';
import { openPostgres, POSTGRES_DEFAULTS } from '../../src/storage/postgres/postgres.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { StorageUnavailable } from '../../src/storage/storage-errors.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import { startPostgres } from '../support/programs/postgres.ts';
import { change, FIRST, makeApp, seed } from './records.ts';

const [KEY, OTHER_KEY] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
const SECRET = 'a secret that must never lie in a file in clear';
const WITH_SECRET = { auth: { auth_type: 'jwt', jwt: { secret: SECRET } } };

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-history-'));
  path = join(folder, 'headgate.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (secretKey = KEY, at = path): Promise<Repository> =>
  openSqlite({
    secretPlaces: SECRET_PLACES,
    path: at,
    autoMigrate: true,
    clock: systemClock,
    secretKeys: [secretKey],
  });

async function inDatabase<T>(work: (repository: Repository) => Promise<T>, secretKey = KEY): Promise<T> {
  const repository = await open(secretKey);
  try {
    return await work(repository);
  } finally {
    await repository.close();
  }
}

/** Versions with a secret, which the last one deletes. */
async function writeSecrets(repository: Repository): Promise<void> {
  const { app, key } = await seed(repository);
  await change(repository, (writer) => writer.updateApp({ ...app, default_policy: WITH_SECRET }), {
    appIds: [app.id],
  });
  await change(repository, (writer) => writer.deleteApp(app.id), { appIds: [app.id], keyIds: [key.id] });
}

test('a database of an older program is migrated; its history begins with the first write after', async () => {
  const { app } = await inDatabase(seed);
  const db = new DatabaseSync(path);
  db.exec('drop table config_history; drop table config_history_record');
  db.exec("delete from schema_migration where name = '0006-config-history'");
  db.close();
  await inDatabase(async (repository) => {
    expect(await repository.read((reader) => reader.historyFrom())).toBe(1);
    expect(await repository.read((reader) => reader.listHistory(FIRST))).toMatchObject({ total: 0 });
    const before = await repository.read((reader) => reader.appsAt(1));
    expect(before).toMatchObject([{ tree: { app } }]);
    await change(repository, (writer) => writer.updateApp({ ...app, name: 'new' }), { appIds: [app.id] });
    expect(await repository.read((reader) => reader.appsAt(0))).toBeUndefined();
    expect(await repository.read((reader) => reader.appsAt(1))).toEqual(before);
    const { items } = await repository.read((reader) => reader.listHistory(FIRST));
    expect(items.map(({ config_version }) => config_version)).toEqual([2]);
  });
});

test('a write by a program that keeps no history ends the history before it', async () => {
  const { app } = await inDatabase(seed);
  const db = new DatabaseSync(path);
  db.exec("update config_state set config_version = 2; update app set name = 'unnoticed'");
  db.close();
  await inDatabase(async (repository) => {
    expect(await repository.read((reader) => reader.historyFrom())).toBe(2);
    expect(await repository.read((reader) => reader.listHistory(FIRST))).toMatchObject({ total: 0 });
    await change(repository, (writer) => writer.updateApp(app), { appIds: [app.id] });
    expect(await repository.read((reader) => reader.historyFrom())).toBe(2);
    expect(await repository.read((reader) => reader.appsAt(1))).toBeUndefined();
    const [state] = (await repository.read((reader) => reader.appsAt(2))) ?? [];
    expect(state?.tree.app.name).toBe('unnoticed');
    while (!(await repository.compactHistory()));
    expect(await repository.historySize()).toMatchObject({ versions: 1 });
    expect(await repository.read((reader) => reader.appsAt(2))).toMatchObject([
      { tree: { app: { name: 'unnoticed' } } },
    ]);
  });
});

test('secrets are in no file in clear, and come back', async () => {
  const repository = await open();
  await writeSecrets(repository);
  // Before and after the log is written into the database.
  const filesOf = (): string =>
    readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'latin1'))
      .join('');
  expect(filesOf()).toContain('enc:v1:');
  expect(filesOf()).not.toContain(SECRET);
  const [state] = (await repository.read((reader) => reader.appsAt(2))) ?? [];
  expect(state?.tree.app.default_policy).toEqual(WITH_SECRET);
  const { items } = await repository.read((reader) => reader.historyChanges(2, FIRST));
  expect(items).toMatchObject([{ before: { default_policy: null }, after: { default_policy: WITH_SECRET } }]);
  await repository.close();
  expect(filesOf()).toContain('enc:v1:');
  expect(filesOf()).not.toContain(SECRET);
});

test('after a change of the secret key only versions with secrets cannot be read', async () => {
  await inDatabase(writeSecrets);
  await inDatabase(async (repository) => {
    const secret = repository.read((reader) => reader.appsAt(2));
    await expect(secret).rejects.toBeInstanceOf(StorageUnavailable);
    await expect(secret).rejects.toThrow(/not encrypted with the key of/);
    await expect(repository.read((reader) => reader.historyChanges(2, FIRST))).rejects.toThrow(
      /not encrypted with the key of/,
    );
    expect(await repository.read((reader) => reader.appsAt(1))).toHaveLength(1);
    expect(await repository.read((reader) => reader.listHistory(FIRST))).toMatchObject({ total: 3 });
    await change(repository, (writer) => writer.insertApp(makeApp()), { appIds: ['new'] });
  }, OTHER_KEY);
});

test('a copy has the history too', async () => {
  await inDatabase(writeSecrets);
  const target = join(folder, 'copy', 'headgate.db');
  const ends = { clock: systemClock, secretKeys: [KEY] as const, secretPlaces: SECRET_PLACES };
  const [from, to] = [await openSqliteSource({ ...ends, path }), openSqliteTarget({ ...ends, path: target })];
  const { stored } = await copyDatabase(from, to, () => undefined);
  await from.db.destroy();
  await to.close();
  expect(stored.rows.get('config_history')).toBe(3);
  expect(stored.rows.get('config_history_record')).toBe(11);
  const look = (repository: Repository) =>
    repository.read(async (reader) => [
      await reader.listHistory(FIRST),
      await reader.historyChanges(3, FIRST),
      await reader.appsAt(2),
      await reader.historyFrom(),
    ]);
  const copy = await open(KEY, target);
  const copied = await look(copy);
  await copy.close();
  expect(copied).toEqual(await inDatabase(look));
});

test('several gateways compact one database at once, while they write', { timeout: 60_000 }, async () => {
  const server = await startPostgres('fsync=off');
  try {
    const url = await server.createSchema(await server.createDatabase());
    const gateways = await Promise.all(
      [3, 5, 4].map((maxVersions) =>
        openPostgres({
          url,
          secretPlaces: SECRET_PLACES,
          autoMigrate: true,
          clock: systemClock,
          secretKeys: [KEY] as const,
          settings: { ...POSTGRES_DEFAULTS, timeoutMs: 20_000 },
          history: { ...HISTORY_DEFAULTS, maxVersions },
        }),
      ),
    );
    const [first] = gateways;
    if (first === undefined) throw new Error('there is no gateway');
    const { app } = await seed(first);
    await Promise.all(
      gateways.map(async (gateway, number) => {
        for (let index = 0; index < 10; index++) {
          await change(gateway, (writer) => writer.updateApp({ ...app, name: `${number} ${index}` }), {
            appIds: [app.id],
          });
          await gateway.compactHistory();
        }
      }),
    );
    for (const gateway of gateways) while (!(await gateway.compactHistory()));
    const [entries, from] = await first.read(async (reader) => [
      await reader.listHistory(FIRST),
      await reader.historyFrom(),
    ]);
    expect(entries.items.map(({ config_version }) => config_version)).toEqual([31, 30, 29]);
    expect(from).toBe(28);
    for (const { config_version } of entries.items) {
      const [changed] = (await first.read((reader) => reader.historyChanges(config_version, FIRST))).items;
      const states = await first.read((reader) =>
        Promise.all([config_version - 1, config_version].map((at) => reader.appsAt(at))),
      );
      expect(states).toMatchObject([
        [{ tree: { app: changed?.before } }],
        [{ tree: { app: changed?.after } }],
      ]);
    }
    await Promise.all(gateways.map((gateway) => gateway.close()));
  } finally {
    await server.stop();
  }
});
