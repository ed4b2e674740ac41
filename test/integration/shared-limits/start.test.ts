/**
 * Gateways that start while the store of limits is away: none of them has counted the others there, and yet none takes
 * the whole of a limit for itself.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../support/gateway.ts';
import { startLimitNodes } from '../../support/limit-nodes.ts';
import { startNode, startNodesRig, type NodesRig } from '../../support/nodes.ts';
import { quietWindowSecs } from '../../support/policies.ts';
import { startRedis, type TestRedis } from '../../support/programs/redis.ts';
import { createService, request } from '../../support/traffic.ts';

const SLUG = 'shared';
const policyOf = (requests: number) => ({
  rate_limit: { enabled: true, requests, window_seconds: quietWindowSecs() },
});

let redis: TestRedis;
let rig: NodesRig;

beforeAll(async () => {
  [redis, rig] = await Promise.all([startRedis(), startNodesRig()]);
  await redis.stop();
});
afterAll(async () => {
  await rig.close();
  await redis.close();
});

async function admitted(gateway: TestGateway, asked: number): Promise<number> {
  let count = 0;
  for (let index = 0; index < asked; index++) {
    const { status } = await request(gateway, `/${SLUG}/v1/x`);
    expect([200, 429]).toContain(status);
    if (status === 200) count += 1;
  }
  return count;
}

const reasonOf = async (gateway: TestGateway): Promise<unknown> =>
  (await gateway.api('GET', '//readyz')).body.data.reason;

describe('gateways that start while the store of limits is away', { timeout: 60_000 }, () => {
  it('divide a limit without a rest among those that live on their database', async () => {
    const url = await rig.server.createDatabase();
    const env = { GATEWAY_REDIS_URL: redis.url };
    const gateways: TestGateway[] = [];
    try {
      const one = await startNode({ url, folder: rig.folder, name: 'one', env });
      gateways.push(one);
      await createService(one, SLUG, rig.origin.port, { app: { default_policy: policyOf(7) } });
      const two = await startNode({ url, folder: rig.folder, name: 'two', env });
      gateways.push(two);
      expect(await reasonOf(two), 'known before there is traffic').toContain('one of 2');
      await expect.poll(() => reasonOf(one), { timeout: 5_000 }).toContain('one of 2');
      expect([await admitted(one, 10), await admitted(two, 10)]).toEqual([4, 3]);
    } finally {
      await Promise.all(gateways.map((gateway) => gateway.kill()));
    }
  });

  it('admit their part by the setting where the database lists no gateway', async () => {
    const nodes = await startLimitNodes({
      redisUrls: [redis.url, redis.url],
      originPort: rig.origin.port,
      policies: { [SLUG]: policyOf(8) },
      env: { GATEWAY_LIMITS__NODES: '2' },
    });
    try {
      for (const gateway of nodes.gateways) expect(await admitted(gateway, 10)).toBe(4);
    } finally {
      await nodes.close();
    }
  });
});
