/** No policy at all: what the engine costs, against proxies that pass everything on; small messages and larger ones. */
import type { Contestant } from '../contest.ts';
import type { Load } from '../load.ts';
import { haproxyBare, haproxyRelay } from '../peers/haproxy.ts';
import { headgatePeer } from '../peers/headgate.ts';
import { nginxBare } from '../peers/nginx.ts';
import { caddy, fastifyProxy, nodeRelay, nodeUndici, npmGateway } from '../peers/node.ts';
import type { Peer } from '../peers/peer.ts';
import { ratio } from '../report.ts';
import { APP, ORDER_PATH, PREFIX } from '../service.ts';
import { CONNECTIONS, compete, type Workload } from './workload.ts';

export const SMALL_LOAD: Load = { connections: CONNECTIONS, requests: [{ path: ORDER_PATH }] };

export const bareHeadgate = (name = 'headgate'): Peer =>
  headgatePeer(name, { slug: APP, stripGatewayPath: false });

export const passThrough: Workload = {
  id: 'b-pass',
  title: 'no policy, 100 B GET, 64 connections',
  run: async (context) => {
    const optional = [caddy(), npmGateway('fast-gateway'), npmGateway('express-gateway')];
    const peers = [bareHeadgate(), nginxBare, haproxyBare, haproxyRelay, nodeRelay, nodeUndici, fastifyProxy];
    for (const peer of optional) if (peer !== undefined) peers.push(peer);
    const contestants = peers.map((peer): Contestant => ({ peer, load: () => SMALL_LOAD }));
    const figures = await compete(context, contestants);
    return {
      figures,
      checks: [
        ratio(figures, 'headgate', nginxBare.name, 'cpuUs', { atMost: 1.15 }),
        ratio(figures, 'headgate', nginxBare.name, 'p99Us', { atMost: 2 }),
        ratio(figures, 'headgate', nodeUndici.name, 'requestsPerSecond', { atLeast: 2 }),
        ratio(figures, 'headgate', haproxyBare.name, 'cpuUs'),
        ratio(figures, 'headgate', haproxyRelay.name, 'cpuUs'),
        ratio(figures, 'headgate', nodeRelay.name, 'cpuUs'),
        ratio(figures, nodeRelay.name, nginxBare.name, 'cpuUs'),
        ratio(figures, 'headgate', fastifyProxy.name, 'requestsPerSecond'),
      ],
      notes: [
        ...(optional[0] === undefined ? ['Caddy was left out: apt-get install -y caddy'] : []),
        ...(optional[1] === undefined || optional[2] === undefined
          ? ['Gateways from npm were left out: npm install --no-save fast-gateway@3 express-gateway@1']
          : []),
      ],
    };
  },
};

export const bodies: Workload = {
  id: 'e-bodies',
  title: 'no policy, POST of 4 KiB, response of 16 KiB, 64 connections',
  run: async (context) => {
    const load: Load = {
      connections: CONNECTIONS,
      method: 'POST',
      bodyBytes: 4096,
      requests: [{ path: `${PREFIX}/large`, headers: { 'Content-Type': 'application/octet-stream' } }],
    };
    const peers = [bareHeadgate(), nginxBare, haproxyBare, haproxyRelay, nodeRelay];
    const figures = await compete(
      context,
      peers.map((peer) => ({ peer, load: () => load })),
    );
    return {
      figures,
      checks: [
        ratio(figures, 'headgate', nginxBare.name, 'cpuUs', { atMost: 1.15 }),
        ratio(figures, 'headgate', haproxyBare.name, 'cpuUs'),
        ratio(figures, 'headgate', nodeRelay.name, 'cpuUs'),
        ratio(figures, nodeRelay.name, nginxBare.name, 'cpuUs'),
      ],
    };
  },
};
