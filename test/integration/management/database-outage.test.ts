/**
 * While the database is away, locked or full, the management API answers 503 within a bounded time and traffic goes on
 * as it was; when the database is back, so is everything else.
 */
// oxlint-disable vitest/expect-expect -- expectData and expectProblem are assertions
import { execFileSync } from 'node:child_process';
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAsking, type AskingClients } from '../../support/clients/asking-clients.ts';
import { startGateway, type Answer, type TestGateway } from '../../support/gateway.ts';
import { apiAs, callPlain, expectData, expectPage, expectProblem } from '../../support/management.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createService, request, requestText } from '../../support/traffic.ts';
import { awakeMs } from '../../support/measure/steady.ts';

/** Generous, for a loaded machine; without a bound of its own a call would hang for longer. */
const BOUND_MS = 15_000;
const BODY = 'unharmed';
let gateway: TestGateway;
let origin: Origin;
let key: string;
let path: string;
/** Ask from the first test to the end of the last one, so also while the database goes away and comes back. */
let clients: AskingClients;
beforeAll(async () => {
  const answering = startOrigin((_request, response) => response.end(BODY));
  [gateway, origin] = await Promise.all([startGateway(), answering]);
  path = join(gateway.folder, 'headgate.db');
  const app = { default_policy: { auth: { auth_type: 'api_key' } } };
  await createService(gateway, 'steady', origin.port, { app });
  key = (await gateway.must('POST', '/apps/steady/tokens', { name: 'k' })).token;
  const headers = { Authorization: `Bearer ${key}` };
  clients = startAsking({
    port: gateway.proxyPort,
    connections: 4,
    everyMs: 10,
    request: requestText('/steady/v1/x', { headers }),
    body: BODY,
  });
});
afterAll(async () => {
  await clients.stop();
  await gateway.stop();
  await origin.close();
});

/** A proxied request with a key, one without, one to nowhere. */
async function traffic(): Promise<number[]> {
  const headers = { Authorization: `Bearer ${key}` };
  return [
    (await request(gateway, '/steady/v1/x', { headers })).status,
    (await request(gateway, '/steady/v1/x')).status,
    (await request(gateway, '/nowhere')).status,
  ];
}
const UNAFFECTED = [200, 401, 404];

/** Requests with a key, one after the other, until `over`: fifty at least, each answered at once. */
async function trafficUntil(over: Promise<unknown>): Promise<void> {
  let isOver = false;
  const stop = (): void => void (isOver = true);
  void over.then(stop, stop);
  let slowestMs = 0;
  for (let count = 0; count < 50 || !isOver; count++) {
    const begunMs = awakeMs();
    const { status } = await request(gateway, '/steady/v1/x', {
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(status).toBe(200);
    slowestMs = Math.max(slowestMs, awakeMs() - begunMs);
  }
  expect(slowestMs).toBeLessThan(1_000);
}

async function bounded(call: Promise<Answer>): Promise<Answer> {
  const late = new Promise<never>((_done, fail) => {
    setTimeout(() => fail(new Error(`No answer within ${BOUND_MS} ms`)), BOUND_MS).unref();
  });
  return Promise.race([call, late]);
}

const body = (slug: string): object => ({ name: slug, slug, gateway_path: `/${slug}` });
const create = (slug: string): Promise<Answer> => bounded(gateway.api('POST', '/apps', body(slug)));

async function expectEverythingWorks(slug: string): Promise<void> {
  expectData(await create(slug), 201);
  expect(expectData(await callPlain(gateway, {}, 'GET', '/health')).db).toBe('ok');
  expectData(await callPlain(gateway, {}, 'GET', '//readyz'));
  expect(await traffic()).toEqual(UNAFFECTED);
}

/** What the API says while there is no database at all. */
async function expectAway(): Promise<void> {
  const list = await bounded(gateway.api('GET', '/apps'));
  expect(expectPage(list).data.map(({ slug }) => slug)).toContain('steady');
  const one = await bounded(gateway.api('GET', '/apps/steady'));
  expect(expectData(one)).toMatchObject({ slug: 'steady' });
  for (const { headers } of [list, one]) expect(headers.get('headgate-stale')).toBe('true');
  expectProblem(await bounded(gateway.api('GET', '/audit')), 'storage_unavailable');
  expectProblem(await bounded(gateway.api('GET', '/admin/tokens')), 'storage_unavailable');
  expectProblem(await create('lost'), 'storage_unavailable');
  expectProblem(await bounded(gateway.api('PATCH', '/apps/steady', { name: 'x' })), 'storage_unavailable');
  expectProblem(await bounded(gateway.api('DELETE', '/apps/steady?cascade=true')), 'storage_unavailable');

  const health = await bounded(callPlain(gateway, {}, 'GET', '/health'));
  expect(health.status).toBe(503);
  expect(health.body).toEqual({
    status: 503,
    message: expect.stringMatching(/\S/),
    data: { db: expect.not.stringMatching(/^ok$/), db_driver: 'sqlite', uptime_secs: expect.any(Number) },
  });
  const ready = await bounded(callPlain(gateway, {}, 'GET', '//readyz'));
  // Traffic is served without the database: its outage must not take the gateway out of service.
  expect([ready.status, ready.body.data]).toEqual([200, { ready: true, reason: health.body.message }]);
  expectData(await bounded(callPlain(gateway, {}, 'GET', '//healthz')));
  expect((await bounded(gateway.api('GET', '//metrics'))).status).toBe(200);
  expect(await traffic()).toEqual(UNAFFECTED);
}

describe('the database goes away while the gateway runs', { timeout: 60_000 }, () => {
  it('moved away: 503, traffic unaffected; moved back: all as before, and nothing of the refused writes', async () => {
    renameSync(path, `${path}.away`);
    await expectAway();
    renameSync(`${path}.away`, path);
    const read = await gateway.api('GET', '/apps/lost');
    expectProblem(read, 'not_found');
    expect(read.headers.get('headgate-stale')).toBeNull();
    expect((await gateway.must('GET', '/apps/steady')).name).toBe('steady');
    await expectEverythingWorks('after-move');
  });

  it('replaced by another file: nothing is read from or written to that', async () => {
    renameSync(path, `${path}.away`);
    writeFileSync(path, 'something else');
    await expectAway();
    expect(statSync(path).size).toBe('something else'.length);
    rmSync(path);
    renameSync(`${path}.away`, path);
    await expectEverythingWorks('after-replacement');
  });

  it('locked by another program: reads go on, writes are 503 in bounded time and leave nothing', async () => {
    const { token: viewer } = await gateway.must('POST', '/admin/tokens', { name: 'v', role: 'viewer' });
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    try {
      // One after the other these would wait for half a minute.
      const refused = Promise.all(Array.from({ length: 10 }, (_, index) => create(`locked-${index}`)));
      // Meanwhile no request waits for the use of the key to be written.
      await trafficUntil(refused);
      const writes = await refused;
      for (const answer of writes) {
        expectProblem(answer, 'storage_unavailable');
        expect(answer.body.detail).toContain('another process holds a lock on it');
      }
      // The line of a request is written after its answer.
      const lines = (): unknown[] =>
        gateway
          .logs()
          .filter(({ msg, status }) => msg === 'management request' && status === 503)
          .slice(-writes.length);
      const line = { level: 'warn', reason: expect.stringContaining('holds a lock') };
      await expect.poll(lines).toEqual(writes.map(() => expect.objectContaining(line)));
      expectData(await bounded(gateway.api('GET', '/apps/steady')));
      expectData(await bounded(apiAs(gateway, viewer, 'GET', '/apps/steady')));
      expectProblem(await gateway.api('GET', '/apps/locked-1'), 'not_found');
      expect(await traffic()).toEqual(UNAFFECTED);
    } finally {
      other.exec('rollback');
      other.close();
    }
    await expectEverythingWorks('locked-1');
  });

  it('locked for a moment: the write waits and succeeds', async () => {
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    const waiting = create('patient');
    setTimeout(() => {
      other.exec('rollback');
      other.close();
    }, 300);
    expectData(await waiting, 201);
  });

  it('no room for a write: 503, nothing half-applied; with room again it works', async () => {
    const limitTo = (size: string): void => {
      execFileSync('prlimit', [`--pid=${gateway.process.pid}`, `--fsize=${size}:unlimited`]);
    };
    // The file may not grow any more, as on a full disk.
    limitTo('4096');
    try {
      for (const slug of ['no-room-1', 'no-room-2']) expectProblem(await create(slug), 'storage_unavailable');
      expectData(await bounded(gateway.api('GET', '/apps/steady')));
      expect(await traffic()).toEqual(UNAFFECTED);
      const health = await bounded(callPlain(gateway, {}, 'GET', '/health'));
      expect([health.status, health.body.data.db]).toEqual([503, 'degraded']);
      expect(health.body.message).toMatch(/^The database cannot be written: .*disk/);
      const ready = await bounded(callPlain(gateway, {}, 'GET', '//readyz'));
      expect(ready.body.data).toEqual({ ready: true, reason: health.body.message });
      const line = gateway.logs().findLast(({ msg }) => msg === 'the database cannot be written');
      expect(line).toMatchObject({ reason: expect.stringContaining('disk') });
    } finally {
      limitTo('unlimited');
    }
    expectProblem(await gateway.api('GET', '/apps/no-room-1'), 'not_found');
    await expectEverythingWorks('no-room-1');
    const { data } = expectPage(await gateway.api('GET', '/audit?limit=500'));
    const versions = data
      .filter(({ resource_type }) => resource_type !== 'admin_token')
      .map(({ config_version }) => config_version as number);
    expect(versions, 'a write that was refused used up no config version').toEqual(
      versions.map((_version, index) => index + 1),
    );
  });

  it('deleted for good: 503 and traffic to the end, and the gateway still stops as it should', async () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    await expectAway();
    await clients.stop();
    expect(clients.asked.filter(({ outcome }) => outcome !== '200')).toEqual([]);
    expect(clients.asked.length).toBeGreaterThan(500);
    expect(await gateway.stop()).toBe(0);
  });
});
