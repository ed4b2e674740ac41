/**
 * What a downstream connection needs of its socket, implemented for any Node stream (TLS, or one HTTP/2 stream). Plain
 * TCP has its own implementation, tcp-client-socket.ts. It does not read HTTP.
 *
 * An implementation may call the events in any order, but none after `onClose`.
 */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { retainedCopy } from '../io/write-backlog.ts';

/** The user of the socket. No method throws. */
export interface ClientSocketEvents {
  /** Whether a body or a tunnel is under way, so that more bytes will follow. */
  readonly expectsMore: boolean;
  /** The bytes are valid only during the call; see `retain`. */
  onData(bytes: Buffer): void;
  /** After a write that returned false: everything is written. */
  onDrain(): void;
  /** Only for an HTTP/2 stream: content without a length has ended. @param trailers lines, each with its CRLF */
  onContentEnd?(trailers: string): void;
  /** The client has sent FIN; writing continues. */
  onEnd(): void;
  /** After `end`: everything is written, including the FIN. */
  onFlushed(): void;
  onError(): void;
  /** The last event. Not called from within a method of the socket. */
  onClose(): void;
}

export interface ClientSocket {
  /** Call it once, first; bytes may arrive from then on. */
  attach(events: ClientSocketEvents): void;

  /** Text is latin1. False when the client reads too slowly; `onDrain` follows. */
  writeText(text: string): boolean;
  /**
   * @param release called once when the bytes are written or dropped, never from within this call; the range must not
   *   change until then
   */
  writeBytes(bytes: Buffer, release?: () => void): boolean;
  /** Writes `bytes[from, to)`, which the caller may reuse afterwards. Without this method a copy is written. */
  writeCopy?(bytes: Buffer, from: number, to: number): boolean;
  /** Only for an HTTP/2 stream: writes the last text; these trailers follow the content. */
  writeEnd?(text: string, trailers: string): boolean;
  /** Collects writes until `uncork`, so that they are sent together. */
  cork(): void;
  uncork(): void;
  /** A write has returned false and `onDrain` has not been called since. */
  readonly needsDrain: boolean;
  /** Whether everything written so far has been passed to the system. */
  readonly isFlushed: boolean;
  /** The connection of the system below; undefined where it is none. */
  readonly tcpSocket: Socket | undefined;

  /** No `onData` until `resume`, even for bytes that were already read. */
  pause(): void;
  resume(): void;
  /**
   * Within `onData`: keeps these bytes, which may be part of the chunk, unchanged until the returned function is
   * called. undefined if that is impossible; then the caller must copy what it needs longer.
   */
  retain(bytes: Buffer): (() => void) | undefined;

  /** Sends what is written, then FIN. */
  end(): void;
  /** Calls `end` and closes when that is done, without waiting for the client. */
  destroySoon(): void;
  /** Closes at once; drops what is not written yet. */
  destroy(): void;
  /** Closes so that the client does not see an orderly end. */
  reset(): void;
  readonly destroyed: boolean;
}

/** A socket that carries frames. */
export interface FrameSocket extends ClientSocket {
  /** All bytes that `step` writes, including `Buffer`s, are sent as one write. */
  together(step: () => void): void;
}

/** Writes `bytes[from, to)` directly if there is a `release`, otherwise a copy. */
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

/** Adapts a stream to a client's socket. `reset` uses the stream's `resetAndDestroy` if it exists. */
export function streamClientSocket(stream: Duplex): FrameSocket {
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
    together: (step) => {
      stream.cork();
      step();
      stream.uncork();
    },
    cork: () => stream.cork(),
    uncork: () => stream.uncork(),
    get needsDrain() {
      return stream.writableNeedDrain;
    },
    get isFlushed() {
      return stream.writableLength === 0;
    },
    tcpSocket: stream instanceof Socket ? stream : undefined,
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    // Every chunk of a stream has its own memory.
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
