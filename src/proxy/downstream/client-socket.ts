/**
 * What a downstream connection needs of the socket under it, and that for any stream of Node's (TLS, or one stream
 * of HTTP/2). Plain TCP has an implementation of its own, tcp-client-socket.ts. Knows nothing of HTTP.
 *
 * An implementation may call the events in any order; after `onClose` it must call none.
 */
import type { Duplex } from 'node:stream';
import { retainedCopy } from '../io/write-backlog.ts';

/** The side that uses the socket. None of these throws. */
export interface ClientSocketEvents {
  /** Whether it is in the middle of a body or a tunnel, so that more is to come. */
  readonly expectsMore: boolean;
  /** The bytes are valid during the call only; see `retain`. */
  onData(bytes: Buffer): void;
  /** After a write that returned false: everything written is out. */
  onDrain(): void;
  /** The client has sent FIN; writing goes on. */
  onEnd(): void;
  /** After `end`: everything is written, the FIN included. */
  onFlushed(): void;
  onError(): void;
  /** Nothing follows. Not called from within a method of the socket. */
  onClose(): void;
}

export interface ClientSocket {
  /** Once, and before anything else; bytes may come from then on. */
  attach(events: ClientSocketEvents): void;

  /** Text is latin1. False when the client reads too slowly; `onDrain` follows. */
  writeText(text: string): boolean;
  /**
   * @param release called once when the bytes are written or given up, and never from within this call; the range
   *   must stay as it is until then
   */
  writeBytes(bytes: Buffer, release?: () => void): boolean;
  /** Writes `bytes[from, to)`, which the caller may use again afterwards. Without this method a copy is written. */
  writeCopy?(bytes: Buffer, from: number, to: number): boolean;
  /** Until `uncork`, writes are collected so that they leave as one. */
  cork(): void;
  uncork(): void;
  /** A write has returned false and `onDrain` has not come yet. */
  readonly needsDrain: boolean;
  /** Whether everything written so far has been handed to the system. */
  readonly isFlushed: boolean;

  /** No `onData` until `resume`, not even for what has been read already. */
  pause(): void;
  resume(): void;
  /**
   * Within `onData`: keeps these bytes, all or a part of what came, as they are until the returned function is called.
   * Undefined when they cannot be kept; then the caller must copy what it needs longer.
   */
  retain(bytes: Buffer): (() => void) | undefined;

  /** Sends what is written, then FIN. */
  end(): void;
  /** `end`, and closes when that is done, without waiting for the client. */
  destroySoon(): void;
  /** Closes at once; what is not written yet is lost. */
  destroy(): void;
  /** Closes so that the client cannot take it for an orderly end. */
  reset(): void;
  readonly destroyed: boolean;
}

/** Writes `bytes[from, to)` themselves if there is a `release`, or else a copy. */
export function writeFrom(
  socket: ClientSocket,
  bytes: Buffer,
  from: number,
  to: number,
  release: (() => void) | undefined,
): boolean {
  if (release !== undefined) return socket.writeBytes(bytes.subarray(from, to), release);
  if (socket.writeCopy !== undefined) return socket.writeCopy(bytes, from, to);
  const held = retainedCopy(bytes, from, to);
  return socket.writeBytes(held.copy, held.release);
}

const RELEASE_NOTHING = (): void => undefined;

/** A stream as a client's socket. `reset` uses the stream's `resetAndDestroy` where it has one. */
export function streamClientSocket(stream: Duplex): ClientSocket {
  return {
    attach: (events) => {
      stream.on('data', (chunk: Buffer) => events.onData(chunk));
      stream.on('drain', () => events.onDrain());
      stream.on('end', () => events.onEnd());
      stream.on('finish', () => events.onFlushed());
      stream.on('error', () => events.onError());
      stream.on('close', () => events.onClose());
    },
    writeText: (text) => stream.write(text, 'latin1'),
    writeBytes: (bytes, release) => stream.write(bytes, release),
    cork: () => stream.cork(),
    uncork: () => stream.uncork(),
    get needsDrain() {
      return stream.writableNeedDrain;
    },
    get isFlushed() {
      return stream.writableLength === 0;
    },
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    // Every chunk of a stream has memory of its own.
    retain: () => RELEASE_NOTHING,
    end: () => void stream.end(),
    destroySoon: () => destroySoon(stream),
    destroy: () => void stream.destroy(),
    reset: () => {
      if ('resetAndDestroy' in stream) (stream as Duplex & { resetAndDestroy(): void }).resetAndDestroy();
      else stream.destroy();
    },
    get destroyed() {
      return stream.destroyed;
    },
  };
}

function destroySoon(stream: Duplex): void {
  if (!stream.writableEnded) stream.end();
  if (stream.writableFinished) stream.destroy();
  else stream.once('finish', () => stream.destroy());
}
