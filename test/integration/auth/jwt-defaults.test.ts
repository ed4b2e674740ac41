/** `GATEWAY_JWT__*` apply where the `auth.jwt` of a policy does not set the same field. */
import { createSecretKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { jwkOf, KEYS, SECRET, signed, unixSecs } from '../../support/data/jwts.ts';
import { bearer, createPolicies } from '../../support/policies.ts';
import { request, type Fields } from '../../support/traffic.ts';

let withSecret: TestGateway;
let withUri: TestGateway;
let origin: Origin;
let keys: Origin;

const OWN_SECRET = 'the-own-secret-of-a-policy-with-enough-bytes';
const OWN_KEY = createSecretKey(Buffer.from(OWN_SECRET));
const GOOD = { iss: 'https://id.test', aud: 'shop' };

beforeAll(async () => {
  keys = await startOrigin((_incoming, response) => {
    void jwkOf('ec').then((key) => response.end(JSON.stringify({ keys: [key] })));
  });
  [withSecret, withUri, origin] = await Promise.all([
    startGateway({
      env: {
        GATEWAY_JWT__SECRET: SECRET,
        GATEWAY_JWT__ALGORITHMS: 'HS384',
        GATEWAY_JWT__ISSUER: 'https://id.test',
        GATEWAY_JWT__AUDIENCES: 'shop, bank',
        GATEWAY_JWT__LEEWAY_SECS: '100',
      },
    }),
    startGateway({ env: { GATEWAY_JWT__JWKS_URI: `http://127.0.0.1:${keys.port}/jwks` } }),
    startOrigin(),
  ]);
  const auth = (jwt?: Fields): Fields => ({
    auth: { auth_type: 'jwt', ...(jwt === undefined ? {} : { jwt }) },
  });
  await createPolicies(withSecret, 'id', origin.port, [
    { path: '/defaults', policy: auth() },
    { path: '/issuer', policy: auth({ issuer: 'https://other.test' }) },
    { path: '/audience', policy: auth({ audiences: ['mail'] }) },
    { path: '/leeway', policy: auth({ leeway_secs: 0 }) },
    { path: '/own-secret', policy: auth({ secret: OWN_SECRET }) },
    { path: '/own-keys', policy: auth({ jwks: { keys: [await jwkOf('ec')] } }) },
  ]);
  await createPolicies(withUri, 'id', origin.port, [
    { path: '/defaults', policy: auth() },
    { path: '/own-secret', policy: auth({ secret: OWN_SECRET }) },
  ]);
});
afterAll(async () => {
  await Promise.all([withSecret.stop(), withUri.stop()]);
  await Promise.all([origin.close(), keys.close()]);
});

const statusOf = async (gateway: TestGateway, path: string, token: string): Promise<number> =>
  (await request(gateway, `/id/v1${path}`, { headers: bearer(token) })).status;
const hs384 = (claims: Fields): Promise<string> => signed(claims, { alg: 'HS384' });
const ownSecret = (claims: Fields): Promise<string> => signed(claims, { key: OWN_KEY });

describe('GATEWAY_JWT__*', () => {
  it('secret, algorithms, issuer, audiences and leeway apply to a policy that says only jwt', async () => {
    expect(await statusOf(withSecret, '/defaults', await hs384(GOOD))).toBe(200);
    expect(await statusOf(withSecret, '/defaults', await hs384({ ...GOOD, aud: 'bank' }))).toBe(200);
    expect(await statusOf(withSecret, '/defaults', await signed(GOOD))).toBe(401);
    expect(await statusOf(withSecret, '/defaults', await hs384({ ...GOOD, iss: 'https://other.test' }))).toBe(
      401,
    );
    expect(await statusOf(withSecret, '/defaults', await hs384({ ...GOOD, aud: 'mail' }))).toBe(401);
    expect(await statusOf(withSecret, '/defaults', await hs384({ ...GOOD, exp: unixSecs() - 20 }))).toBe(200);
    expect(await statusOf(withSecret, '/defaults', await hs384({ ...GOOD, exp: unixSecs() - 200 }))).toBe(
      401,
    );
  });

  it('each gives way to the same field of a policy, the others stay', async () => {
    expect(await statusOf(withSecret, '/issuer', await hs384(GOOD))).toBe(401);
    expect(await statusOf(withSecret, '/issuer', await hs384({ ...GOOD, iss: 'https://other.test' }))).toBe(
      200,
    );
    expect(await statusOf(withSecret, '/audience', await hs384(GOOD))).toBe(401);
    expect(await statusOf(withSecret, '/audience', await hs384({ ...GOOD, aud: 'mail' }))).toBe(200);
    expect(await statusOf(withSecret, '/leeway', await hs384({ ...GOOD, exp: unixSecs() - 20 }))).toBe(401);
  });

  it('keys of a policy replace those of the settings, together with their algorithms', async () => {
    expect(await statusOf(withSecret, '/own-secret', await ownSecret(GOOD))).toBe(200);
    expect(await statusOf(withSecret, '/own-secret', await hs384(GOOD))).toBe(401);
    const ec = { alg: 'ES256', key: KEYS.ec.privateKey, header: { kid: 'ec' } };
    expect(await statusOf(withSecret, '/own-keys', await signed(GOOD, ec))).toBe(200);
    expect(await statusOf(withSecret, '/own-keys', await hs384(GOOD))).toBe(401);
  });

  it('a JWK set by URL serves all policies without keys, and none with keys of their own', async () => {
    const ec = { alg: 'ES256', key: KEYS.ec.privateKey, header: { kid: 'ec' } };
    expect(await statusOf(withUri, '/defaults', await signed({ sub: 'ann' }, ec))).toBe(200);
    expect(await statusOf(withUri, '/defaults', await signed({ sub: 'ann' }))).toBe(401);
    expect(await statusOf(withUri, '/own-secret', await ownSecret({ sub: 'ann' }))).toBe(200);
    expect(await statusOf(withUri, '/own-secret', await signed({ sub: 'ann' }, ec))).toBe(401);
    expect(keys.seen.length).toBe(1);
  });
});
