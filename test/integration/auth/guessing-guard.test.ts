/**
 * GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE, the guard against guessing: an address with too many failed authentications
 * has to wait.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { signed, SECRET } from '../../support/data/jwts.ts';
import { bearer, createKey, createPolicies, metric, roomInWindow, send } from '../../support/policies.ts';

const FAILURES = 3;
const BAD = bearer('hgk_nonsense');
let gateway: TestGateway;
let origin: Origin;
let good: Record<string, string>;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({
      env: { GATEWAY_WORKERS: '2', GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE: String(FAILURES) },
    }),
    startOrigin(),
  ]);
  await createPolicies(gateway, 'shop', origin.port, [
    { path: '/key', policy: { auth: { auth_type: 'api_key' } } },
    { path: '/optional', policy: { auth: { auth_type: 'api_key', required: false } } },
    { path: '/shadow', policy: { auth: { auth_type: 'api_key' }, shadow: ['auth'] } },
    { path: '/scoped', policy: { auth: { auth_type: 'api_key' }, required_scopes: ['never-held'] } },
    { path: '/jwt', policy: { auth: { auth_type: 'jwt', jwt: { secret: SECRET } } } },
  ]);
  good = bearer((await createKey(gateway, 'shop')).token);
});
// The guard counts by the minute of the clock; no test may run across its end.
beforeEach(() => roomInWindow(60_000, 10_000));
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const call = (from: string, path: string, headers: Record<string, string> = {}) =>
  send(gateway, `/shop/v1${path}`, { headers }, { localAddress: from });
async function statuses(count: number, from: string, path: string, headers: Record<string, string> = {}) {
  const found: number[] = [];
  for (let index = 0; index < count; index++) found.push((await call(from, path, headers)).status);
  return found;
}

describe('the guard', () => {
  it('beyond the number of failures an address gets 429 with Retry-After, before its credential is looked at', async () => {
    const throttled = await metric(gateway, 'headgate_auth_decisions_total', { outcome: 'throttled' });
    expect(await statuses(FAILURES, '127.0.0.2', '/key', BAD)).toEqual([401, 401, 401]);
    const refused = await call('127.0.0.2', '/key', good);
    expect(refused.status).toBe(429);
    expect(JSON.parse(refused.body)).toMatchObject({ code: 'too_many_auth_failures', status: 429 });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
    expect(await metric(gateway, 'headgate_auth_decisions_total', { outcome: 'throttled' })).toBe(
      throttled + 1,
    );
  });

  it('other addresses go on, and so do routes without authentication', async () => {
    expect(await statuses(FAILURES + 1, '127.0.0.3', '/key', BAD)).toEqual([401, 401, 401, 429]);
    expect(await statuses(1, '127.0.0.4', '/key', good)).toEqual([200]);
    expect(await statuses(1, '127.0.0.3', '/open')).toEqual([200]);
  });

  it('a forged X-Forwarded-For is no way around it', async () => {
    const found: number[] = [];
    for (let index = 0; index <= FAILURES; index++) {
      const headers = { ...BAD, 'X-Forwarded-For': `203.0.113.${index}` };
      found.push((await call('127.0.0.5', '/key', headers)).status);
    }
    expect(found).toEqual([401, 401, 401, 429]);
  });

  it('requests without a credential, good ones, and missing scopes guess nothing and do not count', async () => {
    expect(new Set(await statuses(FAILURES + 2, '127.0.0.6', '/key'))).toEqual(new Set([401]));
    expect(new Set(await statuses(FAILURES + 2, '127.0.0.6', '/key', good))).toEqual(new Set([200]));
    expect(new Set(await statuses(FAILURES + 2, '127.0.0.6', '/scoped', good))).toEqual(new Set([403]));
  });

  it('bad tokens count as bad keys do, in one count over all routes', async () => {
    expect(await statuses(1, '127.0.0.7', '/key', BAD)).toEqual([401]);
    expect(await statuses(2, '127.0.0.7', '/jwt', bearer(await signed({ exp: 1 })))).toEqual([401, 401]);
    expect(await statuses(1, '127.0.0.7', '/jwt', bearer(await signed({ sub: 'ann' })))).toEqual([429]);
  });

  it('guessing where authentication is optional counts as well', async () => {
    expect(await statuses(FAILURES + 1, '127.0.0.8', '/optional', BAD)).toEqual([200, 200, 200, 429]);
  });

  it('a shadow refuses no caller', async () => {
    expect(new Set(await statuses(FAILURES + 2, '127.0.0.9', '/shadow', BAD))).toEqual(new Set([200]));
  });

  it('concurrent guesses over two workers get no more answers than the number', async () => {
    // The signature of a token is checked while others are looked at: all of these are let in before one is counted.
    const forged = bearer(`${(await signed({ sub: 'ann' })).slice(0, -4)}AAAA`);
    for (const [from, path, headers] of [
      ['127.0.0.10', '/key', BAD],
      ['127.0.0.11', '/jwt', forged],
    ] as const) {
      const found = await Promise.all(
        Array.from({ length: 30 }, async () => (await call(from, path, headers)).status),
      );
      expect(found.filter((status) => status === 401)).toHaveLength(FAILURES);
      expect(found.filter((status) => status === 429)).toHaveLength(30 - FAILURES);
    }
  });
});

describe('by default', () => {
  it('the guard is off', async () => {
    const unguarded = await startGateway();
    try {
      await createPolicies(unguarded, 'shop', origin.port, [
        { path: '/key', policy: { auth: { auth_type: 'api_key' } } },
      ]);
      const found = new Set<number>();
      for (let index = 0; index < 20; index++) {
        found.add((await send(unguarded, '/shop/v1/key', { headers: BAD })).status);
      }
      expect(found).toEqual(new Set([401]));
    } finally {
      await unguarded.stop();
    }
  });
});
