/** What the main thread and the thread that exports (telemetry-worker.ts) tell each other. Plain data. */
import type { SpanBatch } from '../spans/trace-tap.ts';

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
  readonly maxQueueBytes: number;
  /** Of all that is exported. */
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
}

export type ToExporter =
  | ({ readonly type: 'spans' } & SpanBatch)
  /** Sends what is there; the thread ends when that is done. */
  | { readonly type: 'finish' };

/** Totals since the thread started, sent when they have changed. */
export interface ExportState {
  readonly type: 'state';
  /** Spans that the collector took. */
  readonly exported: number;
  /** Spans that had no room in the queue. */
  readonly dropped: number;
  /** Spans whose export failed, or that the collector refused. */
  readonly failed: number;
  readonly queuedBytes: number;
  /** Of the latest failure since an export succeeded; '' for none. No secrets. */
  readonly problem: string;
}
