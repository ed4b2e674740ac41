/**
 * `headgate config backup` and `headgate config restore`: a file of a running gateway brings everything to a new
 * database, of either kind; whatever is wrong with the file or the target changes nothing.
 */
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GatewayLock } from '../../../src/storage/sqlite/gateway-lock.ts';
import { everythingOf, fillGateway, useCredentials, type Credentials } from '../../scenarios/copying.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startPostgres, type PostgresServer } from '../../support/programs/postgres.ts';
import { fillUp, mountSmallDisk } from '../../support/programs/small-disk.ts';

const TIMEOUT_MS = 90_000;
const SECRET_KEY = '0123456789abcdef'.repeat(4);
const EXPECTED = {
  key: 200,
  noScope: 403,
  rotated: 200,
  beforeRotation: 200,
  wrongKey: 401,
  jwt: 200,
  wrongJwt: 401,
  viewer: 200,
};

const folder = mkdtempSync(join(tmpdir(), 'headgate-backup-'));
const BACKUP = join(folder, 'one.backup');
const env = { GATEWAY_SECRET_KEY: SECRET_KEY, GATEWAY_SNAPSHOT_FILE: 'off' };

let server: PostgresServer;
let origin: Origin;
let gateway: TestGateway;
let credentials: Credentials;
beforeAll(async () => {
  [server, origin, gateway] = await Promise.all([
    startPostgres('fsync=off'),
    startOrigin(),
    startGateway({ env }),
  ]);
  credentials = await fillGateway(gateway, origin.port);
  const { code, output } = await backup(gateway, BACKUP);
  if (code !== 0) throw new Error(output);
}, TIMEOUT_MS);
afterAll(async () => {
  await gateway?.stop();
  await server?.stop();
  await origin?.close();
  rmSync(folder, { recursive: true, force: true });
});

function backup(from: Pick<TestGateway, 'base'>, file: string, token = ADMIN_TOKEN) {
  const variables = { HEADGATE_SERVER: from.base, HEADGATE_TOKEN: token };
  return runToEnd(variables, ['config', 'backup', file], { cwd: folder });
}
const restore = (file: string, to: string, more: Readonly<Record<string, string>> = env) =>
  runToEnd(more, ['config', 'restore', file, '--to', to], { cwd: folder });

let count = 0;
/** A database file that is not there, in a folder of its own. */
function newFile(): string {
  const at = join(folder, `target-${(count += 1)}`);
  mkdirSync(at);
  return join(at, 'headgate.db');
}

/** The records, without the times of reading them. */
async function expectSame(other: TestGateway): Promise<void> {
  expect(await useCredentials(other, credentials)).toEqual(EXPECTED);
  const [was, is] = [await everythingOf(gateway), await everythingOf(other)];
  expect(Object.keys(is)).toEqual(Object.keys(was));
  expect(is['/apps']).toEqual(was['/apps']);
}

test('a backup is whole, for its owner alone, and holds no value of a key or a secret', async () => {
  expect(statSync(BACKUP).mode & 0o777).toBe(0o600);
  expect(existsSync(`${BACKUP}.part`)).toBe(false);
  const text = gunzipSync(readFileSync(BACKUP)).toString('utf8');
  for (const value of [...Object.values(credentials), ADMIN_TOKEN, SECRET_KEY])
    expect(text).not.toContain(value);
  const [first = '', ...rest] = text.trimEnd().split('\n');
  expect(JSON.parse(first)).toMatchObject({ headgate_backup: 1, config_version: expect.any(Number) });
  expect(JSON.parse(rest.at(-1) ?? '')).toMatchObject({
    end: true,
    rows: { app: 3, app_host: 2, api_key: 2, admin_token: 1 },
  });
  const audit = await gateway.must('GET', '/audit?action=config.backup');
  expect(audit).toHaveLength(1);
});

test(
  'it goes to SQLite, from there to a gateway that runs on an empty PostgreSQL and back, and all credentials work as before',
  { timeout: TIMEOUT_MS },
  async () => {
    const first = newFile();
    const restored = await restore(BACKUP, `sqlite://${first}`);
    expect([restored.code, restored.output]).toEqual([0, expect.stringContaining('Encrypted secrets: 1')]);
    const onSqlite = await startGateway({ env: { ...env, GATEWAY_DATABASE_URL: `sqlite://${first}` } });
    const second = join(folder, 'two.backup');
    try {
      await expectSame(onSqlite);
      expect(await backup(onSqlite, second)).toMatchObject({ code: 0 });
    } finally {
      await onSqlite.stop();
    }
    const url = await server.createDatabase();
    const onPostgres = await startGateway({
      env: { ...env, GATEWAY_DATABASE_URL: url, GATEWAY_AUTO_MIGRATE: 'true' },
    });
    const third = join(folder, 'three.backup');
    try {
      const swept = async (): Promise<number> => (await server.query(url, 'select * from key_sweep')).length;
      await expect.poll(swept, { timeout: 15_000 }).toBeGreaterThan(0);
      const there = await restore(second, url);
      expect([there.code, there.output]).toEqual([0, expect.stringContaining('Restored')]);
      // It hears of the restore with its next heartbeat.
      const unsigned = async (): Promise<number> => (await fetch(`${onPostgres.proxy}/signed/v1/`)).status;
      await expect.poll(unsigned, { timeout: 10_000 }).toBe(401);
      await expectSame(onPostgres);
      expect(await backup(onPostgres, third)).toMatchObject({ code: 0 });
    } finally {
      await onPostgres.stop();
    }
    expect(await restore(third, `sqlite://${newFile()}`)).toMatchObject({ code: 0 });
  },
);

test('only an admin may make one', async () => {
  const file = join(folder, 'viewer.backup');
  const { code, output } = await backup(gateway, file, credentials.viewer);
  expect([code, output]).toEqual([1, expect.stringContaining('admin')]);
  expect(readdirSync(folder).filter((name) => name.startsWith('viewer'))).toEqual([]);
});

test('an existing file is not changed', async () => {
  const before = readFileSync(BACKUP);
  const { code, output } = await backup(gateway, BACKUP);
  expect([code, output]).toEqual([1, expect.stringContaining('it exists; expected a new file')]);
  expect(readFileSync(BACKUP).equals(before)).toBe(true);
});

const spoiled = (change: (lines: string[]) => string[]): Buffer =>
  gzipSync(change(gunzipSync(readFileSync(BACKUP)).toString('utf8').split('\n')).join('\n'));
const flipped = (at: number): Buffer => {
  const bytes = Buffer.from(readFileSync(BACKUP));
  bytes[at] = (bytes[at] ?? 0) ^ 0xff;
  return bytes;
};

test.each<[string, () => Buffer, string]>([
  ['nothing', () => Buffer.alloc(0), 'it is incomplete'],
  ['another file', () => Buffer.from('apps: {}\n'), 'it is not a backup of Headgate'],
  ['another compressed file', () => gzipSync('apps: {}\n'), 'it is not a backup of Headgate'],
  ['half of one', () => readFileSync(BACKUP).subarray(0, statSync(BACKUP).size >> 1), 'it is incomplete'],
  ['one without its end', () => spoiled((lines) => [...lines.slice(0, -2), '']), 'it is incomplete'],
  ['one without a row', () => spoiled((lines) => lines.toSpliced(4, 1)), 'it is damaged'],
  [
    'one with another value',
    () => spoiled((lines) => lines.map((line) => line.replace('"shop"', '"shap"'))),
    'it is damaged',
  ],
  ['one with a flipped byte', () => flipped(statSync(BACKUP).size >> 1), 'it is damaged'],
  [
    'one of a newer format',
    () => spoiled(([first = '', ...rest]) => [first.replace(':1,', ':2,'), ...rest]),
    'made by the newer Headgate',
  ],
  [
    'one of a newer schema',
    () => spoiled(([first = '', ...rest]) => [first.replace('"],', '","9999-later"],'), ...rest]),
    'made by the newer Headgate',
  ],
])('%s is refused, and the target is not touched', async (_what, bytes, message) => {
  const file = join(folder, 'spoiled.backup');
  writeFileSync(file, bytes());
  const target = newFile();
  const { code, output } = await restore(file, `sqlite://${target}`);
  expect([code, output]).toEqual([1, expect.stringContaining(message)]);
  expect(output.trim().split('\n')).toHaveLength(1);
  expect(existsSync(target)).toBe(false);
});

test('a path without a file, and a folder, are refused in words', async () => {
  const to = `sqlite://${newFile()}`;
  const missing = await restore(join(folder, 'none.backup'), to);
  expect([missing.code, missing.output]).toEqual([
    1,
    expect.stringMatching(/none\.backup: it does not exist$/m),
  ]);
  expect((await restore(folder, to)).output).toMatch(/: it is a folder$/m);
});

test('a target that is not empty, or has another key or none, is refused and left as it was', async () => {
  const used = newFile();
  expect(await restore(BACKUP, `sqlite://${used}`)).toMatchObject({ code: 0 });
  copyFileSync(used, `${used}.before`);
  const again = await restore(BACKUP, `sqlite://${used}`);
  expect([again.code, again.output]).toEqual([1, expect.stringContaining('it is not empty')]);
  const url = await server.createDatabase();
  const { GATEWAY_SECRET_KEY: _key, ...keyless } = env;
  for (const [more, message] of [
    [keyless, 'there is no key for it'],
    [{ ...env, GATEWAY_SECRET_KEY: 'f'.repeat(64) }, 'not encrypted with the key of'],
  ] as const) {
    const refused = await restore(BACKUP, url, more);
    expect([refused.code, refused.output]).toEqual([1, expect.stringContaining(message)]);
    const [row] = await server.query(url, 'select count(*) as apps from app');
    expect(Number(row?.['apps'])).toBe(0);
  }
  // What was refused left nothing in the way.
  expect(await restore(BACKUP, url)).toMatchObject({ code: 0 });
});

test('a database that a gateway serves is refused, which would not see what is restored', async () => {
  const file = newFile();
  // As a gateway has it.
  const lock = new GatewayLock(file);
  expect(lock.take()).toBe('held');
  const { code, output } = await restore(BACKUP, `sqlite://${file}`);
  lock.release();
  expect([code, output]).toEqual([1, expect.stringContaining('a gateway serves it')]);
  expect(readdirSync(dirname(file))).toEqual([]);
});

test('secrets of webhooks that another key has encrypted are restored and copied, and said to be unreadable', async () => {
  const from = newFile();
  const [KEY_OF_WEBHOOKS, OTHER] = ['a'.repeat(64), 'b'.repeat(64)];
  const keyOf = (key: string) => ({ ...env, GATEWAY_SECRET_KEY: key });
  const source = await startGateway({
    env: { ...keyOf(KEY_OF_WEBHOOKS), GATEWAY_DATABASE_URL: `sqlite://${from}` },
  });
  const file = join(folder, 'webhooks.backup');
  try {
    await source.must('POST', '/webhooks', { name: 'w', url: 'http://127.0.0.1:9/secret-path' });
    expect(await backup(source, file)).toMatchObject({ code: 0 });
  } finally {
    await source.stop();
  }
  const unreadable =
    'stored values cannot be decrypted (webhooks): add the key with which they were encrypted to GATEWAY_SECRET_KEY';
  const copyTo = (to: string, more: Readonly<Record<string, string>>) =>
    runToEnd(more, ['copy', '--from', `sqlite://${from}`, '--to', to], { cwd: folder });
  for (const make of [
    (key: string) => restore(file, `sqlite://${newFile()}`, keyOf(key)),
    (key: string) => copyTo(`sqlite://${newFile()}`, keyOf(key)),
  ]) {
    const [right, wrong] = [await make(KEY_OF_WEBHOOKS), await make(OTHER)];
    expect([right.code, right.output]).toEqual([0, expect.not.stringContaining('cannot be decrypted')]);
    expect([wrong.code, wrong.output]).toEqual([0, expect.stringContaining(unreadable)]);
  }
  const { GATEWAY_SECRET_KEY: _key, ...keyless } = env;
  const without = await copyTo(await server.createDatabase(), keyless);
  expect([without.code, without.output]).toEqual([0, expect.stringContaining('Encrypted secrets: 2.')]);
}, 60_000);

test('a full disk ends a backup with an error and without a file', async () => {
  const at = join(folder, 'disk');
  mkdirSync(at);
  const disk = await mountSmallDisk(at, '64k');
  try {
    fillUp(disk.inside);
    const { code, output } = await backup(gateway, join(disk.inside, 'one.backup'));
    expect([code, output]).toEqual([1, expect.stringContaining('the disk is full')]);
    expect(readdirSync(disk.inside)).toEqual(['filler']);
  } finally {
    await disk.release();
  }
});

test.each([
  ['closes the connection', true, 'broke off'],
  ['ends its answer', false, 'it is incomplete'],
])('a gateway that %s in the middle leaves no file', async (_what, isAborted, message) => {
  const whole = readFileSync(BACKUP);
  const half = createServer((_request, response) => {
    if (isAborted) response.setHeader('content-length', whole.byteLength);
    response.write(whole.subarray(0, whole.byteLength >> 1), () => {
      if (isAborted) response.destroy();
      else response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(half, 'listening');
  try {
    const { port } = half.address() as AddressInfo;
    const file = join(folder, 'gone.backup');
    const { code, output } = await backup({ base: `http://127.0.0.1:${port}` }, file);
    expect([code, output]).toEqual([1, expect.stringContaining(message)]);
    expect(existsSync(file) || existsSync(`${file}.part`)).toBe(false);
  } finally {
    half.close();
  }
});
