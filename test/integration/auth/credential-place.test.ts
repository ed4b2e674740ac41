/**
 * `auth.in`: a policy names the request header that its credential is in. It is read from there and from nowhere else,
 * the header is the gateway's own, and Authorization is a field like any other.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { foldedName } from '../../../src/lib/folded-name.ts';
import type { Explanation } from '../../../src/explain/schema.ts';
import { explain, stageOf } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { connectHttp2, request as request2, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { SECRET, signed } from '../../support/data/jwts.ts';
import { startOrigin, type Origin, type Seen } from '../../support/backends/origin.ts';
import { bearer, createKey, createPolicies } from '../../support/policies.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';
import { echoed, problem, request, revisionPath, type Fields, type Served } from '../../support/traffic.ts';

const OF_KEYS = { auth_type: 'api_key', in: 'X-API-Key' };
const OF_JWTS = { auth_type: 'jwt', in: 'X-Id-Token', jwt: { secret: SECRET } };
const CHALLENGE = 'ApiKey realm="shop", header="X-API-Key"';
/** Every token character that is neither letter nor digit. */
const SIGNS = "!#$%&'*+.^_`|~".split('');

let gateway: TestGateway;
let origin: Origin;
let key: Served;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  const auth = (fields: Fields): Fields => ({ auth: { ...OF_KEYS, ...fields } });
  await createPolicies(gateway, 'shop', origin.port, [
    { path: '/key', policy: auth({}) },
    { path: '/kept', policy: auth({ forward_credentials: true }) },
    { path: '/optional', policy: auth({ required: false }) },
    { path: '/shadow', policy: { ...auth({}), shadow: ['auth'] } },
    { path: '/scoped', policy: { ...auth({}), required_scopes: ['gold'] } },
    { path: '/usual', policy: auth({ in: 'authorization' }) },
    { path: '/jwt', policy: { auth: OF_JWTS } },
    { path: '/jwt-dropped', policy: { auth: { ...OF_JWTS, forward_credentials: false } } },
    {
      path: '/partner',
      policy: {
        auth: { ...OF_KEYS, in: 'X-Partner', forward_credentials: true },
        rate_limit: { enabled: true, requests: 1000, window_seconds: 60, per: 'header:x-partner' },
      },
    },
  ]);
  key = await createKey(gateway, 'shop', { scopes: ['silver'] });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const get = (path: string, headers: Record<string, string> = {}) =>
  request(gateway, `/shop/v1${path}`, { headers });

describe('the header that auth.in names', () => {
  it('is where the key is read, in any case of its name, and a leading Bearer is ignored', async () => {
    for (const name of ['X-API-Key', 'x-api-key', 'X-Api-KEY']) {
      const seen = echoed(await get('/key', { [name]: key.token }));
      expect(seen.headers['x-headgate-key-id']).toBe(key.id);
    }
    expect((await get('/key', { 'X-API-Key': `Bearer ${key.token}` })).status).toBe(200);
  });

  it('and nowhere else: without it 401 with a challenge that names it', async () => {
    const before = origin.seen.length;
    for (const headers of [{}, bearer(key.token), { X_API_Key: key.token }, { 'X-API-Key': '' }]) {
      const response = await get('/key', headers);
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBe(CHALLENGE);
      expect(problem(response)).toMatchObject({
        code: 'credentials_missing',
        detail: 'The request needs the header X-API-Key with an API key',
      });
    }
    expect(origin.seen).toHaveLength(before);
  });

  it('a bad value is 401 invalid_token, a scope that is missing 403, with the same challenge', async () => {
    for (const value of [
      'wrong',
      `${key.token}A`,
      `Basic ${key.token}`,
      'Bearer',
      'q5DzPHUhfKo_mrW3uT0-xA',
    ]) {
      const response = await get('/key', { 'X-API-Key': value });
      expect(response.status, value).toBe(401);
      expect(response.headers['www-authenticate']).toContain(`${CHALLENGE}, error="invalid_token"`);
    }
    const response = await get('/scoped', { 'X-API-Key': key.token });
    expect(response.status).toBe(403);
    expect(response.headers['www-authenticate']).toBe(
      `${CHALLENGE}, error="insufficient_scope", scope="gold"`,
    );
    expect((await get('/scoped')).headers['www-authenticate']).toBe(CHALLENGE);
  });

  it('two such fields, or a list in one, are an invalid credential', async () => {
    for (const lines of [
      `X-API-Key: ${key.token}\r\nx-api-key: ${key.token}\r\n`,
      `X-API-Key: wrong\r\nX-API-Key: ${key.token}\r\n`,
      `X-API-Key: ${key.token}\r\nX-API-Key:\r\n`,
      `X-API-Key: ${key.token}, ${key.token}\r\n`,
    ]) {
      const text = `GET /shop/v1/key HTTP/1.1\r\nHost: a\r\n${lines}\r\n`;
      const response = await sendRaw(gateway.proxyPort, text);
      expect(problem(response)).toMatchObject({ status: 401, code: 'credentials_invalid' });
      expect(response.headers['www-authenticate']).toContain('The request has more than one X-API-Key');
    }
  });

  it('Authorization, spelled anyhow, is what it is without auth.in', async () => {
    expect((await get('/usual', bearer(key.token))).status).toBe(200);
    expect((await get('/usual', { 'X-API-Key': key.token })).headers['www-authenticate']).toBe(
      'Bearer realm="shop"',
    );
  });

  it('the effective policy shows it', async () => {
    await gateway.must('PATCH', revisionPath('shop'), { default_policy: { auth: OF_KEYS } });
    const { policy } = await gateway.must('GET', `${revisionPath('shop')}/effective-policy`);
    expect(policy.auth).toEqual(OF_KEYS);
    await gateway.must('PATCH', revisionPath('shop'), { default_policy: null });
  });
});

/** Names of the fields, in head and trailers, that a backend may read as `name`. */
function namesLike(name: string, { rawHeaders, trailers }: Seen): string[] {
  const names = [...rawHeaders.filter((_value, index) => index % 2 === 0), ...Object.keys(trailers)];
  return names.filter((field) => foldedName(field) === foldedName(name));
}

describe('what reaches the backend', () => {
  const spellings = SIGNS.map((sign) => `x${sign}api${sign}key: forged\r\n`).join('');
  const ask = async (path: string, own: string): Promise<Seen> => {
    const text =
      `POST /shop/v1${path} HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n${own}${spellings}` +
      `Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-API-Key: forged\r\nX_API_Key: forged\r\nX-Sum: 1\r\n\r\n`;
    const seen = echoed(await sendRaw(gateway.proxyPort, text));
    expect(seen.trailers).toEqual({ 'x-sum': '1' });
    return seen;
  };

  it('is not the key, in the head, in trailers or in another spelling that a server may accept', async () => {
    const own = `X-API-Key: ${key.token}\r\n`;
    expect(namesLike('X-API-Key', await ask('/key', own))).toEqual([]);
    expect(namesLike('X-API-Key', await ask('/optional', own))).toEqual([]);
    expect(namesLike('X-API-Key', await ask('/shadow', own))).toEqual([]);
  });

  it('nor a bad one, where the request passes all the same', async () => {
    for (const value of ['anything', `${key.token}A`, 'a, b']) {
      const seen = await ask('/optional', `X-API-Key: ${value}\r\n`);
      expect(namesLike('X-API-Key', seen)).toEqual([]);
      expect(seen.headers['x-headgate-key-id']).toBeUndefined();
      expect(namesLike('X-API-Key', await ask('/shadow', `X-API-Key: ${value}\r\n`))).toEqual([]);
    }
    expect(namesLike('X-API-Key', await ask('/optional', ''))).toEqual([]);
  });

  it('is the key with forward_credentials, in its field alone', async () => {
    const seen = await ask('/kept', `X-API-Key: ${key.token}\r\n`);
    expect(namesLike('X-API-Key', seen)).toEqual(['X-API-Key']);
    expect(seen.headers['x-api-key']).toBe(key.token);
  });

  it('leaves Authorization unchanged, except for a key of the gateway', async () => {
    for (const value of ['Basic eDp5', 'Bearer of-the-backend', 'anything']) {
      const seen = echoed(await get('/key', { 'X-API-Key': key.token, Authorization: value }));
      expect(seen.headers.authorization).toBe(value);
      expect(seen.headers['x-headgate-key-id']).toBe(key.id);
    }
    const seen = echoed(await get('/key', { 'X-API-Key': key.token, ...bearer(key.token) }));
    expect(seen.headers.authorization).toBeUndefined();
  });

  it('is the same for requests that repeat their fields on one connection', async () => {
    const client = await connectRaw(gateway.proxyPort);
    const fields = `Host: a\r\nX-API-Key: ${key.token}\r\nX-Other: 1\r\n\r\n`;
    for (const [path, isKept] of [
      ['/key', false],
      ['/kept', true],
      ['/key', false],
      ['/key', false],
      ['/kept', true],
      ['/usual', undefined],
      ['/key', false],
    ] as const) {
      client.write(`GET /shop/v1${path} HTTP/1.1\r\n${fields}`);
      const response = await client.response();
      expect(response.status, path).toBe(isKept === undefined ? 401 : 200);
      if (isKept !== undefined) expect('x-api-key' in echoed(response).headers, path).toBe(isKept);
    }
    client.end();
  });

  it('is the same over HTTP/2', async () => {
    const policy = { auth: { ...OF_KEYS, required: false } } as const;
    const change = oneRoute({ backendPort: origin.port, policy: policy as never });
    const proxy = await startProxy(change, { tls: TLS_PAIR });
    const client = await connectHttp2(proxy.port);
    const before = origin.seen.length;
    const headers = {
      ':path': '/a/v1/x',
      'x-api-key': 'anything',
      x_api_key: 'forged',
      authorization: 'Basic eDp5',
    };
    expect((await request2(client, headers)).status).toBe(200);
    const seen = origin.seen[before] as Seen;
    expect(namesLike('X-API-Key', seen)).toEqual([]);
    expect(seen.headers.authorization).toBe('Basic eDp5');
    client.session.destroy();
    await proxy.close();
  });
});

describe('a JWT in another header', () => {
  it('is verified there, and is forwarded to the backend unless the policy says otherwise', async () => {
    const token = await signed({ sub: 'ada' });
    const seen = echoed(await get('/jwt', { 'X-Id-Token': token, Authorization: 'Basic eDp5' }));
    expect(seen.headers).toMatchObject({
      'x-headgate-subject': 'ada',
      'x-id-token': token,
      authorization: 'Basic eDp5',
    });
    const dropped = echoed(await get('/jwt-dropped', { 'X-Id-Token': `Bearer ${token}` }));
    expect(dropped.headers['x-headgate-subject']).toBe('ada');
    expect(dropped.headers['x-id-token']).toBeUndefined();
  });

  it('is 401 with its own challenge when it is missing, in another header, invalid, or repeated', async () => {
    const token = await signed({ sub: 'ada' });
    const challenge = 'JWT realm="shop", header="X-Id-Token"';
    expect((await get('/jwt')).headers['www-authenticate']).toBe(challenge);
    expect((await get('/jwt', bearer(token))).headers['www-authenticate']).toBe(challenge);
    for (const value of [`${token}x`, `${token}, ${token}`, key.token]) {
      const response = await get('/jwt', { 'X-Id-Token': value });
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toContain(`${challenge}, error="invalid_token"`);
    }
  });
});

describe('explain', () => {
  it('sends a token where the route reads it, and shows it nowhere', async () => {
    const found = await explain(gateway, { method: 'GET', url: '/shop/v1/partner', token: key.token });
    expect(found).toMatchObject({ outcome: 'forwarded', caller: { kind: 'api_key', id: key.id } });
    expect(found.request.headers).toContainEqual({ name: 'X-Partner', value: '********' });
    expect(found.upstream?.headers).toContainEqual({ name: 'X-Partner', value: '********' });
    expect(found.limits).toHaveLength(1);
    expect(stageOf(found, 'auth').value).toMatchObject({ in: 'X-Partner' });
    expect(JSON.stringify(found)).not.toContain(key.token);
    const headers = { 'X-Partner': key.token };
    const described = await explain(gateway, { method: 'GET', url: '/shop/v1/partner', headers });
    expect(described).toMatchObject({ outcome: 'forwarded', caller: { id: key.id } });
    expect(JSON.stringify(described)).not.toContain(key.token);
  });

  it('says in which header a key is to be sent, and the fix of one that does not hold', async () => {
    const missing = await explain(gateway, { method: 'GET', url: '/shop/v1/key' });
    expect(missing.fix).toMatchObject({
      action: 'send_credentials',
      detail: 'Send X-API-Key with an API key of app shop',
    });
    const disabled = await createKey(gateway, 'shop', { is_active: false });
    const found = await explain(gateway, { method: 'GET', url: '/shop/v1/key', token: disabled.token });
    expect(found.fix).toMatchObject({ action: 'enable_token', target: { id: disabled.id } });
  });

  it('keeps no value of a recorded exchange', async () => {
    const response = await get('/partner', { 'X-Partner': `${key.token}A` });
    expect(response.status).toBe(401);
    const found: Explanation = await gateway.must('GET', `/explain/${response.headers['x-request-id']}`);
    expect(found.request.headers).toContainEqual({ name: 'X-Partner', value: '********' });
    expect(JSON.stringify(found)).not.toContain(key.token);
  });
});
