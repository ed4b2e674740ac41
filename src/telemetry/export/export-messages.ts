/** What the main thread and the thread that exports (telemetry-worker.ts) tell each other. Plain data. */
import type { Temporality } from '../metrics/metric-deltas.ts';
import type { BatchRing } from '../ring/batch-ring.ts';

/** How the collector is reached. */
export interface ConnectionStart {
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly compression: 'none' | 'gzip';
  /** PEM of trusted certificates; undefined: those of Node.js. */
  readonly ca: string | undefined;
  /** PEM of the certificate and key that the gateway presents to the collector. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

export type Signal = 'traces' | 'metrics' | 'logs';
/** What is exported through rings. */
export type RingSignal = Exclude<Signal, 'metrics'>;

/** Start data of the thread. */
export interface ExportStart {
  /** The whole URL; undefined: this is not exported. */
  readonly urls: Readonly<Record<Signal, string | undefined>>;
  readonly connections: Readonly<Record<Signal, ConnectionStart>>;
  /** Unix milliseconds: since when counters count. */
  readonly startMs: number;
  readonly temporality: Temporality;
  /** See MetricExporterOptions. */
  readonly isReplacement: boolean;
  /** See RingExporterOptions. */
  readonly endedRingsMax: number;
  readonly underWay: Readonly<Record<RingSignal, Int32Array<SharedArrayBuffer>>>;
  /** Of all that is exported. */
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
}

export type ToExporter =
  /** Of a worker, or the main thread. */
  | { readonly type: 'ring'; readonly signal: RingSignal; readonly id: number; readonly ring: BatchRing }
  /** Its worker has ended. */
  | { readonly type: 'ring_ended'; readonly signal: RingSignal; readonly id: number }
  /** A ring fills. */
  | { readonly type: 'wake' }
  /** The text of `GET /metrics`. @see MetricExporter */
  | { readonly type: 'metrics'; readonly text: string; readonly nowMs: number }
  /** Exports what waits; the thread ends when that is done. */
  | { readonly type: 'finish' };

export type FromExporter =
  | ExportState
  /** A ring of a worker that has ended is empty. */
  | { readonly type: 'ring_done'; readonly signal: RingSignal; readonly id: number };

export interface ItemCounts {
  /** The collector took them. */
  readonly exported: number;
  /** Ended threads had left them, and they were given up; or they had no room. */
  readonly dropped: number;
  /** Their export failed, or the collector refused them. */
  readonly failed: number;
}

export interface ExportFailure {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** No secrets. */
  readonly detail: string;
}

/** Of spans, points of metrics or log records. */
export interface SignalState extends ItemCounts {
  /** Of the latest failure since an export succeeded; '' for none. No secrets. */
  readonly problem: string;
  /** The latest, whether or not exports have succeeded since. */
  readonly lastFailure: ExportFailure | undefined;
}

/** Totals since the thread started, sent when they have changed. */
export interface ExportState {
  readonly type: 'state';
  readonly signals: Readonly<Record<Signal, SignalState>>;
}
