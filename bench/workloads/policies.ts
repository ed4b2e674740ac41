/** What other parts of policy cost beside the usual ones: JWTs against API keys, the algorithms of limits. */
import type { Contestant } from '../contest.ts';
import { jwtPolicy } from '../jwt-policy.ts';
import { headgatePeer } from '../peers/headgate.ts';
import { ratio } from '../report.ts';
import { APP, LIMIT_REQUESTS, LIMIT_WINDOW_SECS, orderRequest } from '../service.ts';
import { FULL_POLICY, policyContestant } from './full-policy.ts';
import { CONNECTIONS, compete, type Workload } from './workload.ts';

const FEW_ROUTES = 10;

export const credentials: Workload = {
  id: 'c-jwt',
  title: 'JWT (ES256, verified before) against API key, otherwise the full policy',
  run: async (context) => {
    const figures = await compete(context, [
      policyContestant('API key', FULL_POLICY, FEW_ROUTES),
      await jwtContestant('JWT'),
    ]);
    return { figures, checks: [ratio(figures, 'JWT', 'API key', 'cpuUs', { atMost: 1.1 })] };
  },
};

async function jwtContestant(label: string): Promise<Contestant> {
  const { policy, token } = await jwtPolicy();
  return {
    peer: headgatePeer(label, { slug: APP, policy, endpoints: [['GET', '/orders/{id}']] }),
    load: () => ({ connections: CONNECTIONS, requests: [orderRequest(token)] }),
  };
}

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;

export const limits: Workload = {
  id: 'd-limits',
  title: 'sliding window and token bucket against fixed window, otherwise the full policy',
  run: async (context) => {
    const contestants = ALGORITHMS.map((algorithm) => {
      const limit = { enabled: true, requests: LIMIT_REQUESTS, window_seconds: LIMIT_WINDOW_SECS, algorithm };
      return policyContestant(algorithm, { ...FULL_POLICY, rate_limit: limit }, FEW_ROUTES);
    });
    const figures = await compete(context, contestants);
    return {
      figures,
      checks: [
        ratio(figures, 'sliding_window', 'fixed_window', 'cpuUs', { atMost: 1.05 }),
        ratio(figures, 'token_bucket', 'fixed_window', 'cpuUs', { atMost: 1.05 }),
      ],
    };
  },
};
