/**
 * A backend that answers `/good/<id>` as it should, and everything else with one fault of the table below. It counts
 * how often the head of each request came, so that a request that was sent twice shows.
 */
import type * as net from 'node:net';
import * as tls from 'node:tls';
import type { UpstreamCause } from '../../../src/proxy/upstream/upstream-failure.ts';
import { startSocketServer, type Certificate, type SocketServer } from './socket-server.ts';

/** What a client gets: a status of the gateway's own, the whole answer, or one that shows that it was cut off. */
export type FaultOutcome = 502 | 504 | 'whole' | 'cut';

export interface Fault {
  readonly name: string;
  readonly outcome: FaultOutcome;
  /** As the gateway reports it; undefined when it sees nothing wrong. */
  readonly cause: UpstreamCause | undefined;
  /** A GET is made again, once. */
  readonly isRetried?: true;
  readonly isTimed?: true;
  /** What comes later than the response: a connection on which it has not come yet looks as good as any other. */
  readonly lateMs?: number;
  /** Happens to the second request of a connection only; the first one is answered as it should be. */
  readonly onReuse?: true;
  /** @param ask number of the request on its connection, from 0 */
  readonly misbehave: (socket: net.Socket, request: FaultRequest) => void;
}

export interface FaultRequest {
  readonly method: string;
  /** The last segment of its path. */
  readonly id: string;
  readonly body: string;
}

/** What only the exchange with that id can have as its answer. */
export const answerTo = ({ method, id, body }: FaultRequest): string => `${method} ${id} [${body}]`;

const plain = (text: string): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\nX-Fault: none\r\n\r\n${text}`;
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
/** Of faults that are about time; with all others there is time enough for a machine that is busy. */
export const FAULT_TIMEOUTS = { first_byte_ms: 500, idle_ms: 500, connect_ms: 500 } as const;
const DRIP_MS = 80;
/** Takes longer than the gateway waits between two bytes. */
const DRIPPED_CHARS = 8;

/** Writes the pieces one after the other, with time between them. */
function drip(socket: net.Socket, pieces: readonly string[]): void {
  const rest = [...pieces];
  const timer = setInterval(() => {
    const next = rest.shift();
    if (next === undefined || socket.destroyed) clearInterval(timer);
    else socket.write(next);
  }, DRIP_MS);
}

/** With RST; over TLS, where node cannot send one, without the close_notify that an orderly end has. */
function cutOff(socket: net.Socket): void {
  if (socket instanceof tls.TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

/** Writes, and ends the connection when it is out: `end` with FIN, `reset` with RST. */
const thenEnd = (socket: net.Socket, text: string): void => void socket.end(text, 'latin1');
const thenReset = (socket: net.Socket, text: string): void =>
  // A reset takes along what the peer has not read yet.
  void socket.write(text, 'latin1', () => setTimeout(() => cutOff(socket), 30));

export const FAULTS: readonly Fault[] = [
  {
    name: 'reset before headers',
    outcome: 502,
    cause: 'reset',
    isRetried: true,
    misbehave: (socket) => cutOff(socket),
  },
  {
    name: 'closed before headers',
    outcome: 502,
    cause: 'reset',
    isRetried: true,
    misbehave: (socket) => socket.end(),
  },
  {
    name: 'closed within the headers',
    outcome: 502,
    cause: 'reset',
    misbehave: (socket) => thenEnd(socket, 'HTTP/1.1 200 OK\r\nContent-Le'),
  },
  {
    name: 'headers that come too late',
    outcome: 504,
    cause: 'first_byte_timeout',
    isTimed: true,
    misbehave: (socket, request) => void setTimeout(() => socket.write(plain(answerTo(request))), 700),
  },
  {
    name: 'headers, byte by byte and never done',
    outcome: 504,
    cause: 'first_byte_timeout',
    isTimed: true,
    misbehave: (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nX: y'.split('')),
  },
  {
    name: 'a body, byte by byte',
    outcome: 'whole',
    isTimed: true,
    cause: undefined,
    misbehave: (socket, request) => {
      const text = answerTo(request);
      socket.write(plain(text).slice(0, -DRIPPED_CHARS));
      drip(socket, text.slice(-DRIPPED_CHARS).split(''));
    },
  },
  {
    name: 'a body that stands still',
    outcome: 'cut',
    cause: 'idle_timeout',
    isTimed: true,
    misbehave: (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc'),
  },
  {
    name: 'reset within the body',
    outcome: 'cut',
    cause: 'reset',
    misbehave: (socket) => thenReset(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc'),
  },
  {
    name: 'reset of a body that ends with its connection',
    outcome: 'cut',
    cause: 'reset',
    misbehave: (socket) => thenReset(socket, 'HTTP/1.1 200 OK\r\n\r\nabc'),
  },
  {
    name: 'a body shorter than its Content-Length',
    outcome: 'cut',
    cause: 'reset',
    misbehave: (socket) => thenEnd(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc'),
  },
  {
    name: 'a chunk that is cut off',
    outcome: 'cut',
    cause: 'reset',
    misbehave: (socket) => thenEnd(socket, `${CHUNKED}3\r\nabc\r\n64\r\nabc`),
  },
  {
    name: 'no last chunk',
    outcome: 'cut',
    cause: 'reset',
    misbehave: (socket) => thenEnd(socket, `${CHUNKED}3\r\nabc\r\n`),
  },
  {
    name: 'a chunk size that is not a number',
    outcome: 'cut',
    cause: 'bad_response',
    // Two reads: a head that comes with the defect never leaves the gateway.
    misbehave: (socket) => drip(socket, [`${CHUNKED}3\r\nabc\r\n`, 'zz\r\nabc\r\n0\r\n\r\n']),
  },
  {
    name: 'a bad status line',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (socket) => void socket.write('HTTP/1.1 OK 200\r\nContent-Length: 0\r\n\r\n'),
  },
  {
    name: 'another protocol',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (socket) => void socket.write('220 mail.example ESMTP\r\n\r\n'),
  },
  {
    name: 'a header of 1 MiB',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (socket) =>
      void socket.write(`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(1024 * 1024)}\r\nContent-Length: 0\r\n\r\n`),
  },
  {
    name: 'headers without an end',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (socket) => void socket.write(`HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(20_000)}`),
  },
  {
    name: 'Content-Length and Transfer-Encoding',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (socket) =>
      void socket.write(
        'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      ),
  },
  {
    name: 'two lengths',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (socket) =>
      void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde'),
  },
  {
    name: 'a flood of 1xx',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (socket) => void socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(5_000)),
  },
  {
    name: 'an unrequested switch of protocols',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (socket) =>
      void socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
  },
  {
    name: 'a second response behind the first',
    outcome: 'whole',
    cause: undefined,
    misbehave: (socket, request) =>
      void socket.write(plain(answerTo(request)) + plain('an unrequested answer')),
  },
  {
    name: 'a second response a little later',
    lateMs: 20,
    outcome: 'whole',
    cause: undefined,
    misbehave: (socket, request) => {
      socket.write(plain(answerTo(request)));
      setTimeout(() => socket.write(plain('an unrequested answer')), 20);
    },
  },
  {
    name: 'FIN behind a response that keeps its connection',
    outcome: 'whole',
    cause: undefined,
    misbehave: (socket, request) => thenEnd(socket, plain(answerTo(request))),
  },
  {
    name: 'FIN instead of a response, on a connection that was idle',
    outcome: 502,
    cause: 'reset',
    isRetried: true,
    onReuse: true,
    misbehave: (socket) => socket.end(),
  },
  {
    name: 'reset instead of a response, on a connection that was idle',
    outcome: 502,
    cause: 'reset',
    isRetried: true,
    onReuse: true,
    misbehave: (socket) => cutOff(socket),
  },
];

export interface FaultBackend extends SocketServer {
  /** How often the head of a request with that id arrived. */
  readonly arrivals: ReadonlyMap<string, number>;
}

/** @param certificate for TLS */
export async function startFaultBackend(
  fault: Fault | undefined,
  certificate?: Certificate,
): Promise<FaultBackend> {
  const arrivals = new Map<string, number>();
  const server = await startSocketServer((socket) => serve(socket, fault, arrivals), certificate);
  return { ...server, arrivals };
}

/** Reads requests whose bodies have a length, one after the other. */
function serve(socket: net.Socket, fault: Fault | undefined, arrivals: Map<string, number>): void {
  let text = '';
  let isCounted = false;
  let served = 0;
  socket.on('error', () => undefined);
  socket.on('end', () => socket.end());
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    for (;;) {
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const [, method = '', kind = '', id = ''] = /^(\S+) \/(\w+)\/(\S+) HTTP/.exec(text) ?? [];
      if (!isCounted) arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
      isCounted = true;
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
      if (text.length < end + 4 + length) return;
      const request = { method, id, body: text.slice(end + 4, end + 4 + length) };
      text = text.slice(end + 4 + length);
      isCounted = false;
      const isFaulty = kind === 'fault' && fault !== undefined && (fault.onReuse !== true || served > 0);
      served += 1;
      if (isFaulty) fault.misbehave(socket, request);
      else socket.write(plain(answerTo(request)));
    }
  });
}
