/**
 * Flow control of what the gateway sends on an HTTP/2 connection, to a client or a backend (RFC 9113 section 5.2): the
 * windows of the connection and of its streams, and turns for the streams that wait to send. Owns the window of the
 * connection and the list of waiting streams; each stream has its own window.
 */
import { ErrorCode, WINDOW_BYTES, WINDOW_BYTES_MAX } from '../../http/http2/frames.ts';

/** Bytes that one stream sends before the other waiting streams get their turn. */
export const TURN_BYTES = 64 * 1024;

export interface SendingStream {
  /** Bytes that the gateway may send. */
  window: number;
  /** The stream may send again. @returns whether it still has waiting data */
  onRoom(): boolean;
  /** The peer broke the protocol in this stream only; ends the stream. */
  breakOff(code: number): void;
}

export interface SendingConnection {
  /** Whether the peer reads too slowly. */
  readonly isBlocked: boolean;
  /** The peer reads again, or a window has opened: calls `giveTurns`. */
  pump(): void;
  /** The peer broke the protocol. */
  onFrameError(code: number): void;
}

export class SendWindows<S extends SendingStream> {
  readonly #connection: SendingConnection;
  /** Bytes that the gateway may send. */
  #window = WINDOW_BYTES;
  /** How often the peer has opened it. */
  #openings = 0;
  /** The window of a new stream. */
  #initial = WINDOW_BYTES;
  /** In the order of their turns. */
  readonly #waiting = new Set<S>();
  /** Whether the window of the connection has opened since the last turn. */
  #isOpened = false;
  /** Streams whose own windows have. */
  readonly #opened = new Set<S>();
  /** Whether a call of `pump` is scheduled. */
  #isPumping = false;

  constructor(connection: SendingConnection) {
    this.#connection = connection;
  }

  /** Gives a new stream its window. */
  admit(stream: S): void {
    stream.window = this.#initial;
  }

  /** Bytes of content that may be sent now. */
  roomFor(stream: S): number {
    return this.#connection.isBlocked ? 0 : Math.min(this.#window, stream.window);
  }

  /** Differs each time that the window of the connection is used up; undefined while there is room. */
  get usedUp(): number | undefined {
    return this.#window > 0 ? undefined : this.#openings;
  }

  /** Bytes that the stream has sent and the peer has not given back to its window. */
  unread(stream: S): number {
    return this.#initial - stream.window;
  }

  /** Counts content that is sent. */
  spend(stream: S, bytes: number): void {
    this.#window -= bytes;
    stream.window -= bytes;
  }

  /** Calls `onRoom` of the stream when it may send again; in a later tick if it already may. */
  wait(stream: S): void {
    this.#waiting.add(stream);
    if (this.#isPumping || this.roomFor(stream) <= 0) return;
    this.#isPumping = true;
    setImmediate(() => {
      this.#isPumping = false;
      this.#connection.pump();
    });
  }

  /** Each waiting stream gets a turn, as long as the peer reads. */
  giveTurns(): void {
    // Streams that continue to wait come last in the next round.
    const round = Array.from(this.#waiting);
    for (const stream of round) {
      if (this.#connection.isBlocked) return;
      this.#giveTurn(stream);
    }
  }

  /**
   * Those whose windows have opened get a turn. Called when everything that was read has been processed, because a peer
   * may open its windows byte by byte: a turn of all streams for each of its frames would cost far more than the frame.
   */
  onReadEnd(): void {
    if (this.#isOpened) {
      this.#isOpened = false;
      this.#opened.clear();
      return this.#connection.pump();
    }
    if (this.#opened.size === 0) return;
    const opened = Array.from(this.#opened);
    this.#opened.clear();
    for (const stream of opened) if (this.roomFor(stream) > 0) this.#giveTurn(stream);
  }

  #giveTurn(stream: S): void {
    if (this.#waiting.delete(stream) && stream.onRoom()) this.wait(stream);
  }

  /** The stream has ended. */
  forget(stream: S): void {
    this.#waiting.delete(stream);
    this.#opened.delete(stream);
  }

  /** No stream gets another turn. */
  stop(): void {
    this.#waiting.clear();
    this.#opened.clear();
    this.#isOpened = false;
  }

  /**
   * SETTINGS_INITIAL_WINDOW_SIZE (section 6.9.2). The change also applies to open streams, whose windows may become
   * negative.
   */
  changeInitial(bytes: number, open: Iterable<S>): void {
    if (bytes > WINDOW_BYTES_MAX) return this.#connection.onFrameError(ErrorCode.flowControl);
    const change = bytes - this.#initial;
    this.#initial = bytes;
    for (const stream of open) {
      stream.window += change;
      if (stream.window > WINDOW_BYTES_MAX) return this.#connection.onFrameError(ErrorCode.flowControl);
    }
  }

  /** A WINDOW_UPDATE frame of the connection (section 6.9). */
  openConnection(bytes: number): void {
    if (bytes === 0) return this.#connection.onFrameError(ErrorCode.protocol);
    this.#window += bytes;
    if (this.#window > WINDOW_BYTES_MAX) return this.#connection.onFrameError(ErrorCode.flowControl);
    this.#openings += 1;
    this.#isOpened = true;
  }

  /** A WINDOW_UPDATE frame of an open stream. */
  openStream(stream: S, bytes: number): void {
    if (bytes === 0) return stream.breakOff(ErrorCode.protocol);
    stream.window += bytes;
    if (stream.window > WINDOW_BYTES_MAX) return stream.breakOff(ErrorCode.flowControl);
    if (this.#waiting.has(stream)) this.#opened.add(stream);
  }
}
