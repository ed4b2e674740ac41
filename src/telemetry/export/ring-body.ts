/**
 * The body of an export from rings. The batches are sent from the memory of the rings, where they stay until the
 * export has ended: they are copied nowhere, a failed attempt can be repeated, and another thread can send what this
 * one leaves when it dies.
 */
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import type { BatchReader, Seen } from '../ring/batch-ring.ts';
import type { ExportBody } from './export-body.ts';
import { beginRequest, endRequest, type Origin } from './export-request.ts';

/** The part of the body that comes from one ring. */
interface Share extends Seen {
  readonly reader: BatchReader;
}

export class RingBody implements ExportBody {
  readonly #origin: Origin;
  readonly #frame = new ProtobufWriter();
  #shares: Share[] = [];
  #pieces: Uint8Array[] = [];
  length = 0;
  items = 0;
  /** Of the batches. */
  bytes = 0;

  constructor(origin: Origin) {
    this.#origin = origin;
  }

  /**
   * Begins a new body with the oldest batches of each ring, in equal shares, so that a worker with much traffic
   * does not delay the others.
   * @param bytesMax limit for all rings together, plus one batch
   */
  begin(readers: Iterable<BatchReader>, bytesMax: number): void {
    const full = [...readers].filter((reader) => !reader.isEmpty);
    const fairBytes = bytesMax / Math.max(1, full.length);
    let left = bytesMax;
    const shares: Share[] = [];
    for (const reader of full) {
      if (left <= 0) break;
      const seen = reader.look(Math.min(fairBytes, reader.shareBytes, left));
      left -= seen.bytes;
      shares.push({ reader, ...seen });
    }
    // Uses what other rings leave of their shares.
    for (const [index, { reader, bytes }] of shares.entries()) {
      if (left <= 0) break;
      const seen = reader.look(Math.min(reader.shareBytes, bytes + left));
      left -= seen.bytes - bytes;
      shares[index] = { reader, ...seen };
    }
    this.bytes = sum(shares, 'bytes');
    this.items = sum(shares, 'items');
    this.#shares = shares;
    this.#compose(this.bytes);
  }

  parts(start: number, end: number): Uint8Array[] {
    const parts: Uint8Array[] = [];
    let offset = 0;
    for (const piece of this.#pieces) {
      const [from, to] = [Math.max(0, start - offset), Math.min(piece.length, end - offset)];
      if (from < to) parts.push(piece.subarray(from, to));
      offset += piece.length;
    }
    return parts;
  }

  /** The batches leave their rings. @param only the ring to release; by default, all of them */
  release(only?: BatchReader): void {
    for (const { reader, end } of this.#shares)
      if (only === undefined || reader === only) reader.release(end);
    this.#shares = only === undefined ? [] : this.#shares.filter(({ reader }) => reader !== only);
  }

  #compose(bytes: number): void {
    const frame = this.#frame;
    frame.clear();
    this.length = beginRequest(frame, this.#origin, bytes);
    const headBytes = frame.length;
    endRequest(frame, this.#origin);
    const batches: Uint8Array[] = [];
    for (const share of this.#shares)
      share.reader.look(share.bytes, (memory, start, length) =>
        batches.push(memory.subarray(start, start + length)),
      );
    this.#pieces = [frame.part(0, headBytes), ...batches, frame.part(headBytes, frame.length)];
  }
}

function sum<K extends 'bytes' | 'items'>(all: readonly Readonly<Record<K, number>>[], key: K): number {
  return all.reduce((total, each) => total + each[key], 0);
}
