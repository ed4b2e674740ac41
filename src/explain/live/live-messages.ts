/** What the main thread tells the workers about live traffic, and what they report. Plain data. */
import type { CallerKind } from '../../model/auth/caller-kinds.ts';
import type { LiveFilter } from './live-filter.ts';

/** One watcher, as a worker knows it. */
export interface LiveWatch {
  readonly id: number;
  readonly filter: LiveFilter;
  /** Most events of it in a second, on average. */
  readonly perSecond: number;
}

/** An exchange that at least one watcher asked for. Texts are cut and hold no credentials. */
export interface LiveRecord {
  /** Unique while the gateway runs: number of the worker, and of its record. */
  readonly id: string;
  /** Ids of the watches that asked for it. */
  readonly watches: readonly number[];
  readonly requestId: string;
  /** null while traces are not exported. */
  readonly traceId: string | null;
  readonly startedMs: number;
  readonly protocol: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly status: number;
  readonly code: string | null;
  readonly app: { readonly id: string; readonly slug: string } | null;
  readonly version: { readonly id: string; readonly version: string } | null;
  readonly revision: { readonly id: string; readonly revision: string } | null;
  readonly endpoint: { readonly id: string; readonly method: string; readonly path: string } | null;
  readonly caller: {
    readonly kind: CallerKind;
    readonly id: string;
    readonly name: string;
  } | null;
  readonly clientIp: string;
  readonly userAgent: string;
  readonly isAborted: boolean;
  readonly durationMs: number;
  /** -1: none. */
  readonly upstreamMs: number;
  readonly attempts: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** What became of the exchanges that passed a watch's filter since the last report. */
export interface LiveCount {
  readonly watch: number;
  readonly seen: number;
  /** Seen and not reported, because of the watch's rate or the worker's. */
  readonly dropped: number;
}

export interface LiveMessage {
  readonly type: 'live';
  readonly worker: number;
  readonly records: readonly LiveRecord[];
  readonly counts: readonly LiveCount[];
}
