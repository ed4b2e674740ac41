/**
 * The part of a body that waits for an HTTP/2 peer: for its windows, or until it reads. Owns the memory of the
 * pieces. Small pieces are joined, because the other side may send each byte separately, and a piece takes far more
 * memory than that.
 */
import { joined } from '../../http/joined-bytes.ts';
import { TEXT_BODY_BYTES_MAX } from '../options.ts';
import type { BodyMemory } from '../upstream/upstream.ts';
import { addToBacklog, removeFromBacklog } from './write-backlog.ts';

interface Piece {
  bytes: Buffer;
  from: number;
  to: number;
  /** undefined: the bytes are a copy, to which more may be added. */
  readonly release: (() => void) | undefined;
}

/** Sends `bytes[from, to)` and calls `release` when they are written or dropped, never from within. */
export type SendPiece = (bytes: Buffer, from: number, to: number, release: () => void) => void;

/** No bytes are added to a piece of this size. */
const JOINED_BYTES_MAX = TEXT_BODY_BYTES_MAX;
const RELEASE_LATER = (): void => undefined;

export class BodyQueue {
  #pieces: Piece[] = [];

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** @param memory the memory that contains `bytes` */
  push(bytes: Buffer, from: number, to: number, memory: BodyMemory): void {
    const release = to - from <= TEXT_BODY_BYTES_MAX ? undefined : memory.retain(bytes);
    if (release === undefined) this.pushCopy(bytes, from, to);
    else this.#pieces.push({ bytes, from, to, release });
  }

  /** Queues a copy, which counts in the write backlog. */
  pushCopy(bytes: Buffer, from = 0, to = bytes.length): void {
    const length = to - from;
    addToBacklog(length);
    const added = bytes.subarray(from, to);
    const last = this.#pieces.at(-1);
    const isJoined =
      last?.release === undefined && (last?.to ?? JOINED_BYTES_MAX) + length <= JOINED_BYTES_MAX;
    if (last === undefined || !isJoined) {
      this.#pieces.push({ bytes: Buffer.from(added), from: 0, to: length, release: undefined });
      return;
    }
    // Added after bytes that may be on their way already.
    last.bytes = joined(last.bytes, added);
    last.to += length;
  }

  /** Queues bytes that do not change. @param release called once when they are written or dropped */
  pushOwned(bytes: Buffer, release: () => void): void {
    this.#pieces.push({ bytes, from: 0, to: bytes.length, release });
  }

  /** Sends up to `bytesMax` of the first piece. Writes complete in order, so the last one releases it. */
  send(bytesMax: number, sendPiece: SendPiece): void {
    const piece = this.#pieces[0];
    if (piece === undefined) return;
    const { bytes, from } = piece;
    const to = Math.min(piece.to, from + bytesMax);
    piece.from = to;
    const isLast = to === piece.to;
    if (isLast) this.#pieces.shift();
    sendPiece(bytes, from, to, isLast ? releaseOf(piece) : RELEASE_LATER);
  }

  clear(): void {
    const pieces = this.#pieces;
    this.#pieces = [];
    for (const piece of pieces) releaseOf(piece)();
  }
}

function releaseOf({ release, to }: Piece): () => void {
  return release ?? (() => removeFromBacklog(to));
}
