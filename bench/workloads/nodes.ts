/**
 * What limits over many nodes cost: leased and exact ones in Valkey or Redis against those in the memory of the node,
 * and nginx with Lua that asks the same server for every request. One node is measured; what many do is in bench/sim.
 */
import type { Policy } from '../../src/policy/registry.ts';
import type { Contestant } from '../contest.ts';
import { headgatePeer } from '../peers/headgate.ts';
import { nginxLuaRedis } from '../peers/nginx-lua.ts';
import { startRedis } from '../peers/redis.ts';
import { ratio } from '../report.ts';
import { APP, benchToken, orderRequest, SCOPE } from '../service.ts';
import { FULL_POLICY } from './full-policy.ts';
import { CONNECTIONS, compete, type Workload } from './workload.ts';

const FEW_ROUTES = 10;

export const nodes: Workload = {
  id: 'e-nodes',
  title: 'limits in Valkey or Redis, leased and exact, otherwise the full policy',
  run: async (context) => {
    const redis = await startRedis(context.setup.cores);
    try {
      const url = `redis://127.0.0.1:${redis.port}`;
      const nginx = nginxLuaRedis(redis.port);
      const figures = await compete(context, [
        contestant('in memory', {}),
        contestant('leased', { GATEWAY_REDIS_URL: url }),
        contestant('exact', { GATEWAY_REDIS_URL: url, GATEWAY_LIMITS__MODE: 'exact' }),
        { peer: nginx, load: () => ({ connections: CONNECTIONS, requests: [orderRequest(benchToken(0))] }) },
      ]);
      return {
        figures,
        checks: [
          ratio(figures, 'leased', 'in memory', 'cpuUs', { atMost: 1.1 }),
          ratio(figures, 'exact', nginx.name, 'requestsPerSecond', { atLeast: 1 }),
          ratio(figures, 'exact', 'in memory', 'cpuUs'),
        ],
        notes: ['CPU is that of the proxy; the server of the counters has the core of the load generator.'],
      };
    } finally {
      await redis.stop();
    }
  },
};

function contestant(label: string, env: Readonly<Record<string, string>>): Contestant {
  let token = '';
  const policy: Policy = FULL_POLICY;
  const peer = headgatePeer(
    label,
    { slug: APP, policy, endpoints: [['GET', '/orders/{id}']], keyScopes: [SCOPE] },
    { filler: { endpoints: FEW_ROUTES, policy: FULL_POLICY }, env },
    (made) => (token = made),
  );
  return { peer, load: () => ({ connections: CONNECTIONS, requests: [orderRequest(token)] }) };
}
