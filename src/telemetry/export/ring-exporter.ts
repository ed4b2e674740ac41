/**
 * Exports what threads have put into their rings, spans or log records: one request at a time, with all items that
 * have arrived since the last one. Items of a failed export are lost and counted; where the collector asks to come back
 * later, they are tried once more then, if their rings have room for what arrives meanwhile. The rings are bounded, so
 * a slow, dead or refusing collector uses no more memory than they have.
 */
import { ASKED_WAIT_MS_MAX } from './export-answers.ts';
import { systemClock } from '../../lib/clock.ts';
import { BatchReader, type BatchRing } from '../ring/batch-ring.ts';
import type { Collector } from './collector.ts';
import { AT_ONCE, CALM, HURRIED, type SendPace } from './export-body.ts';
import type { ItemCounts } from './export-messages.ts';
import { pauseFor } from './export-pace.ts';
import type { Origin } from './export-request.ts';
import { RingBody } from './ring-body.ts';

/**
 * Limit of a request, to which one batch may be added: below the 2 MiB that its lengths can express; collectors
 * accept at least 4 MiB.
 */
const REQUEST_BYTES_MAX = 1_966_080;
/** Interval of exports, so that small batches are combined. */
const INTERVAL_MS = 1_000;
/**
 * After a failure, the exporter probes the collector at this interval, so that the failure is cleared when it recovers.
 */
const PROBE_MS = 30_000;

export interface RingExporterOptions {
  readonly collector: Pick<Collector, 'export'>;
  readonly origin: Origin;
  /** Limit of the rings of ended workers that are kept while they hold items; beyond it, the oldest are given up. */
  readonly endedRingsMax: number;
  /** Called when a ring is empty and receives nothing more. */
  readonly onRingDone: (id: number) => void;
  readonly intervalMs?: number;
  readonly probeMs?: number;
}

interface Source {
  readonly reader: BatchReader;
  isEnded: boolean;
}

export class RingExporter {
  readonly #options: RingExporterOptions;
  readonly #sources = new Map<number, Source>();
  readonly #body: RingBody;
  #dropped = 0;
  #exported = 0;
  #failed = 0;
  #problem = '';
  #probeAtMs = Infinity;
  /** How long the collector asked to send nothing, in its latest answer. */
  #waitMs = 0;
  /** The items of the last export stay in their rings for one more try. */
  #isKept = false;
  #isFinishing = false;
  /** Ends the pause between exports. */
  #wake: () => void = () => undefined;
  readonly #running: Promise<void>;

  constructor(options: RingExporterOptions) {
    this.#options = options;
    this.#body = new RingBody(options.origin);
    this.#running = this.#run();
  }

  /** Totals, and the latest failure since the last successful export. */
  get state(): ItemCounts & { readonly problem: string } {
    return {
      exported: this.#exported,
      dropped: this.#dropped,
      failed: this.#failed,
      problem: this.#problem,
    };
  }

  addRing(id: number, ring: BatchRing): void {
    this.#sources.set(id, { reader: new BatchReader(ring), isEnded: false });
  }

  /** Marks a ring that receives nothing more. */
  endRing(id: number): void {
    const source = this.#sources.get(id);
    if (source !== undefined) source.isEnded = true;
    const ended = [...this.#sources].filter(([, each]) => each.isEnded);
    for (const [oldest, { reader }] of ended.slice(
      0,
      Math.max(0, ended.length - this.#options.endedRingsMax),
    )) {
      // What is being sent is counted when that has ended.
      this.#body.release(reader);
      this.#dropped += reader.take(Infinity).items;
      this.#remove(oldest);
    }
  }

  /** A ring fills up: exports without a pause. */
  wake(): void {
    this.#wake();
  }

  /** Exports everything without pauses. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    const intervalMs = this.#options.intervalMs ?? INTERVAL_MS;
    let pauseMs = intervalMs;
    let lastMs = systemClock.monotonicMs();
    while (!this.#isFinishing) {
      await this.#pause(Math.max(pauseMs, this.#waitMs));
      const nowMs = systemClock.monotonicMs();
      const bytes = await this.#exportFilling();
      const exportMs = systemClock.monotonicMs() - nowMs;
      pauseMs = pauseFor({ bytes, sinceMs: nowMs - lastMs, exportMs, intervalMs });
      lastMs = nowMs;
    }
    while ([...this.#sources.values()].some(({ reader }) => !reader.isEmpty)) await this.#exportSome();
  }

  /**
   * Exports everything that has arrived. Goes on while a ring fills up meanwhile.
   * @returns the number of bytes
   */
  async #exportFilling(): Promise<number> {
    let bytes = 0;
    do bytes += await this.#exportSome();
    while ([...this.#sources.values()].some(({ reader }) => reader.isFilling));
    return bytes;
  }

  /** Makes one request. @returns the number of bytes in it */
  async #exportSome(): Promise<number> {
    const body = this.#body;
    this.#removeEmpty();
    const isLastTry = this.#isKept;
    if (!isLastTry) body.begin(this.#readers(), REQUEST_BYTES_MAX);
    const { items, bytes } = body;
    if (items === 0 && systemClock.monotonicMs() < this.#probeAtMs) return 0;
    const outcome = await this.#options.collector.export(body, () => this.#pace());
    const { failed, problem, waitMs = 0 } = outcome;
    this.#waitMs = Math.min(ASKED_WAIT_MS_MAX, waitMs);
    this.#problem = problem;
    this.#isKept = waitMs > 0 && failed === items && !isLastTry && this.#hasRoom();
    if (!this.#isKept) {
      body.release();
      this.#failed += failed;
      this.#exported += items - failed;
    }
    this.#probeAtMs =
      problem === '' ? Infinity : systemClock.monotonicMs() + (this.#options.probeMs ?? PROBE_MS);
    this.#removeEmpty();
    return bytes;
  }

  #readers(): BatchReader[] {
    return [...this.#sources.values()].map(({ reader }) => reader);
  }

  /** Whether what was sent may stay in the rings for a while. */
  #hasRoom(): boolean {
    return !this.#isFinishing && !this.#readers().some(({ isFilling }) => isFilling);
  }

  /** Small steps, as long as there is room for what arrives meanwhile. */
  #pace(): SendPace {
    const readers = this.#readers();
    if (this.#isFinishing || readers.some(({ isNearlyFull }) => isNearlyFull)) return AT_ONCE;
    return readers.some(({ isFilling }) => isFilling) ? HURRIED : CALM;
  }

  #removeEmpty(): void {
    for (const [id, { reader, isEnded }] of this.#sources) if (isEnded && reader.isEmpty) this.#remove(id);
  }

  #remove(id: number): void {
    this.#sources.delete(id);
    this.#options.onRingDone(id);
  }

  async #pause(ms: number): Promise<void> {
    if (this.#isFinishing) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
  }
}
