/**
 * Clients with IPv6 are counted by their network: limits and caps per address, callers who are told apart by address
 * when nothing better is known, and the guard against guessing. 127.0.0.1 is a trusted proxy here.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startHoldingOrigin, type HoldingOrigin } from '../../support/backends/holding-origin.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createPolicies, quietWindowSecs, roomInWindow, send } from '../../support/policies.ts';
import { until } from '../../support/measure/until.ts';

const FAILURES = 2;
let origin: Origin;
let holding: HoldingOrigin;
let byNetwork: TestGateway;
let byAddress: TestGateway;

beforeAll(async () => {
  const env = {
    GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1',
    GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE: String(FAILURES),
  };
  [origin, holding, byNetwork, byAddress] = await Promise.all([
    startOrigin(),
    startHoldingOrigin(),
    startGateway({ env }),
    startGateway({ env: { ...env, GATEWAY_IPV6_PREFIX_BITS: '128' } }),
  ]);
  const limit = (per: string) => ({
    rate_limit: { enabled: true, requests: 2, window_seconds: quietWindowSecs(), per },
  });
  const paths = [
    { path: '/ip', policy: limit('ip') },
    { path: '/anonymous', policy: limit('api_key') },
    { path: '/no-claim', policy: limit('claim:tenant') },
    { path: '/key', policy: { auth: { auth_type: 'api_key' } } },
  ];
  for (const gateway of [byNetwork, byAddress]) {
    await createPolicies(gateway, 'shop', origin.port, paths);
    await createPolicies(gateway, 'slow', holding.port, [
      { path: '/cap', policy: { concurrency: { max: 1, per: 'ip' } } },
    ]);
  }
}, 60_000);
afterAll(async () => {
  await Promise.all([byNetwork.stop(), byAddress.stop()]);
  await Promise.all([origin.close(), holding.close()]);
});

const from = async (gateway: TestGateway, address: string, path: string, headers = {}): Promise<number> =>
  (await send(gateway, path, { headers: { 'X-Forwarded-For': address, ...headers } })).status;

async function statuses(gateway: TestGateway, path: string, addresses: readonly string[], headers = {}) {
  const found: number[] = [];
  for (const address of addresses) found.push(await from(gateway, address, path, headers));
  return found;
}

const NETWORK = ['2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::3', '2001:db8:1:3::1'];

describe('addresses of one IPv6 network of /64', () => {
  it.each(['/ip', '/anonymous', '/no-claim'])('are one caller of a limit: %s', async (path) => {
    expect(await statuses(byNetwork, `/shop/v1${path}`, NETWORK)).toEqual([200, 200, 429, 200]);
    const mapped = ['203.0.113.1', '::ffff:203.0.113.1', '::FFFF:cb00:7101', '203.0.113.2'];
    expect(await statuses(byNetwork, `/shop/v1${path}`, mapped)).toEqual([200, 200, 429, 200]);
  });

  it('are one guesser', async () => {
    await roomInWindow(60_000, 10_000);
    const bad = bearer('hgk_nonsense');
    expect(await statuses(byNetwork, '/shop/v1/key', NETWORK, bad)).toEqual([401, 401, 429, 401]);
  });

  it('are one caller under a cap', async () => {
    const first = from(byNetwork, '2001:db8:1:9::1', '/slow/v1/cap');
    await until(() => holding.waiting === 1);
    expect(await from(byNetwork, '2001:db8:1:9::2', '/slow/v1/cap')).toBe(429);
    const other = from(byNetwork, '2001:db8:1:8::1', '/slow/v1/cap');
    await until(() => holding.waiting === 2);
    holding.answerAll();
    expect([await first, await other]).toEqual([200, 200]);
  });

  it('are separate callers if the setting says so', async () => {
    expect(await statuses(byAddress, '/shop/v1/ip', NETWORK)).toEqual([200, 200, 200, 200]);
    const again = ['2001:db8:1:2::1', '2001:DB8:1:2:0::1'];
    expect(await statuses(byAddress, '/shop/v1/ip', again)).toEqual([200, 429]);
  });
});
