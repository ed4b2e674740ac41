/** The parts of the gateway that the wiring files share; they live as long as the gateway. */
import type { Egress } from '../egress/egress.ts';
import type { OwnListeners } from '../egress/own-listeners.ts';
import type { Clock } from '../lib/clock.ts';
import type { LimitMemory } from '../limits/local/memory.ts';
import type { Logger } from '../observe/log.ts';
import type { MetricsMerger } from '../observe/metrics/metrics-merger.ts';
import type { StatsHistory } from '../observe/stats/stats-history.ts';
import type { ShadowHistory } from '../observe/shadow-report.ts';
import type { AcmeService } from '../control/acme/acme-service.ts';
import type { ProgramWatch } from '../control/reporting/program-watch.ts';
import type { SecretWatch } from '../control/database/secret-watch.ts';
import type { ClockWatch } from '../control/database/clock-watch.ts';
import type { Cluster } from '../control/cluster/cluster.ts';
import type { ConfigSync } from '../control/cluster/config-sync.ts';
import type { ConfigState } from '../control/cluster/config-state.ts';
import type { DeprecationLog } from '../control/reporting/deprecation-log.ts';
import type { HistoryCompactor } from '../control/database/history-compactor.ts';
import type { ExplainControl } from '../explain/setup/explain-control.ts';
import type { LiveHub } from '../explain/live/live-hub.ts';
import type { DiscoveryWatch } from '../control/discovery/discovery-watch.ts';
import type { HealthRegistry } from '../control/health/health-registry.ts';
import type { KeyUsageWriter } from '../keys/usage-writer.ts';
import type { LimitNode } from '../control/cluster/limit-node.ts';
import type { RecoveringRepository } from '../control/fallback/recovering-repository.ts';
import type { CollectorFilesWatch } from '../control/reporting/collector-files.ts';
import type { TraceExport } from '../control/reporting/trace-export.ts';
import type { ShadowLog } from '../control/reporting/shadow-log.ts';
import type { SavedConfig } from '../control/fallback/snapshot-file.ts';
import type { SnapshotFileWriter } from '../control/fallback/snapshot-file-writer.ts';
import type { Troubles } from '../control/problems/recent-events.ts';
import type { ClientCertificates } from '../proxy/upstream/tls/backend-tls.ts';
import type { Settings } from '../settings/settings.ts';
import type { Repository } from '../storage/repository.ts';
import type { EventSources } from '../control/events/event-sources.ts';
import type { EventParts } from './events/event-parts.ts';

/** Holds the service of certificates by ACME once it exists. */
interface AcmeHolder {
  /** undefined when ACME is off or has not started. */
  service: AcmeService | undefined;
}

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
  /** The client certificates of health checks; workers have their own. */
  readonly clientCertificates: ClientCertificates;
  readonly acme: AcmeHolder;
  /** undefined if limits are not shared with other nodes. */
  readonly limitNode: LimitNode | undefined;
  readonly metrics: MetricsMerger;
  readonly keyUsage: KeyUsageWriter;
  readonly history: HistoryCompactor;
  readonly clockWatch: ClockWatch;
  readonly secretWatch: SecretWatch;
  readonly programWatch: ProgramWatch;
  /** undefined when the snapshot file is switched off. */
  readonly snapshotFile: SnapshotFileWriter | undefined;
  /** The fallback configuration of the start; undefined after a normal start. */
  readonly saved: SavedConfig | undefined;
  readonly recovering: RecoveringRepository | undefined;
  readonly explain: ExplainControl;
  readonly live: LiveHub;
  /** undefined when traces are not exported. */
  readonly traces: TraceExport | undefined;
  /** undefined when nothing is exported. */
  readonly collectorFiles: CollectorFilesWatch | undefined;
  readonly deprecations: DeprecationLog;
  readonly shadowLog: ShadowLog;
  readonly shadowHistory: ShadowHistory;
  readonly health: HealthRegistry;
  readonly discovery: DiscoveryWatch;
  /** undefined when statistics are switched off. */
  readonly stats: StatsHistory | undefined;
  readonly troubles: Troubles;
  readonly events: EventParts;
  readonly sources: EventSources;
}

/** Publishes configuration changes of this node and of others to the workers. */
export interface Changes {
  readonly configSync: ConfigSync;
  readonly cluster: Cluster;
}
