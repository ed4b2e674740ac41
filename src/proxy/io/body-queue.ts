/** What of a body waits for a peer of HTTP/2: for its windows, or until it reads. Owns the memory of the pieces. */
import { TEXT_BODY_BYTES_MAX } from '../options.ts';
import type { BodyMemory } from '../upstream/upstream.ts';
import { retainedCopy } from './write-backlog.ts';

interface Piece {
  readonly bytes: Buffer;
  from: number;
  readonly to: number;
  readonly release: () => void;
}

/** Sends `bytes[from, to)` and calls `release` when they are written or dropped, never from within. */
export type SendPiece = (bytes: Buffer, from: number, to: number, release: () => void) => void;

const RELEASE_LATER = (): void => undefined;

export class BodyQueue {
  #pieces: Piece[] = [];

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** @param memory that `bytes` are in */
  push(bytes: Buffer, from: number, to: number, memory: BodyMemory): void {
    const release = to - from <= TEXT_BODY_BYTES_MAX ? undefined : memory.retain(bytes);
    if (release !== undefined) this.#pieces.push({ bytes, from, to, release });
    else {
      const { copy, release: releaseCopy } = retainedCopy(bytes, from, to);
      this.#pieces.push({ bytes: copy, from: 0, to: copy.length, release: releaseCopy });
    }
  }

  /** Bytes that do not change. @param release called once when they are written or dropped */
  pushOwned(bytes: Buffer, release: () => void): void {
    this.#pieces.push({ bytes, from: 0, to: bytes.length, release });
  }

  /** Sends up to `bytesMax` of the first piece. Writes end in their order, so that the last one releases it. */
  send(bytesMax: number, sendPiece: SendPiece): void {
    const piece = this.#pieces[0];
    if (piece === undefined) return;
    const { bytes, from } = piece;
    const to = Math.min(piece.to, from + bytesMax);
    piece.from = to;
    const isLast = to === piece.to;
    if (isLast) this.#pieces.shift();
    sendPiece(bytes, from, to, isLast ? piece.release : RELEASE_LATER);
  }

  clear(): void {
    const pieces = this.#pieces;
    this.#pieces = [];
    for (const { release } of pieces) release();
  }
}
