/**
 * Exact proportions among revisions, met with policy. Clients alternate between a preflight and its request, and
 * between a request that gets 401 and its retry: in a common round-robin, one of two equal revisions would get
 * everything that is forwarded.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey } from '../../support/policies.ts';
import {
  createApp,
  createRevision,
  createVersion,
  request,
  type Fields,
  type RequestParts,
} from '../../support/traffic.ts';

const PAIRS = 10;
let gateway: TestGateway;
let first: Origin;
let second: Origin;

beforeAll(async () => {
  [gateway, first, second] = await Promise.all([startGateway(), startOrigin(), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([first.close(), second.close()]);
});

async function createPair(slug: string, policy: Fields): Promise<void> {
  await createApp(gateway, slug, { default_policy: policy });
  await createVersion(gateway, slug);
  await createRevision(gateway, slug, first.port, { revision: 'r1', traffic_weight: 50 });
  await createRevision(gateway, slug, second.port, { revision: 'r2', traffic_weight: 50 });
}

/** Sends pairs of a request that the gateway answers and one that it forwards; what each backend got. */
async function shares(slug: string, answered: RequestParts, status: number, sent: RequestParts) {
  const before = [first.seen.length, second.seen.length] as const;
  for (let pair = 0; pair < PAIRS; pair++) {
    expect((await request(gateway, `/${slug}/v1/x`, answered)).status).toBe(status);
    expect((await request(gateway, `/${slug}/v1/x`, sent)).status).toBe(200);
  }
  return [first.seen.length - before[0], second.seen.length - before[1]];
}
const EVEN = [PAIRS / 2, PAIRS / 2];

describe('turns of the weighted choice', () => {
  it('a preflight takes no turn of the request that follows', async () => {
    await createPair('cors', { cors: { allowed_origins: ['*'] } });
    const headers = { Origin: 'https://page.test', 'Access-Control-Request-Method': 'GET' };
    expect(await shares('cors', { method: 'OPTIONS', headers }, 204, {})).toEqual(EVEN);
  });

  it('preflights that are forwarded are shared out evenly', async () => {
    await createPair('plain', {});
    const headers = { Origin: 'https://page.test', 'Access-Control-Request-Method': 'GET' };
    const before = [first.seen.length, second.seen.length] as const;
    for (let count = 0; count < PAIRS; count++) {
      expect((await request(gateway, '/plain/v1/x', { method: 'OPTIONS', headers })).status).toBe(200);
    }
    expect([first.seen.length - before[0], second.seen.length - before[1]]).toEqual(EVEN);
  });

  it('a request that gets 401 takes no turn of its retry with a key', async () => {
    await createPair('keyed', { auth: { auth_type: 'api_key' } });
    const headers = bearer((await createKey(gateway, 'keyed')).token);
    expect(await shares('keyed', {}, 401, { headers })).toEqual(EVEN);
  });

  it('nor when the key is in another header, whatever Authorization contains', async () => {
    await createPair('placed', { auth: { auth_type: 'api_key', in: 'X-API-Key' } });
    const { token } = await createKey(gateway, 'placed');
    const other = { Authorization: 'Basic eDp5' };
    expect(await shares('placed', {}, 401, { headers: { 'X-API-Key': token } })).toEqual(EVEN);
    const headers = { ...other, 'X-API-Key': token };
    expect(await shares('placed', { headers: other }, 401, { headers })).toEqual(EVEN);
  });
});
