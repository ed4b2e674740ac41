/**
 * The disk under the gateway is small, fills up and has room again; the database is damaged while it is in use. All
 * the time clients ask for traffic, and not one of their requests may fail.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startAsking, type AskingClients } from '../support/clients/asking-clients.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startLeanBackend, type LeanBackend } from '../support/clients/lean-client.ts';
import {
  fillUp,
  insideOf,
  mountSmallDisk,
  withTmpfs,
  type SmallDisk,
} from '../support/programs/small-disk.ts';
import { createService, request, requestText } from '../support/traffic.ts';
import { until } from '../support/measure/until.ts';

const TIMEOUT = { timeout: 120_000 };
const SIZE = '4m';
const BODY = 'unharmed';

let folder: string;
let backend: LeanBackend;
let gateway: TestGateway | undefined;
let clients: AskingClients | undefined;
let disk: SmallDisk | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-disk-'));
  backend = await startLeanBackend(() => BODY);
});
afterEach(async () => {
  await clients?.stop();
  await gateway?.kill();
  await disk?.release();
  await backend.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(through?: readonly string[]): Promise<TestGateway> {
  const running = await startGateway({
    folder,
    cwd: tmpdir(),
    env: { GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'headgate.db')}`, GATEWAY_LOG__ACCESS: 'false' },
    ...(through !== undefined && { through }),
  });
  gateway = running;
  return running;
}

async function ask(running: TestGateway): Promise<void> {
  await createService(running, 'steady', backend.port);
  clients = startAsking({
    port: running.proxyPort,
    connections: 20,
    everyMs: 10,
    request: requestText('/steady/v1/x'),
    body: BODY,
  });
}

/** Waits for so many more requests, so that the clients have seen what the disk is like now. */
async function untilAskedAgain(count = 100): Promise<void> {
  const before = clients?.asked.length ?? 0;
  await until(() => (clients?.asked.length ?? 0) >= before + count);
}

async function expectNoFailure(atLeast: number): Promise<void> {
  await clients?.stop();
  const asked = clients?.asked ?? [];
  process.stdout.write(`${asked.length} requests\n`);
  expect(asked.filter(({ outcome }) => outcome !== '200')).toEqual([]);
  expect(asked.length).toBeGreaterThan(atLeast);
}

const app = (slug: string) => ({
  name: slug,
  slug,
  gateway_path: `/${slug}`,
  description: 'x'.repeat(4_000),
});

it(
  'a full disk: writes are refused as a whole, and work again as soon as there is room',
  TIMEOUT,
  async () => {
    const through = withTmpfs(folder, SIZE);
    if (through === undefined) throw new Error('This test needs root or user namespaces');
    const running = await start(through);
    const inside = insideOf(running.process.pid ?? 0, folder);
    await ask(running);
    for (let round = 0; round < 3; round++) {
      fillUp(inside);
      // What is left of the log's room may still take a few.
      const accepted: string[] = [];
      let refused: string | undefined;
      for (let count = 0; refused === undefined; count++) {
        const slug = `full-${round}-${count}`;
        const answer = await running.api('POST', '/apps', app(slug));
        if (answer.status === 201) accepted.push(slug);
        else {
          expect(answer.status).toBe(503);
          expect(answer.body.code).toBe('storage_unavailable');
          refused = slug;
        }
      }
      expect((await running.api('GET', `/apps/${refused}`)).status).toBe(404);
      for (const slug of accepted) expect((await running.api('GET', `/apps/${slug}`)).status).toBe(200);
      // The snapshot file cannot be written either: the one before stays, and no part of another.
      await until(() =>
        running.logs().find(({ msg }) => String(msg).startsWith('the snapshot file could not be written')),
      );
      expect(readdirSync(inside).filter((name) => name.endsWith('.new'))).toEqual([]);
      await untilAskedAgain();

      rmSync(join(inside, 'filler'));
      await running.must('POST', '/apps', app(refused));
      expect((await running.api('GET', '//readyz')).status).toBe(200);
      expect((await running.api('GET', '/health')).status).toBe(200);
      await untilAskedAgain();
    }
    await expectNoFailure(500);
    expect(await running.stop()).toBe(0);
  },
);

it('a full disk at the first start: one plain message', TIMEOUT, async () => {
  const through = withTmpfs(folder, '16k');
  if (through === undefined) throw new Error('This test needs root or user namespaces');
  await expect(start(through)).rejects.toThrow(/headgate: Cannot .*full/);
});

/** A disk on which a gateway was configured and has stopped. */
async function configuredDisk(): Promise<SmallDisk> {
  const mounted = await mountSmallDisk(folder, SIZE);
  disk = mounted;
  const running = await start(mounted.through);
  await createService(running, 'steady', backend.port);
  const snapshot = join(mounted.inside, 'headgate.db.snapshot');
  await until(
    () =>
      statSync(snapshot, { throwIfNoEntry: false }) !== undefined &&
      readFileSync(snapshot, 'latin1').includes('steady'),
  );
  expect(await running.stop()).toBe(0);
  return mounted;
}

/** Everybody is served as before; what is to be written is refused. */
async function expectStandIn(running: TestGateway): Promise<void> {
  expect(await request(running, '/steady/v1/x')).toMatchObject({ status: 200, body: BODY });
  const write = await running.api('POST', '/apps', app('refused'));
  expect([write.status, write.body.code]).toEqual([503, 'storage_unavailable']);
  expect([200, 503]).toContain((await running.api('GET', '/apps')).status);
}

/** Everything works again, without a restart. */
async function expectUsable(running: TestGateway): Promise<void> {
  await until(async () => (await running.api('GET', '/health')).status === 200);
  await running.must('POST', '/apps', app('taken'));
  expect(await request(running, '/steady/v1/x')).toMatchObject({ status: 200, body: BODY });
}

it(
  'a disk that is full at a restart: served as before, and writable when there is room',
  TIMEOUT,
  async () => {
    const { through, inside } = await configuredDisk();
    fillUp(inside);
    const running = await start(through);
    await expectStandIn(running);
    rmSync(join(inside, 'filler'));
    await expectUsable(running);
    expect(await running.stop()).toBe(0);
  },
);

it('a disk that is read-only at a restart, and becomes so while it is in use', TIMEOUT, async () => {
  const { through, inside, remount, coverReadOnly } = await configuredDisk();
  remount('ro');
  expect(() => writeFileSync(join(inside, 'x'), '')).toThrow('EROFS');
  const running = await start(through);
  await expectStandIn(running);
  const reason = running.logs().find(({ msg }) => String(msg).startsWith('the database cannot be used'));
  expect(reason).toMatchObject({ reason: expect.stringContaining('the file system is read-only') });
  remount('rw');
  await expectUsable(running);
  expect(await running.stop()).toBe(0);

  const again = await start(through);
  coverReadOnly();
  expect(() => writeFileSync(join(inside, 'x'), '')).toThrow('EROFS');
  expect(await request(again, '/steady/v1/x')).toMatchObject({ status: 200, body: BODY });
  expect(await again.stop()).toBe(0);
  expect(again.output()).toContain('EROFS');
});

it(
  'a database that is damaged under the gateway: traffic goes on, also after a restart',
  TIMEOUT,
  async () => {
    const running = await start();
    const file = join(folder, 'headgate.db');
    await ask(running);
    for (let count = 0; count < 10; count++) await running.must('POST', '/apps', app(`before-${count}`));
    await until(() =>
      statSync(`${file}.snapshot`, { throwIfNoEntry: false }) === undefined ? undefined : true,
    );
    await new Promise((done) => setTimeout(done, 2_000));
    for (const name of [file, `${file}-wal`])
      writeFileSync(name, randomBytes(statSync(name).size), { flag: 'r+' });
    for (let count = 0; count < 10; count++) {
      const answer = await running.api('POST', '/apps', app(`after-${count}`));
      expect([201, 503]).toContain(answer.status);
    }
    await untilAskedAgain(500);
    await expectNoFailure(500);
    clients = undefined;
    await running.kill();
    const again = await start();
    expect((await request(again, '/steady/v1/x')).body).toBe(BODY);
    expect((await again.api('PATCH', '/apps/none', {})).status).toBe(503);
  },
);
