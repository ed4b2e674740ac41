/**
 * The frames of one client's HTTP/2 connection, as its server (RFC 9113): streams by their numbers, settings of both
 * sides, and flow control. Errors end a stream or the connection (section 5.4). A stream's window is returned when its
 * request bytes are forwarded, the connection's at once: so a stream that waits does not block the others.
 * request-window.ts limits the bytes that all streams together hold.
 *
 * Owns the open streams, the numbers of the streams closed last, the windows of requests, and the settings of the
 * client.
 */
import { FrameReader, type FrameReceiver } from '../../../http/http2/frame-reader.ts';
import {
  ErrorCode,
  Flag,
  FRAME_BYTES_MAX,
  frameHead,
  FrameType,
  goawayFrame,
  headersFrames,
  pingFrame,
  PREFACE,
  resetFrame,
  Setting,
  SETTINGS_ACK,
  settingsFrame,
  windowUpdateFrame,
} from '../../../http/http2/frames.ts';
import { EMPTY_TABLE } from '../../../http/http2/hpack/encoder.ts';
import { latin1Text } from '../../../http/latin1.ts';
import type { FrameSocket } from '../client-socket.ts';
import { SendWindows, type SendingStream } from '../../io/send-windows.ts';
import { ClosedStreams } from './closed-streams.ts';
import { ReadPause } from './read-pause.ts';
import { RequestWindow, STREAM_WINDOW_BYTES } from './request-window.ts';
import { listBytesMax, RequestSections, type ReadRequest, type SectionOptions } from './request-sections.ts';

/** SETTINGS_MAX_CONCURRENT_STREAMS. */
export const STREAMS_MAX = 100;
/**
 * Limit of frames other than content that wait for a client that does not read; beyond it, no more of its frames
 * are read.
 */
const BLOCKED_BYTES_MAX = 64 * 1024;
const PING_BYTES = 8;
const PREFACE_BYTES = Buffer.from(PREFACE, 'latin1');

/** A stream as this file sees it, which writes the numbers. */
export interface WireStream extends SendingStream {
  id: number;
  /** Bytes that the client may send. */
  ownWindow: number;
  /** Bytes that the client may send in addition, but that were not announced to it yet. */
  owed: number;
  /** END_STREAM has arrived. */
  readonly isEndSeen: boolean;
  /** END_STREAM was sent. */
  readonly isEndSent: boolean;
  /** Passes the request on. The stream is open. */
  begin(request: ReadRequest, endStream: boolean): void;
  /** A piece of content, valid during the call. */
  onData(bytes: Buffer, from: number, to: number): void;
  /** END_STREAM has arrived. @param trailers as HTTP/1.1 lines */
  onRequestEnd(trailers: string): void;
  /** The client, or the end of the connection, has ended the stream. */
  onGone(): void;
}

/** Receives events that concern the whole connection. */
export interface WireOwner {
  /** A PING or SETTINGS frame has arrived. */
  onControl(): void;
  /** The header section of a request, or its trailers, has arrived. @param bytes length of the encoded section */
  onSection(bytes: number): void;
  /** The stream for a new request; undefined when no more requests are served. */
  seat(): WireStream | undefined;
  /** The client has reset a stream, or broken the protocol in it. */
  onReset(): void;
  /** The client will open no more streams. */
  onGoaway(): void;
  /** The client broke the protocol: nothing more is read. */
  onBroken(code: number): void;
}

export class ClientWire implements FrameReceiver {
  readonly reader: FrameReader;
  readonly reading: ReadPause;
  readonly sending = new SendWindows<WireStream>(this);
  readonly #socket: FrameSocket;
  readonly #owner: WireOwner;
  readonly #options: SectionOptions;
  readonly #sections: RequestSections;
  readonly #streams = new Map<number, WireStream>();
  readonly #closed = new ClosedStreams();
  #prefaceBytes = 0;
  #lastId = 0;
  /** Streams above it are ignored; Infinity before GOAWAY. */
  #lastServedId = Infinity;
  readonly #requestWindow = new RequestWindow();
  /** The next section must begin by setting the table size to 0. */
  #namesTable = true;
  #hasSettings = false;
  /** Whether the client has acknowledged the limit of streams. */
  #isAcknowledged = false;
  /** The stream whose DATA frame is being read; undefined: its content is dropped. */
  #target: WireStream | undefined;
  /** Bytes of frames that were written while the client did not read. */
  #blockedBytes = 0;

  constructor(socket: FrameSocket, owner: WireOwner, options: SectionOptions) {
    this.#socket = socket;
    this.reading = new ReadPause(socket);
    this.#owner = owner;
    this.#options = options;
    this.#sections = new RequestSections(options);
    this.reader = new FrameReader(this, listBytesMax(options));
  }

  get openCount(): number {
    return this.#streams.size;
  }

  get streams(): Iterable<WireStream> {
    return this.#streams.values();
  }

  /** Sends the first frames (section 3.4). */
  start(): void {
    const settings: [number, number][] = [
      [Setting.maxConcurrentStreams, STREAMS_MAX],
      [Setting.initialWindowSize, STREAM_WINDOW_BYTES],
      [Setting.maxHeaderListSize, listBytesMax(this.#options)],
    ];
    if (this.#options.http2Websockets) settings.push([Setting.enableConnectProtocol, 1]);
    const { firstUpdate } = this.#requestWindow;
    this.#write(settingsFrame(settings) + (firstUpdate > 0 ? windowUpdateFrame(0, firstUpdate) : ''));
  }

  read(bytes: Buffer): void {
    let from = 0;
    if (this.#prefaceBytes < PREFACE_BYTES.length) {
      const before = this.#prefaceBytes;
      from = Math.min(bytes.length, PREFACE_BYTES.length - before);
      if (PREFACE_BYTES.compare(bytes, 0, from, before, before + from) !== 0)
        return this.onFrameError(ErrorCode.protocol);
      this.#prefaceBytes += from;
    }
    this.reader.read(bytes, from, bytes.length);
  }

  /** Stops reading, and sends no more frames of streams. @returns the open streams */
  stop(): WireStream[] {
    this.reader.stop();
    const open = [...this.#streams.values()];
    this.#streams.clear();
    this.sending.stop();
    return open;
  }

  /** Releases what is cached for further requests. */
  rest(): void {
    this.#sections.rest();
  }

  // Sending.

  /** Whether the client reads too slowly. */
  get isBlocked(): boolean {
    return this.#socket.needsDrain;
  }

  /** Sends all frames that `step` writes as one write. */
  together(step: () => void): void {
    this.#socket.together(step);
  }

  /** @param block encoded fields */
  sendHead(stream: WireStream, block: string, endStream: boolean): void {
    const whole = this.#namesTable ? EMPTY_TABLE + block : block;
    this.#namesTable = false;
    this.#write(headersFrames(stream.id, whole, endStream, FRAME_BYTES_MAX));
  }

  /** Sends a small piece for which there is room. */
  sendText(stream: WireStream, text: string, endStream: boolean): void {
    this.sending.spend(stream, text.length);
    const flags = endStream ? Flag.endStream : 0;
    this.#socket.writeText(frameHead(text.length, FrameType.data, flags, stream.id) + text);
  }

  /** Sends a piece of up to one frame for which there is room. @param release called when it is written or dropped */
  sendPiece(
    stream: WireStream,
    bytes: Buffer,
    from: number,
    to: number,
    endStream: boolean,
    release: () => void,
  ): void {
    this.sending.spend(stream, to - from);
    this.#socket.writeText(frameHead(to - from, FrameType.data, endStream ? Flag.endStream : 0, stream.id));
    this.#socket.writeBytes(bytes.subarray(from, to), release);
  }

  /** Sends END_STREAM after all content. */
  sendEnd(stream: WireStream): void {
    this.#write(frameHead(0, FrameType.data, Flag.endStream, stream.id));
  }

  /** The client reads again, or a window has opened. */
  pump(): void {
    if (this.isBlocked) return;
    this.#blockedBytes = 0;
    this.reading.resume('unread');
    this.sending.giveTurns();
  }

  /** Both sides of the stream have ended. */
  close(stream: WireStream, isReset = false): void {
    if (!this.#streams.delete(stream.id)) return;
    this.#closed.add(stream.id, isReset);
    this.sending.forget(stream);
    if (this.#target === stream) this.#target = undefined;
  }

  /** Ends an open stream. */
  reset(stream: WireStream, code: number): void {
    this.close(stream, true);
    this.#reset(stream.id, code);
  }

  #reset(id: number, code: number): void {
    this.#write(resetFrame(id, code));
    // Enough of a body has arrived, or the backend has failed: neither is the client's fault.
    if (code !== ErrorCode.none && code !== ErrorCode.internal) this.#owner.onReset();
  }

  /** Sends GOAWAY, and ignores streams after the last one received. */
  goaway(code: number): void {
    this.#lastServedId = Math.min(this.#lastServedId, this.#lastId);
    this.#write(goawayFrame(code, this.#lastServedId));
  }

  /** Sends a frame other than content, which windows do not limit. */
  #write(text: string): void {
    this.#socket.writeText(text);
    if (!this.isBlocked) return;
    this.#blockedBytes += text.length;
    if (this.#blockedBytes > BLOCKED_BYTES_MAX) this.reading.pause('unread');
  }

  // Windows of requests.

  /** Counts bytes of a request that wait in their stream. */
  hold(bytes: number): void {
    this.#requestWindow.hold(bytes);
  }

  /** Uncounts bytes that no longer wait. */
  unhold(bytes: number): void {
    this.#requestWindow.unhold(bytes);
    this.openWindow();
  }

  /** Counts bytes of a request that were forwarded. */
  passedOn(stream: WireStream, bytes: number): void {
    stream.owed += bytes;
    if (stream.owed < STREAM_WINDOW_BYTES / 2 || stream.isEndSeen || !this.#streams.has(stream.id)) return;
    this.#write(windowUpdateFrame(stream.id, stream.owed));
    stream.ownWindow += stream.owed;
    stream.owed = 0;
  }

  /** Opens the connection's window. Also called from time to time, because it depends on what other clients hold. */
  openWindow(): void {
    const update = this.#requestWindow.open();
    if (update > 0) this.#write(windowUpdateFrame(0, update));
  }

  // Receiving.

  onDataFrame(id: number, length: number, content: number): void {
    if (!this.#mayHaveFrames(id)) return;
    if (!this.#requestWindow.receive(length)) return this.onFrameError(ErrorCode.flowControl);
    this.openWindow();
    const stream = this.#streams.get(id);
    this.#target = stream;
    if (stream === undefined) return this.#onStray(id);
    stream.ownWindow -= length;
    if (stream.ownWindow < 0) return stream.breakOff(ErrorCode.flowControl);
    if (stream.isEndSeen) return stream.breakOff(ErrorCode.streamClosed);
    if (length > content) this.passedOn(stream, length - content);
  }

  onData(_id: number, bytes: Buffer, from: number, to: number): void {
    this.#target?.onData(bytes, from, to);
  }

  onDataEnd(_id: number, endStream: boolean): void {
    const stream = this.#target;
    this.#target = undefined;
    if (endStream) stream?.onRequestEnd('');
  }

  /** Content for a closed stream may have been under way if the gateway reset it. */
  #onStray(id: number): void {
    if (id <= this.#lastServedId && this.#closed.find(id) !== 'reset')
      this.#reset(id, ErrorCode.streamClosed);
  }

  onHeaders(id: number, bytes: Buffer, from: number, to: number, endStream: boolean): void {
    if (!this.#hasSettings || id % 2 === 0) return this.onFrameError(ErrorCode.protocol);
    if (id > this.#lastId) return this.#onRequest(id, bytes, from, to, endStream);
    // Decoded for a closed stream, too: later sections build on the table.
    const trailers = this.#sections.trailers(bytes, from, to);
    if (trailers === undefined) return this.onFrameError(ErrorCode.compression);
    const stream = this.#streams.get(id);
    if (stream === undefined) return this.#onStrayHead(id);
    this.#owner.onSection(to - from);
    if (stream.isEndSeen) return stream.breakOff(ErrorCode.streamClosed);
    if (typeof trailers === 'object' || !endStream) return stream.breakOff(ErrorCode.protocol);
    if (trailers === 'too_long') return stream.breakOff(ErrorCode.enhanceYourCalm);
    stream.onRequestEnd(trailers);
  }

  /** Section 5.1.1: a skipped number can no longer be used. */
  #onStrayHead(id: number): void {
    const known = this.#closed.find(id);
    if (known === 'reset' || id > this.#lastServedId) return;
    this.onFrameError(known === undefined ? ErrorCode.protocol : ErrorCode.streamClosed);
  }

  #onRequest(id: number, bytes: Buffer, from: number, to: number, endStream: boolean): void {
    const request = this.#sections.request(bytes, from, to, endStream);
    if (request === undefined) return this.onFrameError(ErrorCode.compression);
    this.#lastId = id;
    // Section 6.8: the client may send it again elsewhere.
    if (id > this.#lastServedId) return;
    this.#owner.onSection(to - from);
    if (this.#streams.size >= STREAMS_MAX) return this.#onSurplus(id);
    if (request === 'too_long') return this.#refuse(id, ErrorCode.enhanceYourCalm);
    if ('malformed' in request) return this.#refuse(id, ErrorCode.protocol);
    const stream = this.#owner.seat();
    if (stream === undefined) return;
    this.#streams.set(id, stream);
    stream.id = id;
    this.sending.admit(stream);
    stream.ownWindow = STREAM_WINDOW_BYTES;
    stream.owed = 0;
    stream.begin(request, endStream);
  }

  /** Section 5.1.2: a client that knows the limit has exceeded it. */
  #onSurplus(id: number): void {
    if (this.#isAcknowledged) this.onFrameError(ErrorCode.protocol);
    else this.#refuse(id, ErrorCode.refusedStream);
  }

  #refuse(id: number, code: number): void {
    this.#closed.add(id, true);
    this.#reset(id, code);
  }

  /**
   * Counts the reset, whatever its code, which the client chooses. A client that has its response may cancel the
   * rest of its request.
   */
  onReset(id: number): void {
    if (!this.#mayHaveFrames(id)) return;
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    this.close(stream);
    if (!stream.isEndSent) this.#owner.onReset();
    stream.onGone();
  }

  onSetting(id: number, value: number): void {
    switch (id) {
      case Setting.headerTableSize:
        this.#namesTable = true;
        return;
      case Setting.enablePush:
        if (value > 1) this.onFrameError(ErrorCode.protocol);
        return;
      case Setting.initialWindowSize:
        return this.sending.changeInitial(value, this.#streams.values());
      case Setting.maxFrameSize:
        // The gateway sends no frames larger than the default.
        if (value < FRAME_BYTES_MAX || value > 2 ** 24 - 1) this.onFrameError(ErrorCode.protocol);
        return;
      default:
    }
  }

  onSettingsEnd(): void {
    this.#hasSettings = true;
    this.#write(SETTINGS_ACK);
    this.#owner.onControl();
    this.pump();
  }

  onSettingsAck(): void {
    this.#isAcknowledged = true;
    this.#owner.onControl();
  }

  onPing(bytes: Buffer, from: number, isAck: boolean): void {
    if (!this.#mayHaveFrames(0)) return;
    if (!isAck) this.#write(pingFrame(latin1Text(bytes, from, from + PING_BYTES), true));
    this.#owner.onControl();
  }

  onGoaway(): void {
    if (this.#mayHaveFrames(0)) this.#owner.onGoaway();
  }

  onWindowUpdate(id: number, bytes: number): void {
    if (!this.#mayHaveFrames(id)) return;
    if (id === 0) return this.sending.openConnection(bytes);
    const stream = this.#streams.get(id);
    if (stream !== undefined) this.sending.openStream(stream, bytes);
  }

  onFrameError(code: number): void {
    this.reader.stop();
    this.#owner.onBroken(code);
  }

  /**
   * Whether frames of a stream are allowed: SETTINGS come first (section 3.4), and only opened streams have
   * frames (section 5.1).
   */
  #mayHaveFrames(id: number): boolean {
    if (this.#hasSettings && (id === 0 || (id <= this.#lastId && id % 2 === 1))) return true;
    this.onFrameError(ErrorCode.protocol);
    return false;
  }
}
