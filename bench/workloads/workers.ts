/**
 * What a second worker gains, against what nginx gains from one on the same machine. Where there are only two cores,
 * load and origin share them with the proxy, on both sides alike.
 */
import { coresFor } from '../cores.ts';
import type { Contestant } from '../contest.ts';
import { nginxBare } from '../peers/nginx.ts';
import type { Peer } from '../peers/peer.ts';
import { ratio } from '../report.ts';
import { SMALL_LOAD, bareHeadgate } from './pass-through.ts';
import { compete, type Workload } from './workload.ts';

export const workers: Workload = {
  id: 'm-workers',
  title: 'two workers against one, no policy',
  run: async ({ setup, ...rest }) => {
    const context = { ...rest, setup: { ...setup, cores: coresFor(2) } };
    const contestants = [bareHeadgate(), nginxBare].flatMap((peer) => [of(peer, 1), of(peer, 2)]);
    const figures = await compete(context, contestants);
    const own = ratio(figures, 'headgate × 2', 'headgate × 1', 'requestsPerSecond');
    const theirs = ratio(figures, 'nginx × 2', 'nginx × 1', 'requestsPerSecond');
    const gain = {
      what: 'gain of headgate ÷ gain of nginx',
      value: own.value / theirs.value,
      atLeast: 0.9,
      unit: '×',
    };
    return { figures, checks: [own, theirs, gain] };
  },
};

function of(peer: Peer, count: number): Contestant {
  const name = `${peer.name} × ${count}`;
  return {
    peer: { name, start: (setup) => peer.start({ ...setup, workers: count }) },
    load: () => SMALL_LOAD,
  };
}
