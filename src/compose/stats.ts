/** Wires the gateway's own time series: those of this node, and which other nodes are missing in an answer. */
import type { Clock } from '../lib/clock.ts';
import type { NodesAccess } from '../management/context.ts';
import type { StatsAccess } from '../management/stats/stats-access.ts';
import { StatsHistory } from '../observe/stats/stats-history.ts';
import { answerQuestion, type StatsReply } from '../observe/stats/stats-question.ts';
import { gridOf } from '../observe/stats/stats-window.ts';
import { STATS_COLUMNS } from '../policy/error-table.ts';
import type { Settings } from '../settings/settings.ts';
import type { Cluster } from '../control/cluster/cluster.ts';
import type { Parts } from './parts.ts';

/** undefined: switched off. */
export function statsHistory({ stats }: Settings, clock: Clock): StatsHistory | undefined {
  if (stats.maxBytes === 0) return undefined;
  return new StatsHistory(STATS_COLUMNS, stats.maxBytes, () => clock.nowMs());
}

export function statsAccess({ stats }: Parts, cluster: Cluster): StatsAccess | undefined {
  if (stats === undefined) return undefined;
  return {
    grid: (window, stepSecs, sinceSecs) => gridOf(stats, window, stepSecs, sinceSecs),
    toSecs: () => stats.clock.unixSecs(stats.closedSecond + 1),
    ask: async (question) => {
      const sinceSecs = stats.clock.unixSecs(stats.startSecond);
      const own = { name: cluster.name, sinceSecs, findings: await answerQuestion(stats, question) };
      return [own, ...(await otherNodes(cluster))];
    },
  };
}

/** The other live gateways, whose traffic is not in the answer; none while the database is away. */
async function otherNodes(cluster: Cluster): Promise<StatsReply[]> {
  const listed = await cluster.nodes().catch(() => []);
  const others = listed.filter(({ id }) => id !== cluster.selfId);
  return others.map(({ name }) => ({ name, sinceSecs: undefined, findings: undefined }));
}

/** The gateways with the same database, for the management API. */
export function nodesAccess(cluster: Cluster): NodesAccess {
  return {
    selfId: cluster.selfId,
    get selfName() {
      return cluster.name;
    },
    list: () => cluster.nodes(),
  };
}
