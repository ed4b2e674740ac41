/**
 * The body of an export from rings. Its content and its length are fixed at the start, but the bytes leave the rings
 * only while they are sent, so that no step of the exporting thread is long. They are kept until the next body,
 * because a failed attempt is repeated. Owns the buffer, which is reused.
 */
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import type { BatchReader, Taken } from '../ring/batch-ring.ts';
import type { ExportBody } from './export-body.ts';
import { beginRequest, endRequest, type Origin } from './export-request.ts';

/** Room for what surrounds the batches; more room would only cost a copy. */
const FRAME_BYTES = 8_192;

interface Share {
  readonly reader: BatchReader;
  /** Bytes that have not been taken yet. */
  bytes: number;
}

export interface RingBodyOptions {
  readonly origin: Origin;
  /** The number of items that have left the rings since the body began. */
  readonly onTaken: (items: number) => void;
}

export class RingBody implements ExportBody {
  readonly #origin: Origin;
  readonly #onTaken: (items: number) => void;
  readonly #writer = new ProtobufWriter();
  #shares: Share[] = [];
  #taken = 0;
  length = 0;
  items = 0;

  constructor({ origin, onTaken }: RingBodyOptions) {
    this.#origin = origin;
    this.#onTaken = onTaken;
  }

  /**
   * Begins a new body with the oldest batches of each ring, in equal shares, so that a worker with much traffic
   * does not delay the others.
   * @param bytesMax limit for all rings together, plus one batch
   * @returns what the body contains
   */
  begin(readers: Iterable<BatchReader>, bytesMax: number): Taken {
    const full = [...readers].filter((reader) => !reader.isEmpty);
    const share = bytesMax / Math.max(1, full.length);
    let left = bytesMax;
    const planned: ({ readonly reader: BatchReader } & Taken)[] = [];
    for (const reader of full) {
      if (left <= 0) break;
      const measured = reader.measure(Math.min(share, left));
      left -= measured.bytes;
      planned.push({ reader, ...measured });
    }
    // Uses what other rings leave of their shares.
    for (const [index, { reader, bytes }] of planned.entries()) {
      if (left <= 0) break;
      const measured = reader.measure(bytes + left);
      left -= measured.bytes - bytes;
      planned[index] = { reader, ...measured };
    }
    const bytes = sum(planned, 'bytes');
    this.#shares = planned.map((each) => ({ reader: each.reader, bytes: each.bytes }));
    this.#taken = 0;
    this.#writer.clear(bytes + FRAME_BYTES);
    this.length = beginRequest(this.#writer, this.#origin, bytes);
    this.items = sum(planned, 'items');
    if (bytes === 0) endRequest(this.#writer, this.#origin);
    return { bytes, items: this.items };
  }

  part(start: number, end: number): Uint8Array {
    this.#fill(end);
    return this.#writer.part(start, end);
  }

  /** Takes the rest of the body out of the rings. */
  takeRest(): void {
    this.#fill(this.length);
  }

  #fill(end: number): void {
    const writer = this.#writer;
    if (writer.length >= end || this.#shares.length === 0) return;
    while (writer.length < end) {
      const [share] = this.#shares;
      if (share === undefined) break;
      const { reader } = share;
      const taken = reader.take(Math.min(share.bytes, end - writer.length), (memory, start, length) =>
        writer.rawPart(memory, start, length),
      );
      this.#taken += taken.items;
      share.bytes -= taken.bytes;
      if (share.bytes <= 0 || taken.bytes === 0) this.#shares.shift();
    }
    if (this.#shares.length === 0) endRequest(writer, this.#origin);
    this.#onTaken(this.#taken);
  }
}

function sum<K extends 'bytes' | 'items'>(all: readonly Readonly<Record<K, number>>[], key: K): number {
  return all.reduce((total, each) => total + each[key], 0);
}
