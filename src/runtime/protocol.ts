/**
 * What the main thread and the proxy workers say to each other. Plain data, structured-clonable; shared memory
 * (limit counters, breakers) travels by reference. Messages in one direction arrive in the order they were sent.
 */
import type { LimitMemory } from '../limits/memory.ts';
import type { ConfigChange } from '../model/config.ts';
import type { WorkerSample } from '../observe/metrics.ts';
import type { WouldDenyRow } from '../observe/would-deny.ts';
import type { Settings } from '../settings.ts';
import type { KeyMemory } from '../snapshot/key-memory.ts';
import type { HeartbeatMemory } from './heartbeat.ts';

/** What a worker is started with. */
export interface WorkerStart {
  /** 1, 2, … ; never used again for another worker, since limit locks are owned by number. */
  readonly workerNumber: number;
  readonly settings: Settings;
  /** May differ from the settings' when that is 0: all workers share the first one's. */
  readonly port: number;
  readonly limitMemory: LimitMemory;
  readonly heartbeat: HeartbeatMemory;
  /** The API keys of the node, which the main thread writes; messages carry none. */
  readonly keyMemory: KeyMemory;
  /** PEM texts, read once by the main thread. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
}

/** A change with the breakers of the revisions that it brings. */
export interface ApplyMessage {
  readonly type: 'apply';
  readonly id: number;
  readonly change: ConfigChange;
  readonly breakers: readonly (readonly [revisionId: string, memory: SharedArrayBuffer])[];
  readonly removedRevisionIds: readonly string[];
}

export type ToWorker =
  | ApplyMessage
  | { readonly type: 'sample'; readonly id: number }
  | { readonly type: 'drain' };

export type FromWorker =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'listen_failed'; readonly message: string }
  | { readonly type: 'applied'; readonly id: number; readonly error: string | undefined }
  | { readonly type: 'sample'; readonly id: number; readonly sample: WorkerSample }
  | { readonly type: 'would_deny'; readonly rows: readonly WouldDenyRow[] }
  | { readonly type: 'keys_used'; readonly used: readonly (readonly [keyId: string, lastUsedMs: number])[] }
  | {
      readonly type: 'deprecated_used';
      readonly versionId: string;
      readonly name: string;
      readonly count: number;
      readonly requestId: string;
    }
  | { readonly type: 'drained' };
