/**
 * Splits the bytes of an HTTP/2 connection into frames (RFC 9113 sections 4 and 6). Pushes are not allowed: a client
 * has forbidden them, and servers get none. Checks all that a frame says about itself: sizes, padding, whether it needs
 * a stream or must not have one, and header sections over several frames (section 4.3) within limits. The receiver of
 * the frames checks streams, windows and settings. Content is passed on as it arrives; every other frame is collected
 * first. Owns the incomplete frame, and the bytes that wait while it is held.
 */
import { joined } from '../joined-bytes.ts';
import { ErrorCode, Flag, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, FrameType } from './frames.ts';

/**
 * The longest header section in all its frames, by default. A longer one, or one in more frames, ends the connection.
 */
const BLOCK_BYTES_MAX = 256 * 1024;
const CONTINUATIONS_MAX = 64;
/** RFC 9113 does not limit them. */
const SETTINGS_MAX = 32;
const PRIORITY_BYTES = 5;
const EMPTY = Buffer.alloc(0);

/** Ranges are valid during the call only. Streams are never 0 where one is needed. */
export interface FrameReceiver {
  /**
   * A DATA frame has begun.
   * @param length with its padding, as it counts for flow control
   * @param content without it
   */
  onDataFrame(stream: number, length: number, content: number): void;
  /** A piece of its content. */
  onData(stream: number, bytes: Buffer, from: number, to: number): void;
  onDataEnd(stream: number, endStream: boolean): void;
  /** A whole header section. */
  onHeaders(stream: number, bytes: Buffer, from: number, to: number, endStream: boolean): void;
  onReset(stream: number, code: number): void;
  /** One call for each setting, then `onSettingsEnd`. */
  onSetting(id: number, value: number): void;
  onSettingsEnd(): void;
  onSettingsAck(): void;
  onPing(bytes: Buffer, from: number, isAck: boolean): void;
  onGoaway(lastStream: number, code: number): void;
  /** @param stream 0: the connection */
  onWindowUpdate(stream: number, bytes: number): void;
  /** The last call: the connection broke the protocol. */
  onFrameError(code: number): void;
}

export class FrameReader {
  readonly #receiver: FrameReceiver;
  /** Number of frames read; a header section in several frames counts once. */
  wholeCount = 0;
  readonly #blockBytesMax: number;
  #isStopped = false;
  #isHeld = false;
  /** What has arrived since it is held. */
  #held: Buffer = EMPTY;
  /** The beginning of a frame that is being collected. */
  #partial: Buffer = EMPTY;
  /** Bytes of a DATA frame that are still to come: content, and padding behind it. */
  #content = 0;
  #padding = 0;
  #dataStream = 0;
  #endsStream = false;
  /** A header section whose frames are not complete. */
  #blockStream = 0;
  #blockParts: Buffer[] = [];
  #blockBytes = 0;
  #blockEndsStream = false;

  /** @param blockBytesMax limit of a header section in all its frames; a longer one ends the connection */
  constructor(receiver: FrameReceiver, blockBytesMax = BLOCK_BYTES_MAX) {
    this.#receiver = receiver;
    this.#blockBytesMax = Math.max(blockBytesMax, BLOCK_BYTES_MAX);
  }

  /** A frame other than DATA, or a header section, has begun and is not complete. */
  get isWithinFrame(): boolean {
    return this.#partial.length > 0 || this.#blockStream !== 0;
  }

  /** Bytes of it. */
  get incompleteBytes(): number {
    return this.#partial.length + (this.#blockStream === 0 ? 0 : this.#blockBytes);
  }

  /** Stops passing frames on; may be called within a call of the receiver. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Passes on no further frames until `proceed`; may be called within a call of the receiver. */
  hold(): void {
    this.#isHeld = true;
  }

  proceed(): void {
    this.#isHeld = false;
    const held = this.#held;
    this.#held = EMPTY;
    this.read(held, 0, held.length);
  }

  read(bytes: Buffer, start: number, end: number): void {
    let from = start;
    // Only what the frame needs is copied to its beginning, not the whole read.
    while (this.#partial.length > 0 && from < end && !this.#isHeld) {
      const next = Math.min(end, from + this.#wantedBytes());
      const whole = joined(this.#partial, bytes.subarray(from, next));
      this.#partial = EMPTY;
      this.#read(whole, 0, whole.length, false);
      from = next;
    }
    this.#read(bytes, from, end, true);
  }

  /** How many bytes may be added to the incomplete frame at once: those of its head, then its rest. */
  #wantedBytes(): number {
    const { length } = this.#partial;
    if (length < FRAME_HEAD_BYTES) return FRAME_HEAD_BYTES - length;
    const isData = this.#partial[3] === FrameType.data;
    return isData ? 1 : Math.max(1, FRAME_HEAD_BYTES + number24(this.#partial, 0) - length);
  }

  /** @param isReused whether the memory will be overwritten */
  #read(buffer: Buffer, start: number, to: number, isReused: boolean): void {
    let at = start;
    while (at < to && !this.#isStopped) {
      if (this.#isHeld) return this.#keep(buffer, at, to);
      if (this.#content + this.#padding > 0) {
        at = this.#readContent(buffer, at, to);
        continue;
      }
      const next = this.#readFrame(buffer, at, to);
      if (next === at) {
        const rest = buffer.subarray(at, to);
        this.#partial = isReused ? Buffer.from(rest) : rest;
        return;
      }
      at = next;
    }
  }

  #keep(bytes: Buffer, from: number, to: number): void {
    const rest = bytes.subarray(from, to);
    // The memory of a read is reused.
    this.#held = this.#held.length === 0 ? Buffer.from(rest) : joined(this.#held, rest);
  }

  /** @returns where to continue; `at` if more bytes are needed */
  #readFrame(buffer: Buffer, at: number, to: number): number {
    if (to - at < FRAME_HEAD_BYTES) return at;
    const length = number24(buffer, at);
    const type = buffer[at + 3] as number;
    const flags = buffer[at + 4] as number;
    const stream = number31(buffer, at + 5);
    if (length > FRAME_BYTES_MAX) return this.#fail(ErrorCode.frameSize, to);
    if (this.#blockStream !== 0 && !(type === FrameType.continuation && stream === this.#blockStream))
      return this.#fail(ErrorCode.protocol, to);
    const from = at + FRAME_HEAD_BYTES;
    if (type === FrameType.data) return this.#beginData(buffer, at, to, length, flags, stream);
    if (to - from < length) return at;
    this.#readWhole(buffer, from, from + length, type, flags, stream);
    if (this.#blockStream === 0) this.wholeCount += 1;
    return from + length;
  }

  #beginData(buffer: Buffer, at: number, to: number, length: number, flags: number, stream: number): number {
    if (stream === 0) return this.#fail(ErrorCode.protocol, to);
    let from = at + FRAME_HEAD_BYTES;
    let content = length;
    this.#padding = 0;
    if ((flags & Flag.padded) !== 0) {
      if (length === 0) return this.#fail(ErrorCode.frameSize, to);
      if (from >= to) return at;
      this.#padding = buffer[from++] as number;
      content -= 1 + this.#padding;
      if (content < 0) return this.#fail(ErrorCode.protocol, to);
    }
    this.wholeCount += 1;
    this.#content = content;
    this.#dataStream = stream;
    this.#endsStream = (flags & Flag.endStream) !== 0;
    this.#receiver.onDataFrame(stream, length, content);
    if (content + this.#padding === 0 && !this.#isStopped) this.#receiver.onDataEnd(stream, this.#endsStream);
    return from;
  }

  #readContent(buffer: Buffer, at: number, to: number): number {
    let from = at;
    if (this.#content > 0) {
      const end = Math.min(to, from + this.#content);
      this.#content -= end - from;
      this.#receiver.onData(this.#dataStream, buffer, from, end);
      from = end;
    }
    const skipped = Math.min(to - from, this.#padding);
    this.#padding -= skipped;
    if (this.#content + this.#padding === 0 && !this.#isStopped)
      this.#receiver.onDataEnd(this.#dataStream, this.#endsStream);
    return from + skipped;
  }

  #readWhole(buffer: Buffer, from: number, to: number, type: number, flags: number, stream: number): void {
    const receiver = this.#receiver;
    const length = to - from;
    switch (type) {
      case FrameType.headers:
        return this.#readHeaders(buffer, from, to, flags, stream);
      case FrameType.continuation:
        return this.#readContinuation(buffer, from, to, flags, stream);
      case FrameType.settings:
        return this.#readSettings(buffer, from, to, flags, stream);
      case FrameType.reset:
        if (stream === 0) return this.#broken(ErrorCode.protocol);
        if (length !== 4) return this.#broken(ErrorCode.frameSize);
        return receiver.onReset(stream, number32(buffer, from));
      case FrameType.ping:
        if (stream !== 0) return this.#broken(ErrorCode.protocol);
        if (length !== 8) return this.#broken(ErrorCode.frameSize);
        return receiver.onPing(buffer, from, (flags & Flag.ack) !== 0);
      case FrameType.goaway:
        if (stream !== 0) return this.#broken(ErrorCode.protocol);
        if (length < 8) return this.#broken(ErrorCode.frameSize);
        return receiver.onGoaway(number31(buffer, from), number32(buffer, from + 4));
      case FrameType.windowUpdate:
        if (length !== 4) return this.#broken(ErrorCode.frameSize);
        return receiver.onWindowUpdate(stream, number31(buffer, from));
      case FrameType.priority:
        if (stream === 0) return this.#broken(ErrorCode.protocol);
        if (length !== PRIORITY_BYTES) return this.#broken(ErrorCode.frameSize);
        return;
      case FrameType.pushPromise:
        return this.#broken(ErrorCode.protocol);
      default:
      // Section 4.1: frames of unknown types are ignored.
    }
  }

  #readHeaders(buffer: Buffer, start: number, end: number, flags: number, stream: number): void {
    if (stream === 0) return this.#broken(ErrorCode.protocol);
    let from = start;
    let to = end;
    if ((flags & Flag.padded) !== 0) {
      if (from === to) return this.#broken(ErrorCode.frameSize);
      to -= buffer[from++] as number;
    }
    if ((flags & Flag.priority) !== 0) from += PRIORITY_BYTES;
    if (from > to) return this.#broken(from > end ? ErrorCode.frameSize : ErrorCode.protocol);
    const endStream = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) return this.#receiver.onHeaders(stream, buffer, from, to, endStream);
    this.#blockStream = stream;
    this.#blockEndsStream = endStream;
    this.#blockParts = [Buffer.from(buffer.subarray(from, to))];
    this.#blockBytes = to - from;
    return undefined;
  }

  #readContinuation(buffer: Buffer, from: number, to: number, flags: number, stream: number): void {
    if (this.#blockStream === 0) return this.#broken(ErrorCode.protocol);
    this.#blockParts.push(Buffer.from(buffer.subarray(from, to)));
    this.#blockBytes += to - from;
    if (this.#blockBytes > this.#blockBytesMax || this.#blockParts.length > CONTINUATIONS_MAX)
      return this.#broken(ErrorCode.enhanceYourCalm);
    if ((flags & Flag.endHeaders) === 0) return undefined;
    const block = Buffer.concat(this.#blockParts, this.#blockBytes);
    this.#blockParts = [];
    this.#blockStream = 0;
    return this.#receiver.onHeaders(stream, block, 0, block.length, this.#blockEndsStream);
  }

  #readSettings(buffer: Buffer, from: number, to: number, flags: number, stream: number): void {
    const length = to - from;
    if (stream !== 0) return this.#broken(ErrorCode.protocol);
    if ((flags & Flag.ack) !== 0)
      return length === 0 ? this.#receiver.onSettingsAck() : this.#broken(ErrorCode.frameSize);
    if (length % 6 !== 0) return this.#broken(ErrorCode.frameSize);
    if (length / 6 > SETTINGS_MAX) return this.#broken(ErrorCode.enhanceYourCalm);
    for (let at = from; at < to && !this.#isStopped; at += 6) {
      const id = ((buffer[at] as number) << 8) | (buffer[at + 1] as number);
      this.#receiver.onSetting(id, number32(buffer, at + 2));
    }
    if (!this.#isStopped) this.#receiver.onSettingsEnd();
    return undefined;
  }

  #broken(code: number): void {
    this.#isStopped = true;
    this.#receiver.onFrameError(code);
  }

  #fail(code: number, to: number): number {
    this.#broken(code);
    return to;
  }
}

function number32(bytes: Buffer, at: number): number {
  return number31(bytes, at) + ((bytes[at] as number) >= 0x80 ? 2 ** 31 : 0);
}

function number24(bytes: Buffer, at: number): number {
  return ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
}

/** The first bit is reserved. */
function number31(bytes: Buffer, at: number): number {
  return (
    (((bytes[at] as number) & 0x7f) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  );
}
