/**
 * docs/reference/circuit-breaker.md: health checks, traffic that comes back gradually, and what the management API
 * tells of it all.
 */
import { readFileSync } from 'node:fs';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startOrigin, startRawOrigin, type Origin } from '../../support/backends/origin.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import {
  createRevision,
  createService,
  echoed,
  request,
  requestText,
  revisionPath,
  type Served,
} from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';
import { hasSeveralTargets, PLACES_OF_EACH } from '../../support/three-targets.ts';

const TLS = join(import.meta.dirname, '../../support/tls');

let gateway: TestGateway;
let echo: Origin;

beforeAll(async () => {
  [gateway, echo] = await Promise.all([startGateway({ env: { GATEWAY_WORKERS: '2' } }), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await echo.close();
});

const healthOf = (slug: string, revision = 'r1'): Promise<Served> =>
  gateway.must('GET', `${revisionPath(slug, 'v1', revision)}/health`);

const inState = (slug: string, state: string, revision = 'r1'): Promise<Served> =>
  until(async () => {
    const health = await healthOf(slug, revision);
    return health.state === state ? health : undefined;
  });

interface Checked extends Origin {
  /** Status of the health check. */
  status: number;
  failing: boolean;
  checks: number;
}

/** A backend whose health check answers what a test wants; everything else is 200 or a reset. */
async function checkedOrigin(): Promise<Checked> {
  const origin: Checked = {
    ...(await startOrigin((incoming, response) => {
      if (incoming.url === '/healthz') {
        origin.checks += 1;
        response.statusCode = origin.status;
      } else if (origin.failing) return void response.socket?.destroy();
      response.end(incoming.url);
    })),
    status: 200,
    failing: false,
    checks: 0,
  };
  return origin;
}

describe('GET …/revisions/{id}/health', () => {
  it('shows the state with its start, the last error and the history, all of which is logged', async () => {
    await createService(gateway, 'told', await freePort(), {
      // Not due for its trial before it has been looked at.
      revision: { circuit_breaker: { failures: 2, open_secs: 3 } },
    });
    const { id } = await gateway.must('GET', revisionPath('told'));
    expect(await healthOf('told')).toEqual({
      revision_id: id,
      state: 'closed',
      since: null,
      consecutive_failures: 0,
      openings: 0,
      traffic_share: 1,
      probing: 'off',
      last_error: null,
      last_probe: null,
      history: [],
      ...(hasSeveralTargets && { targets: expect.any(Array) }),
    });
    const before = Date.now();
    const first = await request(gateway, '/told/v1/x');
    const second = await request(gateway, '/told/v1/x');
    expect([first.status, second.status]).toEqual([502, 502]);
    const open = await until(async () => {
      const health = await healthOf('told');
      return health.history.length > 0 ? health : undefined;
    });
    expect(open).toMatchObject({ state: 'open', consecutive_failures: 2, openings: 1, traffic_share: 0 });
    for (const time of [open.since, open.last_error.at, open.history[0].at]) {
      expect(Date.parse(time)).toBeGreaterThanOrEqual(before - 1);
      expect(Date.parse(time)).toBeLessThanOrEqual(Date.now());
    }
    const cause = {
      detail: expect.stringContaining('ECONNREFUSED'),
      request_id: second.headers['x-request-id'],
    };
    expect(open.last_error).toMatchObject({ kind: 'connect', ...cause });
    expect(open.history).toEqual([
      { at: open.since, from: 'closed', to: 'open', event: 'failure', ...cause },
    ]);
    // A trial that fails as well.
    await until(async () => (await request(gateway, '/told/v1/x')).status === 502);
    const again = await until(async () => {
      const health = await healthOf('told');
      return health.history.length === 3 ? health : undefined;
    });
    expect(again.history.map(({ from, to, event }: Served) => [from, to, event])).toEqual([
      ['half_open', 'open', 'trial_failure'],
      ['open', 'half_open', 'request'],
      ['closed', 'open', 'failure'],
    ]);
    // Lines come through a pipe, and may be behind the answers.
    const lines = await until(async () => {
      const told = gateway.logs().filter((line) => line['revision_id'] === id && line['event'] !== undefined);
      return told.length >= 3 ? told : undefined;
    });
    expect(lines[0]).toMatchObject({ app: 'told', version: 'v1', revision: 'r1' });
    expect(lines.map(({ level, to, msg }) => [level, to, msg])).toEqual([
      ['warn', 'open', 'the circuit breaker of a revision opened'],
      ['info', 'half_open', 'the circuit breaker of a revision lets a trial request through'],
      ['warn', 'open', 'the circuit breaker of a revision opened'],
    ]);
    // Another backend: what was is not held against it.
    await gateway.must('PATCH', revisionPath('told'), { backend_port: echo.port });
    expect(await healthOf('told')).toMatchObject({ state: 'closed', last_error: null, history: [] });
    expect((await request(gateway, '/told/v1/x')).status).toBe(200);
  });

  it('is 404 for a revision that is not there', async () => {
    expect((await gateway.api('GET', `${revisionPath('told', 'v1', 'none')}/health`)).status).toBe(404);
  });
});

describe('health checks', () => {
  it('with interval_ms also open a closed breaker, after so many bad answers, and close it after so many good ones', async () => {
    const origin = await checkedOrigin();
    const probe = {
      interval_ms: 100,
      unhealthy_threshold: 2,
      healthy_threshold: 3,
      expected_statuses: [204, '3xx'],
    };
    origin.status = 204;
    await createService(gateway, 'active', origin.port, {
      revision: { health_check_path: '/healthz', circuit_breaker: { probe } },
    });
    await until(() => origin.checks >= 3);
    expect(await healthOf('active')).toMatchObject({
      state: 'closed',
      probing: 'always',
      last_probe: { ok: true, status: 204, error: null },
    });
    // 200 is not among the statuses that are expected.
    origin.status = 200;
    const before = origin.checks;
    const open = await inState('active', 'open');
    expect(origin.checks - before).toBeGreaterThanOrEqual(2);
    expect(open.history[0]).toMatchObject({ event: 'probe_unhealthy', request_id: null });
    expect(open.last_probe).toMatchObject({ ok: false, status: 200 });
    expect((await request(gateway, '/active/v1/x')).status).toBe(503);
    origin.status = 302;
    const checks = origin.checks;
    const closed = await inState('active', 'closed');
    expect(origin.checks - checks).toBeGreaterThanOrEqual(3);
    expect(closed.history[0]).toMatchObject({ from: 'open', event: 'probe_healthy' });
    expect((await request(gateway, '/active/v1/x')).status).toBe(200);
    await origin.close();
  });

  it('ask a path of the backend’s own with its Host, once per node and not at all when not current', async () => {
    const origin = await checkedOrigin();
    const fields = { health_check_path: '/healthz', backend_base_path: '/base' };
    await createService(gateway, 'asked', origin.port, {
      revision: { ...fields, circuit_breaker: { probe: { interval_ms: 300 } } },
    });
    await until(() => origin.checks >= 1);
    // Six times 300 ms, less a tenth; a prober in each of the two workers would have asked as often in half of that.
    const [startedMs, before] = [performance.now(), origin.checks];
    await until(() => origin.checks >= before + 6 * PLACES_OF_EACH);
    expect(performance.now() - startedMs).toBeGreaterThan(1_200);
    for (const { method, url, body } of origin.seen)
      expect({ method, url, body }).toEqual({ method: 'GET', url: '/healthz', body: '' });
    // Where a backend has several places, each is asked with a Host of its own.
    expect(origin.seen.map(({ headers }) => headers)).toContainEqual(
      expect.objectContaining({
        host: `127.0.0.1:${origin.port}`,
        'user-agent': 'headgate-health-check',
      }),
    );
    await gateway.must('POST', `${revisionPath('asked')}/deactivate`);
    expect((await healthOf('asked')).probing).toBe('off');
    // One may have been under way. With checks that went on there would be no such interval without any.
    await until(async () => {
      const { checks } = origin;
      await new Promise((done) => setTimeout(done, 700));
      return origin.checks === checks;
    });
    await origin.close();
  });

  it('time out, and take a strange answer for a bad one', async () => {
    const silent = await startRawOrigin(() => undefined);
    const strange = await startRawOrigin((socket) => void socket.write('HTTP/9.9 200 fine\r\n\r\n'));
    const probe = { interval_ms: 100, timeout_ms: 150, unhealthy_threshold: 1 };
    const fields = { health_check_path: '/healthz', circuit_breaker: { probe } };
    await createService(gateway, 'silent', silent.port, { revision: fields });
    await createRevision(gateway, 'silent', strange.port, { revision: 'strange', ...fields });
    const [quiet, odd] = await Promise.all([inState('silent', 'open'), inState('silent', 'open', 'strange')]);
    expect(quiet.last_probe).toMatchObject({ ok: false, status: null, error: 'no answer within 150 ms' });
    expect(quiet.last_probe.duration_ms).toBeGreaterThanOrEqual(149);
    expect(odd.last_probe).toMatchObject({ ok: false, status: null });
    await Promise.all([silent.close(), strange.close()]);
  });

  it('go by the names and certificates of the traffic', async () => {
    const pem = (name: string): string => readFileSync(join(TLS, name), 'utf8');
    const server = https.createServer(
      { cert: pem('backend.pem'), key: pem('backend-key.pem') },
      (_, response) => response.end('safe'),
    );
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const probe = { interval_ms: 100, unhealthy_threshold: 1 };
    const fields = {
      backend_scheme: 'https',
      backend_host: 'localhost',
      health_check_path: '/',
      circuit_breaker: { probe },
    };
    const { port } = server.address() as AddressInfo;
    await createService(gateway, 'named', port, {
      revision: { ...fields, backend_tls: { ca: pem('ca.pem') } },
    });
    await createRevision(gateway, 'named', port, { revision: 'unknown-authority', ...fields });
    const good = await until(async () => {
      const { last_probe } = await healthOf('named');
      return last_probe?.ok === true ? last_probe : undefined;
    });
    expect(good.status).toBe(200);
    await inState('named', 'open', 'unknown-authority');
    const lastProbe = async () => (await healthOf('named', 'unknown-authority')).last_probe;
    await expect.poll(lastProbe).toMatchObject({
      ok: false,
      error: expect.stringContaining('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    });
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
});

describe('coming back', () => {
  /** The bodies of `count` requests, one after the other on one connection, and so on one worker. */
  async function bodies(target: string, count: number, pauseMs = 0): Promise<string[]> {
    const client = await connectRaw(gateway.proxyPort);
    const all: string[] = [];
    for (let index = 0; index < count; index++) {
      client.write(requestText(target));
      const { status, body } = await client.response();
      expect(status).toBe(200);
      all.push(body);
      if (pauseMs > 0) await new Promise((done) => setTimeout(done, pauseMs));
    }
    client.end();
    return all;
  }

  it(
    'a revision gets a growing part of its share, and all of it in the end',
    { timeout: 60_000 },
    async () => {
      const origin = await checkedOrigin();
      await createService(gateway, 'back', echo.port);
      await createRevision(gateway, 'back', origin.port, {
        revision: 'second',
        health_check_path: '/healthz',
        circuit_breaker: { failures: 1, recovery_secs: 3 },
      });
      const isSecond = (body: string): boolean => body === '/x';
      expect((await bodies('/back/v1/x', 20)).filter(isSecond)).toHaveLength(10);
      const comeBack = async (): Promise<boolean> => {
        origin.status = 500;
        origin.failing = true;
        await until(async () => {
          await request(gateway, '/back/v1/x');
          return (await healthOf('back', 'second')).state === 'open';
        });
        expect((await bodies('/back/v1/x', 10)).filter(isSecond)).toHaveLength(0);
        origin.status = 200;
        origin.failing = false;
        const { since } = await inState('back', 'closed', 'second');
        const { traffic_share: share } = await healthOf('back', 'second');
        // On a machine so busy that all of it has come back already, nothing can be seen.
        if (share === 1 && Date.now() >= Date.parse(since) + 3_000) return false;
        expect(share).toBeLessThan(1);
        const seconds: (number | undefined)[] = [undefined, undefined, undefined];
        const endMs = Date.parse(since) + 3_000;
        for (;;) {
          const elapsedMs = Date.now() - Date.parse(since);
          if (elapsedMs >= 2_990) break;
          const batch = await bodies('/back/v1/x', 20, 1);
          const third = Math.floor(elapsedMs / 1_000);
          // Late in each, and not on into the next one as on a busy machine.
          if (elapsedMs % 1_000 < 400) continue;
          if (Math.floor((Date.now() - Date.parse(since)) / 1_000) !== third) continue;
          seconds[third] = Math.max(seconds[third] ?? 0, batch.filter(isSecond).length);
        }
        await until(() => Date.now() >= endMs);
        const [first, second, third] = seconds;
        // Or so busy that nothing is known of one of them.
        if (first === undefined || second === undefined || third === undefined) return false;
        // Of 20 it gets at most 10 × ⅓, 10 × ⅔ and 10.
        expect(first).toBeLessThanOrEqual(5);
        expect(first).toBeLessThan(second);
        expect(second).toBeLessThan(third);
        return true;
      };
      await until(comeBack);
      expect((await bodies('/back/v1/x', 100)).filter(isSecond)).toHaveLength(50);
      expect((await healthOf('back', 'second')).traffic_share).toBe(1);
      await origin.close();
    },
  );

  it('nothing is held back from the only one', async () => {
    const origin = await checkedOrigin();
    await createService(gateway, 'only', origin.port, {
      revision: { circuit_breaker: { failures: 1, open_secs: 1, recovery_secs: 600 } },
    });
    origin.failing = true;
    expect((await request(gateway, '/only/v1/x')).status).toBe(502);
    origin.failing = false;
    await until(async () => (await request(gateway, '/only/v1/x')).status === 200);
    expect(await bodies('/only/v1/x', 30)).toHaveLength(30);
    expect(await healthOf('only')).toMatchObject({ state: 'closed', traffic_share: 0.1 });
    await origin.close();
  });

  it('explain shows the share that it gets now', async () => {
    await createRevision(gateway, 'only', echo.port, { revision: 'r2' });
    const { candidates } = await gateway.must('POST', '/explain', { method: 'GET', url: '/only/v1/x' });
    const shares = candidates.map(({ share }: Served) => share);
    expect(shares[0]).toBeLessThan(0.2);
    expect(shares[0] + shares[1]).toBeCloseTo(1);
    expect(echoed(await request(gateway, '/only/v1/y')).url).toBe('/y');
  });
});
