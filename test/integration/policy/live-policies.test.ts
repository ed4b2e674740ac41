/**
 * A write that was answered is obeyed by the next request, on every worker and on connections that were open before.
 * Each test holds connections to both workers and asks on all of them.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { SECRET, signed } from '../../support/data/jwts.ts';
import { bearer, createKey, metric } from '../../support/policies.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { createService, requestText, revisionPath, type Served } from '../../support/traffic.ts';

const CONNECTIONS = 24;
let gateway: TestGateway;
let origin: Origin;
let clients: RawClient[];

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway({ env: { GATEWAY_WORKERS: '2' } }), startOrigin()]);
  await createService(gateway, 'shop', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
  await createService(gateway, 'id', origin.port, {
    app: { default_policy: { auth: { auth_type: 'jwt', jwt: { secret: SECRET } } } },
  });
  clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectRaw(gateway.proxyPort)));
});
afterAll(async () => {
  for (const client of clients) client.end();
  await gateway.stop();
  await origin.close();
});

/** What all connections answer at once. */
async function statuses(token: string, target = '/shop/v1/x', method = 'GET'): Promise<Set<number>> {
  const text = requestText(target, { method, headers: bearer(token) });
  const answers = await Promise.all(
    clients.map((client) => {
      client.write(text);
      return client.response();
    }),
  );
  return new Set(answers.map(({ status }) => status));
}
const OK = new Set([200]);
const pathOf = (key: Served): string => `/apps/shop/tokens/${key.id}`;

describe('every worker obeys the answer of a write', () => {
  it('the connections reach both workers', async () => {
    expect(await statuses((await createKey(gateway, 'shop')).token)).toEqual(OK);
    for (const worker of ['1', '2']) {
      expect(await metric(gateway, 'headgate_downstream_connections', { worker })).toBeGreaterThan(0);
    }
  });

  it('a new key works at once, and a deleted one stops at once', async () => {
    for (let round = 0; round < 5; round++) {
      const key = await createKey(gateway, 'shop');
      expect(await statuses(key.token)).toEqual(OK);
      await gateway.must('DELETE', pathOf(key));
      expect(await statuses(key.token)).toEqual(new Set([401]));
    }
  });

  it('a disabled key stops at once, and is back at once', async () => {
    const key = await createKey(gateway, 'shop');
    for (const isActive of [false, true, false, true]) {
      await gateway.must('PATCH', pathOf(key), { is_active: isActive });
      expect(await statuses(key.token)).toEqual(new Set([isActive ? 200 : 401]));
    }
  });

  it('the old value of a rotated key stops at once, the new one works at once', async () => {
    const key = await createKey(gateway, 'shop');
    expect(await statuses(key.token)).toEqual(OK);
    const rotated = await gateway.must('POST', `${pathOf(key)}/rotate`);
    expect(await statuses(key.token)).toEqual(new Set([401]));
    expect(await statuses(rotated.token)).toEqual(OK);
  });

  it('changed scopes of a key count at once', async () => {
    const key = await createKey(gateway, 'shop', { scopes: ['a'] });
    await gateway.must('PATCH', revisionPath('shop'), { default_policy: { required_scopes: ['a'] } });
    expect(await statuses(key.token)).toEqual(OK);
    await gateway.must('PATCH', pathOf(key), { scopes: ['b'] });
    expect(await statuses(key.token)).toEqual(new Set([403]));
    await gateway.must('PATCH', revisionPath('shop'), { default_policy: { required_scopes: ['b'] } });
    expect(await statuses(key.token)).toEqual(OK);
    await gateway.must('PATCH', revisionPath('shop'), { default_policy: null });
  });

  it('a changed policy counts at once, for tokens that are remembered too', async () => {
    const token = await signed({ sub: 'ann' });
    const other = await signed({ sub: 'ann', iss: 'https://id.test' });
    expect(await statuses(token, '/id/v1/x')).toEqual(OK);
    const setAuth = (jwt: object, rest: object = {}) =>
      gateway.must('PATCH', '/apps/id', { default_policy: { auth: { auth_type: 'jwt', jwt, ...rest } } });
    await setAuth({ secret: SECRET, issuer: 'https://id.test' });
    expect(await statuses(token, '/id/v1/x')).toEqual(new Set([401]));
    expect(await statuses(other, '/id/v1/x')).toEqual(OK);
    await setAuth({ issuer: null }, { required_claims: ['email'] });
    expect(await statuses(token, '/id/v1/x')).toEqual(new Set([403]));
    await setAuth({ secret: SECRET.toUpperCase() }, { required_claims: null });
    expect(await statuses(token, '/id/v1/x')).toEqual(new Set([401]));
    await setAuth({ secret: SECRET });
    expect(await statuses(token, '/id/v1/x')).toEqual(OK);
    await gateway.must('PATCH', '/apps/id', { default_policy: { allowed_methods: ['GET'] } });
    expect(await statuses(token, '/id/v1/x', 'DELETE')).toEqual(new Set([405]));
  });

  it('deleting an app with its keys ends both at once', async () => {
    await createService(gateway, 'gone', origin.port, {
      app: { default_policy: { auth: { auth_type: 'api_key' } } },
    });
    const key = await createKey(gateway, 'gone');
    expect(await statuses(key.token, '/gone/v1/x')).toEqual(OK);
    expect((await gateway.api('DELETE', '/apps/gone?cascade=true')).status).toBe(204);
    expect(await statuses(key.token, '/gone/v1/x')).toEqual(new Set([404]));
  });
});
