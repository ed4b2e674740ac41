/** One real request through a started gateway, asked for by the management API and the command line. */
// oxlint-disable vitest/expect-expect -- expectProblem is an assertion
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, type Answer, type TestGateway } from '../../support/gateway.ts';
import { apiAs, expectProblem } from '../../support/management.ts';

const LARGE = 70_000;
const seen: { method: string; url: string; headers: string[]; body: string }[] = [];
const backend = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    const url = request.url ?? '';
    seen.push({ method: request.method ?? '', url, headers: request.rawHeaders, body });
    if (url.endsWith('/large')) return response.end('é'.repeat(LARGE));
    if (url.endsWith('/bytes')) return response.end(Buffer.from([0xff, 0, 1]));
    if (url.endsWith('/slow')) return response.write('first');
    if (url.endsWith('/cookies')) response.setHeader('Set-Cookie', ['a=1', 'b=2']);
    return response.end(`${request.method} ${url} ${body}`);
  });
});

let gateway: TestGateway;
let editor: string;
let viewer: string;
const tried = async (body: object, token = editor, on = gateway): Promise<Answer> =>
  apiAs(on, token, 'POST', '/try', body);
const outcome = async (body: object): Promise<ReturnType<typeof JSON.parse>> => {
  const answer = await tried(body);
  expect([answer.status, JSON.stringify(answer.body)]).toEqual([200, expect.any(String)]);
  return answer.body.data;
};

async function configure(on: TestGateway, denyLoopback = false): Promise<void> {
  const { port } = backend.address() as AddressInfo;
  await on.must('POST', '/apps', {
    name: 'Shop',
    slug: 'shop',
    gateway_path: '/shop',
    ...(denyLoopback && { default_policy: { auth: { auth_type: 'api_key' } } }),
  });
  await on.must('POST', '/apps/shop/versions', { version: 'v1' });
  await on.must('POST', '/apps/shop/versions/v1/revisions', {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: port,
    is_current: true,
  });
}

beforeAll(async () => {
  await new Promise<void>((done) => backend.listen(0, '127.0.0.1', done));
  gateway = await startGateway();
  await configure(gateway);
  editor = (await gateway.must('POST', '/admin/tokens', { name: 'e', role: 'editor' })).token;
  viewer = (await gateway.must('POST', '/admin/tokens', { name: 'v', role: 'viewer' })).token;
});
afterAll(async () => {
  await gateway.stop();
  backend.closeAllConnections();
  backend.close();
});

describe('POST /try', () => {
  it('sends the request to the backend and answers what a client would get', async () => {
    const data = await outcome({
      method: 'POST',
      path: '/shop/v1/items?x=%20y',
      host: 'shop.example:8080',
      headers: [
        ['X-One', '1'],
        ['X-One', '2'],
      ],
      body: 'hé',
    });
    expect(data).toMatchObject({
      url: `${gateway.proxy}/shop/v1/items?x=%20y`,
      status: 200,
      body: 'POST /items?x=%20y hé',
      body_encoding: 'text',
      truncated: false,
      problem: null,
      client_address: '127.0.0.1',
      denial: null,
    });
    expect(data.duration_ms).toBeGreaterThan(0);
    const logged = (): boolean => gateway.logs().some(({ request_id: id }) => id === data.request_id);
    await expect.poll(logged).toBe(true);
    const request = seen.at(-1);
    expect(request?.body).toBe('hé');
    const fields = request?.headers.join('\n') ?? '';
    expect(fields).toContain('X-One\n1\nX-One\n2');
    expect(fields).toMatch(/content-length\n3/i);
  });

  it('keeps repeated fields, bytes and beginnings of long bodies apart', async () => {
    const cookies = await outcome({ method: 'GET', path: '/shop/v1/cookies' });
    const values = cookies.headers.filter(([name]: [string]) => name.toLowerCase() === 'set-cookie');
    expect(values.map(([, value]: [string, string]) => value)).toEqual(['a=1', 'b=2']);
    const bytes = await outcome({ method: 'GET', path: '/shop/v1/bytes' });
    expect(bytes).toMatchObject({ body: '/wAB', body_encoding: 'base64', truncated: false });
    const large = await outcome({ method: 'GET', path: '/shop/v1/large' });
    expect(large).toMatchObject({ body: 'é'.repeat(32_768), body_encoding: 'text', truncated: true });
    const empty = await outcome({ method: 'DELETE', path: '/shop/v1/x' });
    expect(empty.body).toBe('DELETE /x ');
    expect((await outcome({ method: 'HEAD', path: '/shop/v1/x' })).body).toBe('');
    expect((await outcome({ method: 'PUT', path: '/shop/v1/x' })).body).toBe('PUT /x ');
  });

  it('says why a request was refused', async () => {
    const data = await outcome({ method: 'GET', path: '/nothing' });
    expect(data).toMatchObject({ status: 404, denial: { stage: 'route', code: expect.any(String) } });
    expect(JSON.parse(data.body).request_id).toBe(data.request_id);
    const { status, body } = await gateway.api('GET', `/explain/${data.request_id}`);
    expect([status, body.data.code]).toEqual([200, data.denial.code]);
  });

  it('gives up in time, with what has arrived', async () => {
    const data = await outcome({ method: 'GET', path: '/shop/v1/slow', timeout_ms: 300 });
    expect(data).toMatchObject({
      status: 200,
      body: 'first',
      truncated: true,
      problem: 'the time-out of 300 ms has passed',
    });
    expect(data.duration_ms).toBeLessThan(5_000);
  });

  it.each([
    ['/method', { method: 'CONNECT', path: '/x' }],
    ['/method', { method: 'GET /evil', path: '/x' }],
    ['/path', { method: 'GET', path: 'http://other.example/' }],
    ['/path', { method: 'GET', path: '/x HTTP/1.1\r\nHost: a' }],
    ['/host', { method: 'GET', path: '/x', host: 'a/b' }],
    ['/host', { method: 'GET', path: '/x', host: 'user@other.example' }],
    ['/headers/0/0', { method: 'GET', path: '/x', headers: [['Transfer-Encoding', 'chunked']] }],
    ['/headers/0/0', { method: 'GET', path: '/x', headers: [['content-length', '5']] }],
    [
      '/headers/1/0',
      {
        method: 'GET',
        path: '/x',
        headers: [
          ['A', 'b'],
          ['HOST', 'x'],
        ],
      },
    ],
    ['/headers/0/0', { method: 'GET', path: '/x', headers: [['Upgrade', 'websocket']] }],
    ['/headers/0/0', { method: 'GET', path: '/x', headers: [['A b', 'c']] }],
    ['/headers/0/1', { method: 'GET', path: '/x', headers: [['A', 'b\r\nHost: c']] }],
    ['/headers/0/1', { method: 'GET', path: '/x', headers: [['A', 'b\u0000']] }],
    ['/headers/0/1', { method: 'GET', path: '/x', headers: [['A', '☃']] }],
    ['/headers/0', { method: 'GET', path: '/x', headers: [['A']] }],
    ['/body', { method: 'POST', path: '/x', body: 'x'.repeat(65_537) }],
    ['/timeout_ms', { method: 'GET', path: '/x', timeout_ms: 30_001 }],
  ])('refuses what no client could send or must not: %s (%#)', async (pointer, body) => {
    const before = seen.length;
    const answer = await tried(body);
    expectProblem(answer, 'validation_failed', { pointers: [pointer] });
    expect(seen).toHaveLength(before);
  });

  it('is for editors, takes a bounded number at once, and leaves no audit entry', async () => {
    expectProblem(await tried({ method: 'GET', path: '/shop/v1/x' }, viewer), 'forbidden');
    const slow = { method: 'GET', path: '/shop/v1/slow', timeout_ms: 1_000 };
    const answers = await Promise.all(Array.from({ length: 12 }, () => tried(slow)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(8);
    expect(statuses.filter((status) => status === 503)).toHaveLength(4);
    const { body } = await gateway.api('GET', '/audit?order=newest_first&limit=50');
    expect(JSON.stringify(body.data)).not.toMatch(/try/i);
  });

  it('works with a TLS listener, and with one off loopback', async () => {
    const file = (name: string): string => resolve(import.meta.dirname, '../../support/tls', name);
    const secure = await startGateway({
      env: {
        GATEWAY_PROXY__HOST: '0.0.0.0',
        GATEWAY_PROXY__TLS__CERT_FILE: file('site.pem'),
        GATEWAY_PROXY__TLS__KEY_FILE: file('site-key.pem'),
      },
    });
    try {
      await configure(secure);
      const answer = await tried({ method: 'GET', path: '/shop/v1/x' }, ADMIN_TOKEN, secure);
      expect(answer.body.data).toMatchObject({ status: 200, body: 'GET /x ', problem: null });
    } finally {
      await secure.stop();
    }
  });

  it('is `headgate try`', async () => {
    const env = { HEADGATE_SERVER: gateway.base, HEADGATE_TOKEN: ADMIN_TOKEN };
    const args = ['try', 'POST', '/shop/v1/items', '-H', 'X-Two: 2', '-d', '{"a":1}'];
    const { code, output } = await runToEnd(env, args);
    expect([code, output]).toEqual([0, expect.stringMatching(/^200\n[^]*\nPOST \/items \{"a":1\}\n/)]);
    expect(seen.at(-1)?.headers.join('\n')).toContain('X-Two\n2');
  });
});
