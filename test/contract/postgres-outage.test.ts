/**
 * The repository over a PostgreSQL server that is frozen, locked, slow, restarted or gone: every call ends within two
 * seconds, nothing is half done, and the next call works when the server does. And several repositories on one
 * database, as several gateways have them.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SECRET_PLACES } from '../../src/policy/secret-places.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openPostgres, POSTGRES_DEFAULTS } from '../../src/storage/postgres/postgres.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { StorageRefused, StorageUnavailable } from '../../src/storage/storage-errors.ts';
import { pino } from 'pino';
import { KeyUsageWriter } from '../../src/keys/usage-writer.ts';
import { startPostgres, type PostgresServer } from '../support/programs/postgres.ts';
import { startTcpRelay } from '../support/backends/tcp-relay.ts';
import { change, makeRevision, seed, touched, type makeApp } from './records.ts';
import { awakeMs, steadily } from '../support/measure/steady.ts';
import { until } from '../support/measure/until.ts';

const WITHIN_MS = 2_000;
/** A write that takes this long waits for its standby. */
const PROBE_MS = 1_000;
const KEY = Buffer.alloc(32, 7);

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres('fsync=off');
});
afterAll(() => server.stop());

const open = (url: string, timeoutMs = POSTGRES_DEFAULTS.timeoutMs): Promise<Repository> =>
  openPostgres({
    secretPlaces: SECRET_PLACES,
    url,
    autoMigrate: true,
    clock: systemClock,
    secretKeys: [KEY],
    settings: { ...POSTGRES_DEFAULTS, timeoutMs },
  });

async function withRepository(work: (repository: Repository, url: string) => Promise<void>): Promise<void> {
  const url = await server.createDatabase();
  const repository = await open(url);
  try {
    await work(repository, url);
  } finally {
    await repository.close();
  }
}

/** The error, which must be of an unavailable database and come in time. */
async function unavailable(work: Promise<unknown>): Promise<StorageUnavailable> {
  const startedMs = awakeMs();
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StorageUnavailable);
  expect(awakeMs() - startedMs).toBeLessThan(WITHIN_MS);
  return error as StorageUnavailable;
}

const rename = (repository: Repository, app: ReturnType<typeof makeApp>, name: string) =>
  change(repository, (writer) => writer.updateApp({ ...app, name }), { appIds: [app.id] });

describe('a server that', () => {
  test(
    'stores a write and does not answer, as without its standby, does not count the use of keys twice',
    steadily(() =>
      withRepository(async (repository, url) => {
        const { key } = await seed(repository);
        const date = '2026-01-31';
        const batch = { date, keyIds: [key.id], numbers: Float64Array.from([Date.parse(date), 3, 0, 0]) };
        const log = pino({ enabled: false });
        const writer = new KeyUsageWriter({ repository, log, clock: systemClock, keyUsageDays: 36_500 });
        const counts = async () =>
          (await repository.read((reader) => reader.listKeyUsage(key.id, date, date))).map(
            ({ allowed }) => allowed,
          );
        const standby = async (name: string): Promise<void> => {
          await server.query(url, `alter system set synchronous_standby_names = '${name}'`);
          await server.query(url, 'select pg_reload_conf()');
        };
        const probes: Promise<unknown>[] = [];
        // The server obeys a while later: only then does a write wait for its standby.
        const isObeyed = (): Promise<boolean> => {
          const probe = server.query(url, "select pg_logical_emit_message(true, 'probe', '')");
          probes.push(probe);
          return Promise.race([probe.then(() => false), pause(PROBE_MS, true)]);
        };
        await standby('missing');
        try {
          await until(isObeyed);
          writer.add(batch);
          await writer.write();
          expect(await counts()).toEqual([]);
        } finally {
          await standby('');
          await Promise.all(probes);
        }
        // The write was not answered, but stored.
        await expect.poll(counts, { timeout: 10_000 }).toEqual([3]);
        writer.add(batch);
        await writer.stop();
        expect(await counts()).toEqual([6]);
      }),
    ),
  );

  test(
    'is frozen ends reads, writes, a queue of them and new connections in time, and is used again after',
    steadily(() =>
      withRepository(async (repository) => {
        const { app } = await seed(repository);
        server.signalAll('SIGSTOP');
        try {
          const calls = [
            repository.ping(),
            ...Array.from({ length: 20 }, () => rename(repository, app, 'lost')),
            ...Array.from({ length: 20 }, () => repository.read((reader) => reader.findApp(app.id))),
          ];
          await Promise.all(calls.map(unavailable));
          await unavailable(repository.ping());
        } finally {
          server.signalAll('SIGCONT');
        }
        await expect(rename(repository, app, 'back')).resolves.toMatchObject({ configVersion: 2 });
      }),
    ),
  );

  test('crashes in the middle of a write has none of it, and is used again when it is back', () =>
    withRepository(async (repository) => {
      const { app } = await seed(repository);
      const cut = change(
        repository,
        async (writer) => {
          await writer.updateApp({ ...app, name: 'half' });
          await server.crash();
          await writer.findApp(app.id);
        },
        { appIds: [app.id] },
      );
      await expect(cut).rejects.toBeInstanceOf(StorageUnavailable);
      await unavailable(rename(repository, app, 'no'));
      await server.start();
      const found = await repository.read((reader) => reader.findApp(app.id));
      expect(found?.name).toBe(app.name);
      await expect(rename(repository, app, 'yes')).resolves.toMatchObject({ configVersion: 2 });
    }));

  test('was restarted while no query ran costs no caller anything', () =>
    withRepository(async (repository) => {
      const { app } = await seed(repository);
      await repository.ping();
      await server.crash();
      await server.start();
      await expect(rename(repository, app, 'after')).resolves.toMatchObject({ configVersion: 2 });
      await repository.ping();
    }));

  test('is locked by another program refuses writes in time, and reads go on', () =>
    withRepository(async (repository, url) => {
      const { app } = await seed(repository);
      const holding = server.query(url, 'begin; update config_state set id = 1; select pg_sleep(4); commit');
      await expect
        .poll(() => server.query(url, "select 1 from pg_locks where relation = 'config_state'::regclass"))
        .not.toEqual([]);
      const [error] = await Promise.all([unavailable(rename(repository, app, 'no')), repository.ping()]);
      expect(error.message).toMatch(/another transaction holds a lock/);
      await holding;
      await expect(rename(repository, app, 'yes')).resolves.toMatchObject({ configVersion: 2 });
    }));
});

describe('a start', () => {
  test('that does not get through to the server ends in time, and says so', async () => {
    const relay = await startTcpRelay(server.port);
    const url = await server.createDatabase();
    try {
      relay.swallow();
      const error = await unavailable(open(url.replace(String(server.port), String(relay.port))));
      expect(error.message).toMatch(/: it did not accept a connection in time; expected/);
    } finally {
      relay.close();
    }
  });

  test('that may log in but gets no answer afterwards ends in time', async () => {
    const relay = await startTcpRelay(server.port);
    const url = await server.createDatabase();
    try {
      relay.swallowAt('server_encoding');
      const error = await unavailable(open(url.replace(String(server.port), String(relay.port))));
      expect(error.message).toMatch(/did not answer in time/);
    } finally {
      relay.close();
    }
  });

  test('that another program has locked out, and reading everything, end in time', () =>
    withRepository(async (repository, url) => {
      await seed(repository);
      const holding = server.query(
        url,
        'begin; lock table schema_migration, app in access exclusive mode; select pg_sleep(4); commit',
      );
      await expect
        .poll(() =>
          server.query(
            url,
            "select 1 from pg_locks where relation = 'app'::regclass and granted and mode like 'AccessEx%'",
          ),
        )
        .not.toEqual([]);
      const ended = await Promise.all([unavailable(open(url)), unavailable(repository.loadAll())]);
      for (const { message } of ended) expect(message).toMatch(/another transaction holds a lock/);
      await holding;
      await (await open(url)).close();
    }));
});

describe('a connection that is cut', () => {
  test('at the commit leaves it open whether the write took place, and says so', async () => {
    const relay = await startTcpRelay(server.port);
    const url = await server.createDatabase();
    const repository = await open(url.replace(String(server.port), String(relay.port)));
    try {
      const { app } = await seed(repository);
      relay.cutAt('commit\0');
      const error = await unavailable(rename(repository, app, 'perhaps'));
      expect(error.message).toMatch(/^Cannot tell whether the write was stored/);
      // This time it was: the server had the commit, and only its answer was lost.
      await expect
        .poll(() => repository.read((reader) => reader.findApp(app.id)))
        .toMatchObject({ name: 'perhaps' });
    } finally {
      await repository.close();
      relay.close();
    }
  });
});

test('a connection that is being closed after idling costs a query of that moment nothing', async () => {
  const repository = await openPostgres({
    secretPlaces: SECRET_PLACES,
    url: await server.createDatabase(),
    autoMigrate: true,
    clock: systemClock,
    secretKeys: [KEY],
    settings: { ...POSTGRES_DEFAULTS, idleTimeoutMs: 100 },
  });
  try {
    const { app } = await seed(repository);
    // So that closing takes its time.
    server.signalAll('SIGSTOP');
    await pause(300);
    const renamed = rename(repository, app, 'after');
    await pause(50);
    server.signalAll('SIGCONT');
    await expect(renamed).resolves.toMatchObject({ configVersion: 2 });
  } finally {
    server.signalAll('SIGCONT');
    await repository.close();
  }
});

describe('several repositories on one database', () => {
  test('serialise their writes, and each sees what the others have written', () =>
    withRepository(async (first, url) => {
      const others = await Promise.all([1, 2, 3].map(() => open(url, 15_000)));
      try {
        const { app } = await seed(first);
        const all = others;
        const results = await Promise.all(
          Array.from({ length: 60 }, async (_, index) =>
            all[index % all.length]?.write(async (writer) => {
              const found = await writer.findApp(app.id);
              await writer.updateApp({ ...app, description: `${found?.description ?? ''}x` });
              return { value: 0, touched: touched({ appIds: [app.id] }) };
            }),
          ),
        );
        const versions = results.map((result) => result?.configVersion).toSorted((a = 0, b = 0) => a - b);
        expect(versions).toEqual(Array.from({ length: 60 }, (_, index) => index + 2));
        for (const one of all) {
          const found = await one.read((reader) => reader.findApp(app.id));
          expect(found?.description).toBe('x'.repeat(60));
        }
      } finally {
        await Promise.all(others.map((one) => one.close()));
      }
    }));

  test('that start at once migrate once', async () => {
    const url = await server.createDatabase();
    const all = await Promise.all(Array.from({ length: 5 }, () => open(url)));
    await Promise.all(all.map((one) => one.ping()));
    await Promise.all(all.map((one) => one.close()));
    const rows = await server.query(
      url,
      'select count(*)::int as n, count(distinct name)::int as d from schema_migration',
    );
    expect(rows[0]?.['n']).toBe(rows[0]?.['d']);
  });
});

describe('what the operator has to decide stops the start:', () => {
  const refused = async (
    options: Partial<Parameters<typeof openPostgres>[0]>,
    url: string,
  ): Promise<string> => {
    const result = await openPostgres({
      secretPlaces: SECRET_PLACES,
      url,
      autoMigrate: true,
      clock: systemClock,
      ...options,
    }).catch((error: unknown) => error);
    expect(result).toBeInstanceOf(StorageRefused);
    return (result as Error).message;
  };

  test('a schema that is out of date, which is not changed', async () => {
    const url = await server.createDatabase();
    expect(await refused({ autoMigrate: false }, url)).toMatch(/out of date.*headgate migrate/);
    expect(await server.query(url, "select 1 from pg_tables where schemaname = 'public'")).toEqual([]);
  });

  test('a schema that is newer', () =>
    withRepository(async (_, url) => {
      await server.query(url, "insert into schema_migration (name, applied_at) values ('9999-new', 'x')");
      expect(await refused({}, url)).toMatch(/newer than this program.*9999-new/);
    }));

  test('tables of another program', async () => {
    const url = await server.createDatabase();
    await server.query(url, 'create table app (id int)');
    expect(await refused({}, url)).toMatch(/another program/);
    expect(await server.query(url, "select 1 from pg_tables where tablename = 'version'")).toEqual([]);
  });

  test('an encoding that cannot hold every text', async () => {
    const url = await server.createDatabase("template template0 encoding 'LATIN1' locale 'C'");
    expect(await refused({}, url)).toMatch(/LATIN1; expected UTF8/);
  });

  test('secrets without their key, or with another one', () =>
    withRepository(async (repository, url) => {
      const { version } = await seed(repository);
      const policy = { auth: { auth_type: 'jwt' as const, jwt: { secret: 's'.repeat(40) } } };
      await change(repository, (writer) =>
        writer.insertRevision(makeRevision(version, { default_policy: policy })),
      );
      const rows = await server.query(
        url,
        'select default_policy from revision where default_policy is not null',
      );
      expect(JSON.stringify(rows)).not.toContain('ssss');
      expect(await refused({}, url)).toMatch(/GATEWAY_SECRET_KEY/);
      expect(await refused({ secretKeys: [Buffer.alloc(32, 8)] }, url)).toMatch(
        /not encrypted with the key of/,
      );
    }));

  test('a secret that is to be stored without a key is refused, and everything else is stored', async () => {
    const repository = await openPostgres({
      secretPlaces: SECRET_PLACES,
      url: await server.createDatabase(),
      autoMigrate: true,
      clock: systemClock,
    });
    try {
      const { version } = await seed(repository);
      const policy = { auth: { auth_type: 'jwt' as const, jwt: { secret: 's'.repeat(40) } } };
      const write = change(repository, (writer) =>
        writer.insertRevision(makeRevision(version, { default_policy: policy })),
      );
      await expect(write).rejects.toThrow(/GATEWAY_SECRET_KEY to be set/);
    } finally {
      await repository.close();
    }
  });
});

test('a server that cannot be reached, or refuses, is named without the password', async () => {
  const open1 = (url: string) =>
    openPostgres({ secretPlaces: SECRET_PLACES, url, autoMigrate: false, clock: systemClock });
  const gone = await unavailable(open1('postgres://headgate:hunter2@127.0.0.1:1/gateway'));
  expect(gone.message).toMatch(/postgres:\/\/127\.0\.0\.1:1\/gateway: .*ECONNREFUSED/);
  expect(gone.message).not.toContain('hunter2');
  const missing = await unavailable(open1(`postgres://headgate_test:hunter2@127.0.0.1:${server.port}/none`));
  expect(missing.message).toMatch(/no such database/);
  const malformed = await unavailable(open1('postgres://u:hunter2@[bad/db'));
  expect(malformed.message).not.toContain('hunter2');
  const files = await unavailable(
    open1(
      `postgres://headgate_test:hunter2@127.0.0.1:${server.port}/x?sslmode=verify-full&sslrootcert=/none.pem`,
    ),
  );
  expect(files).toBeInstanceOf(StorageRefused);
  expect(files.message).not.toContain('hunter2');
});

test('texts with NUL are found as little as others that are not there', () =>
  withRepository(async (repository) => {
    await seed(repository);
    expect(await repository.read((reader) => reader.findApp('a\0b'))).toBeUndefined();
  }));

test('a standby is read, refuses writes in words, and is left for the primary when the address leads there', async () => {
  const [primary, other] = [await startPostgres('fsync=off'), await startPostgres('fsync=off')];
  let target = primary.port;
  const sockets = new Set<Socket>();
  const relay = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.pipe(connect(target, '127.0.0.1').on('error', () => socket.destroy())).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  try {
    const url = await primary.createDatabase();
    const repository = await open(
      url.replace(`:${primary.port}/`, `:${(relay.address() as AddressInfo).port}/`),
    );
    const { app } = await seed(repository);
    await primary.crash();
    const copy = await primary.copyData();
    writeFileSync(join(copy, 'standby.signal'), '');
    await primary.start();
    await other.crash();
    await other.start(copy);
    target = other.port;
    for (const socket of sockets) socket.destroy();
    await until(async () => (await repository.position().catch(() => undefined))?.configVersion === 1);
    const error = await unavailable(rename(repository, app, 'there'));
    expect([error.reason, error.message]).toEqual([
      'it is a standby, or lacks a feature that is needed',
      expect.stringContaining('during recovery'),
    ]);
    // Open connections stay where they are.
    target = primary.port;
    await rename(repository, app, 'here');
    const [row] = await primary.query(url, 'select name from app');
    expect(row).toEqual({ name: 'here' });
    await repository.close();
  } finally {
    for (const socket of sockets) socket.destroy();
    relay.close();
    await Promise.all([primary.stop(), other.stop()]);
  }
}, 60_000);
