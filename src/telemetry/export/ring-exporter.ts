/**
 * Exports what threads have put into their rings, spans or log records, one request at a time, each of what has come
 * meanwhile. Items of an export that failed are lost and counted; the rings are bounded, so a collector that is slow,
 * dead or refuses costs no more memory than they have.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../lib/clock.ts';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import { BatchReader, type BatchRing, type Taken } from '../ring/batch-ring.ts';
import type { Collector } from './collector.ts';
import type { ItemCounts } from './export-messages.ts';
import { writeRequest, type Origin } from './export-request.ts';
import { pauseFor } from './export-pace.ts';

/** A request is at most this and a batch; a collector takes 4 MiB at least. */
const REQUEST_BYTES_MAX = 1_572_864;
/** From one export to the next, so that small batches go together. */
const INTERVAL_MS = 1_000;
/**
 * Between reading so much and sending it, the thread sleeps for a moment, so that a worker that wants the same processor
 * waits for one of the two, not for both.
 */
const LONG_READ_BYTES = 262_144;
const BREAK_MS = 1;
/** After a failure, an export without items asks the collector so often, so that the failure is not told for ever. */
const PROBE_MS = 30_000;

export interface RingExporterOptions {
  readonly collector: Pick<Collector, 'export'>;
  readonly origin: Origin;
  /** One word: items of the export under way, for the case that this thread ends. */
  readonly underWay: Int32Array;
  /** Of workers that have ended and left something: of more, the oldest are given up. */
  readonly endedRingsMax: number;
  /** A ring is empty, and nothing will come. */
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
  #writer = new ProtobufWriter();
  #dropped = 0;
  #exported = 0;
  #failed = 0;
  #problem = '';
  #probeAtMs = Infinity;
  #isFinishing = false;
  /** Ends the pause between exports. */
  #wake: () => void = () => undefined;
  readonly #running: Promise<void>;

  constructor(options: RingExporterOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Totals, and the latest failure since an export succeeded. */
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

  /** Nothing more comes into a ring. */
  endRing(id: number): void {
    const source = this.#sources.get(id);
    if (source !== undefined) source.isEnded = true;
    const ended = [...this.#sources].filter(([, each]) => each.isEnded);
    for (const [oldest, { reader }] of ended.slice(
      0,
      Math.max(0, ended.length - this.#options.endedRingsMax),
    )) {
      this.#dropped += reader.take(Infinity, () => undefined).items;
      this.#remove(oldest);
    }
  }

  /** A ring fills: exports without a pause. */
  wake(): void {
    this.#wake();
  }

  /** Exports what is there without pauses. */
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
      await this.#pause(pauseMs);
      const nowMs = systemClock.monotonicMs();
      const bytes = await this.#exportFilling();
      const exportMs = systemClock.monotonicMs() - nowMs;
      pauseMs = pauseFor({ bytes, sinceMs: nowMs - lastMs, exportMs, intervalMs });
      lastMs = nowMs;
    }
    while ([...this.#sources.values()].some(({ reader }) => !reader.isEmpty)) await this.#exportSome();
  }

  /** What has come, and while that is sent all that should not wait. @returns bytes of it */
  async #exportFilling(): Promise<number> {
    let bytes = 0;
    do bytes += await this.#exportSome();
    while ([...this.#sources.values()].some(({ reader }) => reader.isFilling));
    return bytes;
  }

  /** One request. @returns bytes that were taken */
  async #exportSome(): Promise<number> {
    const { collector, origin, underWay } = this.#options;
    const writer = this.#writer;
    writer.clear();
    const { items, bytes } = writeRequest(writer, origin, () => this.#take(writer));
    if (items === 0 && systemClock.monotonicMs() < this.#probeAtMs) return 0;
    Atomics.store(underWay, 0, items);
    if (bytes >= LONG_READ_BYTES && !this.#isFinishing) await sleep(BREAK_MS);
    const { failed, problem } = await collector.export(writer.bytes, items);
    Atomics.store(underWay, 0, 0);
    this.#failed += failed;
    this.#exported += items - failed;
    this.#problem = problem;
    this.#probeAtMs =
      problem === '' ? Infinity : systemClock.monotonicMs() + (this.#options.probeMs ?? PROBE_MS);
    // Of a request that was given up, the system may still read the bytes.
    if (problem !== '') this.#writer = new ProtobufWriter();
    return bytes;
  }

  /** From all rings an equal share, so that a worker with much traffic does not hold up the others. */
  #take(writer: ProtobufWriter): Taken {
    let [items, bytes] = [0, 0];
    const full = [...this.#sources.values()].filter(({ reader }) => !reader.isEmpty);
    const share = REQUEST_BYTES_MAX / Math.max(1, full.length);
    // What others leave of their shares, the second time.
    for (const { reader } of [...full, ...full]) {
      const room = Math.min(share, REQUEST_BYTES_MAX - bytes);
      if (room <= 0) break;
      const taken = reader.take(room, (memory, start, length) => writer.rawPart(memory, start, length));
      items += taken.items;
      bytes += taken.bytes;
    }
    for (const [id, { reader, isEnded }] of this.#sources) if (isEnded && reader.isEmpty) this.#remove(id);
    return { items, bytes };
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
