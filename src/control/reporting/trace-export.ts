/**
 * The thread that exports traces (telemetry-worker.ts), as the main thread sees it: gets what workers have kept, tells
 * how exports go, and starts again if it ends by itself. What comes meanwhile is dropped and counted.
 */
import { Worker } from 'node:worker_threads';
import { withTimeout } from '../../lib/with-timeout.ts';
import type { Logger } from '../../observe/log.ts';
import type { ExportStart, ExportState, ToExporter } from '../../telemetry/export/export-messages.ts';
import type { SpanBatch } from '../../telemetry/spans/trace-tap.ts';

const RESTART_MS = 5_000;
/** For what is left at the end; a dead collector holds the stop up for no longer. */
const FINISH_MS = 2_000;
const MEBIBYTES_MAX = 128;

export type TraceExportFacts = Omit<ExportState, 'type'>;

export interface TraceExportOptions {
  /** Of the thread's program. */
  readonly url: URL;
  readonly start: ExportStart;
  readonly log: Logger;
  readonly restartMs?: number;
}

const NONE: TraceExportFacts = { exported: 0, dropped: 0, failed: 0, queuedBytes: 0, problem: '' };

export class TraceExport {
  readonly #options: TraceExportOptions;
  #thread: Worker | undefined;
  #restart: NodeJS.Timeout | undefined;
  /** Of threads that have ended, and of what came without one. */
  #ended = { exported: 0, dropped: 0, failed: 0 };
  #current: TraceExportFacts = NONE;
  #threadProblem = '';

  constructor(options: TraceExportOptions) {
    this.#options = options;
    this.#startThread();
  }

  get facts(): TraceExportFacts {
    const { exported, dropped, failed } = this.#ended;
    const current = this.#current;
    return {
      exported: exported + current.exported,
      dropped: dropped + current.dropped,
      failed: failed + current.failed,
      queuedBytes: current.queuedBytes,
      problem: this.#threadProblem || current.problem,
    };
  }

  /** @param batch of a worker; its bytes go to the thread */
  report({ bytes, spans }: SpanBatch): void {
    if (this.#thread === undefined) this.#ended.dropped += spans;
    else this.#thread.postMessage({ type: 'spans', bytes, spans } satisfies ToExporter, [bytes.buffer]);
  }

  /** Exports what is there, for a bounded time. */
  async stop(): Promise<void> {
    clearTimeout(this.#restart);
    const thread = this.#thread;
    this.#thread = undefined;
    if (thread === undefined) return;
    thread.removeAllListeners('exit');
    const ended = new Promise<void>((resolve) => void thread.once('exit', () => resolve()));
    thread.postMessage({ type: 'finish' } satisfies ToExporter);
    await withTimeout(FINISH_MS, ended);
    await thread.terminate();
  }

  #startThread(): void {
    const { url, start } = this.#options;
    const thread = new Worker(url, {
      workerData: start,
      name: 'telemetry',
      // What it needs is in its start data: the exporter's own variables must not change that.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MEBIBYTES_MAX },
    });
    thread.on('message', (state: ExportState) => this.#told(state));
    // An exit follows.
    thread.on('error', (error) => this.#options.log.error({ err: error }, 'the export of traces has failed'));
    thread.once('exit', () => this.#lost());
    thread.unref();
    this.#thread = thread;
  }

  #told(state: ExportState): void {
    const before = this.facts.problem;
    this.#current = state;
    this.#threadProblem = '';
    const { problem } = state;
    if (problem !== '' && before === '')
      this.#options.log.warn({ problem }, 'traces cannot be exported: their spans are lost');
    if (problem === '' && before !== '') this.#options.log.info('traces are exported again');
  }

  #lost(): void {
    const { exported, dropped, failed } = this.#current;
    this.#ended = {
      exported: this.#ended.exported + exported,
      dropped: this.#ended.dropped + dropped,
      failed: this.#ended.failed + failed,
    };
    this.#current = NONE;
    this.#threadProblem = 'the thread that exports has ended; it starts again';
    this.#thread = undefined;
    this.#restart = setTimeout(() => this.#startThread(), this.#options.restartMs ?? RESTART_MS).unref();
  }
}
