/**
 * A client of HTTP/2 that sends exactly the frames that it is given (RFC 9113 section 4), also those that no library
 * would send, and shows the frames that come back. Fields are encoded as literals without indexing or Huffman (RFC
 * 7541 section 6.2.2).
 */
import * as net from 'node:net';
import * as tls from 'node:tls';
import { CA } from './http2-client.ts';

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const END_STREAM = 1;
export const ACK = 1;
export const END_HEADERS = 4;
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export type Fields = readonly (readonly [name: string, value: string])[];

export function encodeFields(fields: Fields): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.from([0]), encodeText(name), encodeText(value)]),
  );
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([encodeLength(bytes.length), bytes]);
}

/** RFC 7541 section 5.1, a prefix of seven bits, no Huffman. */
function encodeLength(length: number): Buffer {
  if (length < 127) return Buffer.from([length]);
  const bytes = [127];
  let rest = length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

export const GET: Fields = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', '/a/v1/x'],
];
export const POST: Fields = [[':method', 'POST'], ...GET.slice(1)];

/** HEADERS of one frame; ends the stream unless it is told not to. */
export function headers(stream: number, fields: Fields, flags: number = END_STREAM): Buffer {
  return frame(FRAME.headers, flags | END_HEADERS, stream, encodeFields(fields));
}

export interface FrameClient {
  readonly socket: net.Socket;
  send(...frames: readonly Buffer[]): void;
  /** Resolves when what was sent is with the system, or the connection is gone. */
  flushed(): Promise<void>;
  /** All frames received so far, in order. */
  frames(): readonly Frame[];
  /** The first frame that fits; rejects when the connection ends or the time is over before. */
  next(fits: (frame: Frame) => boolean, what: string, timeoutMs?: number): Promise<Frame>;
  /** Error code of GOAWAY once the connection has ended; -1 without one. Rejects when it does not end in time. */
  ended(timeoutMs?: number): Promise<number>;
  close(): void;
}

/**
 * Connected, with preface, SETTINGS and the acknowledgement of the server's exchanged.
 * @param isPlain without TLS
 */
export async function connectFrames(
  port: number,
  settings: Buffer = Buffer.alloc(0),
  isPlain = false,
): Promise<FrameClient> {
  const host = '127.0.0.1';
  const socket = isPlain
    ? net.connect({ port, host })
    : tls.connect({ port, host, servername: 'localhost', ca: CA, ALPNProtocols: ['h2'] });
  const received: Frame[] = [];
  const wake = new Set<() => void>();
  let isOver = false;
  let buffer = Buffer.alloc(0);
  const notify = (): void => {
    for (const call of wake) call();
  };
  socket.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk]);
    while (buffer.length >= 9 && buffer.length >= 9 + buffer.readUIntBE(0, 3)) {
      const length = buffer.readUIntBE(0, 3);
      received.push({
        type: buffer.readUInt8(3),
        flags: buffer.readUInt8(4),
        stream: buffer.readUInt32BE(5),
        payload: Buffer.from(buffer.subarray(9, 9 + length)),
      });
      buffer = buffer.subarray(9 + length);
    }
    notify();
  });
  const onOver = (): void => {
    isOver = true;
    notify();
  };
  socket.on('end', onOver);
  socket.on('close', onOver);
  socket.on('error', () => undefined);
  await new Promise<void>((done, fail) => {
    socket.once(isPlain ? 'connect' : 'secureConnect', done);
    socket.once('close', () => fail(new Error('The handshake failed')));
  });
  const until = async <T>(look: () => T | undefined, what: string, timeoutMs: number): Promise<T> => {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      const leftMs = deadline - Date.now();
      if (leftMs <= 0) throw new Error(`No ${what} within ${timeoutMs} ms; got ${describe(received)}`);
      await new Promise<void>((done) => {
        const timer = setTimeout(call, leftMs);
        function call(): void {
          clearTimeout(timer);
          wake.delete(call);
          done();
        }
        wake.add(call);
      });
    }
  };
  const client: FrameClient = {
    socket,
    send: (...frames) => void socket.write(Buffer.concat(frames)),
    flushed: () =>
      new Promise((done) => {
        if (socket.destroyed || isOver) return done();
        const finish = (): void => {
          socket.off('close', finish);
          done();
        };
        socket.once('close', finish);
        socket.write(Buffer.alloc(0), finish);
      }),
    frames: () => received,
    next: (fits, what, timeoutMs = 10_000) =>
      until(
        () => {
          const found = received.find(fits);
          if (found === undefined && isOver)
            throw new Error(`The connection ended before ${what}; got ${describe(received)}`);
          return found;
        },
        what,
        timeoutMs,
      ),
    ended: async (timeoutMs = 10_000) => {
      await until(() => (isOver ? true : undefined), 'end of the connection', timeoutMs);
      const goaway = received.findLast(({ type }) => type === FRAME.goaway);
      return goaway === undefined ? -1 : goaway.payload.readUInt32BE(4);
    },
    close: () => void socket.destroy(),
  };
  client.send(PREFACE, frame(FRAME.settings, 0, 0, settings));
  await client.next(({ type, flags }) => type === FRAME.settings && flags === 0, 'SETTINGS');
  client.send(frame(FRAME.settings, ACK, 0));
  return client;
}

function describe(frames: readonly Frame[]): string {
  return frames
    .slice(-20)
    .map(({ type, flags, stream, payload }) => `${type}/${flags}/${stream}/${payload.length}`)
    .join(' ');
}

/** Code of the RST_STREAM that a stream ends in. */
export async function resetCode(client: FrameClient, stream: number): Promise<number> {
  const found = await client.next(
    (one) => one.type === FRAME.rstStream && one.stream === stream,
    'RST_STREAM',
  );
  return found.payload.readUInt32BE(0);
}
