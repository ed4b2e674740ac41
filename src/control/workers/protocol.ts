/**
 * Messages between the main thread and the proxy workers. Plain data for a structured clone; shared memory (limit
 * counters, breakers) is passed by reference. Messages in one direction arrive in the order in which they were sent.
 */
import type { LimitMemory } from '../../limits/local/memory.ts';
import type { ConfigChange } from '../../model/config.ts';
import type { ProfileTask } from '../../observe/profile.ts';
import type { WorkerSample } from '../../observe/metrics.ts';
import type { StatsReport } from '../../observe/stats/stats-report.ts';
import type { ShadowRow } from '../../observe/shadow-tally.ts';
import type { LiveMessage } from '../../explain/live/live-messages.ts';
import type { ExplainedMessage, ExplainMessage } from '../../explain/messages.ts';
import type { PackedTexts } from '../../explain/traffic/traffic-ring.ts';
import type { BatchRing } from '../../telemetry/ring/batch-ring.ts';
import type { OrderedChange } from '../../proxy/downstream/tls/ordered-certificates.ts';
import type { CertificatePair } from '../../proxy/downstream/tls/tls-certificate.ts';
import type { BreakerMemory } from '../../proxy/resilience/breaker.ts';
import type { TargetsEntry } from '../cluster/config-state.ts';
import type { TrustFiles } from '../../x509/trust-bundle.ts';
import type { Settings } from '../../settings/settings.ts';
import type { KeyMemory } from '../../keys/key-memory.ts';
import type { HeartbeatMemory } from './heartbeat.ts';
import type { LimitReached } from '../events/limit-notes.ts';
import type { HealthMessage } from '../health/health-reporter.ts';
import type { KeyUsageBatch } from '../../keys/usage-counter.ts';

/** Where a worker takes traffic. */
export interface TrafficPorts {
  readonly main: number;
  /** With TLS, beside a main port that then has none; undefined: there is only the main port. */
  readonly tls: number | undefined;
}

/** Where a worker puts what is exported. */
export interface WorkerRings {
  /** undefined: traces are not exported. */
  readonly spans: BatchRing | undefined;
  /** undefined: logs are not exported. */
  readonly logs: BatchRing | undefined;
}

/** Start data of a worker. */
export interface WorkerStart {
  /** 1, 2, …; never reused for another worker, since limit locks are owned by number. */
  readonly workerNumber: number;
  readonly settings: Settings;
  /** Differ from settings of 0: all workers share the ports of the first. */
  readonly ports: TrafficPorts;
  /** A descriptor of the Unix socket, its own to close; undefined: there is none. */
  readonly unixDescriptor: number | undefined;
  readonly limitMemory: LimitMemory;
  /** See egress/own-listeners.ts. */
  readonly ownPorts: SharedArrayBuffer;
  /** The gateway's name towards backends. */
  readonly viaName: string;
  /** The API keys of the node, written by the main thread; messages contain none. */
  readonly keyMemory: KeyMemory;
  readonly heartbeat: HeartbeatMemory;
  /** Certificates of the traffic listener, read by the main thread; undefined without TLS. */
  readonly certificates: readonly CertificatePair[] | undefined;
  /** Certificates that the gateway has ordered, and its answers to challenges; undefined: it orders none. */
  readonly ordered: OrderedChange | undefined;
  /** What it may present to backends, by name. */
  readonly clientCertificates: ReadonlyMap<string, CertificatePair>;
  /** What client certificates are verified with, by name. */
  readonly trusted: ReadonlyMap<string, TrustFiles>;
  /** See ticket-keys.ts. */
  readonly ticketKeys: Uint8Array;
  /** Of this worker in the memory of targets (proxy/targets/target-memory.ts). */
  readonly targetColumn: number;
  /** What it exports goes there; undefined: nothing is exported. */
  readonly exported: WorkerRings | undefined;
  /** Listens only when told to. */
  readonly isSpare: boolean;
}

/** A change, with the shared memory of its revisions. */
export interface ApplyMessage {
  readonly type: 'apply';
  readonly id: number;
  readonly change: ConfigChange;
  readonly breakers: readonly (readonly [revisionId: string, memory: BreakerMemory])[];
  readonly targets: readonly TargetsEntry[];
  /** Pools whose target was removed from some revision. */
  readonly endedPools: readonly string[];
  readonly removedRevisionIds: readonly string[];
}

/** What discovery has found for some revisions, in place of what it had found before. */
export interface TargetsMessage {
  readonly type: 'targets';
  readonly id: number;
  readonly targets: readonly TargetsEntry[];
  /** Pools whose target was removed from some of them. */
  readonly endedPools: readonly string[];
}

/** Certificates for future handshakes. */
export interface CertificatesMessage {
  readonly type: 'certificates';
  readonly id: number;
  readonly certificates: readonly CertificatePair[];
}

/** Certificates that the gateway has ordered, for future handshakes, and answers to challenges. */
interface OrderedMessage {
  readonly type: 'ordered_certificates';
  readonly id: number;
  readonly change: OrderedChange;
}

/** All that there are, for future connections to backends. */
interface ClientCertificatesMessage {
  readonly type: 'client_certificates';
  readonly id: number;
  readonly pairs: ReadonlyMap<string, CertificatePair>;
}

/** All that there are, from the next request on. */
interface TrustedMessage {
  readonly type: 'trusted';
  readonly id: number;
  readonly files: ReadonlyMap<string, TrustFiles>;
}

/** Keys for future session tickets. */
interface TicketKeysMessage {
  readonly type: 'ticket_keys';
  readonly id: number;
  readonly ticketKeys: Uint8Array;
}

export type ToWorker =
  | ApplyMessage
  | CertificatesMessage
  | TargetsMessage
  | ClientCertificatesMessage
  | TrustedMessage
  | TicketKeysMessage
  | OrderedMessage
  | ExplainMessage
  | { readonly type: 'sample'; readonly id: number }
  | { readonly type: 'traffic_records'; readonly id: number }
  /** Not while it makes another. */
  | { readonly type: 'profile'; readonly task: ProfileTask }
  | { readonly type: 'end_profile' }
  /** To a spare worker: another worker is lost. */
  | { readonly type: 'listen' }
  /** From now on responses have `Connection: close`. */
  | { readonly type: 'drain' }
  /** Follows `drain`: closes the port, and ends when running exchanges are done. */
  | { readonly type: 'close_port' };

export type FromWorker =
  | { readonly type: 'listening'; readonly ports: TrafficPorts }
  | { readonly type: 'listen_failed'; readonly message: string }
  /** Uncaught exception: end this worker as soon as another listens. */
  | { readonly type: 'failed'; readonly error: Error }
  | { readonly type: 'applied'; readonly id: number; readonly error: string | undefined }
  | { readonly type: 'sample'; readonly id: number; readonly sample: WorkerSample }
  | HealthMessage
  | { readonly type: 'shadow_denials'; readonly rows: readonly ShadowRow[] }
  | { readonly type: 'stats'; readonly report: StatsReport }
  | { readonly type: 'limit_reached'; readonly reached: LimitReached }
  | { readonly type: 'keys_used'; readonly used: KeyUsageBatch }
  | {
      readonly type: 'deprecated_used';
      readonly versionId: string;
      readonly name: string;
      readonly count: number;
      readonly requestId: string;
    }
  | ExplainedMessage
  | LiveMessage
  /** A ring of what is exported fills. */
  | { readonly type: 'spans_wait' }
  /** undefined: none. */
  | { readonly type: 'traffic_records'; readonly id: number; readonly records: PackedTexts | undefined }
  | { readonly type: 'profile_chunk'; readonly text: string }
  /** With why there is no whole profile; undefined: it is whole. */
  | { readonly type: 'profile_end'; readonly problem: string | undefined }
  /** It accepts no more connections. */
  | { readonly type: 'port_closed' }
  | { readonly type: 'drained' };
