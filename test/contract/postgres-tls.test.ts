/** Connections to a PostgreSQL server over TLS, with certificates that are right and wrong in each way. */
import { chmodSync, chownSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SECRET_PLACES } from '../../src/policy/secret-places.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openPostgres, POSTGRES_DEFAULTS } from '../../src/storage/postgres/postgres.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { StorageRefused, StorageUnavailable } from '../../src/storage/storage-errors.ts';
import { runToEnd } from '../support/gateway.ts';
import { SECRET_KEY } from '../support/nodes.ts';
import { startPostgres, type PostgresServer } from '../support/programs/postgres.ts';
import { awakeMs } from '../support/measure/steady.ts';

const TLS = resolve(import.meta.dirname, '../support/tls');
const CA = join(TLS, 'ca.pem');
/** The user whom test/support/programs/postgres.ts starts servers as, where the tests run as root. */
const NOBODY = 65_534;

let server: PostgresServer;
let url: string;
const folder = mkdtempSync(join(tmpdir(), 'headgate-postgres-tls-'));
chmodSync(folder, 0o755);

/** The certificate `backend` is for localhost and 127.0.0.1, `other` for another name; both of the test authority. */
async function present(name: 'backend' | 'other'): Promise<void> {
  for (const [from, to] of [
    [`${name}.pem`, 'server.pem'],
    [`${name}-key.pem`, 'server-key.pem'],
  ] as const) {
    const path = join(folder, to);
    cpSync(join(TLS, from), path);
    chmodSync(path, 0o600);
    if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY);
  }
  if (url === undefined) return;
  const loaded = async (): Promise<string> =>
    JSON.stringify(await server.query(url, 'select pg_conf_load_time()::text'));
  const before = await loaded();
  await server.query(url, 'select pg_reload_conf()');
  // The server reads its files a moment after it was told to.
  for (let tries = 0; tries < 500 && (await loaded()) === before; tries++) await pause(10);
}

beforeAll(async () => {
  await present('backend');
  const file = (setting: string, path: string): string => `${setting}=${path}`;
  server = await startPostgres(
    'fsync=off',
    'ssl=on',
    file('ssl_cert_file', join(folder, 'server.pem')),
    file('ssl_key_file', join(folder, 'server-key.pem')),
    file('ssl_ca_file', CA),
  );
  url = await server.createDatabase();
  await (await open('')).close();
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

function open(query: string, caFile?: string, host = '127.0.0.1'): Promise<Repository> {
  return openPostgres({
    secretPlaces: SECRET_PLACES,
    url: url.replace('127.0.0.1', host) + query,
    autoMigrate: true,
    clock: systemClock,
    settings: { ...POSTGRES_DEFAULTS, timeoutMs: 5_000, caFile },
  });
}

/** How the server sees the connection: `plain`, `encrypted`, or the name of the client's certificate. */
async function seen(query: string, caFile?: string, host?: string): Promise<string> {
  const repository = await open(query, caFile, host);
  try {
    await repository.ping();
    const [row] = await server.query(
      url,
      `select ssl, client_dn from pg_stat_ssl join pg_stat_activity using (pid)
       where application_name = 'headgate' and datname = current_database() limit 1`,
    );
    if (row?.['ssl'] !== true) return 'plain';
    return typeof row['client_dn'] === 'string' ? row['client_dn'] : 'encrypted';
  } finally {
    await repository.close();
  }
}

describe('with the right certificate', () => {
  test.each<[string, string | undefined, string, string?]>([
    ['', undefined, 'plain'],
    ['?sslmode=disable', undefined, 'plain'],
    ['?sslmode=require', undefined, 'encrypted'],
    ['?sslmode=require', CA, 'encrypted'],
    [`?sslmode=verify-ca&sslrootcert=${CA}`, undefined, 'encrypted'],
    ['?sslmode=verify-full', CA, 'encrypted'],
    ['?sslmode=verify-full', CA, 'encrypted', 'localhost'],
    ['', CA, 'encrypted'],
    [`?sslmode=verify-full&sslcert=${TLS}/backend.pem&sslkey=${TLS}/backend-key.pem`, CA, '/CN=backend'],
  ])('"%s" and the setting %s are %s', async (query, caFile, expected, host) => {
    expect(await seen(query, caFile, host)).toBe(expected);
  });

  test.each<[string, string | undefined, RegExp]>([
    ['?sslmode=verify-full', undefined, /self-signed|unable to (get|verify)/],
    ['?sslmode=verify-full', join(TLS, 'site.pem'), /self-signed|unable to (get|verify)/],
    ['?sslmode=require', join(TLS, 'site.pem'), /self-signed|unable to (get|verify)/],
  ])('"%s" and the setting %s are refused: it is of another authority', async (query, caFile, reason) => {
    await expect(open(query, caFile)).rejects.toThrow(reason);
  });

  test('the program goes by the setting: with another authority it does not start', async () => {
    const run = (caFile: string, ...args: string[]) =>
      runToEnd(
        {
          GATEWAY_DATABASE_URL: url,
          GATEWAY_DATABASE__CA_FILE: caFile,
          GATEWAY_SECRET_KEY: SECRET_KEY,
          GATEWAY_SNAPSHOT_FILE: 'off',
        },
        args,
        { cwd: folder },
      );
    const other = await run(join(TLS, 'site.pem'));
    expect(other.output).toMatch(/self-signed|unable to (get|verify)/);
    expect(other.code).toBe(1);
    expect((await run(CA, 'migrate')).code).toBe(0);
  });

  test('a server that is frozen costs its time and no more', async () => {
    const repository = await openPostgres({
      secretPlaces: SECRET_PLACES,
      url: `${url}?sslmode=require`,
      autoMigrate: true,
      clock: systemClock,
    });
    server.signalAll('SIGSTOP');
    try {
      const startedMs = awakeMs();
      await expect(repository.ping()).rejects.toBeInstanceOf(StorageUnavailable);
      expect(awakeMs() - startedMs).toBeLessThan(2_000);
    } finally {
      server.signalAll('SIGCONT');
    }
    await repository.ping();
    await repository.close();
  });
});

describe('with a certificate for another name', () => {
  beforeAll(() => present('other'));

  test('verify-full is refused, also for a changed certificate of a server that was trusted', async () => {
    await expect(open('?sslmode=verify-full', CA)).rejects.toThrow(/altnames|does not match/i);
    await expect(open('', CA, 'localhost')).rejects.toThrow(/altnames|does not match/i);
  });

  test('verify-ca and require connect', async () => {
    expect(await seen('?sslmode=verify-ca', CA)).toBe('encrypted');
    expect(await seen('?sslmode=require')).toBe('encrypted');
  });
});

test.each<[string, string | undefined, RegExp]>([
  ['?sslmode=prefer', undefined, /sslmode=prefer is not known here; expected sslmode=disable, require/],
  ['?sslmode=allow', undefined, /sslmode=allow is not known/],
  ['?ssl=true', undefined, /the parameter ssl is not known/],
  ['?sslmode=verify-ca', undefined, /verify-ca needs sslrootcert or GATEWAY_DATABASE__CA_FILE/],
  ['?sslmode=disable', CA, /sslmode=disable contradicts the files/],
  ['?sslmode=require&sslcert=/x.pem', undefined, /sslcert and sslkey must be given together/],
  [
    '?sslmode=verify-full&sslrootcert=/missing.pem',
    undefined,
    /"\/missing.pem" for TLS cannot be read: it does not exist; /,
  ],
])('"%s" and the setting %s stop the start with what is wrong', async (query, caFile, message) => {
  const opened = open(query, caFile);
  await expect(opened).rejects.toBeInstanceOf(StorageRefused);
  await expect(opened).rejects.toThrow(message);
});
