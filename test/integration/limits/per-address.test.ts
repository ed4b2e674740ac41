/**
 * Contract part 1 and part 8, rule 4: the limit per client address, over two workers; and whose address that is behind
 * trusted proxies. 127.0.0.1 is a trusted proxy here, other loopback addresses are clients.
 */
import * as http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, metric, quietWindowSecs, send } from '../../support/policies.ts';
import { createEndpoint, createService } from '../../support/traffic.ts';

const LIMIT = 4;
const WINDOW = quietWindowSecs();
let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({
      env: {
        GATEWAY_WORKERS: '2',
        GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
        GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: String(LIMIT),
        GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: String(WINDOW),
        GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1, 10.0.0.0/8, 2001:db8:ffff::/48',
      },
    }),
    startOrigin(),
  ]);
  await createService(gateway, 'open', origin.port);
  await createService(gateway, 'other', origin.port, {
    app: { default_policy: { rate_limit: { enabled: false } } },
  });
  await createService(gateway, 'keyed', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** From a client that connects itself. */
const direct = async (
  localAddress: string,
  target = '/open/v1/x',
  headers: Record<string, string> = {},
): Promise<number> => (await send(gateway, target, { headers }, { localAddress })).status;
/** Through the trusted proxy, which wrote this X-Forwarded-For. */
const forwarded = (forwardedFor: string, target = '/open/v1/x'): Promise<number> =>
  direct('127.0.0.1', target, { 'X-Forwarded-For': forwardedFor });

async function times(count: number, ask: () => Promise<number>): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index++) statuses.push(await ask());
  return statuses;
}
const USED_UP = [200, 200, 200, 200, 429];

describe('the limit per address', () => {
  it('spec 8.4: counts each client address by itself, over all apps; 429 with Retry-After', async () => {
    expect(await times(2, () => direct('127.0.0.2', '/open/v1/x'))).toEqual([200, 200]);
    expect(await times(3, () => direct('127.0.0.2', '/other/v1/x'))).toEqual([200, 200, 429]);
    const refused = await send(gateway, '/open/v1/x', {}, { localAddress: '127.0.0.2' });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(refused.headers['ratelimit-policy']).toBe(`"ip";q=${LIMIT};w=${WINDOW}`);
    expect(await direct('127.0.0.3')).toBe(200);
  });

  it('is exact over two workers, from many connections at once', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 20, localAddress: '127.0.0.40' });
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        send(gateway, '/open/v1/x', {}, { agent, localAddress: '127.0.0.40' }),
      ),
    );
    const connections = await Promise.all(
      ['1', '2'].map((worker) => metric(gateway, 'headgate_downstream_connections', { worker })),
    );
    agent.destroy();
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(LIMIT);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(100 - LIMIT);
    expect(Math.min(...connections), 'both workers have served').toBeGreaterThan(0);
  });

  it('comes in addition: the stricter limit refuses, and what one refuses takes nothing of the other', async () => {
    const limit = (requests: number) => ({
      policy_override: { rate_limit: { enabled: true, requests, window_seconds: WINDOW } },
    });
    await createEndpoint(gateway, 'open', 'GET', '/two', limit(2));
    await createEndpoint(gateway, 'open', 'GET', '/nine', limit(9));
    expect(await times(5, () => direct('127.0.0.5', '/open/v1/two'))).toEqual([200, 200, 429, 429, 429]);
    expect(await times(3, () => direct('127.0.0.5', '/open/v1/x'))).toEqual([200, 200, 429]);
    expect(await times(5, () => direct('127.0.0.6', '/open/v1/nine'))).toEqual(USED_UP);
    // 4 of the 9 are gone; those that the address limit refused are not.
    expect(await times(4, () => direct('127.0.0.7', '/open/v1/nine'))).toEqual([200, 200, 200, 200]);
    const last = await send(gateway, '/open/v1/nine', {}, { localAddress: '127.0.0.8' });
    expect([last.status, last.headers['x-ratelimit-remaining']]).toEqual([200, '0']);
  });

  it('comes after authentication: refused callers take nothing of it', async () => {
    expect(await times(6, () => direct('127.0.0.9', '/keyed/v1/x'))).toEqual([401, 401, 401, 401, 401, 401]);
    const key = await createKey(gateway, 'keyed', { rate_limit: { enabled: false } });
    // A key that is exempt from the limit of its route is not exempt from that of its address.
    expect(await times(5, () => direct('127.0.0.9', '/keyed/v1/x', bearer(key.token)))).toEqual(USED_UP);
    expect(await direct('127.0.0.9', '/keyed/v1/x', bearer('hgk_wrong'))).toBe(401);
  });

  it('what no route was found for is not counted', async () => {
    expect(await times(6, () => direct('127.0.0.10', '/nowhere'))).toEqual([404, 404, 404, 404, 404, 404]);
    expect(await direct('127.0.0.10')).toBe(200);
  });
});

describe('GATEWAY_TRUSTED_PROXY_IPS', () => {
  it('spec 1: behind a trusted proxy the client is taken from X-Forwarded-For', async () => {
    expect(await times(5, () => forwarded('203.0.113.1'))).toEqual(USED_UP);
    expect(await forwarded('203.0.113.2')).toBe(200);
  });

  it('the right-most untrusted address counts; what a client wrote to its left changes nothing', async () => {
    const statuses: number[] = [];
    for (let index = 0; index < 5; index++)
      statuses.push(await forwarded(`198.51.100.${index}, 203.0.113.3`));
    expect(statuses).toEqual(USED_UP);
    expect(await forwarded('198.51.100.0')).toBe(200);
  });

  it('trusted hops on the right are skipped, by address and by block', async () => {
    expect(await times(4, () => forwarded('203.0.113.4, 10.1.2.3, 127.0.0.1'))).toEqual([200, 200, 200, 200]);
    expect(await forwarded('203.0.113.4')).toBe(429);
    expect(await forwarded('203.0.113.5, 2001:db8:ffff::7')).toBe(200);
  });

  it('one address in several spellings is one client', async () => {
    const spellings = [
      '2001:db8::9',
      '2001:0DB8:0:0::0009',
      '[2001:db8::9]',
      '[2001:db8::9]:443',
      '2001:db8:0::9',
    ];
    const statuses: number[] = [];
    for (const spelling of spellings) statuses.push(await forwarded(spelling));
    expect(statuses).toEqual(USED_UP);
    const mapped: number[] = [];
    for (const spelling of [
      '203.0.113.6',
      '::ffff:203.0.113.6',
      '203.0.113.6:1234',
      ' 203.0.113.6 ',
      '203.0.113.6',
    ])
      mapped.push(await forwarded(spelling));
    expect(mapped).toEqual(USED_UP);
  });

  it('an IPv6 client is its network of /64, whichever of its addresses it takes', async () => {
    const statuses: number[] = [];
    for (const host of ['1', 'a:b:c:d', 'ffff:ffff:ffff:ffff', '2', '3'])
      statuses.push(await forwarded(host.length > 1 ? `2001:db8:0:77:${host}` : `2001:db8:0:77::${host}`));
    expect(statuses).toEqual(USED_UP);
    expect(await forwarded('2001:db8:0:78::1')).toBe(200);
  });

  it('two fields are one list', async () => {
    const headers = { 'X-Forwarded-For': ['198.51.100.77', '203.0.113.8'] } as unknown as Record<
      string,
      string
    >;
    expect(await times(4, () => direct('127.0.0.1', '/open/v1/x', headers))).toEqual([200, 200, 200, 200]);
    expect(await forwarded('203.0.113.8')).toBe(429);
  });

  it('from a peer that is not trusted the field is nothing but a claim', async () => {
    const statuses: number[] = [];
    for (let index = 0; index < 5; index++) {
      statuses.push(
        await direct('127.0.0.11', '/open/v1/x', {
          'X-Forwarded-For': `203.0.113.${50 + index}`,
          'X-Real-IP': `203.0.113.${60 + index}`,
          Forwarded: `for=203.0.113.${70 + index}`,
        }),
      );
    }
    expect(statuses).toEqual(USED_UP);
    expect(await forwarded('203.0.113.50')).toBe(200);
  });

  it('a proxy that says nothing, or nothing that is an address, is the client itself', async () => {
    const statuses = [
      await direct('127.0.0.1'),
      await forwarded('unknown'),
      await forwarded('198.51.100.9, _hidden'),
      await forwarded(''),
      await forwarded('10.0.0.256'),
    ];
    expect(statuses).toEqual(USED_UP);
  });
});
