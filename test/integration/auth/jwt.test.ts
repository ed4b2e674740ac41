/** Contract part 5 "JWT" with keys that are part of the policy: a secret, a JWK set, none. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { forgedToken, jwkOf, KEYS, SECRET, signed, unixSecs } from '../../support/data/jwts.ts';
import { bearer, createKey, createPolicies, quietWindowSecs } from '../../support/policies.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import {
  createService,
  echoed,
  problem,
  request,
  requestText,
  revisionPath,
  type Fields,
} from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;

const jwtAuth = (jwt: Fields | undefined, rest: Fields = {}): Fields => ({
  auth: { auth_type: 'jwt', ...(jwt === undefined ? {} : { jwt }), ...rest },
});
const withSecret = (jwt: Fields = {}, rest: Fields = {}): Fields => jwtAuth({ secret: SECRET, ...jwt }, rest);

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  const jwks = { keys: [await jwkOf('rsa'), await jwkOf('ec'), await jwkOf('ed')] };
  const window = { enabled: true, requests: 1, window_seconds: quietWindowSecs() };
  await createPolicies(gateway, 'id', origin.port, [
    { path: '/secret', policy: withSecret() },
    { path: '/hs512', policy: withSecret({ algorithms: ['HS512'] }) },
    { path: '/jwks', policy: jwtAuth({ jwks }) },
    { path: '/es256', policy: jwtAuth({ jwks, algorithms: ['ES256'] }) },
    {
      path: '/strict',
      policy: withSecret({ issuer: 'https://id.test', audiences: ['orders', 'bills'], leeway_secs: 0 }),
    },
    { path: '/lenient', policy: withSecret({ leeway_secs: 300 }) },
    { path: '/claims', policy: withSecret({}, { required_claims: ['sub', 'email'] }) },
    { path: '/scopes', policy: { ...withSecret(), required_scopes: ['read', 'write'] } },
    { path: '/optional', policy: withSecret({}, { required: false }) },
    {
      path: '/optional-scopes',
      policy: { ...withSecret({}, { required: false }), required_scopes: ['read'] },
    },
    { path: '/dropped', policy: withSecret({}, { forward_credentials: false }) },
    {
      path: '/headers',
      policy: withSecret({
        claims_to_headers: { email: 'X-User-Email', groups: 'X-Groups', age: 'X-Age', gone: 'X-Gone' },
      }),
    },
    { path: '/no-keys', policy: jwtAuth(undefined, { required_claims: ['sub', 'email'] }) },
    { path: '/no-keys-optional', policy: jwtAuth(undefined, { required: false }) },
    {
      path: '/per-claim',
      policy: { ...withSecret({}, { required: false }), rate_limit: { ...window, per: 'claim:team' } },
    },
    { path: '/per-subject', policy: { ...withSecret(), rate_limit: { ...window, per: 'api_key' } } },
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const call = (path: string, token?: string) =>
  request(gateway, `/id/v1${path}`, { headers: token === undefined ? {} : bearer(token) });
const statusOf = async (path: string, token?: string): Promise<number> => (await call(path, token)).status;

describe('a valid token', () => {
  it('opens the route, and is forwarded by default', async () => {
    const token = await signed({ sub: 'ann', scope: 'read write' });
    const { headers } = echoed(await call('/secret', token));
    expect(headers.authorization).toBe(`Bearer ${token}`);
    expect(headers).toMatchObject({ 'x-headgate-subject': 'ann', 'x-headgate-scopes': 'read write' });
    expect(headers).not.toHaveProperty('x-headgate-key-id');
  });

  it('forward_credentials false removes it', async () => {
    const { headers } = echoed(await call('/dropped', await signed({ sub: 'ann' })));
    expect(headers).not.toHaveProperty('authorization');
    expect(headers['x-headgate-subject']).toBe('ann');
  });

  it.each([
    ['rsa', 'RS256'],
    ['rsa', 'PS512'],
    ['ec', 'ES256'],
    ['ed', 'EdDSA'],
  ] as const)('verifies with the public keys of an inline JWK set (%s, %s)', async (name, alg) => {
    const withKid = await signed({ sub: 'ann' }, { alg, key: KEYS[name].privateKey, header: { kid: name } });
    expect(await statusOf('/jwks', withKid)).toBe(200);
    const without = await signed({ sub: 'bob' }, { alg, key: KEYS[name].privateKey });
    expect(await statusOf('/jwks', without)).toBe(200);
  });

  it('answers the same on one connection, pipelined with requests that need no verification, in order', async () => {
    const [first, second] = [await signed({ sub: 'one' }), await signed({ sub: 'two' })];
    const client = await connectRaw(gateway.proxyPort);
    client.write(
      requestText('/id/v1/secret?1', { headers: bearer(first) }) +
        requestText('/id/v1/open?2') +
        requestText('/id/v1/secret?3', { method: 'POST', headers: bearer(second), body: 'body' }) +
        requestText('/id/v1/secret?4', { headers: bearer('x.y.z') }),
    );
    expect(echoed(await client.response())).toMatchObject({ url: '/secret?1' });
    expect(echoed(await client.response())).toMatchObject({ url: '/open?2' });
    expect(echoed(await client.response())).toMatchObject({ url: '/secret?3', body: 'body' });
    expect((await client.response()).status).toBe(401);
    client.end();
  });

  it('a body that comes while the token is verified is kept whole', async () => {
    const body = Array.from({ length: 20_000 }, (_, index) => String(index)).join(',');
    for (const sub of ['body-1', 'body-2']) {
      const token = await signed({ sub });
      const client = await connectRaw(gateway.proxyPort);
      const head = `POST /id/v1/secret HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const half = body.length >> 1;
      client.write(`${head}${half.toString(16)}\r\n${body.slice(0, half)}\r\n`);
      client.write(`${(body.length - half).toString(16)}\r\n${body.slice(half)}\r\n0\r\n\r\n`);
      expect(echoed(await client.response()).body).toBe(body);
      client.end();
    }
  });
});

describe('a token that is refused', () => {
  const REFUSED = { status: 401, code: 'credentials_invalid', error: 'invalid_token', reached: 0 };
  const refusal = async (path: string, token: string) => {
    const before = origin.seen.length;
    const response = await call(path, token);
    const { code, detail } = problem(response);
    const challenge = /^Bearer realm="id", error="(\w+)", error_description="[^"]+"$/;
    const [, error] = challenge.exec(response.headers['www-authenticate'] ?? '') ?? [];
    return { status: response.status, code, error, detail, reached: origin.seen.length - before };
  };

  it('none at all: 401 without an error in WWW-Authenticate', async () => {
    const response = await call('/secret');
    expect([response.status, response.headers['www-authenticate']]).toEqual([401, 'Bearer realm="id"']);
    expect(problem(response).code).toBe('credentials_missing');
  });

  it('alg none, in any spelling', async () => {
    for (const alg of ['none', 'None', 'NONE', '']) {
      expect(await refusal('/secret', forgedToken({ alg }, { sub: 'ann' }, undefined))).toMatchObject(
        REFUSED,
      );
      expect(await refusal('/jwks', forgedToken({ alg }, { sub: 'ann' }, undefined))).toMatchObject(REFUSED);
    }
  });

  it('symmetric and asymmetric never mix: an HMAC made with the public key is no signature', async () => {
    const jwk = await jwkOf('rsa');
    const pem = KEYS.rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    for (const secret of [pem, pem.trim(), JSON.stringify(jwk), String(jwk['n'])]) {
      expect(
        await refusal('/jwks', forgedToken({ alg: 'HS256', kid: 'rsa' }, { sub: 'ann' }, secret)),
      ).toMatchObject(REFUSED);
    }
    expect(
      await refusal('/secret', await signed({ sub: 'ann' }, { alg: 'RS256', key: KEYS.rsa.privateKey })),
    ).toMatchObject(REFUSED);
  });

  it('the algorithm comes from the configuration, never from the token', async () => {
    expect(await refusal('/hs512', await signed({ sub: 'ann' }, { alg: 'HS256' }))).toMatchObject(REFUSED);
    expect(await statusOf('/hs512', await signed({ sub: 'ann' }, { alg: 'HS512' }))).toBe(200);
    expect(
      await refusal('/es256', await signed({ sub: 'ann' }, { alg: 'RS256', key: KEYS.rsa.privateKey })),
    ).toMatchObject(REFUSED);
    expect(
      await statusOf('/es256', await signed({ sub: 'ann' }, { alg: 'ES256', key: KEYS.ec.privateKey })),
    ).toBe(200);
  });

  it('a key that the token brings along', async () => {
    const jwk = KEYS.stranger.publicKey.export({ format: 'jwk' });
    const options = { alg: 'ES256', key: KEYS.stranger.privateKey };
    expect(
      await refusal('/jwks', await signed({ sub: 'ann' }, { ...options, header: { jwk } })),
    ).toMatchObject(REFUSED);
    expect(
      await refusal('/jwks', await signed({ sub: 'ann' }, { ...options, header: { kid: 'ec' } })),
    ).toMatchObject(REFUSED);
    const jku = `http://127.0.0.1:${origin.port}/jwks`;
    expect(
      await refusal('/jwks', await signed({ sub: 'ann' }, { ...options, header: { jku, kid: 'x' } })),
    ).toMatchObject(REFUSED);
  });

  it('changed in its payload or its signature', async () => {
    const [head = '', , signature = ''] = (await signed({ sub: 'ann' })).split('.');
    const payload = Buffer.from(JSON.stringify({ sub: 'bob' })).toString('base64url');
    expect(await refusal('/secret', `${head}.${payload}.${signature}`)).toMatchObject(REFUSED);
    const whole = await signed({ sub: 'ann' });
    expect(await refusal('/secret', whole.slice(0, -6))).toMatchObject(REFUSED);
    expect(await refusal('/secret', `${whole.slice(0, -6)}AAAAAA`)).toMatchObject(REFUSED);
  });

  it('expired, or not valid yet; leeway_secs is the tolerance', async () => {
    const now = unixSecs();
    const times = { iss: 'https://id.test', aud: 'orders' };
    expect(await refusal('/strict', await signed({ ...times, exp: now - 1 }))).toMatchObject({
      ...REFUSED,
      detail: expect.stringMatching(/expired/),
    });
    expect(await refusal('/strict', await signed({ ...times, nbf: now + 60 }))).toMatchObject({
      ...REFUSED,
      detail: expect.stringMatching(/not valid yet/),
    });
    expect(await statusOf('/strict', await signed({ ...times, exp: now + 600, nbf: now - 1 }))).toBe(200);
    expect(await statusOf('/lenient', await signed({ exp: now - 100 }))).toBe(200);
    expect(await statusOf('/lenient', await signed({ nbf: now + 100 }))).toBe(200);
    expect(await refusal('/lenient', await signed({ exp: now - 400 }))).toMatchObject(REFUSED);
    expect(await refusal('/strict', await signed({ ...times, exp: 'tomorrow' }))).toMatchObject(REFUSED);
  });

  it('a token that was good is refused once it has expired, although it is remembered', async () => {
    const { token, exp, first } = await until(async () => {
      const soon = unixSecs() + 2;
      const signedToken = await signed({ iss: 'https://id.test', aud: 'orders', exp: soon });
      const status = await statusOf('/strict', signedToken);
      // On a machine so busy that it has expired already, it was never good.
      return unixSecs() < soon && { token: signedToken, exp: soon, first: status };
    });
    expect(first).toBe(200);
    while (Date.now() / 1000 <= exp) await new Promise((done) => setTimeout(done, 50));
    expect(await refusal('/strict', token)).toMatchObject({
      ...REFUSED,
      detail: expect.stringMatching(/expired/),
    });
  });

  it('from another issuer, or for another audience', async () => {
    expect(await refusal('/strict', await signed({ aud: 'orders' }))).toMatchObject(REFUSED);
    expect(await refusal('/strict', await signed({ iss: 'https://id.test/', aud: 'orders' }))).toMatchObject(
      REFUSED,
    );
    expect(await refusal('/strict', await signed({ iss: 'https://id.test' }))).toMatchObject(REFUSED);
    expect(await refusal('/strict', await signed({ iss: 'https://id.test', aud: 'mail' }))).toMatchObject(
      REFUSED,
    );
    expect(await statusOf('/strict', await signed({ iss: 'https://id.test', aud: ['mail', 'bills'] }))).toBe(
      200,
    );
  });

  it('no JWT at all, an API key, and a token of absurd length', async () => {
    expect(await refusal('/secret', 'abc')).toMatchObject(REFUSED);
    expect(await refusal('/secret', 'a.b.c')).toMatchObject(REFUSED);
    expect(await refusal('/secret', (await createKey(gateway, 'id')).token)).toMatchObject(REFUSED);
    expect(await refusal('/secret', await signed({ sub: 'ann', filler: 'x'.repeat(9_000) }))).toMatchObject(
      REFUSED,
    );
  });

  it('an API key opens no JWT route and a JWT no API-key route', async () => {
    await createService(gateway, 'keyed', origin.port, {
      app: { default_policy: { auth: { auth_type: 'api_key' } } },
    });
    const headers = bearer(await signed({ sub: 'ann' }));
    expect((await request(gateway, '/keyed/v1/x', { headers })).status).toBe(401);
  });

  it('no keys configured: the policy is accepted, requests fail closed', async () => {
    const shown = await gateway.must('GET', `${revisionPath('id')}/endpoints?limit=100`);
    const endpoint = shown.find(({ path }: { path: string }) => path === '/no-keys');
    expect(endpoint.policy_override).toEqual({
      auth: { auth_type: 'jwt', required_claims: ['sub', 'email'] },
    });
    expect(await refusal('/no-keys', await signed({ sub: 'ann', email: 'a@b.test' }))).toMatchObject(REFUSED);
    expect(
      await refusal('/no-keys', forgedToken({ alg: 'none' }, { sub: 'ann', email: 'a@b.test' }, undefined)),
    ).toMatchObject(REFUSED);
    expect(await statusOf('/no-keys')).toBe(401);
    const { headers } = echoed(await call('/no-keys-optional', await signed({ sub: 'ann' })));
    expect(headers).not.toHaveProperty('x-headgate-subject');
  });
});

describe('required_claims and scopes', () => {
  it('claims must be present and not null, else 403 missing_claim', async () => {
    expect(await statusOf('/claims', await signed({ sub: 'ann', email: 'a@b.test' }))).toBe(200);
    expect(await statusOf('/claims', await signed({ sub: 'ann', email: '' }))).toBe(200);
    for (const claims of [{ sub: 'ann' }, { sub: 'ann', email: null }, {}]) {
      const response = await call('/claims', await signed(claims));
      expect(problem(response)).toMatchObject({ status: 403, code: 'missing_claim' });
      expect(response.headers['www-authenticate']).toContain('error="insufficient_scope"');
    }
    expect(await statusOf('/claims')).toBe(401);
  });

  it('names of things that every object has are no claims', async () => {
    await gateway.must('POST', `${revisionPath('id')}/endpoints`, {
      method: '*',
      path: '/proto',
      policy_override: withSecret({}, { required_claims: ['toString', '__proto__'] }),
    });
    expect(await statusOf('/proto', await signed({ sub: 'ann' }))).toBe(403);
  });

  it('required_scopes reads scope, separated by spaces, or scp', async () => {
    for (const claims of [{ scope: 'read write more' }, { scp: ['write', 'read'] }, { scp: 'read write' }]) {
      expect(await statusOf('/scopes', await signed(claims))).toBe(200);
    }
    for (const claims of [
      {},
      { scope: 'read' },
      { scope: 'readwrite' },
      { scope: 'read,write' },
      { scp: ['read write'] },
    ]) {
      const response = await call('/scopes', await signed(claims));
      expect(problem(response)).toMatchObject({ status: 403, code: 'insufficient_scope' });
      expect(response.headers['www-authenticate']).toBe(
        'Bearer realm="id", error="insufficient_scope", scope="read write"',
      );
    }
  });

  it('required false: a valid token identifies, anything else is anonymous, scopes still apply', async () => {
    expect(echoed(await call('/optional', await signed({ sub: 'ann' }))).headers['x-headgate-subject']).toBe(
      'ann',
    );
    for (const token of [undefined, 'nonsense', await signed({ sub: 'ann', exp: 1 })]) {
      const { headers } = echoed(await call('/optional', token));
      expect(headers).not.toHaveProperty('x-headgate-subject');
      // What did not verify must not look to the backend as if it had.
      expect(headers).not.toHaveProperty('authorization');
      expect(await statusOf('/optional-scopes', token)).toBe(401);
    }
    expect(await statusOf('/optional-scopes', await signed({ scope: 'read' }))).toBe(200);
  });
});

describe('claims_to_headers', () => {
  it('claims go to the backend under their headers, lists and objects as JSON', async () => {
    const token = await signed({ sub: 'ann', email: 'ann@b.test', groups: ['a', 'b'], age: 7 });
    const { headers } = echoed(await call('/headers', token));
    expect(headers).toMatchObject({ 'x-user-email': 'ann@b.test', 'x-groups': '["a","b"]', 'x-age': '7' });
    expect(headers).not.toHaveProperty('x-gone');
  });

  it.each(['X-User-Email', 'x-user-email', 'X_User_Email', 'X-User_Email', 'X-Gone'])(
    'a client cannot send %s itself',
    async (name) => {
      const headers = { ...bearer(await signed({ sub: 'ann', email: 'ann@b.test' })), [name]: 'forged' };
      const seen = echoed(await request(gateway, '/id/v1/headers', { headers }));
      expect(seen.rawHeaders).not.toContain('forged');
      expect(seen.headers['x-user-email']).toBe('ann@b.test');
    },
  );

  it('a claim cannot break out of its field', async () => {
    const email = 'a\r\nX-Headgate-Subject: root\r\n\r\nGET /admin HTTP/1.1 \u2603';
    const { headers } = echoed(await call('/headers', await signed({ sub: 'ann\r\nX-Evil: 1', email })));
    expect(decodeURIComponent(String(headers['x-user-email']))).toBe(email);
    expect(headers).not.toHaveProperty('x-evil');
    expect(decodeURIComponent(String(headers['x-headgate-subject']))).toBe('ann\r\nX-Evil: 1');
  });

  it.each([
    'Authorization',
    'Host',
    'X-Forwarded-For',
    'X-Headgate-Subject',
    'Content-Length',
    'x_forwarded_for',
  ])('a policy cannot write a claim to %s: 422', async (header) => {
    const answer = await gateway.api('POST', '/apps', {
      name: 'bad',
      slug: 'bad',
      gateway_path: '/bad',
      default_policy: withSecret({ claims_to_headers: { email: header } }),
    });
    expect(answer.status).toBe(422);
    expect(answer.body.errors[0].pointer).toBe('/default_policy/auth/jwt/claims_to_headers/email');
  });
});

describe('rate limits by caller', () => {
  it('per claim:<name> is a counter for each value; without the claim, by address', async () => {
    for (const team of ['a', 'b']) {
      expect(await statusOf('/per-claim', await signed({ team, jti: '1' }))).toBe(200);
      expect(await statusOf('/per-claim', await signed({ team, jti: '2' }))).toBe(429);
    }
    expect(await statusOf('/per-claim', await signed({ sub: 'no team' }))).toBe(200);
    expect(await statusOf('/per-claim')).toBe(429);
  });

  it('per api_key counts callers with a token by their subject', async () => {
    for (const sub of ['ann', 'bob']) {
      expect(await statusOf('/per-subject', await signed({ sub, jti: '1' }))).toBe(200);
      expect(await statusOf('/per-subject', await signed({ sub, jti: '2' }))).toBe(429);
    }
  });
});

describe('writes', () => {
  const BAD: readonly (readonly [string, Fields, string])[] = [
    ['a short secret', { secret: 'x'.repeat(31) }, '/secret'],
    [
      'a secret that is too short for its algorithm',
      { secret: 'x'.repeat(40), algorithms: ['HS512'] },
      '/secret',
    ],
    ['two sources of keys', { secret: SECRET, jwks_uri: 'https://id.test/jwks' }, '/secret'],
    ['a public-key algorithm with a secret', { secret: SECRET, algorithms: ['RS256'] }, '/algorithms/0'],
    [
      'an HMAC algorithm with public keys',
      { jwks_uri: 'https://id.test/jwks', algorithms: ['ES256', 'HS256'] },
      '/algorithms/1',
    ],
    ['the algorithm none', { secret: SECRET, algorithms: ['none'] }, '/algorithms/0'],
    ['no algorithm', { secret: SECRET, algorithms: [] }, '/algorithms'],
    ['a URL of another scheme', { jwks_uri: 'file:///etc/passwd' }, '/jwks_uri'],
    ['a URL with a password', { jwks_uri: 'https://u:p@id.test/jwks' }, '/jwks_uri'],
    ['a negative leeway', { secret: SECRET, leeway_secs: -1 }, '/leeway_secs'],
    ['a private key', { jwks: { keys: [KEYS.ec.privateKey.export({ format: 'jwk' })] } }, '/jwks/keys/0'],
    [
      'a key that is not complete',
      { jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'a', y: 'b' }] } },
      '/jwks/keys/0',
    ],
  ];
  it.each(BAD)('%s is 422 and names the field', async (_name, jwt, pointer) => {
    const body = { name: 'bad', slug: 'bad', gateway_path: '/bad', default_policy: jwtAuth(jwt) };
    const answer = await gateway.api('POST', '/apps', body);
    expect(answer.status).toBe(422);
    const pointers = answer.body.errors.map((error: { pointer: string }) => error.pointer);
    expect(pointers).toContain(`/default_policy/auth/jwt${pointer}`);
    expect(JSON.stringify(answer.body)).not.toContain(SECRET);
  });

  it('a secret is masked in answers, and sending the mask back keeps it', async () => {
    await createService(gateway, 'masked', origin.port, { app: { default_policy: withSecret() } });
    const shown = (await gateway.must('GET', '/apps/masked')).default_policy;
    expect(shown.auth.jwt.secret).toBe('********');
    await gateway.must('PATCH', '/apps/masked', {
      default_policy: { auth: { ...shown.auth, required_claims: ['sub'] } },
    });
    const headers = bearer(await signed({ sub: 'ann' }));
    expect((await request(gateway, '/masked/v1/x', { headers })).status).toBe(200);
    await gateway.must('PATCH', '/apps/masked', {
      default_policy: withSecret({ secret: SECRET.toUpperCase() }),
    });
    expect((await request(gateway, '/masked/v1/x', { headers })).status).toBe(401);
  });
});
