/**
 * What the main thread and the proxy workers say to each other. Plain data, structured-clonable; shared memory
 * (limit counters, breakers) travels by reference. Messages in one direction arrive in the order they were sent.
 */
import type { LimitMemory } from '../../limits/local/memory.ts';
import type { ConfigChange } from '../../model/config.ts';
import type { WorkerSample } from '../../observe/metrics.ts';
import type { ShadowRow } from '../../observe/shadow-tally.ts';
import type { ExplainedMessage, ExplainMessage } from '../../explain/messages.ts';
import type { CertificatePair } from '../../proxy/downstream/tls/tls-certificate.ts';
import type { Settings } from '../../settings/settings.ts';
import type { KeyMemory } from '../../keys/key-memory.ts';
import type { HeartbeatMemory } from './heartbeat.ts';
import type { HealthMessage } from '../health/health-reporter.ts';
import type { KeyUsageBatch } from '../../keys/usage-counter.ts';

/** What a worker is started with. */
export interface WorkerStart {
  /** 1, 2, … ; never used again for another worker, since limit locks are owned by number. */
  readonly workerNumber: number;
  readonly settings: Settings;
  /** May differ from the settings' when that is 0: all workers share the first one's. */
  readonly port: number;
  readonly limitMemory: LimitMemory;
  /** Of egress/own-listeners.ts. */
  readonly ownPorts: SharedArrayBuffer;
  /** How the gateway calls itself to backends. */
  readonly viaName: string;
  /** The API keys of the node, which the main thread writes; messages carry none. */
  readonly keyMemory: KeyMemory;
  readonly heartbeat: HeartbeatMemory;
  /** Certificates of the traffic listener, read by the main thread; undefined without TLS. */
  readonly certificates: readonly CertificatePair[] | undefined;
  /** Of ticket-keys.ts. */
  readonly ticketKeys: Uint8Array;
  /** Listens only when it is told to. */
  readonly isSpare: boolean;
}

/** A change with the breakers of the revisions that it brings. */
export interface ApplyMessage {
  readonly type: 'apply';
  readonly id: number;
  readonly change: ConfigChange;
  readonly breakers: readonly (readonly [revisionId: string, memory: SharedArrayBuffer])[];
  readonly removedRevisionIds: readonly string[];
}

/** Other certificates for the handshakes to come. */
export interface CertificatesMessage {
  readonly type: 'certificates';
  readonly id: number;
  readonly certificates: readonly CertificatePair[];
}

/** Other keys for the session tickets to come. */
export interface TicketKeysMessage {
  readonly type: 'ticket_keys';
  readonly id: number;
  readonly ticketKeys: Uint8Array;
}

export type ToWorker =
  | ApplyMessage
  | CertificatesMessage
  | TicketKeysMessage
  | ExplainMessage
  | { readonly type: 'sample'; readonly id: number }
  /** To a spare worker: another one is lost. */
  | { readonly type: 'listen' }
  /** From now on answers say `Connection: close`. */
  | { readonly type: 'drain' }
  /** Comes after `drain`: closes the port, and ends when what has begun is done. */
  | { readonly type: 'close_port' };

export type FromWorker =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'listen_failed'; readonly message: string }
  /** Uncaught exception: end this worker as soon as another listens. */
  | { readonly type: 'failed'; readonly error: Error }
  | { readonly type: 'applied'; readonly id: number; readonly error: string | undefined }
  | { readonly type: 'sample'; readonly id: number; readonly sample: WorkerSample }
  | HealthMessage
  | { readonly type: 'shadow_denials'; readonly rows: readonly ShadowRow[] }
  | { readonly type: 'keys_used'; readonly used: KeyUsageBatch }
  | {
      readonly type: 'deprecated_used';
      readonly versionId: string;
      readonly name: string;
      readonly count: number;
      readonly requestId: string;
    }
  | ExplainedMessage
  /** It accepts no more connections. */
  | { readonly type: 'port_closed' }
  | { readonly type: 'drained' };
