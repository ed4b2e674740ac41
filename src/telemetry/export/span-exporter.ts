/**
 * Exports spans in the order in which they came, one request at a time, each of what has come meanwhile. Spans of an
 * export that failed are lost and counted; the queue is bounded, so a collector that is slow, dead or refuses costs no
 * more memory than it may.
 */
import type { SpanBatch } from '../spans/trace-tap.ts';
import type { Collector } from './collector.ts';
import type { ExportState } from './export-messages.ts';
import { SpanQueue } from './span-queue.ts';
import { traceRequest, type Origin } from './trace-request.ts';

/** A request is at most this and a batch; a collector takes 4 MiB at least. */
const REQUEST_BYTES_MAX = 1_048_576;
/** From one export to the next, so that small batches go together. */
const INTERVAL_MS = 1_000;

export interface SpanExporterOptions {
  readonly collector: Pick<Collector, 'export'>;
  readonly origin: Origin;
  readonly maxQueueBytes: number;
  readonly intervalMs?: number;
}

export class SpanExporter {
  readonly #options: SpanExporterOptions;
  readonly #queue: SpanQueue;
  #heldBytes = 0;
  #exported = 0;
  #failed = 0;
  #problem = '';
  #isFinishing = false;
  /** Ends the pause between exports. */
  #wake: () => void = () => undefined;
  #running: Promise<void> | undefined;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
    this.#queue = new SpanQueue(options.maxQueueBytes);
  }

  get state(): ExportState {
    return {
      type: 'state',
      exported: this.#exported,
      dropped: this.#queue.droppedSpans,
      failed: this.#failed,
      queuedBytes: this.#queue.bytes + this.#heldBytes,
      problem: this.#problem,
    };
  }

  add(batch: SpanBatch): void {
    this.#queue.add(batch, this.#heldBytes);
    this.#running ??= this.#run();
    if (this.#queue.bytes >= REQUEST_BYTES_MAX) this.#wake();
  }

  /** Exports what is there without pauses. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    await this.#pause();
    while (!this.#queue.isEmpty) {
      await this.#exportSome();
      if (!this.#queue.isEmpty && this.#queue.bytes < REQUEST_BYTES_MAX) await this.#pause();
    }
    this.#running = undefined;
  }

  async #exportSome(): Promise<void> {
    const { collector, origin } = this.#options;
    const batches = this.#queue.take(REQUEST_BYTES_MAX);
    const spans = batches.reduce((sum, batch) => sum + batch.spans, 0);
    this.#heldBytes = batches.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const { failed, problem } = await collector.export(traceRequest(batches, origin), spans);
    this.#heldBytes = 0;
    this.#failed += failed;
    this.#exported += spans - failed;
    this.#problem = problem;
  }

  async #pause(): Promise<void> {
    if (this.#isFinishing) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, this.#options.intervalMs ?? INTERVAL_MS);
    await promise;
    clearTimeout(timer);
  }
}
