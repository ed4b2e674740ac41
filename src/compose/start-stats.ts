/** Wires the gateway's own time series, and how this node asks the other nodes for theirs. */
import type { Clock } from '../lib/clock.ts';
import type { NodesAccess } from '../management/context.ts';
import type { StatsAccess } from '../management/stats/stats-access.ts';
import { StatsHistory } from '../observe/stats/stats-history.ts';
import { gridOf } from '../observe/stats/stats-window.ts';
import { STATS_COLUMNS } from '../policy/error-table.ts';
import type { Settings } from '../settings/settings.ts';
import type { Cluster } from '../control/cluster/cluster.ts';
import { StatsShare } from '../control/cluster/stats-share.ts';
import type { Parts } from './parts.ts';

/** undefined when statistics are switched off. */
export function statsHistory({ stats }: Settings, clock: Clock): StatsHistory | undefined {
  if (stats.maxBytes === 0) return undefined;
  return new StatsHistory(STATS_COLUMNS, stats.maxBytes, () => clock.nowMs());
}

export function statsAccess({ stats, troubles, log }: Parts, cluster: Cluster): StatsAccess | undefined {
  if (stats === undefined) return undefined;
  const share = new StatsShare({ cluster, log, stats, vanished: () => troubles.nodes.vanished });
  return {
    grid: (window, stepSecs, sinceSecs) => gridOf(stats, window, stepSecs, sinceSecs),
    ask: (question) => share.ask(question),
  };
}

/** Access to the other gateways on the same database, for the management API. */
export function nodesAccess(cluster: Cluster): NodesAccess {
  return {
    selfId: cluster.selfId,
    get selfName() {
      return cluster.name;
    },
    list: () => cluster.nodes(),
  };
}
