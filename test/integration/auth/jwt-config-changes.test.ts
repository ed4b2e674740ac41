/** A token that is remembered as good does not outlive the policy that took it: the next request obeys a change. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { jwkOf, KEYS, SECRET, signed } from '../../support/data/jwts.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer } from '../../support/policies.ts';
import { createEndpoint, createService, request, revisionPath, type Fields } from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
let endpoint: string;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway({ env: { GATEWAY_WORKERS: '2' } }), startOrigin()]);
  await createService(gateway, 'id', origin.port);
  const made = await createEndpoint(gateway, 'id', 'GET', '/x', {});
  endpoint = `${revisionPath('id')}/endpoints/${made.id}`;
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** Over several connections, so that both workers are asked. */
async function statuses(token: string): Promise<number[]> {
  const all = await Promise.all(
    Array.from({ length: 16 }, () => request(gateway, '/id/v1/x', { headers: bearer(token) })),
  );
  return [...new Set(all.map(({ status }) => status))];
}
async function policy(auth: Fields, rest: Fields = {}): Promise<void> {
  await gateway.must('PATCH', endpoint, {
    policy_override: { auth: null, required_scopes: null },
  });
  await gateway.must('PATCH', endpoint, {
    policy_override: { auth: { auth_type: 'jwt', ...auth }, ...rest },
  });
}

describe('a remembered token is refused by the next request when', () => {
  const claims = { sub: 'ann', iss: 'https://id.test', aud: 'orders', scope: 'read' };
  const jwt = { secret: SECRET, issuer: 'https://id.test', audiences: ['orders'] };
  it.each<[string, Fields, Fields, number]>([
    ['the secret changes', { jwt: { ...jwt, secret: `${SECRET}!` } }, {}, 401],
    ['the issuer changes', { jwt: { ...jwt, issuer: 'https://other.test' } }, {}, 401],
    ['the audience changes', { jwt: { ...jwt, audiences: ['bills'] } }, {}, 401],
    ['its algorithm is no longer accepted', { jwt: { ...jwt, algorithms: ['HS512'] } }, {}, 401],
    ['the keys become public ones', { jwt: { jwks_uri: 'http://127.0.0.1:9/keys' } }, {}, 401],
    ['the keys are taken away', { jwt: { issuer: 'https://id.test' } }, {}, 401],
    ['a claim becomes required', { jwt, required_claims: ['email'] }, {}, 403],
    ['a scope becomes required', { jwt }, { required_scopes: ['write'] }, 403],
  ])('%s', async (_name, changed, rest, status) => {
    const token = await signed(claims);
    await policy({ jwt });
    expect(await statuses(token)).toEqual([200]);
    await policy(changed, rest);
    expect(await statuses(token)).toEqual([status]);
    await policy({ jwt });
    expect(await statuses(token), 'and good again with the old policy').toEqual([200]);
  });

  it('its key leaves an inline key set, or is replaced under its id', async () => {
    const [ec, ed] = [await jwkOf('ec'), await jwkOf('ed')];
    const other = { ...(await jwkOf('stranger')), kid: 'ec' };
    const token = await signed(claims, { alg: 'ES256', key: KEYS.ec.privateKey, header: { kid: 'ec' } });
    for (const [keys, status] of [
      [[ec, ed], 200],
      [[ed], 401],
      [[ec], 200],
      [[other], 401],
    ] as const) {
      await policy({ jwt: { jwks: { keys } } });
      expect(await statuses(token)).toEqual([status]);
    }
  });
});
