/**
 * Full policy: API key, scope, fixed-window limit, CORS, a managed endpoint with a parameter among 10,000 routes;
 * also once with an access log on both sides, since gateways run with one.
 */
import type { Policy } from '../../src/policy/registry.ts';
import type { Contestant } from '../contest.ts';
import type { Load } from '../load.ts';
import type { PeerSetup } from '../peers/peer.ts';
import { haproxyPolicy, haproxyRelay } from '../peers/haproxy.ts';
import { headgatePeer } from '../peers/headgate.ts';
import { nginxLua, nginxLuaLean } from '../peers/nginx-lua.ts';
import { fastifyPolicy } from '../peers/node.ts';
import { ratio } from '../report.ts';
import {
  APP,
  FILLER_ENDPOINTS,
  LIMIT_REQUESTS,
  LIMIT_WINDOW_SECS,
  ORIGIN,
  SCOPE,
  benchToken,
  orderRequest,
} from '../service.ts';
import { CONNECTIONS, compete, type Workload, type WorkloadContext } from './workload.ts';

export const FULL_POLICY: Policy = {
  auth: { auth_type: 'api_key' },
  required_scopes: [SCOPE],
  rate_limit: { enabled: true, requests: LIMIT_REQUESTS, window_seconds: LIMIT_WINDOW_SECS },
  cors: { allowed_origins: [ORIGIN] },
};

/** Headgate with the service; its key is made by the API, so the load is known only once it runs. */
export function policyContestant(
  label: string,
  policy: Policy = FULL_POLICY,
  fillerEndpoints = FILLER_ENDPOINTS,
): Contestant {
  let token = '';
  const peer = headgatePeer(
    label,
    { slug: APP, policy, endpoints: [['GET', '/orders/{id}']], keyScopes: [SCOPE] },
    { filler: { endpoints: fillerEndpoints, policy: FULL_POLICY } },
    (made) => (token = made),
  );
  return { peer, load: () => loadWith(token) };
}

function loadWith(token: string): Load {
  return { connections: CONNECTIONS, requests: [orderRequest(token)] };
}

const others = [nginxLua, nginxLuaLean, haproxyPolicy].map((peer) => ({
  peer,
  load: () => loadWith(benchToken(0)),
}));

export const fullPolicy: Workload = {
  id: 'a-policy',
  title: 'full policy, 100 B GET, 10,000 routes, 64 connections',
  run: async (context) => {
    const slower = [haproxyRelay, fastifyPolicy].map((peer) => ({
      peer,
      load: () => loadWith(benchToken(0)),
    }));
    const figures = await compete(context, [policyContestant('headgate'), ...others, ...slower]);
    return {
      figures,
      checks: [
        ratio(figures, 'headgate', nginxLua.name, 'cpuUs', { atMost: 1 }),
        ratio(figures, 'headgate', nginxLua.name, 'p99Us', { atMost: 2 }),
        ratio(figures, 'headgate', haproxyRelay.name, 'cpuUs', { atMost: 1.25 }),
        ratio(figures, 'headgate', nginxLuaLean.name, 'cpuUs'),
        ratio(figures, 'headgate', haproxyPolicy.name, 'cpuUs'),
        ratio(figures, 'headgate', fastifyPolicy.name, 'requestsPerSecond'),
      ],
      notes: ['The ratio to the TCP relay is a stretch target.'],
    };
  },
};

const PIPED = 'headgate, log to a pipe';

export const fullPolicyLogged: Workload = {
  id: 'a-logged',
  title: 'the same with one access log line per request on every side',
  run: async ({ setup, ...rest }: WorkloadContext) => {
    const context = { ...rest, setup: { ...setup, accessLog: true } };
    const { peer, load } = policyContestant(PIPED);
    const piped = {
      load,
      peer: { name: PIPED, start: (own: PeerSetup) => peer.start({ ...own, logToPipe: true }) },
    };
    const figures = await compete(context, [policyContestant('headgate'), piped, ...others]);
    return {
      figures,
      checks: [
        ratio(figures, 'headgate', nginxLua.name, 'cpuUs', { atMost: 0.95 }),
        ratio(figures, 'headgate', nginxLua.name, 'p99Us', { atMost: 2 }),
        ratio(figures, PIPED, nginxLua.name, 'cpuUs', { atMost: 0.95 }),
        ratio(figures, PIPED, nginxLua.name, 'p99Us', { atMost: 2 }),
        ratio(figures, PIPED, 'headgate', 'cpuUs'),
        ratio(figures, 'headgate', haproxyPolicy.name, 'cpuUs'),
      ],
      notes: ['To a file, but for the contestant whose log a program reads from a pipe.'],
    };
  },
};
