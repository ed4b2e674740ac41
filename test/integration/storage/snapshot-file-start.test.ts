/**
 * With the database gone the proxy serves on with the last snapshot, also across a restart. The started program with
 * its database deleted, corrupt, locked or unreachable: traffic as before, 503 from the management API, and everything
 * as before once the database is back, without another restart.
 */
// oxlint-disable vitest/expect-expect -- expectDegraded and expectRecovered are assertions
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { SECRET, signed, unixSecs } from '../../support/data/jwts.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey } from '../../support/policies.ts';
import { createEndpoint, createService, request } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const NOBODY = 65_534;
let origin: Origin;
let template: string;
let folder: string;
let key: string;
let jwt: string;
let running: TestGateway | undefined;
/** Where it is not beside the database. */
let snapshotPath: string | undefined;

const database = (): string => join(folder, 'headgate.db');
const snapshot = (): string => `${database()}.snapshot`;

/** A gateway that was configured, has run and was stopped; its snapshot file is there. Each test has a copy. */
beforeAll(async () => {
  origin = await startOrigin();
  jwt = await signed({ sub: 'alice', exp: unixSecs() + 3_600 });
  template = mkdtempSync(join(tmpdir(), 'headgate-snapshot-'));
  const gateway = await startGateway({ folder: template });
  await createService(gateway, 'shop', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
  await createEndpoint(gateway, 'shop', 'GET', '/token', {
    policy_override: { auth: { auth_type: 'jwt', jwt: { secret: SECRET } } },
  });
  key = (await createKey(gateway, 'shop')).token;
  await gateway.stop();
});
afterAll(async () => {
  await origin.close();
  rmSync(template, { recursive: true, force: true });
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-snapshot-'));
  cpSync(template, folder, { recursive: true });
});
afterEach(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(env: Readonly<Record<string, string>> = {}): Promise<TestGateway> {
  running = await startGateway({ folder, env });
  return running;
}

async function stop(): Promise<void> {
  expect((await running?.stop()) ?? 0).toBe(0);
  running = undefined;
}

/** As a user who may write only what its mode allows: root may write everything. */
async function startAsNobody(): Promise<TestGateway> {
  if (process.getuid?.() === 0) {
    for (const name of ['.', ...readdirSync(folder)]) chownSync(join(folder, name), NOBODY, NOBODY);
  }
  running = await startGateway({ folder, uid: NOBODY });
  return running;
}

/** With a key, without one, with a token, with a wrong one, to nowhere. */
async function traffic(gateway: TestGateway): Promise<number[]> {
  const wrong = await signed(
    { sub: 'mallory', exp: unixSecs() + 60 },
    { key: Buffer.from('x'.repeat(64)) as never },
  );
  const answers = [
    await request(gateway, '/shop/v1/x', { headers: bearer(key) }),
    await request(gateway, '/shop/v1/x'),
    await request(gateway, '/shop/v1/token', { headers: bearer(jwt) }),
    await request(gateway, '/shop/v1/token', { headers: bearer(wrong) }),
    await request(gateway, '/nowhere'),
  ];
  return answers.map(({ status }) => status);
}
const AS_CONFIGURED = [200, 401, 200, 401, 404];

async function expectDegraded(gateway: TestGateway): Promise<void> {
  expect(await traffic(gateway)).toEqual(AS_CONFIGURED);
  const list = await gateway.api('GET', '/apps');
  expect([list.status, list.headers.get('headgate-stale')]).toEqual([200, 'true']);
  expect(list.body.data.map(({ slug }: { slug: string }) => slug)).toContain('shop');
  const write = await gateway.api('POST', '/apps', { name: 'x', slug: 'x', gateway_path: '/x' });
  expect([write.status, write.body.code]).toEqual([503, 'storage_unavailable']);
  const health = await gateway.api('GET', '/health');
  expect([health.status, health.body.data.db]).toEqual([503, 'error']);
  expect(health.body.message).toMatch(
    /^The database has been unusable since the start; traffic is served with config version \d+ of the snapshot file of \d{4}-/,
  );
  expect(JSON.stringify(health.body)).not.toContain(folder);
  const ready = await gateway.api('GET', '//readyz');
  expect([ready.status, ready.body.data]).toEqual([200, { ready: true, reason: health.body.message }]);
  const line = gateway.logs().find(({ msg }) => String(msg).startsWith('the database cannot be used'));
  expect(line).toMatchObject({ level: 'error', snapshot_file: snapshotPath ?? snapshot() });
}

async function expectRecovered(gateway: TestGateway): Promise<void> {
  await until(async () => (await gateway.api('GET', '/health')).status === 200);
  const ready = await gateway.api('GET', '//readyz');
  expect([ready.status, ready.body.data]).toEqual([200, { ready: true, reason: null }]);
  expect(await traffic(gateway)).toEqual(AS_CONFIGURED);
  expect((await gateway.must('GET', '/apps')).map(({ slug }: { slug: string }) => slug)).toContain('shop');
  // Writes work and are obeyed.
  await gateway.must('PATCH', '/apps/shop', { default_policy: { auth: { auth_type: 'none' } } });
  expect((await request(gateway, '/shop/v1/x')).status).toBe(200);
}

describe('the database at a restart is', { timeout: 120_000 }, () => {
  it('gone, twice: traffic continues, no empty one is created, and a restored one is used', async () => {
    renameSync(database(), `${database()}.away`);
    for (const end of ['-wal', '-shm']) rmSync(database() + end, { force: true });
    const before = readFileSync(snapshot());
    await start();
    await stop();
    // A start with the snapshot file leaves it for the next.
    expect(readFileSync(snapshot()).equals(before)).toBe(true);
    const gateway = await start();
    await expectDegraded(gateway);
    expect(existsSync(database())).toBe(false);
    renameSync(`${database()}.away`, database());
    await expectRecovered(gateway);
  });

  it('empty: the same', async () => {
    copyFileSync(database(), `${database()}.away`);
    truncateSync(database());
    const gateway = await start();
    await expectDegraded(gateway);
    renameSync(`${database()}.away`, database());
    await expectRecovered(gateway);
  });

  it('empty, but with tables, as "headgate migrate" makes it: the same', async () => {
    renameSync(database(), `${database()}.away`);
    for (const end of ['-wal', '-shm']) rmSync(database() + end, { force: true });
    const migrated = await runToEnd({ GATEWAY_DATABASE_URL: `sqlite://${database()}` }, ['migrate']);
    expect(migrated).toMatchObject({ code: 0, output: expect.stringContaining('Applied') });
    const gateway = await start();
    await expectDegraded(gateway);
    renameSync(`${database()}.away`, database());
    await expectRecovered(gateway);
  });

  it('corrupt: the file is not changed until it is replaced', async () => {
    copyFileSync(database(), `${database()}.away`);
    const noise = randomBytes(65_536);
    writeFileSync(database(), noise);
    const gateway = await start();
    await expectDegraded(gateway);
    expect(readFileSync(database()).equals(noise)).toBe(true);
    renameSync(`${database()}.away`, database());
    await expectRecovered(gateway);
  });

  it('locked by another process: taken when it is free', async () => {
    const other = new DatabaseSync(database());
    other.exec('pragma locking_mode = exclusive');
    other.exec('begin exclusive');
    const gateway = await start();
    await expectDegraded(gateway);
    other.exec('rollback');
    other.close();
    await expectRecovered(gateway);
  });

  it('in a folder that Headgate may not read', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'headgate-elsewhere-'));
    try {
      snapshotPath = join(elsewhere, 'last.snapshot');
      copyFileSync(snapshot(), snapshotPath);
      const secretKey = readFileSync(join(folder, 'secret-key'), 'utf8').trim();
      // As the user `nobody`: root reads every folder.
      if (process.getuid?.() === 0)
        for (const path of [elsewhere, snapshotPath]) chownSync(path, NOBODY, NOBODY);
      chmodSync(folder, 0o000);
      const env = { GATEWAY_SNAPSHOT_FILE: snapshotPath, GATEWAY_SECRET_KEY: secretKey };
      running = await startGateway({ folder, env, cwd: elsewhere, uid: NOBODY });
      await expectDegraded(running);
    } finally {
      chmodSync(folder, 0o700);
      await stop();
      snapshotPath = undefined;
      rmSync(elsewhere, { recursive: true });
    }
  });

  it('in a folder that may only be read, as on a read-only disk: taken when it may be written', async () => {
    chmodSync(folder, 0o500);
    const gateway = await startAsNobody();
    try {
      await expectDegraded(gateway);
    } finally {
      chmodSync(folder, 0o700);
    }
    await expectRecovered(gateway);
  });

  it('on a full disk: taken when there is room', async () => {
    // No file may grow, as where no block is free: the log of the database cannot be begun.
    const limits = ['prlimit', '--fsize=4096:unlimited'];
    const gateway = await startGateway({ folder, through: limits });
    running = gateway;
    await expectDegraded(gateway);
    execFileSync('prlimit', [`--pid=${gateway.process.pid}`, '--fsize=unlimited:unlimited']);
    await expectRecovered(gateway);
  });

  it('on a path whose folder is a file, with its secret key in a setting', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'headgate-elsewhere-'));
    try {
      snapshotPath = join(elsewhere, 'last.snapshot');
      copyFileSync(snapshot(), snapshotPath);
      const secretKey = readFileSync(join(folder, 'secret-key'), 'utf8').trim();
      const blocker = join(elsewhere, 'file');
      writeFileSync(blocker, '');
      const gateway = await start({
        GATEWAY_DATABASE_URL: `sqlite://${blocker}/headgate.db`,
        GATEWAY_SNAPSHOT_FILE: snapshotPath,
        GATEWAY_SECRET_KEY: secretKey,
      });
      await expectDegraded(gateway);
    } finally {
      await stop();
      snapshotPath = undefined;
      rmSync(elsewhere, { recursive: true });
    }
  });

  it('gone together with the secret key: routes that need a secret refuse every token, others serve', async () => {
    rmSync(database());
    rmSync(join(folder, 'secret-key'));
    const gateway = await start();
    expect(await traffic(gateway)).toEqual([200, 401, 401, 401, 404]);
    await expect.poll(() => gateway.output()).toMatch(/could not be opened without their key/);
    expect(existsSync(join(folder, 'secret-key'))).toBe(false);
  });
});

describe('the snapshot file', { timeout: 120_000 }, () => {
  const startsWithout = async (): Promise<string> => {
    const { code, output } = await runToEnd({
      GATEWAY_DATABASE_URL: `sqlite://${database()}`,
      GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
      GATEWAY_PROXY__HOST: '127.0.0.1',
    });
    expect(code).toBe(1);
    return output;
  };

  it('is refused when it is torn before the end of what was written first', async () => {
    rmSync(database());
    truncateSync(snapshot(), 50);
    expect(await startsWithout()).toMatch(
      /^headgate: Cannot open the database .*: the file is gone.* Cannot use the snapshot file ".*": it ends too early/,
    );
  });

  it('has mode 0600, no secret and no admin token in the clear, and nothing beside it', async () => {
    expect(statSync(snapshot()).mode & 0o777).toBe(0o600);
    const text = readFileSync(snapshot(), 'utf8');
    for (const secret of [SECRET, key, ADMIN_TOKEN]) expect(text).not.toContain(secret);
    expect(text).toContain('"secret":"enc:v1:');
    expect(readdirSync(folder).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('follows the changes, one write for many, and survives kill -9 whole: as of the last write', async () => {
    const gateway = await start({ GATEWAY_LOG__LEVEL: 'debug' });
    const written = () => gateway.logs().filter(({ msg }) => msg === 'snapshot file written');
    await until(() => written().length > 0);
    const before = written().length;
    for (let index = 0; index < 50; index++) {
      await gateway.must('PATCH', '/apps/shop', { description: `change ${index}` });
    }
    await until(() => readFileSync(snapshot(), 'utf8').includes('change 49'));
    expect(written().length - before).toBeLessThan(20);
    await gateway.kill();
    running = undefined;
    writeFileSync(`${snapshot()}.999999999.new`, 'left behind');
    rmSync(database());
    const after = await start();
    await expectDegraded(after);
    expect((await after.must('GET', '/apps'))[0].description).toBe('change 49');
    expect(existsSync(`${snapshot()}.999999999.new`)).toBe(false);
  });

  it('GATEWAY_SNAPSHOT_FILE=off: none is written, and a missing database is made anew', async () => {
    rmSync(snapshot());
    rmSync(database());
    const gateway = await start({ GATEWAY_SNAPSHOT_FILE: 'off' });
    expect(await gateway.must('GET', '/apps')).toEqual([]);
    await gateway.must('POST', '/apps', { name: 'x', slug: 'x', gateway_path: '/x' });
    await stop();
    expect(existsSync(snapshot())).toBe(false);
  });

  it('that cannot be written is reported, and nothing else is affected', async () => {
    const path = join(folder, 'no', 'such', 'folder');
    const gateway = await start({ GATEWAY_SNAPSHOT_FILE: path });
    await gateway.must('PATCH', '/apps/shop', { description: 'x' });
    await until(() =>
      gateway.logs().find(({ msg }) => String(msg).startsWith('the snapshot file could not be written')),
    );
    expect(await traffic(gateway)).toEqual(AS_CONFIGURED);
    expect(await gateway.must('GET', '/problems')).toContainEqual(
      expect.objectContaining({
        severity: 'warning',
        code: 'snapshot_file_unwritable',
        detail: expect.stringMatching(
          /^The snapshot file could not be written: it does not exist\. A start /,
        ),
      }),
    );
  });
});

it('a database file that is replaced under a gateway is told with what to do, without its path', async () => {
  const gateway = await start();
  copyFileSync(database(), `${database()}.new`);
  renameSync(`${database()}.new`, database());
  const reason =
    'The database cannot be used: its file was replaced by another; restart Headgate to open the new file';
  expect((await gateway.api('GET', '//readyz')).body).toMatchObject({ data: { reason } });
  expect(await gateway.must('GET', '/problems')).toContainEqual(
    expect.objectContaining({ code: 'database_unavailable', detail: expect.stringContaining(reason) }),
  );
});

it(
  'a folder that turns read-only under a gateway does not keep it from stopping',
  { timeout: 60_000 },
  async () => {
    const gateway = await startAsNobody();
    chmodSync(folder, 0o500);
    try {
      await gateway.must('PATCH', '/apps/shop', { description: 'changed' });
      expect(await traffic(gateway)).toEqual(AS_CONFIGURED);
      await stop();
    } finally {
      chmodSync(folder, 0o700);
    }
    const told = gateway.logs();
    expect(told).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'cannot remove the pid file' }),
    );
    // A write of the snapshot file that the stop interrupts may report its failure last.
    expect(told.slice(-3).map(({ msg }) => msg)).toContain('headgate has stopped');
    await traffic(await start());
  },
);

describe('what the operator has to decide still stops the start', { timeout: 60_000 }, () => {
  it('a wrong secret key', async () => {
    const { code, output } = await runToEnd({
      GATEWAY_DATABASE_URL: `sqlite://${database()}`,
      GATEWAY_SECRET_KEY: randomBytes(32).toString('hex'),
    });
    expect([code, output]).toEqual([1, expect.stringMatching(/were not encrypted with the key of/)]);
  });

  it('a database of another program', async () => {
    rmSync(database());
    const foreign = new DatabaseSync(database());
    foreign.exec('create table guests (name text)');
    foreign.close();
    const { code, output } = await runToEnd({ GATEWAY_DATABASE_URL: `sqlite://${database()}` });
    expect([code, output]).toEqual([1, expect.stringMatching(/contains tables of another program/)]);
  });
});
