/** Messages between the main thread and the workers about live traffic. Plain data. */
import type { CallerKind } from '../../model/auth/caller-kinds.ts';
import type { LiveFilter } from './live-filter.ts';

/** One watcher in the form that workers need. */
export interface LiveWatch {
  readonly id: number;
  readonly filter: LiveFilter;
  /** Most events of it in a second, on average. */
  readonly perSecond: number;
}

/** An exchange that matches at least one watcher. Texts are truncated and contain no credentials. */
export interface LiveRecord {
  /** Unique while the gateway runs: number of the worker, and of its record. */
  readonly id: string;
  /** Ids of the matching watches. */
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

/** What happened to the exchanges that matched a watch since the last report. */
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
