/**
 * The main thread's side of the exporting thread (telemetry-worker.ts): it reads the rings that workers fill,
 * receives readings of the metrics, reports on exports, and is restarted if it ends by itself. Meanwhile spans and
 * log records wait in the rings.
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
  Signal,
  SignalState,
  ToExporter,
} from '../../telemetry/export/export-messages.ts';
import { createLogRing } from '../../telemetry/logs/log-tap.ts';
import { createBatchRing, type BatchRing } from '../../telemetry/ring/batch-ring.ts';
import type { WorkerRings } from '../workers/protocol.ts';
import { ExportRings } from './export-rings.ts';

const RESTART_MS = 5_000;
/** Time limit for the remaining items; a dead collector does not delay the stop further. */
const FINISH_MS = 2_000;
/** Time limit for the last reading of metrics. */
const READ_MS = 1_000;
const MEBIBYTES_MAX = 128;
/** Room for several batches. */
const RING_BYTES_MIN = 262_144;
/** In addition to the rings of all workers, which end together when the gateway stops. */
const ENDED_RINGS_MAX = 4;
const MAIN_THREAD = 0;

export interface SignalFacts extends SignalState {
  /** The complete URL. */
  readonly url: string;
  /** undefined when nothing waits in memory for this signal. */
  readonly queuedBytes: number | undefined;
}

/** A signal is undefined when it is not exported. */
export type ExportFacts = Readonly<Record<Signal, SignalFacts | undefined>>;

export interface TraceExportOptions {
  /** The program of the thread. */
  readonly url: URL;
  readonly start: Omit<ExportStart, 'endedRingsMax' | 'isReplacement'>;
  /** Limit of memory for waiting spans, for all workers together. */
  readonly maxQueueBytes: number;
  readonly workers: number;
  readonly metricsIntervalMs: number;
  /** Lines of the main thread; undefined when logs are not exported. */
  readonly mainLogs: BatchRing | undefined;
  /** Must not be a logger whose lines are exported: failed exports would cause further exports. */
  readonly log: Logger;
  readonly restartMs?: number;
}

type States = ExportState['signals'];
const NO_ITEMS: ItemCounts = { exported: 0, dropped: 0, failed: 0 };
const CALM: SignalState = { ...NO_ITEMS, problem: '', lastFailure: undefined };
const NONE: States = { traces: CALM, metrics: CALM, logs: CALM };
const ENDED = 'the export thread has ended and is started again';

export class TraceExport {
  readonly #options: TraceExportOptions;
  readonly #spans = new ExportRings('traces', (message) => this.#post(message));
  readonly #logs = new ExportRings('logs', (message) => this.#post(message));
  #connections: ExportStart['connections'];
  #thread: Worker | undefined;
  #hasStarted = false;
  #restart: NodeJS.Timeout | undefined;
  #reading: NodeJS.Timeout | undefined;
  /** Reads metrics and exports them. */
  #readMetrics: () => Promise<void> = () => Promise.resolve();
  /** Totals of threads that have ended. */
  #ended = NONE;
  #current = NONE;
  #threadProblem = '';
  #problemSinceMs: number | undefined;

  constructor(options: TraceExportOptions) {
    this.#options = options;
    this.#connections = options.start.connections;
    this.#startThread();
    if (options.mainLogs !== undefined) this.#logs.add(MAIN_THREAD, options.mainLogs);
  }

  get facts(): ExportFacts {
    return {
      traces: this.#factsOf('traces', this.#spans),
      metrics: this.#factsOf('metrics', undefined),
      logs: this.#factsOf('logs', this.#logs),
    };
  }

  /**
   * The signals whose last export failed, with the reason of each; '' when there is none. Contains no secrets.
   */
  get problem(): string {
    return this.#threadProblem || failuresText(this.#current);
  }

  /** When the problem began, Unix milliseconds; undefined when there is none. */
  get problemSinceMs(): number | undefined {
    return this.#problemSinceMs;
  }

  /** Opens the rings of a worker that starts. */
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

  /** The worker has ended; what it left is still exported. */
  closeRings(workerNumber: number): void {
    this.#spans.end(workerNumber);
    this.#logs.end(workerNumber);
  }

  /** Later exports use these connections. */
  setConnections(connections: ExportStart['connections']): void {
    this.#connections = connections;
    this.#post({ type: 'connections', connections });
  }

  /** A ring fills up. */
  wake(): void {
    this.#post({ type: 'wake' });
  }

  /** Exports metrics from now on. @param read returns the text of `GET /metrics` */
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

  /** Exports everything that waits, for a bounded time. */
  async stop(): Promise<void> {
    clearTimeout(this.#restart);
    clearInterval(this.#reading);
    // The final counts of all workers.
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
        connections: this.#connections,
        endedRingsMax: workers + ENDED_RINGS_MAX,
        isReplacement: this.#hasStarted,
      } satisfies ExportStart,
      name: 'telemetry',
      // Its start data contains everything it needs; variables for OpenTelemetry SDKs must not affect it.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MEBIBYTES_MAX },
    });
    thread.on('message', (message: FromExporter) => this.#told(message));
    // The exit event follows.
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
    if (message.type === 'warning') {
      const { signal, warning } = message;
      return this.#options.log.warn({ signal, warning }, 'the collector accepts telemetry, but warns');
    }
    const before = this.problem;
    this.#current = message.signals;
    this.#threadProblem = '';
    const { problem } = this;
    this.#noteProblem();
    if (problem !== '' && before === '')
      this.#options.log.warn({ problem }, 'telemetry cannot be exported: it is lost');
    if (problem === '' && before !== '') this.#options.log.info('telemetry is exported again');
  }

  #noteProblem(): void {
    if (this.problem === '') this.#problemSinceMs = undefined;
    else this.#problemSinceMs ??= systemClock.nowMs();
  }

  #factsOf(signal: Signal, rings: ExportRings | undefined): SignalFacts | undefined {
    const url = this.#options.start.urls[signal];
    if (url === undefined) return undefined;
    const ended = this.#ended[signal];
    const current = this.#current[signal];
    const counts = added(ended, current);
    return {
      ...counts,
      dropped: counts.dropped + (rings?.dropped ?? 0),
      url,
      queuedBytes: rings?.queuedBytes,
      problem: this.#threadProblem || current.problem,
      lastFailure: current.lastFailure ?? ended.lastFailure,
    };
  }

  #lost(): void {
    const lastFailure = { atMs: systemClock.nowMs(), detail: ENDED };
    const lost = (signal: Signal): SignalState => {
      const counts = added(this.#ended[signal], this.#current[signal]);
      return { ...counts, problem: '', lastFailure };
    };
    this.#ended = { traces: lost('traces'), metrics: lost('metrics'), logs: lost('logs') };
    this.#current = NONE;
    this.#threadProblem = ENDED;
    this.#noteProblem();
    this.#thread = undefined;
    this.#restart = setTimeout(() => this.#startThread(), this.#options.restartMs ?? RESTART_MS).unref();
  }
}

function added(first: ItemCounts, second: ItemCounts): ItemCounts {
  return {
    exported: first.exported + second.exported,
    dropped: first.dropped + second.dropped,
    failed: first.failed + second.failed,
  };
}

/** Signals that fail for the same reason, as with one collector, share one text. */
export function failuresText(signals: Readonly<Record<Signal, { readonly problem: string }>>): string {
  const byReason = new Map<string, Signal[]>();
  for (const signal of ['traces', 'metrics', 'logs'] as const) {
    const { problem } = signals[signal];
    if (problem !== '') byReason.set(problem, [...(byReason.get(problem) ?? []), signal]);
  }
  return [...byReason].map(([reason, of]) => `${of.join(', ')}: ${reason}`).join('; ');
}
