/**
 * A write that has been answered is obeyed by the very next request on every worker, running exchanges are not
 * disturbed, and no request fails because of a change.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, startRawOrigin, type Origin } from '../../support/backends/origin.ts';
import { connectRaw, type RawClient, type RawResponse } from '../../support/clients/raw-client.ts';
import {
  createApp,
  createEndpoint,
  createRevision,
  createService,
  createVersion,
  echoed,
  request,
  requestText,
  revisionPath,
  versionPath,
} from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';
import { plainHost } from '../../support/three-targets.ts';

let gateway: TestGateway;
let origin: Origin;
let other: Origin;
/** Kept open for the whole file: the kernel has spread them over both workers. */
let clients: RawClient[];

const CONNECTIONS = 24;

beforeAll(async () => {
  [gateway, origin, other] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: '2', GATEWAY_LOG__ACCESS: 'false' } }),
    startOrigin(),
    startOrigin(),
  ]);
  clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectRaw(gateway.proxyPort)));
});
afterAll(async () => {
  for (const client of clients) client.end();
  await gateway.stop();
  await Promise.all([origin.close(), other.close()]);
});

/** The same request on every open connection at once. */
function onAll(target: string, headers: Readonly<Record<string, string>> = {}): Promise<RawResponse[]> {
  return Promise.all(
    clients.map((client) => {
      client.write(requestText(target, { headers }));
      return client.response();
    }),
  );
}

async function statusesOnAll(target: string, headers?: Readonly<Record<string, string>>): Promise<number[]> {
  return [...new Set((await onAll(target, headers)).map(({ status }) => status))];
}

const urlsOnAll = async (target: string): Promise<string[]> => [
  ...new Set((await onAll(target)).map((response) => echoed(response).url)),
];

describe('the very next request', () => {
  it('obeys every kind of write, on every worker and connection', async () => {
    expect(await statusesOnAll('/next/v1/x')).toEqual([404]);
    await createApp(gateway, 'next');
    expect(await statusesOnAll('/next/v1/x')).toEqual([404]);
    await createVersion(gateway, 'next');
    expect(await statusesOnAll('/next/v1/x')).toEqual([503]);
    await createRevision(gateway, 'next', origin.port, { is_current: false });
    expect(await statusesOnAll('/next/v1/x')).toEqual([503]);
    await gateway.must('POST', `${revisionPath('next')}/activate`);
    expect(await urlsOnAll('/next/v1/x')).toEqual(['/x']);
    await gateway.must('PATCH', revisionPath('next'), { backend_base_path: '/base' });
    expect(await urlsOnAll('/next/v1/x')).toEqual(['/base/x']);
    await gateway.must('PATCH', '/apps/next', { routing_mode: 'managed_endpoint' });
    expect(await statusesOnAll('/next/v1/x')).toEqual([404]);
    const endpoint = await createEndpoint(gateway, 'next', 'GET', '/x', { backend_path: '/y' });
    expect(await urlsOnAll('/next/v1/x')).toEqual(['/base/y']);
    const endpointPath = `${revisionPath('next')}/endpoints/${endpoint.id}`;
    await gateway.must('PATCH', endpointPath, { is_active: false });
    expect(await statusesOnAll('/next/v1/x')).toEqual([404]);
    await gateway.must('PATCH', endpointPath, { is_active: true });
    expect(await statusesOnAll('/next/v1/x')).toEqual([200]);
    await gateway.must('PATCH', endpointPath, { policy_override: { auth: { auth_type: 'api_key' } } });
    expect(await statusesOnAll('/next/v1/x')).toEqual([401]);
    const key = await gateway.must('POST', '/apps/next/tokens', { name: 'k', scopes: [] });
    const headers = { Authorization: `Bearer ${key.token}` };
    expect(await statusesOnAll('/next/v1/x', headers)).toEqual([200]);
    await gateway.must('DELETE', `/apps/next/tokens/${key.id}`);
    expect(await statusesOnAll('/next/v1/x', headers)).toEqual([401]);
    await gateway.must('DELETE', endpointPath);
    expect(await statusesOnAll('/next/v1/x')).toEqual([404]);
    await gateway.must('PATCH', versionPath('next'), { status: 'retired' });
    expect(await statusesOnAll('/next/v1/x')).toEqual([410]);
    await gateway.must('DELETE', '/apps/next?cascade=true');
    expect(await statusesOnAll('/next/v1/x')).toEqual([404]);
  });

  it('repeatedly, without a connection that is late', async () => {
    await createService(gateway, 'toggle', origin.port);
    for (let step = 0; step < 60; step++) {
      await gateway.must('PATCH', revisionPath('toggle'), { backend_base_path: `/step-${step}` });
      expect(await urlsOnAll('/toggle/v1/x')).toEqual([`/step-${step}/x`]);
    }
  });

  it('writes made at the same time are all obeyed once all are answered', async () => {
    const slugs = Array.from({ length: 12 }, (_, index) => `par-${index}`);
    await Promise.all(slugs.map((slug) => createService(gateway, slug, origin.port)));
    for (const slug of slugs) expect(await urlsOnAll(`/${slug}/v1/x`)).toEqual(['/x']);
    await Promise.all(slugs.map((slug) => gateway.must('PATCH', versionPath(slug), { status: 'retired' })));
    for (const slug of slugs) expect(await statusesOnAll(`/${slug}/v1/x`)).toEqual([410]);
  });

  it('a write that is refused changes nothing', async () => {
    await createService(gateway, 'refused', origin.port);
    const bad: readonly (readonly [string, string, unknown, number])[] = [
      ['PATCH', revisionPath('refused'), { backend_base_path: '/../x' }, 422],
      ['PATCH', revisionPath('refused'), { backend_port: 0 }, 422],
      ['PATCH', revisionPath('refused'), { traffic_weight: -1 }, 422],
      ['PATCH', versionPath('refused'), { status: 'unknown' }, 422],
      ['PATCH', versionPath('refused'), { gateway_path: '/toggle/v1' }, 409],
      ['PATCH', '/apps/refused', { routing_mode: 'managed', name: 'x' }, 422],
      ['POST', `${revisionPath('refused')}/endpoints`, { method: 'GET', path: 'x' }, 422],
      ['DELETE', '/apps/refused', undefined, 409],
    ];
    for (const [method, path, body, status] of bad) {
      expect([method, path, (await gateway.api(method, path, body)).status]).toEqual([method, path, status]);
      expect(await urlsOnAll('/refused/v1/x')).toEqual(['/x']);
    }
  });
});

describe('running exchanges', () => {
  it('a slow response is not disturbed by changes, not even by the removal of its app', async () => {
    let finish = (): void => undefined;
    const slow = await startOrigin((_request, response) => {
      response.write('begin ');
      finish = () => response.end('end');
    });
    await createService(gateway, 'slow', slow.port);
    const client = await connectRaw(gateway.proxyPort);
    client.write(requestText('/slow/v1/x'));
    await until(() => client.received().includes('begin'));
    await gateway.must('PATCH', revisionPath('slow'), { backend_port: other.port });
    expect((await request(gateway, '/slow/v1/x')).status).toBe(200);
    await gateway.must('PATCH', versionPath('slow'), { status: 'retired' });
    await gateway.must('DELETE', '/apps/slow?cascade=true');
    expect((await request(gateway, '/slow/v1/x')).status).toBe(404);
    finish();
    expect(await client.response()).toMatchObject({ status: 200, body: 'begin end' });
    // The connection serves on, under the new configuration.
    client.write(requestText('/slow/v1/x'));
    expect((await client.response()).status).toBe(404);
    client.end();
    await slow.close();
  });

  it('an upload that has begun continues to the same backend', async () => {
    const reading = await startRawOrigin((socket, received) => {
      if (received.endsWith('0\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold');
    });
    await createService(gateway, 'upload', reading.port);
    const client = await connectRaw(gateway.proxyPort);
    client.write('POST /upload/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n');
    await until(() => reading.received[0]?.includes('first') === true);
    await gateway.must('PATCH', revisionPath('upload'), {
      backend_port: other.port,
      backend_base_path: '/new',
    });
    await gateway.must('PATCH', '/apps/upload', { default_policy: { allowed_methods: ['GET'] } });
    client.write('7\r\n, later\r\n0\r\n\r\n');
    expect(await client.response()).toMatchObject({ status: 200, body: 'old' });
    expect(reading.received[0]).toMatch(/^POST \/x HTTP\/1\.1\r\n[^]*first[^]*, later/);
    client.write(requestText('/upload/v1/x', { method: 'POST' }));
    expect((await client.response()).status).toBe(405);
    client.end();
    await reading.close();
  });

  it('a request that waits for its backend gets the answer of that backend', async () => {
    const release: (() => void)[] = [];
    const waiting = await startRawOrigin((socket, received) => {
      if (received.endsWith('\r\n\r\n'))
        release.push(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold'));
    });
    await createService(gateway, 'waiting', waiting.port);
    const pending = Promise.all(Array.from({ length: 8 }, () => request(gateway, '/waiting/v1/x')));
    await until(() => release.length === 8);
    await gateway.must('PATCH', revisionPath('waiting'), { backend_port: other.port });
    await gateway.must('POST', `${revisionPath('waiting')}/deactivate`);
    for (const each of release) each();
    expect((await pending).map(({ status, body }) => `${status} ${body}`)).toEqual(
      Array.from({ length: 8 }, () => '200 old'),
    );
    await waiting.close();
  });
});

describe('changes under load', () => {
  it(
    '240 changes while 12 connections are busy: no request fails, none sees half of a change',
    { timeout: 120_000 },
    async () => {
      // Each backend is paired with one base path: any other combination would be half of a change.
      await createService(gateway, 'load', origin.port, { revision: { backend_base_path: '/a' } });
      await createService(gateway, 'neighbour', origin.port);
      let running = true;
      let served = 0;
      const failures: string[] = [];
      const loops = clients.slice(0, 12).map(async (client) => {
        while (running) {
          client.write(requestText('/load/v1/x'));
          const response = await client.response();
          served += 1;
          const { headers, url } = response.status === 200 ? echoed(response) : { headers: {}, url: '' };
          const pair = `${response.status} ${plainHost((headers as { host?: string }).host)} ${url}`;
          if (pair !== `200 127.0.0.1:${origin.port} /a/x` && pair !== `200 127.0.0.1:${other.port} /b/x`)
            failures.push(pair);
        }
      });
      try {
        for (let step = 0; step < 120; step++) {
          const moved = step % 2 === 0;
          await gateway.must('PATCH', revisionPath('load'), {
            backend_port: moved ? other.port : origin.port,
            backend_base_path: moved ? '/b' : '/a',
          });
          if (step % 3 === 0) await gateway.must('PATCH', '/apps/load', { name: `load ${step}` });
          else if (step % 3 === 1)
            await createEndpoint(gateway, 'neighbour', 'GET', `/e${step}`, { is_active: step % 2 === 0 });
          else await gateway.must('POST', '/apps/load/tokens', { name: `k${step}`, scopes: [] });
        }
      } finally {
        running = false;
        await Promise.all(loops);
      }
      expect(failures).toEqual([]);
      // The load was there all the time: far more requests than changes.
      expect(served).toBeGreaterThan(240);
    },
  );
});
