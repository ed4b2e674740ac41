/** The death of a worker, the death of the process and an orderly stop, as clients and operators see them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { startGateway, WITH_SPARE, type TestGateway } from '../../support/gateway.ts';
import { HELD_UP_MS_MAX } from '../../support/clients/drain-clients.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { heldUpSince } from '../../support/measure/steady.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import {
  createEndpoint,
  createService,
  createVersion,
  request,
  requestText,
  revisionPath,
  versionPath,
} from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';
import { awakeMs } from '../../support/measure/steady.ts';

const TWO_WORKERS = { GATEWAY_WORKERS: '2' };
const TIMEOUT = { timeout: 90_000 };
/** Who ask without a pause when the gateway is stopped. */
const CLIENTS = 16;
const ATTEMPTS = 3;

let origin: Origin;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function gatewayFor(env: Readonly<Record<string, string>>, folder?: string): Promise<TestGateway> {
  const gateway = await startGateway({
    env,
    ...(folder === undefined ? {} : { folder }),
  });
  cleanups.push(() => gateway.kill());
  return gateway;
}

/** The status of one request on an open connection; 'closed' when it was lost. */
async function statusOn(client: RawClient, target: string): Promise<number | 'closed'> {
  client.write(requestText(target));
  try {
    return (await client.response()).status;
  } catch {
    return 'closed';
  }
}

const deathsIn = (gateway: TestGateway): number =>
  gateway.logs().filter(({ msg }) => msg === 'a proxy worker died and is replaced').length;

/** Names of the workers that answer, as the metrics tell. */
async function workersOf(gateway: TestGateway): Promise<string[]> {
  const { body } = await gateway.api('GET', '//metrics');
  return [...new Set([...String(body).matchAll(/worker="(\d+)"/g)].map((match) => match[1] ?? ''))];
}

describe('the death of a worker', () => {
  it(
    'the others serve on, it is replaced, and nothing that was counted or configured is lost',
    TIMEOUT,
    async () => {
      const gateway = await gatewayFor({ ...TWO_WORKERS, ...WITH_SPARE, ...INSPECTABLE });
      await createService(gateway, 'a', origin.port);
      await createService(gateway, 'limited', origin.port, {
        app: {
          default_policy: {
            rate_limit: { enabled: true, requests: 6, window_seconds: 86_400, algorithm: 'sliding_window' },
          },
        },
      });
      for (let used = 0; used < 4; used++) expect((await request(gateway, '/limited/v1/x')).status).toBe(200);
      const clients = await Promise.all(Array.from({ length: 24 }, () => connectRaw(gateway.proxyPort)));
      for (const client of clients) expect(await statusOn(client, '/a/v1/x')).toBe(200);

      await crashWorkers(gateway, (title) => title.endsWith('proxy-1'));
      expect(await until(() => (deathsIn(gateway) > 0 ? deathsIn(gateway) : undefined))).toBe(1);
      // From here on its connections are gone, those of the other worker live, and new ones are served.
      for (let index = 0; index < 20; index++) expect((await request(gateway, '/a/v1/x')).status).toBe(200);
      const after = await Promise.all(clients.map((client) => statusOn(client, '/a/v1/x')));
      expect(after.filter((status) => status === 200).length).toBeGreaterThan(0);
      expect(after.filter((status) => status === 'closed').length).toBeGreaterThan(0);
      expect(after.every((status) => status === 200 || status === 'closed')).toBe(true);
      for (const client of clients) client.end();

      await until(async () => (await workersOf(gateway)).includes('3'));
      expect(gateway.process.exitCode).toBeNull();
      // The replacement has the configuration of now, takes part in changes, and shares the counters.
      await gateway.must('PATCH', versionPath('a'), { status: 'retired' });
      const retired = await Promise.all(Array.from({ length: 24 }, () => request(gateway, '/a/v1/x')));
      expect(new Set(retired.map(({ status }) => status))).toEqual(new Set([410]));
      const limited = await Promise.all(Array.from({ length: 12 }, () => request(gateway, '/limited/v1/x')));
      expect(limited.filter(({ status }) => status === 200)).toHaveLength(2);
      expect((await gateway.api('GET', '/health')).body.status).toBe(200);
    },
  );

  it('with every worker dead at once the process lives, and serves again', TIMEOUT, async () => {
    const gateway = await gatewayFor({ ...TWO_WORKERS, ...WITH_SPARE, ...INSPECTABLE });
    await createService(gateway, 'a', origin.port);
    await crashWorkers(gateway, (title) => /proxy-[12]$/.test(title));
    await until(async () => {
      const response = await request(gateway, '/a/v1/x').catch(() => undefined);
      return response?.status === 200;
    }, 60_000);
    await until(() => deathsIn(gateway) === 2);
    await until(async () => (await workersOf(gateway)).length === 2, 60_000);
    // Writes are possible all along.
    await gateway.must('PATCH', revisionPath('a'), { backend_base_path: '/b' });
    expect((await request(gateway, '/a/v1/x')).status).toBe(200);
    expect(origin.seen.at(-1)?.url).toBe('/b/x');
  });
});

describe('the death of the process', () => {
  it('no acknowledged write is lost to kill -9', TIMEOUT, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-kill-'));
    cleanups.push(async () => rmSync(folder, { recursive: true, force: true }));
    const first = await gatewayFor(TWO_WORKERS, folder);
    await createService(first, 'kept', origin.port, { app: { routing_mode: 'managed_endpoint' } });
    await createVersion(first, 'kept', 'old', { status: 'retired' });
    const key = await first.must('POST', '/apps/kept/tokens', { name: 'k', scopes: ['read'] });
    await createEndpoint(first, 'kept', 'GET', '/locked', {
      policy_override: { auth: { auth_type: 'api_key' }, required_scopes: ['read'] },
    });
    // Several writers at once; the process dies in the midst of their writes.
    const acknowledged: string[] = [];
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (let index = 0; ; index++) {
        const path = `/w${writer}-${index}`;
        const answer = await first
          .api('POST', `${revisionPath('kept')}/endpoints`, { method: 'GET', path })
          .catch(() => undefined);
        if (answer === undefined) return;
        expect(answer.status).toBe(201);
        acknowledged.push(path);
        if (acknowledged.length === 60) first.process.kill('SIGKILL');
      }
    });
    await Promise.all(writers);
    expect(acknowledged.length).toBeGreaterThanOrEqual(60);

    const second = await gatewayFor(TWO_WORKERS, folder);
    // The very first requests after the start: no worker listens before it has the configuration.
    const statuses = await Promise.all(
      acknowledged.map(async (path) => (await request(second, `/kept/v1${path}`)).status),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect((await request(second, '/kept/old/x')).status).toBe(410);
    expect((await request(second, '/kept/v1/locked')).status).toBe(401);
    const headers = { Authorization: `Bearer ${key.token}` };
    expect((await request(second, '/kept/v1/locked', { headers })).status).toBe(200);
    // And it can be written to.
    await createEndpoint(second, 'kept', 'GET', '/after');
    expect((await request(second, '/kept/v1/after')).status).toBe(200);
    expect(await second.stop()).toBe(0);
  });
});

describe('an orderly stop', () => {
  it(
    'SIGTERM lets running exchanges finish, closes the others, and ends with exit code 0',
    TIMEOUT,
    async () => {
      const finish: (() => void)[] = [];
      const slow = await startOrigin((incoming, response) => {
        if (incoming.url !== '/slow') return void response.end('quick');
        response.write('begin ');
        finish.push(() => response.end('end'));
      });
      cleanups.push(() => slow.close());
      const gateway = await gatewayFor({ ...TWO_WORKERS, ...WITH_SPARE });
      await createService(gateway, 'a', slow.port);
      const running = await Promise.all(Array.from({ length: 6 }, () => connectRaw(gateway.proxyPort)));
      for (const client of running) client.write(requestText('/a/v1/slow'));
      await until(() => running.every((client) => client.received().includes('begin')));
      const idle = await connectRaw(gateway.proxyPort);
      const last = await connectRaw(gateway.proxyPort);
      for (const client of [idle, last]) expect(await statusOn(client, '/a/v1/quick')).toBe(200);

      const stopped = gateway.stop();
      // A group signal arrives twice; the second changes nothing.
      gateway.process.kill('SIGTERM');
      await until(() => gateway.logs().find(({ msg }) => msg === 'stopping'));
      // A request on a connection that was at rest is still answered, with the word that it is the last one, as long
      // as the connection was not found idle and closed.
      // The worker hears of the stop a moment later than the log.
      let lastAnswers = 0;
      for (let isLast = false; !isLast;) {
        last.write(requestText('/a/v1/quick'));
        const answer = await last.response().catch(() => undefined);
        if (answer !== undefined) {
          expect(answer).toMatchObject({ status: 200, body: 'quick' });
          lastAnswers += 1;
        }
        isLast = answer === undefined || answer.headers['connection'] === 'close';
      }
      await Promise.all([idle.closed(), last.closed()]);
      await until(async () => {
        const fresh = await connectRaw(gateway.proxyPort).catch(() => undefined);
        fresh?.end();
        return fresh === undefined;
      });
      // The balancer hears that this gateway is stopping; no exchange was touched.
      expect((await gateway.api('GET', '//readyz')).status).toBe(503);
      expect(gateway.process.exitCode).toBeNull();
      for (const each of finish) each();
      for (const client of running) {
        expect(await client.response()).toMatchObject({ status: 200, body: 'begin end' });
        await client.closed();
      }
      expect(await stopped).toBe(0);
      expect(gateway.logs().at(-1)?.['msg']).toBe('headgate has stopped');
      // No line of an exchange is lost with the worker that wrote it.
      const answers = running.length + 2 + lastAnswers;
      expect(gateway.logs().filter(({ msg }) => msg === 'access')).toHaveLength(answers);
    },
  );

  it(
    'a request that began before the stop and is answered after it carries Connection: close',
    TIMEOUT,
    async () => {
      let answer = (): void => undefined;
      const held = await startOrigin((_incoming, response) => {
        answer = () => response.end('late');
      });
      cleanups.push(() => held.close());
      const gateway = await gatewayFor({});
      await createService(gateway, 'a', held.port);
      const client = await connectRaw(gateway.proxyPort);
      client.write(requestText('/a/v1/x'));
      await until(() => held.seen.length > 0);
      const stopped = gateway.stop();
      await until(async () => {
        const fresh = await connectRaw(gateway.proxyPort).catch(() => undefined);
        fresh?.end();
        return fresh === undefined;
      });
      answer();
      const response = await client.response();
      expect(response).toMatchObject({ status: 200, body: 'late' });
      expect(response.headers['connection']).toBe('close');
      await client.closed();
      expect(await stopped).toBe(0);
    },
  );

  it('DRAIN_TIMEOUT_MS bounds the wait for exchanges that do not end', TIMEOUT, async () => {
    const endless = await startOrigin((_incoming, response) => void response.write('begin '));
    cleanups.push(() => endless.close());
    const gateway = await gatewayFor({ GATEWAY_PROXY__DRAIN_TIMEOUT_MS: '300' });
    await createService(gateway, 'a', endless.port);
    const client = await connectRaw(gateway.proxyPort);
    client.write(requestText('/a/v1/x'));
    await until(() => client.received().includes('begin'));
    const signalledMs = awakeMs();
    expect(await gateway.stop()).toBe(0);
    // Far from the 30 s of the default.
    expect(awakeMs() - signalledMs).toBeLessThan(10_000);
    await client.closed();
    // Cut in the midst, and to be recognised as such: no last chunk.
    expect(client.received()).not.toContain('\r\n0\r\n');
  });

  it('no request fails because of the stop: what was accepted is answered', TIMEOUT, async () => {
    let sinceTheStop = 0;
    for (let attempt = 0; attempt < ATTEMPTS && sinceTheStop < CLIENTS; attempt++) {
      sinceTheStop = await answeredSinceTheStop();
    }
    expect(
      sinceTheStop,
      `answers since the stop, in the last of ${ATTEMPTS} attempts`,
    ).toBeGreaterThanOrEqual(CLIENTS);
  });

  /** Stops a gateway that is busy; resolves with how many were answered since then, all of them well. */
  async function answeredSinceTheStop(): Promise<number> {
    const gateway = await gatewayFor(TWO_WORKERS);
    await createService(gateway, 'a', origin.port);
    const outcomes: (number | 'closed')[] = [];
    // Each request on a connection of its own, until no connection can be made any more.
    const loops = Array.from({ length: CLIENTS }, async () => {
      for (;;) {
        const heldUp = heldUpSince();
        const client = await connectRaw(gateway.proxyPort).catch(() => undefined);
        if (client === undefined) return;
        const isLate = heldUp() > HELD_UP_MS_MAX;
        const status = await statusOn(client, '/a/v1/x');
        // A client that is silent for half a second need not be waited for.
        if (status !== 'closed' || !isLate) outcomes.push(status);
        client.end();
      }
    });
    await until(() => outcomes.length > 200, 60_000);
    const before = outcomes.length;
    const stopped = gateway.stop();
    await Promise.all(loops);
    expect(await stopped).toBe(0);
    expect(outcomes.filter((status) => status !== 200)).toEqual([]);
    return outcomes.length - before;
  }
});
