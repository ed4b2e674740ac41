/**
 * The access log of the started program: what is in the lines, which requests get one, and that the settings of the log
 * do what their names say. The text of a line is tested in src/observe/access-log.test.ts.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, startRawOrigin, type Origin, type RawOrigin } from '../../support/backends/origin.ts';
import { freePorts } from '../../support/backends/origin-process.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { createEndpoint, createService, request } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

type Line = Readonly<Record<string, unknown>>;

const linesOf = (gateway: TestGateway): Line[] => gateway.logs().filter(({ msg }) => msg === 'access');
const lineOf = (gateway: TestGateway, id: string | undefined): Promise<Line> =>
  until(() => linesOf(gateway).find(({ request_id }) => request_id === id));

let gateway: TestGateway;
let origin: Origin;
let breaking: RawOrigin;
beforeAll(async () => {
  [gateway, origin, breaking] = await Promise.all([
    startGateway({
      env: {
        GATEWAY_PROXY__MAX_HEADERS: '10',
        GATEWAY_PROXY__MAX_HEAD_BYTES: '4096',
        GATEWAY_PROXY__MAX_TARGET_BYTES: '2048',
        GATEWAY_PROXY__HEAD_TIMEOUT_MS: '1000',
      },
    }),
    startOrigin(),
    startRawOrigin((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart')),
  ]);
  await createService(gateway, 'shop', origin.port);
  await createService(gateway, 'broken', breaking.port);
  await createService(gateway, 'strict', origin.port, { app: { routing_mode: 'managed_endpoint' } });
  await createEndpoint(gateway, 'strict', 'GET', '/items/{id}');
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([origin.close(), breaking.close()]);
});

describe('host and path', () => {
  it('are there where a template says nothing: pass-through and 404', async () => {
    const headers = { Host: 'shop.test:8080' };
    const passed = await request(gateway, '/shop/v1/a/b?secret=1', { headers });
    expect(passed.status).toBe(200);
    expect(await lineOf(gateway, passed.headers['x-request-id'])).toMatchObject({
      app: 'shop',
      host: 'shop.test:8080',
      path: '/shop/v1/a/b',
      method: 'GET',
      status: 200,
      level: 'info',
    });
    for (const target of ['/nothing/here', '/strict/v1/other']) {
      const missed = await request(gateway, `${target}?secret=1`, { headers });
      const line = await lineOf(gateway, missed.headers['x-request-id']);
      expect(line).toMatchObject({ path: target, host: 'shop.test:8080', status: 404 });
      // An endpoint that is not registered is missing in an app, and the line says in which.
      const place = target.startsWith('/strict') ? ['strict', 'v1'] : [undefined, undefined];
      expect([line['app'], line['version']]).toEqual(place);
      expect(line).not.toHaveProperty('route');
    }
    expect(gateway.output()).not.toContain('secret');
  });

  it('is the canonical path, in addition to the template', async () => {
    const { headers } = await request(gateway, '/strict/v1/items/%41%3a');
    const line = await lineOf(gateway, headers['x-request-id']);
    expect(line['route']).toBe('/strict/v1/items/{id}');
    expect(line['path']).toBe('/strict/v1/items/A%3A');
  });

  it('cannot end a line or forge a field', async () => {
    const { headers } = await request(gateway, '/shop/v1/"},{"status":200,\\n"x"/%0a');
    const line = await lineOf(gateway, headers['x-request-id']);
    expect(String(line['path'])).toMatch(/^\/shop\/v1\/"\},\{"status":200/);
    expect(line).toMatchObject({ msg: 'access', code: 'bad_path', status: 400 });
  });
});

describe('requests that are refused before they are matched', () => {
  const many = Array.from({ length: 11 }, (_, index) => `X-${index}: 1\r\n`).join('');
  it.each([
    [400, 'GET /shop/v1/bad?secret=1 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', '/shop/v1/bad'],
    [400, 'GET /shop/v1/../x HTTP/1.1\r\nHost: a\r\n\r\n', '/shop/v1/../x'],
    [431, `GET /shop/v1/many?secret=1 HTTP/1.1\r\nHost: a\r\n${many}\r\n`, '/shop/v1/many'],
    [431, `GET /shop/v1/long HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(4096)}\r\n\r\n`, '/shop/v1/long'],
    [414, `GET /${'y'.repeat(2100)} HTTP/1.1\r\nHost: a\r\n\r\n`, `/${'y'.repeat(1020)}...`],
    [408, 'GET /shop/v1/late?secret=1 HTTP/1.1\r\nHost: a\r\n', '/shop/v1/late'],
  ])('a %d has a line with its path', async (status, text, path) => {
    const client = await connectRaw(gateway.proxyPort);
    client.write(text);
    const response = await client.response();
    expect(response.status).toBe(status);
    const line = await lineOf(gateway, response.headers['x-request-id']);
    expect(line).toMatchObject({ status, method: 'GET', path, client_ip: '127.0.0.1' });
    expect(JSON.stringify(line)).not.toContain('secret');
    client.end();
  });

  it('also what is no request at all', async () => {
    const client = await connectRaw(gateway.proxyPort);
    client.write('\x16\x03\x01 hello\r\n\r\n');
    const { headers } = await client.response();
    const line = await lineOf(gateway, headers['x-request-id']);
    expect(line).toMatchObject({ status: 400, code: 'bad_request' });
    expect([line['path'], line['method']]).toEqual([undefined, undefined]);
    client.end();
  });
});

it('an exchange that breaks off says so, and why', async () => {
  const client = await connectRaw(gateway.proxyPort);
  client.write('GET /broken/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.closed();
  const line = await until(() => linesOf(gateway).find(({ path }) => path === '/broken/v1/x'));
  expect(line).toMatchObject({ level: 'warn', status: 200, aborted: true });
  expect(line['code']).toMatch(/^upstream_/);
  expect(line['detail']).toMatch(/./);
  client.end();
});

describe('settings', () => {
  /** A gateway that has had the same four requests: an answer, one without a route, and two failures. */
  async function askedWith(env: Readonly<Record<string, string>>): Promise<TestGateway> {
    const [management = 0, proxy = 0] = await freePorts(2);
    const own = await startGateway({ env, ports: { management, proxy } });
    try {
      await createService(own, 'shop', origin.port);
      await createService(own, 'broken', breaking.port);
      await createService(own, 'gone', 1);
      for (const target of ['/shop/v1/x', '/none', '/gone/v1/x']) await request(own, target);
      const client = await connectRaw(own.proxyPort);
      client.write('GET /broken/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
      await client.closed();
      client.end();
    } finally {
      // Nothing is lost by a stop, so that what is missing was never written.
      await own.stop();
    }
    return own;
  }
  const paths = (lines: readonly Line[]): string[] =>
    lines.map(({ path }) => String(path)).sort((a, b) => a.localeCompare(b));

  it.each([
    ['ACCESS=errors', { GATEWAY_LOG__ACCESS: 'errors' }, ['/broken/v1/x', '/gone/v1/x', '/none']],
    ['ACCESS=off', { GATEWAY_LOG__ACCESS: 'off' }, []],
    ['LEVEL=error', { GATEWAY_LOG__LEVEL: 'error' }, []],
  ])('%s', async (_name, env, expected) => {
    expect(paths(linesOf(await askedWith(env)))).toEqual(expected);
  });

  it('ACCESS=all, and ACCESS_FIELDS', async () => {
    const own = await askedWith({ GATEWAY_LOG__ACCESS: 'all', GATEWAY_LOG__ACCESS_FIELDS: 'status,path' });
    const lines = linesOf(own);
    expect(paths(lines)).toEqual(['/broken/v1/x', '/gone/v1/x', '/none', '/shop/v1/x']);
    const keys = lines.map((line) => Object.keys(line).join());
    expect(keys).toEqual(lines.map(() => 'level,time,path,status,msg'));
  });

  it('LEVEL=warn, which leaves out every other line below it, too', async () => {
    const own = await askedWith({ GATEWAY_LOG__LEVEL: 'warn' });
    expect(paths(linesOf(own))).toEqual(['/broken/v1/x', '/gone/v1/x']);
    expect(own.logs().filter(({ level }) => level === 'info' || level === 'debug')).toEqual([]);
  });
});
