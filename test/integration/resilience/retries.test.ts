/**
 * What is tried again and what is not (docs/reference/policies.md "retries"), at the origin: how often each request
 * reached it, where a retry goes, and what it costs. The rules one by one are in src/proxy/resilience/retry.test.ts.
 */
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { ConfigChange } from '../../../src/model/config.ts';
import type { Policy } from '../../../src/policy/registry.ts';
import type { Endpoint, Revision } from '../../../src/model/resources.ts';
import { RETRIES_FREE, RETRY_SHARE } from '../../../src/proxy/resilience/retry-budget.ts';
import { BREAKER_DEFAULTS } from '../../../src/config/compile.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startRawOrigin, type RawOrigin } from '../../support/backends/origin.ts';
import {
  oneRoute,
  revisionOf,
  startProxy,
  type RouteSetup,
  type TestProxy,
  type TestProxyOptions,
} from '../../support/proxy.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { steadily } from '../../support/measure/steady.ts';

const closers = closeAfterEach();

async function rawOrigin(...args: Parameters<typeof startRawOrigin>): Promise<RawOrigin> {
  const origin = await startRawOrigin(...args);
  closers.push(() => origin.close());
  return origin;
}

async function proxyOf(change: ConfigChange, options: TestProxyOptions = {}): Promise<TestProxy> {
  const proxy = await startProxy(change, options);
  closers.push(() => proxy.close());
  return proxy;
}

const proxyTo = (setup: RouteSetup, options: TestProxyOptions = {}): Promise<TestProxy> =>
  proxyOf(oneRoute(setup), options);

const answer = (text: string, status = '200 OK'): string =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
const OK = answer('ok');
const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';
const post = (body: string): string =>
  `POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const STEADY = { circuit_breaker: { failures: 1_000_000 } };
const policyOf = (retries: NonNullable<Policy['retries']>): Policy => ({ retries });

describe('a pooled connection that is dead when it is taken', () => {
  /** Clients with an idle upstream connection each, whose ends at the origin are `idle`. */
  async function pooled(clientCount: number, policy: Policy = {}) {
    const held: Socket[] = [];
    const idle: Socket[] = [];
    const posts: string[] = [];
    const origin = await rawOrigin((socket, received) => {
      const found = /POST [^]*?\r\n\r\n(p\d+;)$/.exec(received);
      if (found !== null) {
        posts.push(found[1] ?? '');
        return void socket.write(OK);
      }
      // As many connections as clients.
      if (held.push(socket) < clientCount) return;
      idle.push(...held);
      for (const each of idle) each.write(OK);
    });
    const proxy = await proxyTo({ backendPort: origin.port, revision: STEADY, policy });
    const clients = await Promise.all(Array.from({ length: clientCount }, () => connectRaw(proxy.port)));
    closers.push(async () => clients.forEach((client) => client.end()));
    for (const client of clients) client.write(GET);
    await Promise.all(clients.map((client) => client.response()));
    expect(proxy.pool.idleCount).toBe(clientCount);
    return { proxy, clients, idle, posts };
  }

  it.each([
    ['closed', (socket: Socket): unknown => socket.destroy(), {}],
    ['reset', (socket: Socket): unknown => socket.resetAndDestroy(), {}],
    ['closed, where retries are off', (socket: Socket): unknown => socket.destroy(), { retries: { max: 0 } }],
  ])('is replaced, also for a POST: %s', async (_name, kill, policy) => {
    const { proxy, clients, idle, posts } = await pooled(40, policy);
    // All of it is there when the gateway looks next: first the requests, then the ends of the connections.
    clients.forEach((client, index) => client.write(post(`p${index};`)));
    for (const socket of idle) kill(socket);
    const statuses = await Promise.all(clients.map(async (client) => (await client.response()).status));
    expect(statuses).toEqual(clients.map(() => 200));
    expect(posts.toSorted()).toEqual(clients.map((_client, index) => `p${index};`).toSorted());
    expect(proxy.failures).toEqual([]);
    // Else no request would have had such a connection.
    expect(proxy.repeated.length).toBeGreaterThan(10);
    expect(new Set(proxy.repeated)).toEqual(new Set(['unsent']));
  });

  /** Runs `kill` when the requests have come to the gateway and have not yet left it. */
  function atDeparture(send: () => void, kill: () => void): void {
    // After the one poll for events that a turn of the loop has, and before the writes at its end.
    setImmediate(() => {
      send();
      setImmediate(kill);
    });
  }

  it('is replaced also when the system refuses the request', async () => {
    const { proxy, clients, idle, posts } = await pooled(40);
    atDeparture(
      () => clients.forEach((client, index) => client.write(post(`p${index};`))),
      () => idle.forEach((socket) => socket.resetAndDestroy()),
    );
    const statuses = await Promise.all(clients.map(async (client) => (await client.response()).status));
    expect(statuses).toEqual(clients.map(() => 200));
    expect(posts.toSorted()).toEqual(clients.map((_client, index) => `p${index};`).toSorted());
    expect(proxy.repeated.length).toBeGreaterThan(10);
    expect(new Set(proxy.repeated)).toEqual(new Set(['unsent']));
  });

  it('costs a POST a 502 when the system has taken the request: what became of it is unknown', async () => {
    const { proxy, clients, idle, posts } = await pooled(40);
    atDeparture(
      () => clients.forEach((client, index) => client.write(post(`p${index};`))),
      () => idle.forEach((socket) => socket.destroy()),
    );
    const statuses = await Promise.all(clients.map(async (client) => (await client.response()).status));
    const failed = statuses.filter((status) => status === 502).length;
    expect(failed).toBeGreaterThan(10);
    // A client that got no error was served once.
    expect(posts).toHaveLength(clients.length - failed);
    expect(new Set(posts).size).toBe(posts.length);
    expect(proxy.failures).toEqual(Array(failed).fill('reset'));
  });

  it('is not used when its FIN arrived directly after its last response', async () => {
    const posts: string[] = [];
    const origin = await rawOrigin((socket, received) => {
      const found = /\r\n\r\n(p\d+;)$/.exec(received);
      if (found === null) return void socket.end(OK);
      posts.push(found[1] ?? '');
      socket.write(OK);
    });
    const proxy = await proxyTo({ backendPort: origin.port, revision: STEADY });
    const client = await connectRaw(proxy.port);
    for (let n = 0; n < 20; n++) {
      // The POST is there when the response to the GET has come, and goes on at once.
      client.write(GET + post(`p${n};`));
      expect([(await client.response()).status, (await client.response()).status]).toEqual([200, 200]);
    }
    client.end();
    expect(posts).toEqual(Array.from({ length: 20 }, (_item, n) => `p${n};`));
    expect(proxy.repeated.filter((reason) => reason !== 'unsent')).toEqual([]);
  });

  it('costs nothing of the budget, however many there are', async () => {
    const { clients, idle, proxy } = await pooled(200);
    clients.forEach((client, index) => client.write(post(`p${index};`)));
    for (const socket of idle) socket.destroy();
    const statuses = await Promise.all(clients.map(async (client) => (await client.response()).status));
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(proxy.repeated.length).toBeGreaterThan(RETRIES_FREE + 200 * RETRY_SHARE);
    expect(proxy.refusedRetries).toEqual([]);
  });
});

describe('retries', () => {
  it('a GET whose connection is lost before a response is tried once more, then 502', async () => {
    let lost = 1;
    const origin = await rawOrigin((socket) => void (lost-- > 0 ? socket.destroy() : socket.write(OK)));
    const proxy = await proxyTo({ backendPort: origin.port, revision: STEADY });
    expect((await sendRaw(proxy.port, GET)).status).toBe(200);
    expect(origin.connections()).toBe(2);
    lost = 10;
    proxy.pool.close();
    expect((await sendRaw(proxy.port, GET)).status).toBe(502);
    expect(lost).toBe(8);
    expect(proxy.repeated).toEqual(['reset', 'reset']);
    expect(proxy.failures).toEqual(['reset']);
  });

  it.each<[string, NonNullable<Policy['retries']>, number]>([
    ['none with max 0', { max: 0 }, 1],
    ['one by default', {}, 2],
    ['as many as max says', { max: 4 }, 5],
    ['none for what is not listed', { max: 4, on: ['connect', 'timeout', '503'] }, 1],
  ])('%s', async (_name, retries, attempts) => {
    const origin = await rawOrigin((socket) => void socket.destroy());
    const proxy = await proxyTo({ backendPort: origin.port, policy: policyOf(retries), revision: STEADY });
    expect((await sendRaw(proxy.port, GET)).status).toBe(502);
    expect(origin.connections()).toBe(attempts);
  });

  it.each(['502', '503', '504'] as const)('after a %s, where it is listed', async (status) => {
    let answers = 0;
    const origin = await rawOrigin((socket) => {
      answers += 1;
      socket.write(answers % 2 === 1 ? answer('busy', `${status} Busy`) : OK);
    });
    const proxy = await proxyTo({ backendPort: origin.port, policy: policyOf({ on: [status] }) });
    expect((await sendRaw(proxy.port, GET)).body).toBe('ok');
    expect(answers).toBe(2);
    // A POST gets the answer as it is.
    const response = await sendRaw(proxy.port, post('x'));
    expect([response.status, response.body]).toEqual([Number(status), 'busy']);
    expect(answers).toBe(3);
    expect(proxy.failures).toEqual([]);
  });

  it('give the last response to the client when all of them are the same', async () => {
    const origin = await rawOrigin(
      (socket, _received, connection) => void socket.write(answer(`busy ${connection}`, '503 Busy')),
    );
    const proxy = await proxyTo({ backendPort: origin.port, policy: policyOf({ max: 2, on: ['503'] }) });
    const client = await connectRaw(proxy.port);
    for (const last of [2, 5, 8]) {
      client.write(GET);
      const response = await client.response();
      expect([response.status, response.body]).toEqual([503, `busy ${last}`]);
      proxy.pool.close();
    }
    client.end();
  });

  it(
    'after a first byte that is late, where it is listed: a GET, not a POST',
    steadily(async () => {
      const origin = await rawOrigin((socket, _received, connection) => {
        if (connection === 1) socket.write(OK);
      });
      const proxy = await proxyTo(
        {
          backendPort: origin.port,
          policy: { retries: { on: ['timeout'] }, timeouts: { first_byte_ms: 150 } },
        },
        {},
      );
      expect((await sendRaw(proxy.port, GET)).status).toBe(200);
      expect(origin.connections()).toBe(2);
      proxy.pool.close();
      expect((await sendRaw(proxy.port, post('x'))).status).toBe(504);
      expect(origin.connections()).toBe(3);
    }),
  );

  it('not once the backend has begun, were it with a 103', async () => {
    const origin = await rawOrigin((socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n', () => socket.destroy());
    });
    const proxy = await proxyTo({ backendPort: origin.port, policy: policyOf({ max: 3 }) });
    expect((await sendRaw(proxy.port, GET)).status).toBe(502);
    expect(origin.connections()).toBe(1);
  });

  it('not of a body that has streamed by', async () => {
    const origin = await rawOrigin((socket, received) => {
      if (received.endsWith('!')) socket.destroy();
    });
    const proxy = await proxyTo({ backendPort: origin.port, policy: policyOf({ max: 3 }) });
    const client = await connectRaw(proxy.port);
    client.write('PUT /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345');
    await untilHolds(() => origin.received.join('').endsWith('12345'), 'the first half at the backend');
    client.write('6789!');
    expect((await client.response()).status).toBe(502);
    expect(origin.connections()).toBe(1);
    client.end();
  });

  it('but a body that is available is sent again unchanged', async () => {
    const body = 'b'.repeat(30_000);
    let lost = false;
    const origin = await rawOrigin((socket, received) => {
      if (!received.endsWith(body)) return;
      if (lost) return void socket.write(OK);
      lost = true;
      socket.destroy();
    });
    const proxy = await proxyTo({ backendPort: origin.port });
    const request = `PUT /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    expect((await sendRaw(proxy.port, request)).status).toBe(200);
    expect(origin.received.map((text) => text.slice(text.indexOf('\r\n\r\n') + 4))).toEqual([body, body]);
  });

  it(
    'stop with the client',
    steadily(async () => {
      let arrived = 0;
      const origin = await rawOrigin((socket) => {
        arrived += 1;
        setTimeout(() => socket.destroy(), 100);
      });
      const proxy = await proxyTo({ backendPort: origin.port, policy: policyOf({ max: 5 }) });
      const client = await connectRaw(proxy.port);
      client.write(GET);
      await untilHolds(() => arrived > 0, 'the request at the backend');
      client.socket.resetAndDestroy();
      await pause(300);
      expect(arrived).toBe(1);
    }),
  );
});

describe('the budget', () => {
  it('keeps an outage from being multiplied: a fifth more, and a few', async () => {
    const origin = await rawOrigin((socket) => void socket.destroy());
    const proxy = await proxyTo({ backendPort: origin.port, policy: policyOf({ max: 5 }), revision: STEADY });
    const requests = 500;
    const client = await connectRaw(proxy.port);
    for (let n = 0; n < requests; n++) {
      client.write(GET);
      expect((await client.response()).status).toBe(502);
    }
    client.end();
    const extra = origin.connections() - requests;
    expect(extra).toBe(RETRIES_FREE + requests * RETRY_SHARE);
    expect(proxy.repeated).toHaveLength(extra);
    expect(proxy.refusedRetries.length).toBeGreaterThan(0);
  });

  it('is of each backend: an outage of one takes nothing from another', async () => {
    const dead = await freePort();
    let lost = 1;
    const origin = await rawOrigin((socket) => void (lost-- > 0 ? socket.destroy() : socket.write(OK)));
    const change = oneRoute({ backendPort: dead, revision: STEADY });
    const [app] = change.apps;
    const [tree] = app?.versions ?? [];
    if (app === undefined || tree === undefined) throw new Error('no version');
    const other = {
      version: { ...tree.version, id: 'ver-2', version: 'v2', gateway_path: '/a/v2' },
      revisions: [{ revision: revisionOf('ver-2', origin.port, { id: 'rev-2' }), endpoints: [] }],
    };
    const proxy = await proxyOf({ ...change, apps: [{ app: app.app, versions: [tree, other] }] });
    for (let n = 0; n < 40; n++) expect((await sendRaw(proxy.port, GET)).status).toBe(502);
    expect(proxy.refusedRetries).not.toEqual([]);
    expect((await sendRaw(proxy.port, GET.replace('v1', 'v2'))).status).toBe(200);
  });

  it('is of each app: one whose requests all fail takes nothing from another at the same backend', async () => {
    let lost = 0;
    const origin = await rawOrigin((socket, received) => {
      // The app `a` asks for what always fails; of `b`, each first attempt does.
      const isLost = !received.includes(' /b/') || lost++ % 2 === 0;
      if (isLost) socket.destroy();
      else socket.write(OK);
    });
    const revision = { ...STEADY, strip_gateway_path: false };
    const change = oneRoute({ backendPort: origin.port, policy: policyOf({ max: 5 }), revision });
    const [first] = change.apps;
    if (first === undefined) throw new Error('no app');
    const other = {
      app: { ...first.app, id: 'app-2', slug: 'b', gateway_path: '/b' },
      versions: first.versions.map(({ version }) => ({
        version: { ...version, id: 'ver-2', app_id: 'app-2', gateway_path: '/b/v1' },
        revisions: [
          { revision: revisionOf('ver-2', origin.port, { id: 'rev-2', ...revision }), endpoints: [] },
        ],
      })),
    };
    const proxy = await proxyOf({ ...change, apps: [first, other] });
    for (let n = 0; n < 40; n++) expect((await sendRaw(proxy.port, GET)).status).toBe(502);
    expect(proxy.refusedRetries).not.toEqual([]);
    for (let n = 0; n < 5; n++)
      expect((await sendRaw(proxy.port, GET.replace('/a/', '/b/'))).status).toBe(200);
  });
});

describe('another revision', () => {
  interface Second extends Partial<Revision> {
    readonly endpoints?: readonly Partial<Endpoint>[];
  }

  /** Two revisions, of which the first one is dead. */
  async function twoRevisions(second: Second, setup: Partial<RouteSetup> = {}) {
    const alive = await rawOrigin((socket) => void socket.write(OK));
    const change = oneRoute({ backendPort: await freePort(), revision: STEADY, ...setup });
    const [app] = change.apps;
    const [version] = app?.versions ?? [];
    if (app === undefined || version === undefined) throw new Error('no version');
    const { endpoints = [], ...fields } = second;
    const changes = { id: 'rev-2', revision: 'r2', ...STEADY, ...fields };
    const tree = {
      revision: revisionOf('ver-1', alive.port, changes),
      endpoints: endpoints.map((endpoint, index) => ({
        id: `other-${index}`,
        created_at: '2026-01-01T00:00:00.000Z',
        updated_at: '2026-01-01T00:00:00.000Z',
        revision_id: 'rev-2',
        method: 'GET' as const,
        path: '/x',
        backend_path: null,
        policy_override: null,
        is_active: true,
        ...endpoint,
      })),
    };
    const revisions = [...version.revisions, tree];
    const ended: string[] = [];
    const proxy = await proxyOf(
      { ...change, apps: [{ app: app.app, versions: [{ ...version, revisions }] }] },
      { observer: { exchangeEnded: (exchange) => void ended.push(exchange.route?.revision.label ?? '') } },
    );
    const statuses = async (text: string, count: number): Promise<number[]> => {
      const all: number[] = [];
      for (let n = 0; n < count; n++) all.push((await sendRaw(proxy.port, text)).status);
      return all;
    };
    return { proxy, alive, ended, statuses };
  }

  it('replaces a revision that is gone, also for a POST; it is logged, and the breaker of the first counts', async () => {
    const { proxy, alive, ended, statuses } = await twoRevisions({ backend_base_path: '/base' });
    expect(await statuses(GET, 6)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(await statuses(post('x'), 4)).toEqual([200, 200, 200, 200]);
    expect(new Set(ended)).toEqual(new Set(['r2']));
    expect(alive.received.join('')).toContain('GET /base/x HTTP/1.1');
    expect(proxy.breakerOf('rev-1')?.view(0).consecutive_failures).toBe(proxy.repeated.length);
    expect(proxy.breakerOf('rev-2')?.view(0).consecutive_failures).toBe(0);
    expect(proxy.failures).toEqual([]);
  });

  it('replaces it without counting twice in the limits of the route', async () => {
    const policy = { rate_limit: { enabled: true, requests: 4, window_seconds: 86_400 } };
    const { proxy, statuses } = await twoRevisions({}, { policy });
    expect(await statuses(GET, 5)).toEqual([200, 200, 200, 200, 429]);
    expect(proxy.repeated.length).toBeGreaterThan(0);
  });

  it.each<[string, Second, Partial<RouteSetup>]>([
    ['without a weight', { traffic_weight: 0 }, {}],
    ['that is not current', { is_current: false }, {}],
    ['with a policy of its own', { default_policy: { required_scopes: ['x'] } }, {}],
    ['that has disabled the endpoint', { endpoints: [{ is_active: false }] }, {}],
    ['whose endpoint has its own policy', { endpoints: [{ policy_override: { max_body_bytes: 9 } }] }, {}],
    [
      'that has no such endpoint',
      { endpoints: [{ path: '/y' }] },
      { app: { routing_mode: 'managed_endpoint' }, endpoints: [{ path: '/x' }] },
    ],
  ])('does not stand in: one %s', async (_name, second, setup) => {
    const { alive, ended, statuses, proxy } = await twoRevisions(second, setup);
    const got = await statuses(GET, 4);
    // Whatever went to the dead one first stays with it.
    expect(got.filter((status) => status === 502)).toHaveLength(
      ended.filter((label) => label === 'r1').length,
    );
    expect(got).toContain(502);
    expect(proxy.repeated.length).toBeGreaterThan(0);
    expect(alive.received.join('').split('GET ')).toHaveLength(
      got.filter((status) => status === 200).length + 1,
    );
  });

  it('does not replace it while its own breaker is open', async () => {
    const { proxy, statuses } = await twoRevisions({ circuit_breaker: { failures: 1, open_secs: 3_600 } });
    const rules = { ...BREAKER_DEFAULTS, failures: 1, open_secs: 3_600 };
    proxy.breakerOf('rev-2')?.onOutcome('failure', undefined, rules, Date.now());
    expect(await statuses(GET, 3)).toEqual([502, 502, 502]);
  });

  it('takes the requests of one that answers 503, where that is listed', async () => {
    const busy = await rawOrigin((socket) => void socket.write(answer('busy', '503 Busy')));
    const { statuses } = await twoRevisions(
      {},
      { backendPort: busy.port, policy: policyOf({ on: ['503'] }) },
    );
    expect(await statuses(GET, 6)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(await statuses(post('x'), 2)).toContain(503);
  });
});
