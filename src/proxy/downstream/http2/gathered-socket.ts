/**
 * A TLS socket that carries frames. Text is written at the end of the tick, so that the frames of all streams are
 * encrypted and sent together, as the TCP writer does without TLS. Owns the waiting text.
 */
import type { Duplex } from 'node:stream';
import { streamClientSocket, type FrameSocket } from '../client-socket.ts';

/** Text beyond this size is written before the end of the tick. */
const WAITING_CHARS_MAX = 16 * 1024;

export function gatheredSocket(stream: Duplex): FrameSocket {
  const socket = streamClientSocket(stream);
  let text = '';
  const flush = (): void => {
    const waiting = text;
    text = '';
    if (waiting !== '' && stream.writable) socket.writeText(waiting);
  };
  return {
    ...socket,
    writeText: (more) => {
      if (text === '') setImmediate(flush);
      text += more;
      if (text.length > WAITING_CHARS_MAX) flush();
      return !stream.writableNeedDrain;
    },
    writeBytes: (bytes, release) => {
      stream.cork();
      flush();
      const isWritable = socket.writeBytes(bytes, release);
      stream.uncork();
      return isWritable;
    },
    get needsDrain() {
      return stream.writableNeedDrain;
    },
    get isFlushed() {
      return text === '' && stream.writableLength === 0;
    },
    end: () => {
      flush();
      socket.end();
    },
    destroySoon: () => {
      flush();
      socket.destroySoon();
    },
    get destroyed() {
      return stream.destroyed;
    },
  };
}
