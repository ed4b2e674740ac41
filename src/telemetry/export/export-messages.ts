/** What the main thread and the thread that exports (telemetry-worker.ts) tell each other. Plain data. */
import type { BatchRing } from '../ring/batch-ring.ts';

/** Start data of the thread. */
export interface ExportStart {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly compression: 'none' | 'gzip';
  /** PEM; undefined: those of Node.js. */
  readonly ca: string | undefined;
  /** PEM, of the certificate and key that the collector gets. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** See SpanExporterOptions. */
  readonly endedRingsMax: number;
  readonly underWay: Int32Array<SharedArrayBuffer>;
  /** Of all that is exported. */
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
}

export type ToExporter =
  /** Of a worker. */
  | { readonly type: 'ring'; readonly id: number; readonly ring: BatchRing }
  /** Its worker has ended. */
  | { readonly type: 'ring_ended'; readonly id: number }
  /** A ring fills. */
  | { readonly type: 'wake' }
  /** Sends what is there; the thread ends when that is done. */
  | { readonly type: 'finish' };

export type FromExporter =
  | ExportState
  /** A ring of a worker that has ended is empty. */
  | { readonly type: 'ring_done'; readonly id: number };

/** Totals since the thread started, sent when they have changed. */
export interface ExportState {
  readonly type: 'state';
  /** Spans that the collector took. */
  readonly exported: number;
  /** Spans that ended workers had left, and that were given up. */
  readonly dropped: number;
  /** Spans whose export failed, or that the collector refused. */
  readonly failed: number;
  /** Of the latest failure since an export succeeded; '' for none. No secrets. */
  readonly problem: string;
}
