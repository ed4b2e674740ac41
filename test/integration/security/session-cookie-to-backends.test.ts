/**
 * The cookie of a signed-in browser at the traffic port. Cookies belong to a host and not to a port, so a browser that
 * is signed in to the console sends them to the apps of the gateway, too: a backend could sign in with them.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startHttp2Backend } from '../../support/backends/http2-backend.ts';
import { startOrigin, startRawOrigin, type Origin } from '../../support/backends/origin.ts';
import { connectHttp2, request as requestHttp2, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { explain } from '../../support/explain.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';
import { createService, echoed, request } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const EDITED = { headers: { request: { rename: { Cookie: 'X-Jar' } } } };

let origin: Origin;
let gateway: TestGateway;
let value: string;

beforeAll(async () => {
  [origin, gateway] = await Promise.all([startOrigin(), startGateway()]);
  await createService(gateway, 'shop', origin.port);
  value = await signIn();
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

async function signIn(): Promise<string> {
  const response = await fetch(`${gateway.base}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: ADMIN_TOKEN }),
  });
  const found = /^headgate_session=([\w-]{43});/.exec(response.headers.get('set-cookie') ?? '')?.[1];
  expect(found).toBeDefined();
  return found ?? '';
}

/** What a backend can do with what it has got. */
async function replayed(text: string): Promise<number> {
  const [found = ''] = /[\w-]{43}/.exec(text) ?? [];
  const cookie = `headgate_session=${found}`;
  return (await fetch(`${gateway.base}/api/v1/session`, { headers: { cookie } })).status;
}

const cookieLines = (rawHeaders: readonly string[]): string[] =>
  rawHeaders.flatMap((name, at) => (at % 2 === 0 && /cookie/i.test(name) ? [rawHeaders[at + 1] ?? ''] : []));

describe('a backend gets no session of the console', () => {
  it.each([
    ['alone', (it: string) => ({ Cookie: `headgate_session=${it}` }), []],
    ['first', (it: string) => ({ Cookie: `headgate_session=${it}; basket=7` }), ['basket=7']],
    ['between others', (it: string) => ({ cookie: `a=1; headgate_session=${it}; b=2` }), ['a=1; b=2']],
    ['last, with spaces', (it: string) => ({ COOKIE: `a=1;  headgate_session=${it}  ` }), ['a=1']],
    ['as under TLS', (it: string) => ({ Cookie: `__Host-headgate_session=${it}; a=1` }), ['a=1']],
    ['twice', (it: string) => ({ Cookie: `headgate_session=${it}; a=1; headgate_session=${it}` }), ['a=1']],
    [
      'in the second of two fields',
      (it: string) => ({ Cookie: 'a=1', cookie: `b=2; headgate_session=${it}` }),
      ['a=1', 'b=2'],
    ],
  ])('%s', async (_where, headersOf, expected) => {
    const seen = echoed(await request(gateway, '/shop/v1/x', { headers: headersOf(value) }));
    expect(cookieLines(seen.rawHeaders)).toEqual(expected);
    expect(JSON.stringify(seen)).not.toContain(value);
    expect(await replayed(value)).toBe(200);
  });

  it('on a connection that repeats its fields, with other cookies untouched byte for byte', async () => {
    const client = await connectRaw(gateway.proxyPort);
    onTestFinished(() => client.end());
    const others = 'a=1;b="x y";;  c= 3 ;headgate=4';
    for (const cookie of [`headgate_session=${value}; ${others}`, others, `headgate_session=${value}`]) {
      for (let count = 0; count < 3; count += 1) {
        client.write(`GET /shop/v1/x HTTP/1.1\r\nHost: a\r\nCookie: ${cookie}\r\nX-A: 1\r\n\r\n`);
        const seen = echoed(await client.response());
        expect(cookieLines(seen.rawHeaders)).toEqual(cookie.includes(others) ? [others] : []);
        expect(seen.headers['x-a']).toBe('1');
      }
    }
  });

  it('in the handshake of a WebSocket', async () => {
    const backend = await startRawOrigin((socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    });
    onTestFinished(() => backend.close());
    await createService(gateway, 'socket', backend.port);
    const client = await connectRaw(gateway.proxyPort);
    onTestFinished(() => client.end());
    client.write(
      `GET /socket/v1/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: headgate_session=${value}; a=1\r\n\r\n`,
    );
    await until(() => client.received().includes('101'));
    expect(backend.received.join('')).toContain('a=1');
    expect(backend.received.join('')).not.toContain(value);
  });

  it('on a route that forwards cookies under another name', async () => {
    await createService(gateway, 'edited', origin.port, { app: { default_policy: EDITED } });
    const headers = { Cookie: `headgate_session=${value}; a=1` };
    const seen = echoed(await request(gateway, '/edited/v1/x', { headers }));
    expect(seen.headers).toMatchObject({ 'x-jar': 'a=1' });
  });

  it('over HTTP/2, which splits cookies', async () => {
    const proxy = await startProxy(oneRoute({ backendPort: origin.port }), { tls: TLS_PAIR });
    onTestFinished(() => proxy.close());
    const client = await connectHttp2(proxy.port);
    onTestFinished(() => client.close());
    const cookie = ['a=1', `__Host-headgate_session=${value}`, 'b=2'];
    const response = await requestHttp2(client, { ':path': '/a/v1/x', cookie });
    expect(cookieLines(JSON.parse(response.body.toString()).rawHeaders)).toEqual(['a=1; b=2']);
  });
});

it.each([
  ['HTTP/1.1', false],
  ['HTTP/2', true],
])('a backend of %s sets no cookie of the console, and all others', async (_name, isHttp2) => {
  const own = ['headgate_session=evil; Path=/', '__Host-headgate_session=evil; Path=/; Secure'];
  const odd = [
    'headgate_oidc = evil',
    '=headgate_session=evil',
    '= =__Host-headgate_oidc=evil; Path=/api/v1',
  ];
  const others = [
    'a=headgate_session=1',
    'headgate_sessions=1; Path=/',
    'Headgate_Session=1',
    'b="headgate_oidc"',
  ];
  const cookies = [others[0] ?? '', ...own, ...odd, ...others.slice(1)];
  const lines = cookies.map((cookie) => `Set-Cookie: ${cookie}\r\n`).join('');
  const backend = isHttp2
    ? await startHttp2Backend((stream) => {
        stream.respond({ ':status': 200, 'set-cookie': cookies });
        stream.end();
      })
    : await startRawOrigin(
        (socket) => void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\n${lines}\r\n`),
      );
  onTestFinished(() => backend.close());
  const slug = isHttp2 ? 'setting-h2' : 'setting';
  await createService(gateway, slug, backend.port, isHttp2 ? { revision: { backend_protocol: 'h2' } } : {});
  const client = await connectRaw(gateway.proxyPort);
  onTestFinished(() => client.end());
  // The second and the third have the fields of the one before.
  for (let count = 0; count < 3; count += 1) {
    client.write(`GET /${slug}/v1/x HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect((await client.response()).headers['set-cookie']).toBe(others.join(', '));
  }
});

it('explain shows the request without it, and nothing of it is in the log', async () => {
  const explanation = await explain(gateway, {
    method: 'GET',
    url: '/shop/v1/x',
    headers: { Cookie: `headgate_session=${value}` },
  });
  const names = explanation.upstream?.headers.map(({ name }) => name.toLowerCase());
  expect(names).toContain('host');
  expect(names).not.toContain('cookie');
  expect(gateway.output()).not.toContain(value);
});
