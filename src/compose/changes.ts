/** Publishes configuration changes of any node to the workers, and checks them before the commit. */
import type { ConfigChange } from '../model/config.ts';
import { Cluster } from '../control/cluster/cluster.ts';
import { ConfigSync } from '../control/cluster/config-sync.ts';
import type { ConfigState } from '../control/cluster/config-state.ts';
import type { Supervisor } from '../control/workers/supervisor.ts';
import { StorageUnavailable } from '../storage/storage-errors.ts';
import type { Changes, Parts } from './parts.ts';

export function createChanges(parts: Parts, supervisor: Supervisor): Changes {
  const { settings, version, clock, log, repository, state, shadowHistory, snapshotFile } = parts;
  const configSync: ConfigSync = new ConfigSync({
    repository,
    state,
    async prepare(change) {
      const prepared = await supervisor.prepare(change);
      return () => {
        snapshotFile?.changed(change);
        return supervisor.apply(change, prepared);
      };
    },
    onChange(change) {
      for (const appId of change.removedAppIds) shadowHistory.forget(appId);
      // The write may come from another gateway, which then also recorded events.
      parts.events.sender.look();
    },
    onApplied: (configVersion) => cluster.applied(configVersion),
    log,
  });
  const cluster = new Cluster({
    settings: settings.cluster,
    programVersion: version,
    configSync,
    managementPort: () => parts.ownListeners.portOf('management'),
    onNodes: (place) => {
      parts.limitNode?.assume(place);
      // A single gateway lets its idle database connections close.
      if (place.count > 1 || cluster.peers.length > 0) noteNodes(parts, cluster);
    },
    clock,
    log,
  });
  return { configSync, cluster };
}

/** Called at each heartbeat. A database that does not answer is a problem of its own. */
function noteNodes({ troubles, sources }: Parts, cluster: Cluster): void {
  cluster.nodes().then(
    (listed) => {
      troubles.nodes.look(listed, cluster.selfId);
      sources.listed(listed);
    },
    () => undefined,
  );
}

/** Throws if a change must not be committed although it compiles. */
export function assertAcceptable(state: ConfigState, change: ConfigChange, missed?: ConfigChange): void {
  if (change.configVersion === 1 && state.configVersion > 0) {
    // The served configuration includes writes that this database does not have.
    throw new StorageUnavailable(
      `Cannot write to the database: it is empty, while config version ${state.configVersion} is served; expected the database that it came from`,
    );
  }
  const own = new Set(change.keys.map(({ id }) => id));
  const others = (missed?.keys ?? []).filter(({ id }) => !own.has(id));
  state.keys.assertRoomFor([...others, ...change.keys]);
}
