/** The messages between the main thread and the thread that exports (telemetry-worker.ts). Plain data. */
import type { Temporality } from '../metrics/metric-deltas.ts';
import type { BatchRing } from '../ring/batch-ring.ts';

/** How to connect to the collector. */
export interface ConnectionStart {
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly compression: 'none' | 'gzip';
  /** PEM of trusted certificates; undefined: the certificates of Node.js. */
  readonly ca: string | undefined;
  /** PEM of the certificate and key that the gateway presents to the collector. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

export type Signal = 'traces' | 'metrics' | 'logs';
/** The signals that are exported through rings. */
export type RingSignal = Exclude<Signal, 'metrics'>;

/** Start data of the thread. */
export interface ExportStart {
  /** The complete URL; undefined when the signal is not exported. */
  readonly urls: Readonly<Record<Signal, string | undefined>>;
  readonly connections: Readonly<Record<Signal, ConnectionStart>>;
  /** Unix milliseconds: the start of all counters. */
  readonly startMs: number;
  readonly temporality: Temporality;
  /** See MetricExporterOptions. */
  readonly isReplacement: boolean;
  /** See RingExporterOptions. */
  readonly endedRingsMax: number;
  /** The attributes of the resource, for all exports. */
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
}

export type ToExporter =
  /** A ring of a worker or of the main thread. */
  | { readonly type: 'ring'; readonly signal: RingSignal; readonly id: number; readonly ring: BatchRing }
  /** The worker of the ring has ended. */
  | { readonly type: 'ring_ended'; readonly signal: RingSignal; readonly id: number }
  /** Later exports use these. */
  | { readonly type: 'connections'; readonly connections: ExportStart['connections'] }
  /** A ring fills up. */
  | { readonly type: 'wake' }
  /** The text of `GET /metrics`. @see MetricExporter */
  | { readonly type: 'metrics'; readonly text: string; readonly nowMs: number }
  /** Exports everything that waits; the thread then ends. */
  | { readonly type: 'finish' };

export type FromExporter =
  | ExportState
  /** What the collector has to say about exports that it accepts. */
  | { readonly type: 'warning'; readonly signal: Signal; readonly warning: string }
  /** The ring of an ended worker is empty. */
  | { readonly type: 'ring_done'; readonly signal: RingSignal; readonly id: number };

export interface ItemCounts {
  /** Items that the collector accepted. */
  readonly exported: number;
  /** Items that had no room, or that ended threads left and that were given up. */
  readonly dropped: number;
  /** Items whose export failed, or that the collector refused. */
  readonly failed: number;
}

export interface ExportFailure {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Contains no secrets. */
  readonly detail: string;
}

/** The state of one signal: spans, points of metrics or log records. */
export interface SignalState extends ItemCounts {
  /** The latest failure since the last successful export; '' when there is none. Contains no secrets. */
  readonly problem: string;
  /** The latest failure, even when later exports succeeded. */
  readonly lastFailure: ExportFailure | undefined;
}

/** Totals since the thread started, sent when they have changed. */
export interface ExportState {
  readonly type: 'state';
  readonly signals: Readonly<Record<Signal, SignalState>>;
}
