/**
 * Frames of HTTP/2 (RFC 9113 sections 4 and 6): their numbers, and functions that write them as text of one
 * character per byte, so that everything that a connection sends in a tick is joined like the heads of HTTP/1.1.
 * Pure functions.
 */

export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** ACK of SETTINGS and PING has the bit of END_STREAM. */
export const Flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** Section 7. */
export const ErrorCode = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  connect: 10,
  enhanceYourCalm: 11,
} as const;

/** Section 6.5.2. */
export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  /** RFC 8441 section 3. */
  enableConnectProtocol: 8,
} as const;

export const FRAME_HEAD_BYTES = 9;
/** The default of SETTINGS_MAX_FRAME_SIZE, and its least value. */
export const FRAME_BYTES_MAX = 16_384;
/** The initial window of connections, and of streams by default. */
export const WINDOW_BYTES = 65_535;
export const WINDOW_BYTES_MAX = 2 ** 31 - 1;
export const STREAM_ID_MAX = 2 ** 31 - 1;

/** Section 3.4. */
export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

export function frameHead(length: number, type: number, flags: number, stream: number): string {
  return String.fromCharCode(
    length >>> 16,
    (length >>> 8) & 0xff,
    length & 0xff,
    type,
    flags,
    stream >>> 24,
    (stream >>> 16) & 0xff,
    (stream >>> 8) & 0xff,
    stream & 0xff,
  );
}

function number32(value: number): string {
  return String.fromCharCode(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);
}

/**
 * A header section: HEADERS, and CONTINUATION for the rest.
 * @param block as hpack/encoder.ts writes it
 * @param frameBytesMax SETTINGS_MAX_FRAME_SIZE of the peer
 */
export function headersFrames(
  stream: number,
  block: string,
  endStream: boolean,
  frameBytesMax: number,
): string {
  const flags = endStream ? Flag.endStream : 0;
  if (block.length <= frameBytesMax)
    return frameHead(block.length, FrameType.headers, flags | Flag.endHeaders, stream) + block;
  let text = frameHead(frameBytesMax, FrameType.headers, flags, stream) + block.slice(0, frameBytesMax);
  for (let from = frameBytesMax; from < block.length; from += frameBytesMax) {
    const part = block.slice(from, from + frameBytesMax);
    const isLast = from + frameBytesMax >= block.length;
    text += frameHead(part.length, FrameType.continuation, isLast ? Flag.endHeaders : 0, stream) + part;
  }
  return text;
}

/** @param settings identifiers (`Setting`) and values */
export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): string {
  let payload = '';
  for (const [id, value] of settings) payload += String.fromCharCode(0, id) + number32(value);
  return frameHead(payload.length, FrameType.settings, 0, 0) + payload;
}

export const SETTINGS_ACK = frameHead(0, FrameType.settings, Flag.ack, 0);

/** @param payload 8 bytes */
export function pingFrame(payload: string, isAck: boolean): string {
  return frameHead(8, FrameType.ping, isAck ? Flag.ack : 0, 0) + payload;
}

export function windowUpdateFrame(stream: number, bytes: number): string {
  return frameHead(4, FrameType.windowUpdate, 0, stream) + number32(bytes);
}

export function resetFrame(stream: number, code: number): string {
  return frameHead(4, FrameType.reset, 0, stream) + number32(code);
}

/** @param lastStream the last stream of the peer that was processed; a client processes no streams of a server */
export function goawayFrame(code: number, lastStream = 0): string {
  return frameHead(8, FrameType.goaway, 0, 0) + number32(lastStream) + number32(code);
}
