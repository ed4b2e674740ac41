/**
 * The thread that exports (telemetry-worker.ts), as the main thread sees it: it reads the rings that workers fill, gets
 * readings of the metrics, tells how exports go, and starts again if it ends by itself. Meanwhile spans wait in the rings. Owns the rings.
 */
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../lib/clock.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import type { Logger } from '../../observe/log.ts';
import type {
  ExportStart,
  ExportState,
  FromExporter,
  ToExporter,
} from '../../telemetry/export/export-messages.ts';
import {
  createBatchRing,
  droppedItems,
  queuedBytes,
  type BatchRing,
} from '../../telemetry/ring/batch-ring.ts';

const RESTART_MS = 5_000;
/** For what is left at the end; a dead collector holds the stop up for no longer. */
const FINISH_MS = 2_000;
/** For the last reading of metrics. */
const READ_MS = 1_000;
const MEBIBYTES_MAX = 128;
/** Several batches. */
const RING_BYTES_MIN = 262_144;
/** Beyond those of all workers, which end together when the gateway stops. */
const ENDED_RINGS_MAX = 4;

export interface TraceExportFacts {
  /** Spans that the collector took. */
  readonly exported: number;
  /** Spans that had no room in the queue. */
  readonly dropped: number;
  /** Spans whose export failed, or that the collector refused. */
  readonly failed: number;
  readonly queuedBytes: number;
  /** Points of metrics; undefined: metrics are not exported. */
  readonly points: { readonly exported: number; readonly failed: number } | undefined;
  /** Of the latest failure since an export succeeded; '' for none. No secrets. */
  readonly problem: string;
}

export interface TraceExportOptions {
  /** Of the thread's program. */
  readonly url: URL;
  readonly start: Omit<ExportStart, 'underWay' | 'endedRingsMax'>;
  /** Memory for spans that wait, of all workers together. */
  readonly maxQueueBytes: number;
  readonly workers: number;
  readonly metricsIntervalMs: number;
  readonly log: Logger;
  readonly restartMs?: number;
}

interface WorkerRing {
  readonly ring: BatchRing;
  isEnded: boolean;
}

type State = Omit<ExportState, 'type'>;
const NO_POINTS = { exported: 0, failed: 0 };
const NONE: State = { exported: 0, dropped: 0, failed: 0, points: NO_POINTS, problem: '' };

export class TraceExport {
  readonly #options: TraceExportOptions;
  readonly #underWay = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  /** By worker. */
  readonly #rings = new Map<number, WorkerRing>();
  #thread: Worker | undefined;
  #restart: NodeJS.Timeout | undefined;
  #reading: NodeJS.Timeout | undefined;
  /** Reads metrics and has them exported. */
  #readMetrics: () => Promise<void> = () => Promise.resolve();
  /** Of threads and rings that are gone. */
  #ended = { exported: 0, dropped: 0, failed: 0, points: NO_POINTS };
  #current = NONE;
  #threadProblem = '';

  constructor(options: TraceExportOptions) {
    this.#options = options;
    this.#startThread();
  }

  get facts(): TraceExportFacts {
    const { exported, dropped, failed, points } = this.#ended;
    const current = this.#current;
    const rings = [...this.#rings.values()].map(({ ring }) => ring);
    return {
      exported: exported + current.exported,
      dropped: dropped + current.dropped + sum(rings.map(droppedItems)),
      failed: failed + current.failed,
      queuedBytes: sum(rings.map(queuedBytes)),
      points: this.#options.start.urls.metrics === undefined ? undefined : added(points, current.points),
      problem: this.#threadProblem || current.problem,
    };
  }

  /** Memory for the spans of a worker that starts; undefined: traces are not exported. */
  openRing(workerNumber: number): BatchRing | undefined {
    const { maxQueueBytes, workers, start } = this.#options;
    if (start.urls.traces === undefined) return undefined;
    const ring = createBatchRing(Math.max(RING_BYTES_MIN, maxQueueBytes / workers));
    this.#rings.set(workerNumber, { ring, isEnded: false });
    this.#post({ type: 'ring', id: workerNumber, ring });
    return ring;
  }

  /** The worker has ended; what it left is exported. */
  closeRing(workerNumber: number): void {
    const known = this.#rings.get(workerNumber);
    if (known === undefined) return;
    known.isEnded = true;
    this.#post({ type: 'ring_ended', id: workerNumber });
  }

  /** A ring fills. */
  wake(): void {
    this.#post({ type: 'wake' });
  }

  /** From now on exports metrics. @param read gives the text of `GET /metrics` */
  readMetrics(read: () => Promise<string>): void {
    const { start, metricsIntervalMs, log } = this.#options;
    if (start.urls.metrics === undefined) return;
    const post = async (): Promise<void> => {
      try {
        const text = await read();
        this.#post({ type: 'metrics', text, nowMs: systemClock.nowMs() });
      } catch (error) {
        log.error({ err: error }, 'metrics cannot be read for their export');
      }
    };
    this.#readMetrics = post;
    this.#reading = setInterval(() => void post(), metricsIntervalMs).unref();
  }

  /** Exports what is there, for a bounded time. */
  async stop(): Promise<void> {
    clearTimeout(this.#restart);
    clearInterval(this.#reading);
    // All that workers have counted.
    await withTimeout(READ_MS, this.#readMetrics());
    const thread = this.#thread;
    this.#thread = undefined;
    if (thread === undefined) return;
    thread.removeAllListeners('exit');
    const ended = new Promise<void>((resolve) => void thread.once('exit', () => resolve()));
    thread.postMessage({ type: 'finish' } satisfies ToExporter);
    await withTimeout(FINISH_MS, ended);
    await thread.terminate();
  }

  #post(message: ToExporter): void {
    this.#thread?.postMessage(message);
  }

  #startThread(): void {
    const { url, start, workers } = this.#options;
    const thread = new Worker(url, {
      workerData: {
        ...start,
        underWay: this.#underWay,
        endedRingsMax: workers + ENDED_RINGS_MAX,
      } satisfies ExportStart,
      name: 'telemetry',
      // What it needs is in its start data: the exporter's own variables must not change that.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MEBIBYTES_MAX },
    });
    thread.on('message', (message: FromExporter) => this.#told(message));
    // An exit follows.
    thread.on('error', (error) =>
      this.#options.log.error({ err: error }, 'the export to the collector has failed'),
    );
    thread.once('exit', () => this.#lost());
    thread.unref();
    this.#thread = thread;
    for (const [id, { ring, isEnded }] of this.#rings) {
      this.#post({ type: 'ring', id, ring });
      if (isEnded) this.#post({ type: 'ring_ended', id });
    }
  }

  #told(message: FromExporter): void {
    if (message.type === 'ring_done') {
      const known = this.#rings.get(message.id);
      this.#rings.delete(message.id);
      if (known !== undefined) this.#ended.dropped += droppedItems(known.ring);
      return;
    }
    const before = this.facts.problem;
    this.#current = message;
    this.#threadProblem = '';
    const { problem } = message;
    if (problem !== '' && before === '')
      this.#options.log.warn({ problem }, 'traces or metrics cannot be exported: they are lost');
    if (problem === '' && before !== '') this.#options.log.info('traces and metrics are exported again');
  }

  #lost(): void {
    const { exported, dropped, failed, points } = this.#current;
    this.#ended = {
      exported: this.#ended.exported + exported,
      dropped: this.#ended.dropped + dropped,
      failed: this.#ended.failed + failed + Atomics.exchange(this.#underWay, 0, 0),
      points: added(this.#ended.points, points),
    };
    this.#current = NONE;
    this.#threadProblem = 'the thread that exports has ended; it starts again';
    this.#thread = undefined;
    this.#restart = setTimeout(() => this.#startThread(), this.#options.restartMs ?? RESTART_MS).unref();
  }
}

function added(first: typeof NO_POINTS, second: typeof NO_POINTS): typeof NO_POINTS {
  return { exported: first.exported + second.exported, failed: first.failed + second.failed };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
