/** Secrets of policies in a SQLite database: their form in the files, and the key that opens them. */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import { change, makeApp, makeEndpoint, makeRevision, makeVersion } from '../../../test/contract/records.ts';
import { systemClock } from '../../lib/clock.ts';
import { secretBytes } from '../../lib/ids.ts';
import { parseKeysText } from '../../lib/secret-key-text.ts';
import type { App, Endpoint, Revision } from '../../model/resources.ts';
import type { PolicyValues } from '../../model/policy.ts';
import type { Repository } from '../repository.ts';
import { StorageUnavailable } from '../storage-errors.ts';
import { fileSecretBox } from '../secrets/secret-key.ts';
import { migrateSqlite, openSqlite } from './sqlite.ts';

const SECRETS = [1, 2, 3].map((number) => `policy-secret-${number}-0123456789-0123456789`);
const KEY = secretBytes(32);

let folder = '';
let path = '';
let keyFile = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-sqlite-secrets-'));
  path = join(folder, 'headgate.db');
  keyFile = join(folder, 'secret-key');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (secretKey?: Buffer): Promise<Repository> =>
  openSqlite({
    secretPlaces: SECRET_PLACES,
    path,
    autoMigrate: true,
    clock: systemClock,
    secretKeys: secretKey && [secretKey],
  });

const jwtPolicy = (secret = ''): PolicyValues => ({
  auth: { auth_type: 'jwt', required_claims: ['sub'], jwt: { issuer: 'https://id.example', secret } },
  required_scopes: ['read'],
});

interface Stored {
  readonly app: App;
  readonly revision: Revision;
  readonly endpoint: Endpoint;
}

/** One secret at each of the three levels. */
async function store(repository: Repository): Promise<Stored> {
  const app = makeApp({ default_policy: jwtPolicy(SECRETS[0]) });
  const version = makeVersion(app);
  const revision = makeRevision(version, { default_policy: jwtPolicy(SECRETS[1]) });
  const endpoint = makeEndpoint(revision, { policy_override: jwtPolicy(SECRETS[2]) });
  await change(
    repository,
    async (writer) => {
      await writer.insertApp(app);
      await writer.insertVersion(version);
      await writer.insertRevision(revision);
      await writer.insertEndpoint(endpoint);
    },
    { appIds: [app.id] },
  );
  return { app, revision, endpoint };
}

async function storeAndClose(secretKey?: Buffer): Promise<Stored> {
  const repository = await open(secretKey);
  const stored = await store(repository);
  await repository.close();
  return stored;
}

async function startError(secretKey?: Buffer): Promise<string> {
  const result = await open(secretKey).catch((error: unknown) => error);
  expect(result).toBeInstanceOf(StorageUnavailable);
  return (result as StorageUnavailable).message;
}

async function expectStored({ app, revision, endpoint }: Stored, secretKey?: Buffer): Promise<void> {
  const repository = await open(secretKey);
  const [tree] = (await repository.loadAll()).apps;
  expect(tree?.app).toEqual(app);
  expect(tree?.versions[0]?.revisions[0]).toEqual({ revision, endpoints: [endpoint] });
  await repository.close();
}

function inDatabase<T>(work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

const bytesOf = (name: string): Buffer => readFileSync(join(folder, name));
const policyOf = (table: string, column: string): string =>
  inDatabase((db) => String(db.prepare(`select ${column} as policy from ${table}`).get()?.['policy']));

describe('the secrets of policies', () => {
  test('are not readable in any file of the database, open or closed', async () => {
    const repository = await open();
    const { app, endpoint } = await store(repository);
    await change(repository, (writer) => writer.updateApp({ ...app, name: 'renamed' }), { appIds: [app.id] });
    await change(repository, (writer) => writer.deleteEndpoint(endpoint.id), { appIds: [app.id] });
    const search = (): void => {
      const files = readdirSync(folder);
      for (const name of files) {
        for (const secret of SECRETS) expect(bytesOf(name).includes(secret), name).toBe(false);
      }
      const all = Buffer.concat(files.map(bytesOf));
      expect(all.includes('enc:v1:'), 'the search finds what is there').toBe(true);
      expect(all.includes('https://id.example'), 'the rest of a policy stays readable').toBe(true);
    };
    expect(readdirSync(folder)).toContain('headgate.db-wal');
    search();
    await repository.close();
    search();
  });

  test('are decrypted again after a restart', async () => {
    const stored = await storeAndClose();
    expect(policyOf('app', 'default_policy')).toMatch(/"secret":"enc:v1:/);
    await expectStored(stored);
  });

  test('are decrypted in every kind of read and in the change of a write', async () => {
    const repository = await open(KEY);
    const { app, revision, endpoint } = await store(repository);
    const FIRST = { limit: 10, after: undefined };
    await repository.read(async (reader) => {
      expect(await reader.findApp(app.slug)).toEqual(app);
      expect((await reader.listApps(FIRST)).items).toEqual([app]);
      expect(await reader.findRevision(revision.version_id, revision.id)).toEqual(revision);
      expect((await reader.listRevisions(revision.version_id, FIRST)).items).toEqual([revision]);
      expect(await reader.findEndpoint(revision.id, endpoint.id)).toEqual(endpoint);
      expect((await reader.listEndpoints(revision.id, FIRST)).items).toEqual([endpoint]);
      expect((await reader.loadAppTree(app.id))?.app).toEqual(app);
    });
    const renamed = { ...app, name: 'renamed' };
    const written = await change(repository, (writer) => writer.updateApp(renamed), { appIds: [app.id] });
    expect(written.change?.apps[0]?.app).toEqual(renamed);
    await repository.close();
  });

  test('that were stored as plain text are read, and sealed by the next write', async () => {
    const { app } = await storeAndClose(KEY);
    const plain = JSON.stringify(jwtPolicy('plain-secret-0123456789-0123456789'));
    inDatabase((db) => db.prepare('update app set default_policy = ?').run(plain));
    const repository = await open(KEY);
    const read = await repository.read((reader) => reader.findApp(app.id));
    expect(read?.default_policy?.['auth']).toMatchObject({
      jwt: { secret: 'plain-secret-0123456789-0123456789' },
    });
    if (read) await change(repository, (writer) => writer.updateApp(read));
    expect(await repository.read((reader) => reader.findApp(app.id))).toEqual(read);
    await repository.close();
    expect(policyOf('app', 'default_policy')).toMatch(/"secret":"enc:v1:/);
  });

  test('that look encrypted in the request are stored and returned unchanged', async () => {
    const repository = await open(KEY);
    const app = makeApp({ default_policy: jwtPolicy('enc:v1:AAAAAAAA:not-encrypted-at-all') });
    await change(repository, (writer) => writer.insertApp(app), { appIds: [app.id] });
    expect(await repository.read((reader) => reader.findApp(app.id))).toEqual(app);
    await repository.close();
  });

  test('in memory need no file', async () => {
    const repository = await openSqlite({
      secretPlaces: SECRET_PLACES,
      path: ':memory:',
      autoMigrate: true,
      clock: systemClock,
    });
    const { app } = await store(repository);
    expect(await repository.read((reader) => reader.findApp(app.id))).toEqual(app);
    await repository.close();
  });
});

describe('the key file', () => {
  test('is made by the first start, readable only by its owner, and stays', async () => {
    await storeAndClose();
    expect((statSync(keyFile).mode & 0o777).toString(8)).toBe('600');
    const text = readFileSync(keyFile, 'utf8');
    expect(parseKeysText(text)?.[0]).toHaveLength(32);
    await (await open()).close();
    expect(readFileSync(keyFile, 'utf8')).toBe(text);
    expect(readdirSync(folder).sort()).toEqual(['headgate.db', 'secret-key']);
  });

  test('is made by `headgate migrate`', async () => {
    await migrateSqlite({ secretPlaces: SECRET_PLACES, path, clock: systemClock });
    expect((statSync(keyFile).mode & 0o777).toString(8)).toBe('600');
  });

  test('is neither made nor needed if the setting has the key', async () => {
    await expectStored(await storeAndClose(KEY), KEY);
    expect(existsSync(keyFile)).toBe(false);
  });

  test('may be written by the operator, as base64url or hexadecimal', async () => {
    writeFileSync(keyFile, KEY.toString('hex'));
    const stored = await storeAndClose();
    expect(readFileSync(keyFile, 'utf8')).toBe(KEY.toString('hex'));
    writeFileSync(keyFile, `${KEY.toString('base64url')}\n`);
    await expectStored(stored);
    await expectStored(stored, KEY);
  });

  test('is not made when the schema is old and migration is off', async () => {
    await expect(
      openSqlite({ secretPlaces: SECRET_PLACES, path, autoMigrate: false, clock: systemClock }),
    ).rejects.toThrow(/is out of date/);
    expect(existsSync(keyFile)).toBe(false);
  });

  test('is made once by several simultaneous starts', async () => {
    const module = JSON.stringify(new URL('./sqlite.ts', import.meta.url).href);
    const script = `
      import { openSqlite } from ${module};
      const clock = { nowMs: () => 0, monotonicMs: () => 0 };
      const path = process.argv[1];
      await (await openSqlite({ secretPlaces: ${JSON.stringify(SECRET_PLACES)}, path, autoMigrate: true, clock })).close();`;
    const starts = [1, 2, 3].map((number) =>
      promisify(execFile)(process.execPath, [
        '--input-type=module',
        '--eval',
        script,
        join(folder, `${number}.db`),
      ]),
    );
    const inHere = Promise.all(Array.from({ length: 5 }, () => storeAndClose()));
    const stored = await inHere;
    await Promise.all(starts);
    const repository = await open();
    expect((await repository.loadAll()).apps.map(({ app }) => app)).toEqual(
      expect.arrayContaining(stored.map(({ app }) => app)),
    );
    await repository.close();
    expect(readdirSync(folder).filter((name) => name.includes('secret-key'))).toEqual(['secret-key']);
  });

  test.each([
    ['nothing', ''],
    ['a key cut off', 'a'.repeat(40)],
    ['a password', 'correct horse battery staple'],
  ])('that holds %s stops the start, is not shown and is kept', async (_, text) => {
    writeFileSync(keyFile, text);
    const message = await startError();
    expect(message).toMatch(/^Cannot use the secret key ".*secret-key": .*; expected 32 bytes as base64url/);
    if (text !== '') expect(message).not.toContain(text);
    expect(readFileSync(keyFile, 'utf8')).toBe(text);
  });

  test('that is a folder, or a link to nothing, stops the start', async () => {
    mkdirSync(keyFile);
    expect(await startError()).toMatch(/^Cannot read the secret key ".*": it is a folder; expected a file/);
    rmSync(keyFile, { recursive: true });
    symlinkSync(join(folder, 'nowhere'), keyFile);
    expect(await startError()).toMatch(
      /^Cannot use the secret key ".*": it is a link to a file that does not/,
    );
  });
});

describe('a database with secrets whose key is missing', () => {
  test('stops the start when the file is gone: no new file is made, and restoring the old one works', async () => {
    const stored = await storeAndClose();
    const key = readFileSync(keyFile);
    const before = bytesOf('headgate.db');
    rmSync(keyFile);
    const message = await startError();
    expect(message).toBe(
      `Cannot open the database "${path}": it contains encrypted secrets, but there is no key for them; expected GATEWAY_SECRET_KEY, or while that is unset the file "${keyFile}", to contain the key with which they were encrypted`,
    );
    expect(
      await migrateSqlite({ secretPlaces: SECRET_PLACES, path, clock: systemClock }).catch(String),
    ).toContain(message);
    expect(readdirSync(folder)).toEqual(['headgate.db']);
    expect(bytesOf('headgate.db').equals(before)).toBe(true);
    writeFileSync(keyFile, key);
    await expectStored(stored);
  });

  test('stops the start when the setting or the file has another key', async () => {
    const stored = await storeAndClose(KEY);
    const other = secretBytes(32);
    const wanted = `; expected GATEWAY_SECRET_KEY, or while that is unset the file "${keyFile}", to contain the key with which they were encrypted`;
    const what = `Cannot open the database "${path}": its secrets were not encrypted with the key of`;
    expect(await startError(other)).toBe(`${what} GATEWAY_SECRET_KEY${wanted}`);
    const migrated = migrateSqlite({
      secretPlaces: SECRET_PLACES,
      path,
      clock: systemClock,
      secretKeys: [other],
    }).catch(String);
    expect(await migrated).toContain(`${what} GATEWAY_SECRET_KEY${wanted}`);
    writeFileSync(keyFile, other.toString('hex'));
    expect(await startError()).toBe(`${what} the file "${keyFile}"${wanted}`);
    await expectStored(stored, KEY);
  });

  test('starts with a new key when it holds no secrets', async () => {
    const first = await open();
    const app = makeApp({
      default_policy: { auth: { auth_type: 'api_key' }, required_scopes: ['enc:v1:x'] },
    });
    await change(first, (writer) => writer.insertApp(app), { appIds: [app.id] });
    await first.close();
    rmSync(keyFile);
    const second = await open();
    expect(await second.read((reader) => reader.findApp(app.id))).toEqual(app);
    await second.close();
    expect(existsSync(keyFile)).toBe(true);
  });

  test('is reported at each of the three levels', async () => {
    for (const [table, column] of [
      ['app', 'default_policy'],
      ['revision', 'default_policy'],
      ['endpoint', 'policy_override'],
    ]) {
      await storeAndClose(KEY);
      inDatabase((db) => {
        for (const [other, name] of [
          ['app', 'default_policy'],
          ['revision', 'default_policy'],
          ['endpoint', 'policy_override'],
        ]) {
          if (other !== table) db.exec(`update ${other} set ${name} = null`);
        }
      });
      expect(await startError(), `${table}.${column}`).toMatch(/there is no key for them/);
      rmSync(path);
    }
  });
});

describe('a damaged secret', () => {
  /** Changes the first character after the nonce. */
  const damage = (policy: string): string =>
    policy.replace(
      /(enc:v1:.{8}:.{20})(.)/,
      (_, head: string, next: string) => head + (next === 'A' ? 'B' : 'A'),
    );

  test('stops the start and names its record', async () => {
    const { endpoint } = await storeAndClose(KEY);
    const damaged = damage(policyOf('endpoint', 'policy_override'));
    inDatabase((db) => db.prepare('update endpoint set policy_override = ?').run(damaged));
    expect(await startError(KEY)).toBe(
      `Cannot open the database "${path}": the encrypted secret in the policy of endpoint ${endpoint.id} is damaged; expected an undamaged database, for example from a backup`,
    );
  });

  test('or moved to another record, stops the start', async () => {
    await storeAndClose(KEY);
    const moved = policyOf('revision', 'default_policy');
    inDatabase((db) => db.prepare('update app set default_policy = ?').run(moved));
    expect(await startError(KEY)).toMatch(/the encrypted secret in the policy of app .* is damaged/);
  });

  test('that is read while running is an unavailable database, not a policy without its secret', async () => {
    const repository = await open(KEY);
    const { app, revision } = await store(repository);
    const damaged = damage(policyOf('app', 'default_policy'));
    inDatabase((db) => db.prepare('update app set default_policy = ?').run(damaged));
    const read = repository.read((reader) => reader.findApp(app.id));
    await expect(read).rejects.toBeInstanceOf(StorageUnavailable);
    await expect(read).rejects.toThrow(
      `Cannot read the secret in the policy of ${app.id}: its encrypted value`,
    );
    await expect(repository.loadAll()).rejects.toBeInstanceOf(StorageUnavailable);
    const others = await repository.read((reader) => reader.findRevision(revision.version_id, revision.id));
    expect(others, 'others are read').toEqual(revision);
    await repository.close();
  });
});

test('a key file without read permission stops the start', async () => {
  await storeAndClose();
  chmodSync(folder, 0o777);
  chmodSync(path, 0o666);
  chmodSync(keyFile, 0o000);
  const module = JSON.stringify(new URL('./sqlite.ts', import.meta.url).href);
  const script = `
    import { openSqlite } from ${module};
    const clock = { nowMs: () => 0, monotonicMs: () => 0 };
    const outcome = await openSqlite({ secretPlaces: ${JSON.stringify(SECRET_PLACES)}, path: process.argv[1], autoMigrate: true, clock }).catch((error) => error);
    console.log(String(outcome));`;
  // Root may read everything.
  const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const node = [process.execPath, '--input-type=module', '--eval', script, path] as const;
  const { stdout } = await promisify(execFile)(node[0], node.slice(1), unprivileged);
  expect(stdout).toBe(
    `StorageUnavailable: Cannot read the secret key "${keyFile}": permission denied; expected a file that Headgate may read\n`,
  );
});

test('a key file that cannot be made stops the start, and names the setting', async () => {
  const made = fileSecretBox(join(folder, 'gone', 'headgate.db'), undefined, async () => 'none');
  await expect(made).rejects.toBeInstanceOf(StorageUnavailable);
  await expect(made).rejects.toThrow(
    /^Cannot create the secret key ".*gone.secret-key": it does not exist; expected a folder .* or GATEWAY_SECRET_KEY/,
  );
});
