/**
 * What the wiring files hand to each other: everything that lives as long as the gateway does.
 */
import type { Egress } from '../egress/egress.ts';
import type { OwnListeners } from '../egress/own-listeners.ts';
import type { Clock } from '../kernel/clock.ts';
import type { LimitMemory } from '../limits/memory.ts';
import type { Logger } from '../observe/log.ts';
import type { MetricsMerger } from '../observe/prometheus.ts';
import type { WouldDenyReport } from '../observe/would-deny-report.ts';
import type { Cluster } from '../runtime/cluster.ts';
import type { ConfigFollower } from '../runtime/config-follower.ts';
import type { ConfigState } from '../runtime/config-state.ts';
import type { DeprecationLog } from '../runtime/deprecation-log.ts';
import type { ExplainControl } from '../runtime/explain-control.ts';
import type { HealthBook } from '../runtime/health-book.ts';
import type { KeyUsageWriter } from '../runtime/key-usage.ts';
import type { LimitNode } from '../runtime/limit-node.ts';
import type { RecoveringRepository } from '../runtime/recovering-repository.ts';
import type { ShadowLog } from '../runtime/shadow-log.ts';
import type { SavedConfig } from '../runtime/snapshot-file.ts';
import type { SnapshotFileWriter } from '../runtime/snapshot-file-writer.ts';
import type { Settings } from '../settings.ts';
import type { Repository } from '../storage/repository.ts';

export interface Parts {
  readonly settings: Settings;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly repository: Repository;
  readonly state: ConfigState;
  readonly limitMemory: LimitMemory;
  readonly ownPorts: SharedArrayBuffer;
  readonly ownListeners: OwnListeners;
  readonly egress: Egress;
  /** undefined where limits are not shared with other nodes. */
  readonly limitNode: LimitNode | undefined;
  readonly metrics: MetricsMerger;
  readonly keyUsage: KeyUsageWriter;
  /** undefined: switched off. */
  readonly snapshotFile: SnapshotFileWriter | undefined;
  /** What the gateway was started with in place of its database; undefined after a usual start. */
  readonly saved: SavedConfig | undefined;
  readonly recovering: RecoveringRepository | undefined;
  readonly explain: ExplainControl;
  readonly deprecations: DeprecationLog;
  readonly shadowLog: ShadowLog;
  readonly wouldDeny: WouldDenyReport;
  readonly health: HealthBook;
}

/** The way of configuration changes, of this node and of others, to the workers. */
export interface Changes {
  readonly follower: ConfigFollower;
  readonly cluster: Cluster;
}
