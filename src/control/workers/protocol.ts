/**
 * Messages between the main thread and the proxy workers. Plain data for a structured clone; shared memory (limit
 * counters, breakers) is passed by reference. Messages in one direction arrive in the order in which they were sent.
 */
import type { LimitMemory } from '../../limits/local/memory.ts';
import type { ConfigChange } from '../../model/config.ts';
import type { ProfileTask } from '../../observe/profile.ts';
import type { WorkerSample } from '../../observe/metrics/metrics.ts';
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
import type { ChangeParts } from '../changes/change-parts.ts';
import type { HeartbeatMemory } from './heartbeat.ts';
import type { LimitReached } from '../events/limit-notes.ts';
import type { HealthMessage } from '../health/health-reporter.ts';
import type { KeyUsageBatch } from '../../keys/usage-counter.ts';

/** The ports on which a worker takes traffic. */
export interface TrafficPorts {
  readonly main: number;
  /** A port with TLS beside a main port without; undefined: there is only the main port. */
  readonly tls: number | undefined;
}

/** Where a worker puts items to export. */
export interface WorkerRings {
  /** undefined when traces are not exported. */
  readonly spans: BatchRing | undefined;
  /** undefined when logs are not exported. */
  readonly logs: BatchRing | undefined;
}

/** Start data of a worker. */
export interface WorkerStart {
  /** Of the main thread. */
  readonly version: string;
  /** 1, 2, …; never reused for another worker, since limit locks are owned by number. */
  readonly workerNumber: number;
  readonly settings: Settings;
  /** They differ from the settings if these are 0: all workers share the ports of the first worker. */
  readonly ports: TrafficPorts;
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
  /** Certificates that the gateway has ordered, and its answers to challenges; undefined when it orders none. */
  readonly ordered: OrderedChange | undefined;
  /** Certificates that it may present to backends, by name. */
  readonly clientCertificates: ReadonlyMap<string, CertificatePair>;
  /** The files that client certificates are verified with, by name. */
  readonly trusted: ReadonlyMap<string, TrustFiles>;
  /** See ticket-keys.ts. */
  readonly ticketKeys: Uint8Array;
  /** The worker's column in the memory of targets (proxy/targets/target-memory.ts). */
  readonly targetColumn: number;
  /** Where the worker puts items to export; undefined when nothing is exported. */
  readonly exported: WorkerRings | undefined;
  /** Listens only when told to. */
  readonly isSpare: boolean;
}

/** A large change that the worker compiles, in slices, for the `apply` that follows. */
export interface PrepareMessage {
  readonly type: 'prepare';
  readonly id: number;
  readonly parts: ChangeParts;
}

/** A change, with the shared memory of its revisions. */
export interface ApplyMessage {
  readonly type: 'apply';
  readonly id: number;
  /** undefined: the change that the worker has prepared. */
  readonly change: ConfigChange | undefined;
  readonly breakers: readonly (readonly [revisionId: string, memory: BreakerMemory])[];
  readonly targets: readonly TargetsEntry[];
  /** Pools whose target was removed from some revision. */
  readonly endedPools: readonly string[];
  readonly removedRevisionIds: readonly string[];
}

/** Results of discovery for some revisions, replacing earlier ones. */
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

/** All certificates for future connections to backends. */
interface ClientCertificatesMessage {
  readonly type: 'client_certificates';
  readonly id: number;
  readonly pairs: ReadonlyMap<string, CertificatePair>;
}

/** All files for the verification of client certificates, from the next request on. */
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

/** The answer to `prepare`, `apply` and other changes. */
export interface AppliedMessage {
  readonly type: 'applied';
  readonly id: number;
  readonly error: string | undefined;
}

export type ToWorker =
  | PrepareMessage
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
  /** Only while the worker creates no other profile. */
  | { readonly type: 'profile'; readonly task: ProfileTask }
  | { readonly type: 'end_profile' }
  /** To a spare worker, when another worker is lost. */
  | { readonly type: 'listen' }
  /** To a worker that listens: a descriptor of the Unix socket, which the worker closes. */
  | { readonly type: 'unix_socket'; readonly descriptor: number }
  /** From now on responses have `Connection: close`. */
  | { readonly type: 'drain' }
  /** Follows `drain`: closes the port, and ends when running exchanges are done. */
  | { readonly type: 'close_port' };

export type FromWorker =
  | { readonly type: 'listening'; readonly ports: TrafficPorts }
  | { readonly type: 'listen_failed'; readonly message: string }
  /** Uncaught exception: end this worker as soon as another listens. */
  | { readonly type: 'failed'; readonly error: Error }
  | AppliedMessage
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
  /** A ring for export fills up. */
  | { readonly type: 'ring_fills' }
  | { readonly type: 'traffic_records'; readonly id: number; readonly records: readonly PackedTexts[] }
  | { readonly type: 'profile_chunk'; readonly text: string }
  /** With the reason when the profile is incomplete; undefined when it is complete. */
  | { readonly type: 'profile_end'; readonly problem: string | undefined }
  /** The worker accepts no more connections. */
  | { readonly type: 'port_closed' }
  | { readonly type: 'drained' };
