/** What the main thread and the thread that exports (telemetry-worker.ts) tell each other. Plain data. */
import type { BatchRing } from '../ring/batch-ring.ts';

/** How the collector is reached. */
export interface ConnectionStart {
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly compression: 'none' | 'gzip';
  /** PEM; undefined: those of Node.js. */
  readonly ca: string | undefined;
  /** PEM, of the certificate and key that the collector gets. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** Start data of the thread. */
export interface ExportStart {
  /** Whole; undefined: this is not exported. */
  readonly urls: { readonly traces: string | undefined; readonly metrics: string | undefined };
  readonly connection: ConnectionStart;
  /** Unix milliseconds: since when counters count. */
  readonly startMs: number;
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
  /** The text of `GET /metrics`. @see MetricExporter */
  | { readonly type: 'metrics'; readonly text: string; readonly nowMs: number }
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
  /** Points of metrics. */
  readonly points: { readonly exported: number; readonly failed: number };
  /** Of the latest failure since an export succeeded; '' for none. No secrets. */
  readonly problem: string;
}
