/**
 * The thread that exports (telemetry-worker.ts), as the main thread sees it: it reads the rings that workers fill, gets
 * readings of the metrics, tells how exports go, and starts again if it ends by itself. Meanwhile spans and log records
 * wait in the rings.
 */
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../lib/clock.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import type { Logger } from '../../observe/log.ts';
import type {
  ExportStart,
  ExportState,
  FromExporter,
  ItemCounts,
  RingSignal,
  ToExporter,
} from '../../telemetry/export/export-messages.ts';
import { createLogRing } from '../../telemetry/logs/log-tap.ts';
import { createBatchRing, type BatchRing } from '../../telemetry/ring/batch-ring.ts';
import type { WorkerRings } from '../workers/protocol.ts';
import { ExportRings } from './export-rings.ts';

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
const MAIN_THREAD = 0;

/** With the counts of spans. */
export interface TraceExportFacts extends ItemCounts {
  /** Of spans. */
  readonly queuedBytes: number;
  /** Log records; undefined: logs are not exported. */
  readonly logs: ItemCounts | undefined;
  /** Points of metrics; undefined: metrics are not exported. */
  readonly points: { readonly exported: number; readonly failed: number } | undefined;
  /** Of the latest failure since an export succeeded; '' for none. No secrets. */
  readonly problem: string;
}

export interface TraceExportOptions {
  /** Of the thread's program. */
  readonly url: URL;
  readonly start: Omit<ExportStart, 'underWay' | 'endedRingsMax' | 'isReplacement'>;
  /** Memory for spans that wait, of all workers together. */
  readonly maxQueueBytes: number;
  readonly workers: number;
  readonly metricsIntervalMs: number;
  /** Lines of the main thread; undefined: logs are not exported. */
  readonly mainLogs: BatchRing | undefined;
  /** Not one whose lines are exported: they would tell of failed exports by further exports. */
  readonly log: Logger;
  readonly restartMs?: number;
}

type State = Omit<ExportState, 'type'>;
const NO_POINTS = { exported: 0, failed: 0 };
const NO_ITEMS: ItemCounts = { exported: 0, dropped: 0, failed: 0 };
const NONE: State = { items: { traces: NO_ITEMS, logs: NO_ITEMS }, points: NO_POINTS, problem: '' };

export class TraceExport {
  readonly #options: TraceExportOptions;
  readonly #underWay = { traces: oneWord(), logs: oneWord() };
  readonly #spans = new ExportRings('traces', (message) => this.#post(message));
  readonly #logs = new ExportRings('logs', (message) => this.#post(message));
  #thread: Worker | undefined;
  #hasStarted = false;
  #restart: NodeJS.Timeout | undefined;
  #reading: NodeJS.Timeout | undefined;
  /** Reads metrics and has them exported. */
  #readMetrics: () => Promise<void> = () => Promise.resolve();
  /** Of threads that are gone. */
  #ended: Pick<State, 'items' | 'points'> = NONE;
  #current = NONE;
  #threadProblem = '';

  constructor(options: TraceExportOptions) {
    this.#options = options;
    this.#startThread();
    if (options.mainLogs !== undefined) this.#logs.add(MAIN_THREAD, options.mainLogs);
  }

  get facts(): TraceExportFacts {
    const { urls } = this.#options.start;
    const current = this.#current;
    const spans = addedItems(this.#ended.items.traces, current.items.traces);
    const logs = addedItems(this.#ended.items.logs, current.items.logs);
    return {
      ...spans,
      dropped: spans.dropped + this.#spans.dropped,
      queuedBytes: this.#spans.queuedBytes,
      logs: urls.logs === undefined ? undefined : { ...logs, dropped: logs.dropped + this.#logs.dropped },
      points: urls.metrics === undefined ? undefined : added(this.#ended.points, current.points),
      problem: this.#threadProblem || current.problem,
    };
  }

  /** Memory for what a worker that starts will export. */
  openRings(workerNumber: number): WorkerRings {
    const { maxQueueBytes, workers, start } = this.#options;
    const { urls } = start;
    const spans =
      urls.traces === undefined
        ? undefined
        : createBatchRing(Math.max(RING_BYTES_MIN, maxQueueBytes / workers));
    const logs = urls.logs === undefined ? undefined : createLogRing();
    if (spans !== undefined) this.#spans.add(workerNumber, spans);
    if (logs !== undefined) this.#logs.add(workerNumber, logs);
    return { spans, logs };
  }

  /** The worker has ended; what it left is exported. */
  closeRings(workerNumber: number): void {
    this.#spans.end(workerNumber);
    this.#logs.end(workerNumber);
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
        isReplacement: this.#hasStarted,
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
    this.#hasStarted = true;
    this.#thread = thread;
    this.#spans.announce();
    this.#logs.announce();
  }

  #told(message: FromExporter): void {
    if (message.type === 'ring_done') {
      return (message.signal === 'traces' ? this.#spans : this.#logs).remove(message.id);
    }
    const before = this.facts.problem;
    this.#current = message;
    this.#threadProblem = '';
    const { problem } = message;
    if (problem !== '' && before === '')
      this.#options.log.warn({ problem }, 'telemetry cannot be exported: it is lost');
    if (problem === '' && before !== '') this.#options.log.info('telemetry is exported again');
  }

  #lost(): void {
    const { items, points } = this.#current;
    const lost = (signal: RingSignal): ItemCounts => {
      const failed = Atomics.exchange(this.#underWay[signal], 0, 0);
      return addedItems(addedItems(this.#ended.items[signal], items[signal]), { ...NO_ITEMS, failed });
    };
    this.#ended = {
      items: { traces: lost('traces'), logs: lost('logs') },
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

function addedItems(first: ItemCounts, second: ItemCounts): ItemCounts {
  return { ...added(first, second), dropped: first.dropped + second.dropped };
}

function oneWord(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}
