/**
 * Frames that RFC 9113 and RFC 7541 forbid to both sides of a connection, each with the code that ends it; the test of
 * clients and that of backends send all of them, and more of their own.
 */
import {
  ACK,
  encodeFields,
  END_HEADERS,
  FRAME,
  frame,
  number32,
  type Fields,
} from '../clients/http2-frames.ts';

export const PADDED = 8;
export const PRIORITY = 32;
export const PUSH_PROMISE = 5;
/** RFC 9113 section 7. */
export const CODE = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  compression: 9,
  calm: 11,
} as const;

export const bytes = (...values: number[]): Buffer => Buffer.from(values);
export const data = (stream: number, text: string | Buffer, flags = 0): Buffer =>
  frame(FRAME.data, flags, stream, Buffer.from(text));
export const setting = (id: number, value: number): Buffer => Buffer.concat([bytes(0, id), number32(value)]);
export const settings = (...each: Buffer[]): Buffer => frame(FRAME.settings, 0, 0, Buffer.concat(each));
export const windowUpdate = (stream: number, increment: number): Buffer =>
  frame(FRAME.windowUpdate, 0, stream, number32(increment));

/**
 * What each is, the code of the GOAWAY that answers it, and the frames.
 * @param head of a message on stream 1
 */
export function forbiddenFrames(head: Fields): [what: string, code: number, sent: Buffer][] {
  const block = encodeFields(head);
  return [
    ['padding beyond DATA', CODE.protocol, frame(FRAME.data, PADDED, 1, bytes(9, 1, 2))],
    ['DATA that is too short for its padding', CODE.frameSize, frame(FRAME.data, PADDED, 1)],
    [
      'padding beyond HEADERS',
      CODE.protocol,
      frame(FRAME.headers, PADDED | END_HEADERS, 1, bytes(200, 0x82)),
    ],
    [
      'HEADERS without their priority',
      CODE.frameSize,
      frame(FRAME.headers, PRIORITY | END_HEADERS, 1, bytes(1)),
    ],
    ['DATA of no stream', CODE.protocol, data(0, 'x')],
    ['DATA of a stream that was not opened', CODE.protocol, data(7, 'x')],
    ['RST_STREAM of a stream that was not opened', CODE.protocol, frame(FRAME.rstStream, 0, 9, number32(0))],
    ['RST_STREAM that is too short', CODE.frameSize, frame(FRAME.rstStream, 0, 1, bytes(0))],
    ['PRIORITY that is too short', CODE.frameSize, frame(FRAME.priority, 0, 1, bytes(0))],
    ['a promise', CODE.protocol, frame(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([number32(2), block]))],
    ['SETTINGS of a stream', CODE.protocol, frame(FRAME.settings, 0, 1)],
    ['SETTINGS with half a setting', CODE.frameSize, frame(FRAME.settings, 0, 0, bytes(0, 4, 0))],
    ['an acknowledgement with settings', CODE.frameSize, frame(FRAME.settings, ACK, 0, setting(4, 1))],
    ['settings without end', CODE.calm, settings(...Array.from({ length: 40 }, () => setting(99, 1)))],
    ['a window that is too large for a setting', CODE.flowControl, settings(setting(4, 2 ** 31))],
    ['frames that may be too small', CODE.protocol, settings(setting(5, 100))],
    ['PING of a stream', CODE.protocol, frame(FRAME.ping, 0, 1, Buffer.alloc(8))],
    ['PING of seven bytes', CODE.frameSize, frame(FRAME.ping, 0, 0, Buffer.alloc(7))],
    ['GOAWAY of four bytes', CODE.frameSize, frame(FRAME.goaway, 0, 0, Buffer.alloc(4))],
    ['WINDOW_UPDATE of nothing', CODE.protocol, windowUpdate(0, 0)],
    ['WINDOW_UPDATE beyond all windows', CODE.flowControl, windowUpdate(0, 2 ** 31 - 1)],
    ['CONTINUATION of nothing', CODE.protocol, frame(FRAME.continuation, END_HEADERS, 1, block)],
    [
      'another frame between parts of a head',
      CODE.protocol,
      Buffer.concat([frame(FRAME.headers, 0, 1, block), frame(FRAME.ping, 0, 0, Buffer.alloc(8))]),
    ],
    [
      'empty parts of a head without end',
      CODE.calm,
      Buffer.concat([
        frame(FRAME.headers, 0, 1),
        ...Array.from({ length: 100 }, () => frame(FRAME.continuation, 0, 1)),
      ]),
    ],
    ['a frame that is too long', CODE.frameSize, frame(99, 0, 0, Buffer.alloc(16_385))],
    ['a reference to nothing', CODE.compression, frame(FRAME.headers, END_HEADERS, 1, bytes(0xff, 0x20))],
    [
      'a table that is too large',
      CODE.compression,
      frame(FRAME.headers, END_HEADERS, 1, bytes(0x3f, 0xe2, 0x1f)),
    ],
    ['WINDOW_UPDATE of three bytes', CODE.frameSize, frame(FRAME.windowUpdate, 0, 0, Buffer.alloc(3))],
    [
      'CONTINUATION of another stream',
      CODE.protocol,
      Buffer.concat([frame(FRAME.headers, 0, 1, block), frame(FRAME.continuation, END_HEADERS, 3)]),
    ],
    [
      'parts of a head without end',
      CODE.calm,
      Buffer.concat([
        frame(FRAME.headers, 0, 1),
        ...Array.from({ length: 20 }, () => frame(FRAME.continuation, 0, 1, Buffer.alloc(16_384))),
      ]),
    ],
  ];
}
