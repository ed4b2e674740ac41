/**
 * JWTs as a real identity provider makes them (oidc-provider): client credentials and the authorization-code flow,
 * through the gateway to the backend, and what happens when the provider changes its keys or goes away.
 */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startIdentityProvider, type IdentityProvider } from '../../support/backends/identity-provider.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createPolicies, type ServedPath } from '../../support/policies.ts';
import { createEndpoint, echoed, problem, request } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;
const providers = new Map<string, IdentityProvider>();

const ALGORITHMS = ['ES256', 'PS256', 'RS256', 'EdDSA'] as const;
const provider = (name: string): IdentityProvider => {
  const found = providers.get(name);
  if (found === undefined) throw new Error(`There is no provider ${name}`);
  return found;
};

function policiesOf(name: string, { issuer, jwksUri }: IdentityProvider): ServedPath[] {
  const claims_to_headers = { email: 'X-User-Email', client_id: 'X-Client' };
  const jwt = { issuer, audiences: ['orders'], jwks_uri: jwksUri, claims_to_headers };
  const auth = { auth_type: 'jwt', jwt };
  return [
    { path: `/${name}/read`, policy: { auth, required_scopes: ['orders:read'] } },
    { path: `/${name}/write`, policy: { auth, required_scopes: ['orders:read', 'orders:write'] } },
    { path: `/${name}/people`, policy: { auth: { ...auth, required_claims: ['sub', 'email'] } } },
    { path: `/${name}/others`, policy: { auth: { ...auth, jwt: { ...jwt, audiences: ['bills'] } } } },
  ];
}

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  await createPolicies(gateway, 'shop', origin.port, []);
  for (const name of [...ALGORITHMS, 'rotating', 'leaving'] as const) {
    const started = await startIdentityProvider(name === 'rotating' || name === 'leaving' ? 'ES256' : name);
    providers.set(name, started);
    for (const { path, policy } of policiesOf(name, started)) {
      await createEndpoint(gateway, 'shop', '*', path, { policy_override: policy });
    }
  }
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
  for (const each of providers.values()) await each.close();
});

const get = (path: string, token: string) => request(gateway, `/shop/v1${path}`, { headers: bearer(token) });
const statusOf = async (path: string, token: string): Promise<number> => (await get(path, token)).status;

describe.each(ALGORITHMS)('tokens signed with %s', (name) => {
  it('of a machine (client credentials): what its scopes allow, and no more', async () => {
    const token = await provider(name).machineToken('orders:read');
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: name, typ: 'at+jwt', kid: 'key-1' });
    const { headers } = echoed(await get(`/${name}/read`, token));
    expect(headers['x-headgate-scopes']).toBe('orders:read');
    expect(headers['x-client']).toBe('machine');
    const refused = await get(`/${name}/write`, token);
    expect([refused.status, problem(refused).code]).toEqual([403, 'insufficient_scope']);
    expect(await statusOf(`/${name}/people`, token)).toBe(403);
    const both = await provider(name).machineToken('orders:read orders:write');
    expect(await statusOf(`/${name}/write`, both)).toBe(200);
  });

  it('of a person (authorization code with PKCE, login, consent): the backend gets the subject', async () => {
    const token = await provider(name).personToken('ann', 'orders:read');
    expect(decodeJwt(token)).toMatchObject({ sub: 'ann', aud: 'orders', iss: provider(name).issuer });
    const { headers } = echoed(await get(`/${name}/people`, token));
    expect([headers['x-headgate-subject'], headers['x-user-email']]).toEqual(['ann', 'ann@example.test']);
    expect(headers.authorization).toBe(`Bearer ${token}`);
  });

  it('for another audience, or of another provider: 401', async () => {
    const token = await provider(name).machineToken('orders:read');
    expect(await statusOf(`/${name}/others`, token)).toBe(401);
    expect(await statusOf(`/${name === 'ES256' ? 'PS256' : 'ES256'}/read`, token)).toBe(401);
  });
});

describe('the provider', () => {
  it('is asked for its keys once, however many tokens of it come', async () => {
    const before = provider('EdDSA').keyFetches();
    expect(before).toBeLessThanOrEqual(2);
    const tokens = await Promise.all(
      Array.from({ length: 10 }, () => provider('EdDSA').machineToken('orders:read')),
    );
    const statuses = await Promise.all(tokens.map((token) => statusOf('/EdDSA/read', token)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(provider('EdDSA').keyFetches()).toBe(before);
  });

  it('changes its key: the new token is taken after the throttled refetch, the old one is refused from then on', async () => {
    const rotating = provider('rotating');
    const old = await rotating.machineToken('orders:read');
    expect(await statusOf('/rotating/read', old)).toBe(200);
    await rotating.rotateKey();
    const fresh = await rotating.machineToken('orders:read');
    expect(decodeProtectedHeader(fresh).kid).toBe('key-2');
    // Until a fetch the old key is the known one, and its token is remembered as good.
    await until(async () => (await statusOf('/rotating/read', fresh)) === 200, 20_000);
    expect(await statusOf('/rotating/read', old)).toBe(401);
    expect(rotating.keyFetches()).toBe(2);
    const person = await rotating.personToken('bob', 'orders:read');
    expect(await statusOf('/rotating/people', person)).toBe(200);
  });

  it('is unavailable: tokens that it has signed continue to work, and unsigned tokens do not', async () => {
    const leaving = provider('leaving');
    const [used, unused] = [
      await leaving.machineToken('orders:read'),
      await leaving.machineToken('orders:read'),
    ];
    expect(await statusOf('/leaving/read', used)).toBe(200);
    await leaving.close();
    providers.delete('leaving');
    expect(await statusOf('/leaving/read', used)).toBe(200);
    expect(await statusOf('/leaving/read', unused)).toBe(200);
    expect(await statusOf('/leaving/read', `${unused.slice(0, -6)}AAAAAA`)).toBe(401);
  });
});
