/** Live traffic as server-sent events, on real sockets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { openEvents, type EventClient } from '../../support/clients/event-stream.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { until } from '../../support/measure/until.ts';
import { bearer, createKey } from '../../support/policies.ts';
import { hasSeveralTargets } from '../../support/three-targets.ts';
import { createService, request } from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
const open: EventClient[] = [];

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: '2' } }),
    startOrigin((incoming, response, body) => {
      const status = Number(/[?&]status=(\d+)/.exec(incoming.url ?? '')?.[1] ?? 200);
      response.writeHead(status).end(body);
    }),
  ]);
  await createService(gateway, 'keyed', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
  await createService(gateway, 'open', origin.port);
});
afterAll(async () => {
  for (const client of open) client.close();
  await gateway.stop();
  await origin.close();
});

async function watch(query = '', headers: Record<string, string> = {}, token = ADMIN_TOKEN) {
  const client = await openEvents(`${gateway.base}/api/v1/live${query}`, token, headers);
  open.push(client);
  // The workers watch when the first status has come.
  if (client.status === 200) await until(() => client.of('status').length > 0);
  return client;
}

/** Where the origin is reached. */
const placeOf = ({ port }: Origin): unknown =>
  hasSeveralTargets ? expect.stringMatching(new RegExp(`:${port}$`)) : `127.0.0.1:${port}`;

/** The exchange with this request id. */
async function seen(client: EventClient, requestId: string | undefined) {
  const find = () => client.of('exchange').find((each) => each.request_id === requestId);
  await until(() => find() !== undefined);
  return find();
}

describe('a stream of live traffic', () => {
  it('shows an exchange when it ends, with its place, its caller and its times, and explains it', async () => {
    const client = await watch('?app=keyed');
    expect(client.headers['content-type']).toBe('text/event-stream');
    const key = await createKey(gateway, 'keyed');
    const response = await request(gateway, '/keyed/v1/items?token=of-the-query', {
      method: 'POST',
      headers: { ...bearer(key.token), 'User-Agent': 'check/1.0' },
      body: 'four',
    });
    const event = await seen(client, response.headers['x-request-id']);
    expect(event).toMatchObject({
      method: 'POST',
      path: '/keyed/v1/items',
      status: 200,
      code: null,
      app: { slug: 'keyed' },
      version: { version: 'v1' },
      caller: { kind: 'api_key', id: key.id },
      client_ip: '127.0.0.1',
      user_agent: 'check/1.0',
      attempts: 1,
      bytes_in: 4,
      bytes_out: 4,
      explained: true,
      aborted: false,
    });
    expect(event.duration_ms).toBeGreaterThanOrEqual(event.upstream_ms);
    expect(client.text()).not.toContain('of-the-query');
    expect(client.text()).not.toContain(key.token);
    const explanation = await gateway.must('GET', `/live/${event.id}`);
    expect(explanation).toMatchObject({
      outcome: 'forwarded',
      request_id: event.request_id,
      fix: null,
      times: { attempts: [{ target: placeOf(origin), status: 200, failure: null }] },
    });
    const { total, groups } = explanation.times;
    const parts = Object.values(groups).filter((each) => each !== null) as number[];
    expect(parts.reduce((sum, each) => sum + each, 0)).toBeCloseTo(total, 1);
    expect(groups).toMatchObject({ earlier_attempts: null, first_byte: expect.any(Number) });
    expect(await gateway.must('GET', `/explain/${event.request_id}`)).toMatchObject({ outcome: 'forwarded' });
    client.close();
  });

  it('shows what was denied before it had a route, and names the call that lets it pass', async () => {
    const client = await watch('?status=4xx');
    const missing = await request(gateway, '/nowhere/at-all');
    expect(await seen(client, missing.headers['x-request-id'])).toMatchObject({
      status: 404,
      code: 'no_route',
      path: '/nowhere/at-all',
      app: null,
      caller: null,
    });
    const broken = await sendRaw(gateway.proxyPort, 'GET /a b HTTP/1.1\r\nHost: h\r\n\r\n');
    expect(await seen(client, broken.headers['x-request-id'])).toMatchObject({ status: 400, app: null });
    const key = await createKey(gateway, 'keyed', { is_active: false });
    const denied = await request(gateway, '/keyed/v1/x', { headers: bearer(key.token) });
    const event = await seen(client, denied.headers['x-request-id']);
    expect(event).toMatchObject({ status: 401, caller: { kind: 'api_key', id: key.id } });
    const { fix } = await gateway.must('GET', `/live/${event.id}`);
    const app = await gateway.must('GET', '/apps/keyed');
    expect(fix.call).toMatchObject({
      method: 'PATCH',
      path: `/api/v1/apps/${app.id}/tokens/${key.id}`,
      body: { is_active: true },
      role: 'editor',
    });
    const applied = await fetch(gateway.base + fix.call.path, {
      method: fix.call.method,
      headers: {
        Authorization: `Bearer ${ADMIN_TOKEN}`,
        'If-Match': fix.call.if_match,
        'Content-Type': fix.call.content_type,
      },
      body: JSON.stringify(fix.call.body),
    });
    expect(applied.status).toBe(200);
    expect((await request(gateway, '/keyed/v1/x', { headers: bearer(key.token) })).status).toBe(200);
    client.close();
  });

  it('has the times of every exchange that it shows, even when it shows only a few of many', async () => {
    const client = await watch('?app=open&per_second=20');
    for (let wave = 0; wave < 20; wave++)
      await Promise.all(Array.from({ length: 25 }, () => request(gateway, '/open/v1/fine')));
    await until(() => client.of('status').at(-1)?.seen === 500);
    const shown = client.of('exchange');
    expect(shown.length).toBeGreaterThan(5);
    expect(client.of('status').at(-1)?.dropped).toBe(500 - shown.length);
    for (const { id } of shown) {
      expect((await gateway.must('GET', `/live/${id}`)).times).toMatchObject({ attempts: [{ status: 200 }] });
    }
    client.close();
  });

  it('filters in the workers: a rare error of a busy gateway is seen', async () => {
    const client = await watch('?status=>%3D500&app=open&per_second=1');
    await Promise.all(Array.from({ length: 200 }, () => request(gateway, '/open/v1/fine')));
    const failed = await request(gateway, '/open/v1/broken?status=503');
    expect(await seen(client, failed.headers['x-request-id'])).toMatchObject({ status: 503 });
    expect(client.of('exchange')).toHaveLength(1);
    client.close();
  });

  it.each([
    ['path=/open/v1/a', '/open/v1/abc', '/open/v1/b'],
    ['method=DELETE', 'DELETE /open/v1/x', '/open/v1/x'],
    ['reason=no_route', '/nowhere', '/open/v1/x'],
    ['status=404,2xx&path=/open', '/open/v1/x', '/open/v1/x?status=500'],
    ['path=/open/v1/.*', '/open/v1/.*', '/open/v1/any'],
  ])('%s shows %s and not %s', async (query, shown, hidden) => {
    const client = await watch(`?${query}`);
    const send = (line: string) => {
      const [path = '', method = 'GET'] = line.split(' ').toReversed();
      return request(gateway, path, { method });
    };
    const not = await send(hidden);
    const wanted = await send(shown);
    await seen(client, wanted.headers['x-request-id']);
    const ids = client.of('exchange').map((each) => each.request_id);
    expect(ids).not.toContain(not.headers['x-request-id']);
    client.close();
  });

  it('refuses filters that it does not understand', async () => {
    const long = 'x'.repeat(5_000);
    for (const query of ['status=6xx', 'status=>=', 'app=nothing', 'reason=odd', 'per_second=0', 'other=1']) {
      const client = await watch(`?${query}`);
      expect([query, client.status]).toEqual([query, 400]);
      client.close();
    }
    for (const name of ['status', 'app', 'key', 'path', 'method', 'reason'])
      expect((await watch(`?${name}=/${long}`)).status).toBe(400);
  });

  it('encodes every text of a client: none can begin another field', async () => {
    const client = await watch();
    const nasty = Buffer.from('a\u2028event: evil\u2029\u0085data: x', 'utf8').toString('latin1');
    const paths = [
      '/open/v1/a%0d%0aevent:%20evil%0a%0a',
      '/open/v1/%E2%80%A8x',
      `/nowhere/${encodeURIComponent('é\n')}`,
    ];
    const ids: (string | undefined)[] = [];
    for (const path of paths) {
      const head = `GET ${path}?q=1 HTTP/1.1\r\nHost: open\r\nUser-Agent: ${nasty}\r\nX-Request-Id: evil\r\n\r\n`;
      const response = await sendRaw(gateway.proxyPort, Buffer.from(head, 'latin1'));
      ids.push(response.headers['x-request-id']);
    }
    for (const id of ids) await seen(client, id);
    expect([...client.fields].toSorted()).toEqual(['data', 'event', 'id', 'retry']);
    expect(new Set(client.events.map(({ event }) => event))).toEqual(new Set(['exchange', 'status']));
    expect(client.text()).toMatch(/^[\n\x20-\x7e]*$/);
    const event = await seen(client, ids[0]);
    expect(event.user_agent).toBe(nasty);
    client.close();
  });

  it('continues after an interruption with the missed events, but not for another filter', async () => {
    const client = await watch('?app=open');
    const first = await request(gateway, '/open/v1/1');
    await seen(client, first.headers['x-request-id']);
    const lastId = client.events.filter(({ event }) => event === 'exchange').at(-1)?.id ?? '';
    client.close();
    await new Promise((done) => setTimeout(done, 200));
    const second = await request(gateway, '/open/v1/2');
    await new Promise((done) => setTimeout(done, 300));
    const other = await watch('?app=keyed', { 'Last-Event-ID': lastId });
    expect(other.of('status')[0]).toMatchObject({ resumed: false });
    const again = await watch('?app=open', { 'Last-Event-ID': lastId });
    expect(again.of('status')[0]).toMatchObject({ resumed: true });
    expect((await seen(again, second.headers['x-request-id'])).path).toBe('/open/v1/2');
    expect(again.of('exchange').map(({ path }) => path)).toEqual(['/open/v1/2']);
    for (const each of [other, again]) each.close();
  });
});
