/**
 * The frames of an HTTP/2 connection to a backend, as its client (RFC 9113): streams by their numbers, settings of both
 * sides, and flow control. Errors of the backend end a stream or the connection (section 5.4). The connection's window
 * is returned at once, and a stream's when its response is passed on: so a client that does not read blocks only its
 * own stream.
 *
 * Owns the open streams, the windows of responses, and the settings of the backend.
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
  STREAM_ID_MAX,
  WINDOW_BYTES,
  windowUpdateFrame,
} from '../../../http/http2/frames.ts';
import { EMPTY_TABLE } from '../../../http/http2/hpack/encoder.ts';
import { latin1Text } from '../../../http/latin1.ts';
import type { BodyBuffer } from '../../io/body-buffer-pool.ts';
import { SendWindows, type SendingStream } from '../../io/send-windows.ts';
import { LIST_BYTES_MAX, ResponseSections, type Section } from './response-sections.ts';
import type { SessionLink } from './session-link.ts';

/** The window of the whole connection, which is returned at once. */
const SESSION_WINDOW_BYTES = 4 * 1024 * 1024;
/** SETTINGS_INITIAL_WINDOW_SIZE: bytes of a response that a stream holds when its client does not read. */
export const STREAM_WINDOW_BYTES = 128 * 1024;
/** The payload of our own PING. */
const PING_TEXT = 'headgate';
/** The size of a field in a header list in addition to its name and value (section 6.5.2). */
const FIELD_OVERHEAD_BYTES = 32;

/** A stream as this file sees it, which writes the numbers. */
export interface WireStream extends SendingStream {
  id: number;
  /** Bytes that the backend may send. */
  ownWindow: number;
  /** Bytes that the backend may send in addition, but that were not announced to it yet. */
  owed: number;
  /** END_STREAM has arrived. */
  readonly isEndSeen: boolean;
  /** Whether more of the response's body will follow. */
  readonly expectsMore: boolean;
  /** A header section has arrived. @param bytes length of the encoded section */
  onSection(section: Section, bytes: number, endStream: boolean): void;
  /** A piece of content, valid during the call. */
  onData(bytes: Buffer, from: number, to: number): void;
  /** END_STREAM. */
  onEnd(): void;
  /** The backend has ended the stream, which closes it. */
  onReset(code: number): void;
  /** All bytes of one read of the connection were forwarded. */
  onTurnEnd(): void;
}

/** Receives events that concern the whole connection. */
export interface WireOwner {
  /** A PING or SETTINGS frame has arrived. */
  onControl(): void;
  onSettings(): void;
  onPong(): void;
  /** The connection takes no more streams. */
  retire(): void;
  /** GOAWAY because of an error; streams above the last one have ended already. */
  onGoaway(code: number): void;
  /** The backend broke the protocol; GOAWAY is written. Nothing more is read. */
  onBroken(code: number): void;
}

export class SessionWire implements FrameReceiver {
  readonly sections = new ResponseSections();
  readonly sending = new SendWindows<WireStream>(this);
  /** SETTINGS_MAX_CONCURRENT_STREAMS of the backend. */
  streamsMax = Infinity;
  /** SETTINGS_MAX_HEADER_LIST_SIZE of the backend. */
  #listBytesMax = Infinity;
  readonly #link: SessionLink;
  readonly #owner: WireOwner;
  readonly #reader = new FrameReader(this);
  readonly #streams = new Map<number, WireStream>();
  #lastId = -1;
  /** Bytes that the backend may send. */
  #ownWindow = SESSION_WINDOW_BYTES;
  /** The next section must begin by setting the table size to 0. */
  #namesTable = true;
  #hasSettings = false;
  /** The stream whose DATA frame is being read; undefined: its content is dropped. */
  #target: WireStream | undefined;
  /** Streams that received something in this read. */
  #touched: WireStream[] = [];

  constructor(link: SessionLink, owner: WireOwner) {
    this.#link = link;
    this.#owner = owner;
  }

  get openCount(): number {
    return this.#streams.size;
  }

  /** Whether more of a response will follow. */
  get expectsMore(): boolean {
    for (const stream of this.#streams.values()) if (stream.expectsMore) return true;
    return false;
  }

  /** Whether all stream numbers are used up. */
  get isUsedUp(): boolean {
    return this.#lastId + 2 > STREAM_ID_MAX;
  }

  /** Sends the first frames (section 3.4). */
  start(): void {
    this.#link.writeText(
      PREFACE +
        settingsFrame([
          [Setting.enablePush, 0],
          [Setting.initialWindowSize, STREAM_WINDOW_BYTES],
          [Setting.maxHeaderListSize, LIST_BYTES_MAX],
        ]) +
        windowUpdateFrame(0, SESSION_WINDOW_BYTES - WINDOW_BYTES),
    );
  }

  read(bytes: Buffer, length: number): void {
    this.#reader.read(bytes, 0, length);
    this.sending.onReadEnd();
    const touched = this.#touched;
    if (touched.length === 0) return;
    this.#touched = [];
    for (const stream of touched) stream.onTurnEnd();
  }

  /** Registers the stream for `onTurnEnd`, which is called when everything read is forwarded. */
  touch(stream: WireStream): void {
    if (this.#touched.at(-1) !== stream) this.#touched.push(stream);
  }

  stop(): void {
    this.#reader.stop();
    this.sending.stop();
  }

  /**
   * Opens a stream and sends its request, with the whole body if it fits into the windows.
   * @param block encoded without a change of the table
   * @param body '' for none; undefined: it follows
   * @returns whether the body was sent
   */
  open(stream: WireStream, block: string, body: string | BodyBuffer | undefined): boolean {
    const id = this.#lastId + 2;
    this.#lastId = id;
    this.#streams.set(id, stream);
    stream.id = id;
    this.sending.admit(stream);
    stream.ownWindow = STREAM_WINDOW_BYTES;
    const whole = this.#namesTable ? EMPTY_TABLE + block : block;
    this.#namesTable = false;
    const head = headersFrames(id, whole, body === '', FRAME_BYTES_MAX);
    if (
      body === undefined ||
      body === '' ||
      body.length > Math.min(FRAME_BYTES_MAX, this.sending.roomFor(stream))
    ) {
      this.#link.writeText(head);
      return body === '';
    }
    const { length } = body;
    this.sending.spend(stream, length);
    const text = head + frameHead(length, FrameType.data, Flag.endStream, id);
    if (typeof body === 'string') this.#link.writeText(text + body);
    else this.#link.writeWithBody(text, body);
    return true;
  }

  /** Whether the backend has announced a limit for header sections. */
  get limitsSections(): boolean {
    return this.#listBytesMax !== Infinity;
  }

  /** Whether the backend accepts a header section (section 6.5.2). @param fields names and values alternating */
  takes(fields: readonly string[]): boolean {
    let bytes = 0;
    for (const text of fields) bytes += text.length + FIELD_OVERHEAD_BYTES / 2;
    return bytes <= this.#listBytesMax;
  }

  get isBlocked(): boolean {
    return this.#link.isBlocked;
  }

  /** Sends all frames that `step` writes as one write. */
  together(step: () => void): void {
    this.#link.cork();
    step();
    this.#link.uncork();
  }

  /** Sends a small piece for which there is room. */
  sendText(stream: WireStream, text: string): void {
    this.sending.spend(stream, text.length);
    this.#link.writeText(frameHead(text.length, FrameType.data, 0, stream.id) + text);
  }

  /** Sends a piece of up to one frame for which there is room. @param release called when it is written or dropped */
  sendPiece(stream: WireStream, bytes: Buffer, from: number, to: number, release: () => void): void {
    this.sending.spend(stream, to - from);
    this.#link.writeBoth(frameHead(to - from, FrameType.data, 0, stream.id), bytes, from, to, release);
  }

  /** @param trailers encoded; '' for none */
  sendEnd(stream: WireStream, trailers: string): void {
    this.#link.writeText(
      trailers === ''
        ? frameHead(0, FrameType.data, Flag.endStream, stream.id)
        : headersFrames(stream.id, trailers, true, FRAME_BYTES_MAX),
    );
  }

  /** Both sides of the stream have ended. */
  close(stream: WireStream): void {
    this.#streams.delete(stream.id);
    this.sending.forget(stream);
    if (this.#target === stream) this.#target = undefined;
  }

  reset(stream: WireStream, code: number): void {
    this.close(stream);
    this.#link.writeText(resetFrame(stream.id, code));
  }

  ping(): void {
    this.#link.writeText(pingFrame(PING_TEXT, false));
  }

  goaway(code: number): void {
    this.#link.writeText(goawayFrame(code));
  }

  /** Counts bytes of a response that were forwarded. */
  passedOn(stream: WireStream, bytes: number): void {
    stream.owed += bytes;
    if (stream.owed < STREAM_WINDOW_BYTES / 2 || stream.isEndSeen || !this.#streams.has(stream.id)) return;
    this.#link.writeText(windowUpdateFrame(stream.id, stream.owed));
    stream.ownWindow += stream.owed;
    stream.owed = 0;
  }

  /** The backend reads again, or a window has opened. */
  pump(): void {
    this.sending.giveTurns();
  }

  // Receiving.

  onDataFrame(id: number, length: number, content: number): void {
    if (!this.#mayHaveFrames(id)) return;
    this.#ownWindow -= length;
    if (this.#ownWindow < 0) return this.onFrameError(ErrorCode.flowControl);
    if (this.#ownWindow < SESSION_WINDOW_BYTES / 2) {
      this.#link.writeText(windowUpdateFrame(0, SESSION_WINDOW_BYTES - this.#ownWindow));
      this.#ownWindow = SESSION_WINDOW_BYTES;
    }
    const stream = this.#streams.get(id);
    this.#target = stream;
    if (stream === undefined) return;
    stream.ownWindow -= length;
    if (stream.ownWindow < 0) {
      // A backend that ignores the window usually sends on until it is cut off: no new request should meet that.
      this.#owner.retire();
      return stream.breakOff(ErrorCode.flowControl);
    }
    if (stream.isEndSeen) return stream.breakOff(ErrorCode.streamClosed);
    if (length > content) this.passedOn(stream, length - content);
  }

  onData(_id: number, bytes: Buffer, from: number, to: number): void {
    this.#target?.onData(bytes, from, to);
  }

  onDataEnd(_id: number, endStream: boolean): void {
    const stream = this.#target;
    this.#target = undefined;
    if (endStream) stream?.onEnd();
  }

  onHeaders(id: number, bytes: Buffer, from: number, to: number, endStream: boolean): void {
    if (!this.#mayHaveFrames(id)) return;
    // Decoded for a closed stream, too: later sections build on the table.
    const section = this.sections.read(bytes, from, to);
    if (section === undefined) return this.onFrameError(ErrorCode.compression);
    this.#streams.get(id)?.onSection(section, to - from, endStream);
  }

  onReset(id: number, code: number): void {
    if (!this.#mayHaveFrames(id)) return;
    this.#streams.get(id)?.onReset(code);
  }

  onSetting(id: number, value: number): void {
    switch (id) {
      case Setting.headerTableSize:
        this.#namesTable = true;
        return;
      case Setting.enablePush:
        // Section 6.5.2: a server cannot enable it.
        if (value !== 0) this.onFrameError(ErrorCode.protocol);
        return;
      case Setting.maxConcurrentStreams:
        this.streamsMax = value;
        return;
      case Setting.initialWindowSize:
        return this.sending.changeInitial(value, this.#streams.values());
      case Setting.maxHeaderListSize:
        this.#listBytesMax = value;
        return;
      case Setting.maxFrameSize:
        // The gateway sends no frames larger than the default.
        if (value < FRAME_BYTES_MAX || value > 2 ** 24 - 1) this.onFrameError(ErrorCode.protocol);
        return;
      default:
    }
  }

  onSettingsEnd(): void {
    this.#hasSettings = true;
    this.#link.writeText(SETTINGS_ACK);
    this.#owner.onControl();
    this.#owner.onSettings();
    this.pump();
  }

  onSettingsAck(): void {
    this.#owner.onControl();
  }

  onPing(bytes: Buffer, from: number, isAck: boolean): void {
    if (!this.#mayHaveFrames(0)) return;
    const text = latin1Text(bytes, from, from + PING_TEXT.length);
    this.#owner.onControl();
    if (!isAck) this.#link.writeText(pingFrame(text, true));
    else if (text === PING_TEXT) this.#owner.onPong();
  }

  /** Section 6.8: streams above the last one were not processed and will not be. */
  onGoaway(last: number, code: number): void {
    if (!this.#mayHaveFrames(0)) return;
    this.#owner.retire();
    for (const [id, stream] of this.#streams) if (id > last) stream.onReset(ErrorCode.refusedStream);
    if (code !== ErrorCode.none) this.#owner.onGoaway(code);
  }

  onWindowUpdate(id: number, bytes: number): void {
    if (!this.#mayHaveFrames(id)) return;
    if (id === 0) return this.sending.openConnection(bytes);
    const stream = this.#streams.get(id);
    if (stream !== undefined) this.sending.openStream(stream, bytes);
  }

  onFrameError(code: number): void {
    this.#reader.stop();
    this.goaway(code);
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
