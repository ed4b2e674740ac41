/** Contract part 5 "Gateway clients: API key": who gets in, and what clients and backends are told. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, createPolicies } from '../../support/policies.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { createService, echoed, problem, request, requestText, type Served } from '../../support/traffic.ts';

const KEY_AUTH = { auth: { auth_type: 'api_key', required: true } };

let gateway: TestGateway;
let origin: Origin;
let key: Served;
let otherKey: Served;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  await createPolicies(gateway, 'shop', origin.port, [
    { path: '/required', policy: KEY_AUTH },
    { path: '/default', policy: { auth: { auth_type: 'api_key' } } },
    { path: '/optional', policy: { auth: { auth_type: 'api_key', required: false } } },
    {
      path: '/optional-scoped',
      policy: { auth: { auth_type: 'api_key', required: false }, required_scopes: ['a'] },
    },
    { path: '/scoped', policy: { ...KEY_AUTH, required_scopes: ['orders:read', 'orders:write'] } },
    { path: '/implied', policy: { required_scopes: ['orders:read'] } },
    { path: '/kept', policy: { auth: { auth_type: 'api_key', forward_credentials: true } } },
    { path: '/open', policy: {} },
    { path: '/open-kept', policy: { auth: { auth_type: 'none', forward_credentials: true } } },
    { path: '/other-auth-off', policy: { auth: { auth_type: 'none' } } },
    { path: '/jwt-optional', policy: { auth: { auth_type: 'jwt', required: false } } },
  ]);
  await createService(gateway, 'bank', origin.port, { app: { default_policy: KEY_AUTH } });
  key = await createKey(gateway, 'shop', { name: 'till 1', scopes: ['orders:read'] });
  otherKey = await createKey(gateway, 'bank', { name: 'bank key', scopes: ['orders:read', 'orders:write'] });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const get = (path: string, headers: Record<string, string> = {}) =>
  request(gateway, `/shop/v1${path}`, { headers });

describe('required', () => {
  it('spec 5.1: a key stored by the gateway opens the route with Authorization: Bearer', async () => {
    expect((await get('/required', bearer(key.token))).status).toBe(200);
  });

  it('RFC 9110 11.1: the scheme is compared without regard to case', async () => {
    expect((await get('/required', { authorization: `bEARER ${key.token}` })).status).toBe(200);
  });

  it('spec 5.2: without a credential 401 with WWW-Authenticate: Bearer and no error, and the backend is not asked', async () => {
    const before = origin.seen.length;
    const response = await get('/required');
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toBe('Bearer realm="shop"');
    expect(problem(response)).toMatchObject({ code: 'credentials_missing', status: 401, data: null });
    expect(origin.seen).toHaveLength(before);
  });

  it('required defaults to true', async () => {
    expect((await get('/default')).status).toBe(401);
    expect((await get('/default', bearer(key.token))).status).toBe(200);
  });

  it.each([
    ['of no key', 'hgk_0000000000000000000000000000000000000000000000000'],
    ['that is not a key', 'abc'],
    ['that is empty', ''],
    ['in two parts', 'abc def'],
  ])('a token %s is 401 invalid_token', async (_name, token) => {
    const response = await get('/required', bearer(token));
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toMatch(
      /^Bearer realm="shop", error="invalid_token", error_description="[^"]+"$/,
    );
    expect(problem(response).code).toBe('credentials_invalid');
  });

  it.each([
    [
      'a changed character',
      (token: string) => token.slice(0, 20) + (token[20] === 'A' ? 'B' : 'A') + token.slice(21),
    ],
    ['a character less', (token: string) => token.slice(0, -1)],
    ['a character more', (token: string) => `${token}A`],
    ['a character of another alphabet at the end', (token: string) => `${token}.`],
    ['its case changed', (token: string) => token.toUpperCase()],
  ])('a key with %s is 401', async (_name, change) => {
    const response = await get('/required', bearer(change(key.token)));
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  it('a credential of another scheme counts as none', async () => {
    const basic = Buffer.from(`x:${key.token}`).toString('base64');
    const response = await get('/required', { Authorization: `Basic ${basic}` });
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toBe('Bearer realm="shop"');
  });

  it('the key is taken from Authorization only: not from the query, a cookie or other fields', async () => {
    const headers = {
      Cookie: `Authorization=${key.token}`,
      'X-API-Key': key.token,
      Authorization_: `Bearer ${key.token}`,
    };
    expect((await get(`/required?access_token=${key.token}`, headers)).status).toBe(401);
  });

  it('two Authorization fields are not a way in', async () => {
    const text =
      `GET /shop/v1/required HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\n` +
      `Authorization: Bearer ${key.token}\r\n\r\n`;
    const client = await connectRaw(gateway.proxyPort);
    client.write(text);
    const { status } = await client.response();
    client.end();
    expect([400, 401]).toContain(status);
  });

  it('a key opens its own app only', async () => {
    const response = await get('/required', bearer(otherKey.token));
    expect(response.status).toBe(401);
    expect(problem(response).code).toBe('credentials_invalid');
    expect((await request(gateway, '/bank/v1/x', { headers: bearer(otherKey.token) })).status).toBe(200);
    const reverse = await request(gateway, '/bank/v1/x', { headers: bearer(key.token) });
    expect(reverse.status).toBe(401);
    expect(reverse.headers['www-authenticate']).toContain('realm="bank"');
  });

  it('a request that waits for 100-continue is refused without being asked for its body', async () => {
    const client = await connectRaw(gateway.proxyPort);
    client.write(
      'POST /shop/v1/required HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n',
    );
    const response = await client.response();
    client.end();
    expect(response).toMatchObject({ status: 401, interim: [] });
  });

  it('a refusal does not end a connection with a body on the way: the next request on it is served', async () => {
    const client = await connectRaw(gateway.proxyPort);
    const refused = requestText('/shop/v1/required', { method: 'POST', body: 'x'.repeat(5_000) });
    client.write(refused + requestText('/shop/v1/required', { headers: bearer(key.token) }));
    expect((await client.response()).status).toBe(401);
    expect(echoed(await client.response()).url).toBe('/required');
    client.end();
  });
});

describe('not required', () => {
  it('a missing or invalid credential is anonymous, and the backend gets no caller', async () => {
    for (const headers of [
      {},
      bearer('hgk_nonsense'),
      bearer(otherKey.token),
      { Authorization: 'Basic eDp5' },
    ]) {
      const seen = echoed(await get('/optional', headers));
      expect(Object.keys(seen.headers).filter((name) => name.startsWith('x-headgate-'))).toEqual([]);
    }
  });

  it('a valid key identifies the caller', async () => {
    expect(echoed(await get('/optional', bearer(key.token))).headers['x-headgate-key-id']).toBe(key.id);
  });

  it('required_scopes still applies, and an anonymous caller fails it with 401', async () => {
    const nothing = await get('/optional-scoped');
    expect(nothing.status).toBe(401);
    expect(nothing.headers['www-authenticate']).toBe('Bearer realm="shop"');
    const bad = await get('/optional-scoped', bearer('hgk_nonsense'));
    expect(bad.status).toBe(401);
    expect(bad.headers['www-authenticate']).toContain('error="invalid_token"');
    expect((await get('/optional-scoped', bearer(key.token))).status).toBe(403);
  });
});

describe('scopes', () => {
  it('spec 5.4, 7: a key that lacks one of the required scopes gets 403 insufficient_scope', async () => {
    const response = await get('/scoped', bearer(key.token));
    expect(response.status).toBe(403);
    expect(response.headers['www-authenticate']).toBe(
      'Bearer realm="shop", error="insufficient_scope", scope="orders:read orders:write"',
    );
    expect(problem(response)).toMatchObject({ code: 'insufficient_scope', status: 403 });
    expect(problem(response).detail).toContain('orders:write');
  });

  it('spec 5.4: scopes are arbitrary strings, compared whole and with regard to case', async () => {
    const odd = await createKey(gateway, 'shop', { scopes: ['ORDERS:READ', 'orders:reader', 'orders', '*'] });
    expect((await get('/implied', bearer(odd.token))).status).toBe(403);
    const path = `/apps/shop/tokens/${odd.id}`;
    await gateway.must('PATCH', path, { scopes: ['x', 'orders:write', 'orders:read'] });
    expect((await get('/scoped', bearer(odd.token))).status).toBe(200);
    await gateway.must('PATCH', path, { scopes: ['orders:write'] });
    expect((await get('/implied', bearer(odd.token))).status).toBe(403);
  });

  it('required_scopes without any auth implies api_key', async () => {
    expect((await get('/implied')).status).toBe(401);
    expect((await get('/implied', bearer(key.token))).status).toBe(200);
    expect(echoed(await get('/implied', bearer(key.token))).headers).not.toHaveProperty('authorization');
  });
});

describe('what the backend learns', () => {
  it('the key is removed, and the caller is named by X-Headgate fields', async () => {
    const { headers } = echoed(await get('/required', bearer(key.token)));
    expect(headers).not.toHaveProperty('authorization');
    expect(headers).toMatchObject({
      'x-headgate-key-id': key.id,
      'x-headgate-key-name': 'till 1',
      'x-headgate-scopes': 'orders:read',
    });
    expect(headers).not.toHaveProperty('x-headgate-subject');
    expect(JSON.stringify(headers)).not.toContain(key.token);
  });

  it('forward_credentials keeps it', async () => {
    const { headers } = echoed(await get('/kept', bearer(key.token)));
    expect(headers.authorization).toBe(`Bearer ${key.token}`);
    expect(headers['x-headgate-key-id']).toBe(key.id);
  });

  it('a key that is not valid does not reach the backend either; credentials meant for it do', async () => {
    expect(echoed(await get('/optional', bearer('hgk_nonsense'))).headers).not.toHaveProperty(
      'authorization',
    );
    expect(echoed(await get('/optional', { Authorization: 'Basic eDp5' })).headers.authorization).toBe(
      'Basic eDp5',
    );
    expect(echoed(await get('/open', { Authorization: 'Bearer its-own' })).headers.authorization).toBe(
      'Bearer its-own',
    );
  });

  it('no API key reaches a backend, also where none is asked for, unless the policy says so', async () => {
    const foreign = 'hgk_of-another-gateway';
    const { token } = key;
    const right = [`Bearer ${token}`, `bearer  ${token}x`, `Bearer ${foreign}`];
    // As clients send it by mistake.
    const wrong = [
      token,
      `Bearer\t${token}`,
      `Token ${token}`,
      `Basic eDp5, Bearer ${token}`,
      `Basic,${token}`,
    ];
    for (const path of ['/open', '/optional', '/other-auth-off', '/jwt-optional']) {
      for (const value of path === '/optional' ? wrong : [...right, ...wrong]) {
        const { rawHeaders } = echoed(await get(path, { Authorization: value }));
        expect(rawHeaders.join(), `${path} ${value}`).not.toContain('hgk_');
      }
    }
    for (const value of ['Digest username="a_hgk_b"', 'Bearer xhgk_y'])
      expect(echoed(await get('/open', { Authorization: value })).headers.authorization).toBe(value);
    const kept = echoed(await get('/open-kept', bearer(foreign)));
    expect(kept.headers.authorization).toBe(`Bearer ${foreign}`);
  });

  it.each([
    'X-Headgate-Key-Id',
    'x-headgate-subject',
    'X_Headgate_Key_Id',
    'X-Headgate_Scopes',
    'X-Headgate-Anything',
  ])('clients cannot send %s, with a key or without', async (name) => {
    for (const path of ['/required', '/open', '/optional']) {
      const headers = path === '/required' ? bearer(key.token) : {};
      const { rawHeaders } = echoed(await get(path, { ...headers, [name]: 'forged' }));
      expect(rawHeaders).not.toContain('forged');
    }
  });

  it('nominating the identity fields in Connection does not remove them', async () => {
    const { headers } = echoed(
      await get('/required', { ...bearer(key.token), Connection: 'X-Headgate-Key-Id, X-Headgate-Scopes' }),
    );
    expect(headers['x-headgate-key-id']).toBe(key.id);
    expect(headers['x-headgate-scopes']).toBe('orders:read');
  });

  it('a key name with characters that no field may have is encoded, one value on one line', async () => {
    const odd = await createKey(gateway, 'shop', { name: 'Käse 100% ☃' });
    const { headers } = echoed(await get('/required', bearer(odd.token)));
    expect(decodeURIComponent(String(headers['x-headgate-key-name']))).toBe('Käse 100% ☃');
    expect(headers['x-headgate-key-name']).toMatch(/^[\x20-\x7e]+$/);
    expect(headers).not.toHaveProperty('x-headgate-scopes');
  });
});
