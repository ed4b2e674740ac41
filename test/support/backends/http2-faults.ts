/**
 * What a backend of HTTP/2 (RFC 9113) can do wrong, to requests and to calls of gRPC: the frames of each fault, and
 * what clients get. `fault-backend-http2.ts` sends them.
 */
import type { Socket } from 'node:net';
import type { UpstreamCause } from '../../../src/proxy/upstream/upstream-failure.ts';
import {
  END_HEADERS,
  END_STREAM,
  encodeFields,
  FRAME,
  frame,
  headers,
  number32,
  type Fields,
} from '../clients/http2-frames.ts';
import { answerTo, type FaultOutcome, type FaultRequest } from './fault-backend.ts';

export interface Http2FaultRequest extends FaultRequest {
  readonly isCall: boolean;
}

export interface Http2Fault {
  readonly name: string;
  /** To a request over HTTP; a call gets the status of gRPC for 502 and 504. */
  readonly outcome: FaultOutcome;
  /** Where the end of a call differs from that of a request. */
  readonly callOutcome?: FaultOutcome;
  /** As the gateway reports it; undefined when it sees nothing wrong. */
  readonly cause: UpstreamCause | 'reset or bad_response' | undefined;
  /** A GET is made again, once; `maybe` where a connection breaks, which counts for its requests as either cause. */
  readonly isRetried?: true | 'maybe';
  /** How often a request arrives, where the backend says that it has not looked at it. */
  readonly arrivals?: number;
  readonly isTimed?: true;
  /** Requests meet it one after the other: it ends the connection, and with it other requests that are under way. */
  readonly isAlone?: true;
  readonly misbehave: (peer: Http2Peer, request: Http2FaultRequest) => void;
}

/** One request that meets its fault. */
export interface Http2Peer {
  readonly socket: Socket;
  readonly stream: number;
  /** How often this request has arrived, from 1. */
  readonly arrival: number;
  send(...frames: readonly Buffer[]): void;
}

const OK: Fields = [[':status', '200']];
const CALL: Fields = [...OK, ['content-type', 'application/grpc']];
const FINE: Fields = [['grpc-status', '0']];
const [PROTOCOL_ERROR, INTERNAL_ERROR, REFUSED_STREAM] = [1, 2, 7];
const DRIP_MS = 80;
const PUSH_PROMISE = 5;

/** A message of gRPC. */
export function message(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([Buffer.from([0]), number32(bytes.length), bytes]);
}

const data = (stream: number, bytes: Buffer | string, flags = 0): Buffer =>
  frame(FRAME.data, flags, stream, typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
const reset = (stream: number, code: number): Buffer => frame(FRAME.rstStream, 0, stream, number32(code));
export const goaway = (lastStream: number, code: number): Buffer =>
  frame(FRAME.goaway, 0, 0, Buffer.concat([number32(lastStream), number32(code)]));

const headOf = ({ isCall }: Http2FaultRequest): Fields => (isCall ? CALL : OK);
export const contentOf = (request: Http2FaultRequest): Buffer =>
  request.isCall ? message(answerTo(request)) : Buffer.from(answerTo(request), 'latin1');

/** The whole response, with trailers where it is that to a call. */
function whole({ stream }: Http2Peer, request: Http2FaultRequest, trailers: Fields = FINE): Buffer[] {
  const head = headers(stream, headOf(request), 0);
  if (!request.isCall) return [head, data(stream, contentOf(request), END_STREAM)];
  return [head, data(stream, contentOf(request)), headers(stream, trailers)];
}

/** The head and a part of the content. */
const part = ({ stream }: Http2Peer, request: Http2FaultRequest): Buffer[] => [
  headers(stream, headOf(request), 0),
  data(stream, contentOf(request).subarray(0, -2)),
];

/** Sends the pieces one after the other, with time between them. */
function drip(peer: Http2Peer, pieces: readonly Buffer[], everyMs = DRIP_MS): void {
  const rest = [...pieces];
  const timer = setInterval(() => {
    const next = rest.shift();
    if (next === undefined || peer.socket.destroyed) clearInterval(timer);
    else peer.send(next);
  }, everyMs);
}

/** A turn of the event loop or more for gateway and client each, so that the client has seen the part. */
const LATER: readonly Buffer[] = [Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0)];

/** A head, a part of the content, and what comes a little later. */
const later = (peer: Http2Peer, request: Http2FaultRequest, ...frames: readonly Buffer[]): void => {
  peer.send(...part(peer, request));
  drip(peer, [...LATER, Buffer.concat(frames)], 15);
};

const HEAD_FAULTS: readonly Http2Fault[] = [
  {
    name: 'RST_STREAM before the head',
    outcome: 502,
    cause: 'reset',
    isRetried: true,
    misbehave: (peer) => peer.send(reset(peer.stream, INTERNAL_ERROR)),
  },
  {
    name: 'REFUSED_STREAM once',
    outcome: 'whole',
    cause: undefined,
    arrivals: 2,
    misbehave: (peer, request) =>
      peer.send(...(peer.arrival === 1 ? [reset(peer.stream, REFUSED_STREAM)] : whole(peer, request))),
  },
  {
    name: 'GOAWAY below the request',
    outcome: 'whole',
    cause: undefined,
    arrivals: 2,
    isAlone: true,
    misbehave: (peer, request) =>
      peer.send(...(peer.arrival === 1 ? [goaway(Math.max(0, peer.stream - 2), 0)] : whole(peer, request))),
  },
  {
    name: 'GOAWAY that names the request, and its response',
    outcome: 'whole',
    cause: undefined,
    isAlone: true,
    misbehave: (peer, request) => peer.send(goaway(peer.stream, 0), ...whole(peer, request)),
  },
  {
    name: 'GOAWAY with an error that names the request',
    outcome: 502,
    cause: 'reset',
    isRetried: true,
    isAlone: true,
    misbehave: (peer) => peer.send(goaway(peer.stream, INTERNAL_ERROR)),
  },
  {
    name: 'closed before the head',
    outcome: 502,
    cause: 'reset',
    isRetried: true,
    isAlone: true,
    misbehave: ({ socket }) => socket.end(),
  },
  {
    name: 'reset before the head',
    outcome: 502,
    cause: 'reset',
    isRetried: true,
    isAlone: true,
    misbehave: ({ socket }) => void socket.destroy(),
  },
  {
    name: 'closed within the head',
    outcome: 502,
    cause: 'reset',
    // Nothing that can be read of it has come.
    isRetried: true,
    isAlone: true,
    misbehave: (peer) => void peer.socket.end(headers(peer.stream, OK).subarray(0, 12)),
  },
  {
    name: 'a head that comes too late',
    outcome: 504,
    cause: 'first_byte_timeout',
    isTimed: true,
    misbehave: (peer, request) => void setTimeout(() => peer.send(...whole(peer, request)), 700),
  },
  {
    name: 'a head, frame by frame and never done',
    outcome: 504,
    cause: 'first_byte_timeout',
    isTimed: true,
    isAlone: true,
    misbehave: (peer) => {
      const more = frame(FRAME.continuation, 0, peer.stream, encodeFields([['x', 'y']]));
      drip(peer, [
        frame(FRAME.headers, 0, peer.stream, encodeFields(OK)),
        ...Array.from({ length: 5 }, () => more),
      ]);
      // Nothing else can come on such a connection.
      setTimeout(() => peer.socket.destroy(), 650);
    },
  },
  {
    name: 'a head without :status',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (peer) => peer.send(headers(peer.stream, [['x', 'y']])),
  },
  {
    name: 'a bad status',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (peer) => peer.send(headers(peer.stream, [[':status', 'OK']])),
  },
  {
    name: 'Transfer-Encoding',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (peer) => peer.send(headers(peer.stream, [...OK, ['transfer-encoding', 'chunked']])),
  },
  {
    name: 'two lengths',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (peer) =>
      peer.send(headers(peer.stream, [...OK, ['content-length', '3'], ['content-length', '5']])),
  },
  {
    name: 'a head of 70 kB',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (peer) => {
      const field = encodeFields([['x', 'y'.repeat(10_000)]]);
      const more = Array.from({ length: 7 }, (_item, index) =>
        frame(FRAME.continuation, index === 6 ? END_HEADERS : 0, peer.stream, field),
      );
      peer.send(frame(FRAME.headers, END_STREAM, peer.stream, encodeFields(OK)), ...more);
    },
  },
  {
    name: 'a head without end',
    outcome: 502,
    cause: 'reset or bad_response',
    isRetried: 'maybe',
    isAlone: true,
    misbehave: (peer) => {
      const more = frame(FRAME.continuation, 0, peer.stream, encodeFields([['x', 'y'.repeat(100)]]));
      peer.send(
        frame(FRAME.headers, 0, peer.stream, encodeFields(OK)),
        ...Array.from({ length: 5_000 }, () => more),
      );
    },
  },
  {
    name: 'a flood of 1xx',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (peer) =>
      peer.send(...Array.from({ length: 500 }, () => headers(peer.stream, [[':status', '103']], 0))),
  },
  {
    name: 'an unrequested switch of protocols',
    outcome: 502,
    cause: 'bad_response',
    misbehave: (peer) => peer.send(headers(peer.stream, [[':status', '101']], 0)),
  },
  {
    name: 'content before the head',
    outcome: 502,
    cause: 'reset or bad_response',
    isRetried: 'maybe',
    isAlone: true,
    misbehave: (peer) => peer.send(data(peer.stream, 'abc', END_STREAM)),
  },
  {
    name: 'compressed fields that cannot be read',
    outcome: 502,
    cause: 'reset or bad_response',
    isRetried: 'maybe',
    isAlone: true,
    misbehave: (peer) =>
      peer.send(
        frame(FRAME.headers, END_HEADERS | END_STREAM, peer.stream, Buffer.from([0xff, 0xff, 0xff, 0xff])),
      ),
  },
  {
    name: 'a frame that is too long',
    outcome: 502,
    cause: 'reset or bad_response',
    isRetried: 'maybe',
    isAlone: true,
    misbehave: (peer) => peer.send(data(peer.stream, Buffer.alloc(20_000))),
  },
  {
    name: 'another protocol',
    outcome: 502,
    cause: 'reset or bad_response',
    isRetried: 'maybe',
    isAlone: true,
    misbehave: (peer) => peer.send(Buffer.from('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')),
  },
  {
    name: 'a pushed response',
    outcome: 502,
    cause: 'reset or bad_response',
    isRetried: 'maybe',
    isAlone: true,
    misbehave: (peer) => {
      const asked = encodeFields([
        [':method', 'GET'],
        [':scheme', 'http'],
        [':authority', 'a'],
        [':path', '/'],
      ]);
      peer.send(frame(PUSH_PROMISE, END_HEADERS, peer.stream, Buffer.concat([number32(2), asked])));
    },
  },
];

const BODY_FAULTS: readonly Http2Fault[] = [
  {
    name: 'a body, byte by byte',
    outcome: 'whole',
    cause: undefined,
    isTimed: true,
    misbehave: (peer, request) => {
      const content = contentOf(request);
      peer.send(headers(peer.stream, headOf(request), 0), data(peer.stream, content.subarray(0, -7)));
      const last = request.isCall ? headers(peer.stream, FINE) : data(peer.stream, '', END_STREAM);
      drip(peer, [...[...content.subarray(-7)].map((byte) => data(peer.stream, Buffer.from([byte]))), last]);
    },
  },
  {
    name: 'a body that stands still',
    outcome: 'cut',
    cause: 'idle_timeout',
    isTimed: true,
    misbehave: (peer, request) => peer.send(...part(peer, request)),
  },
  {
    name: 'RST_STREAM within the body',
    outcome: 'cut',
    cause: 'reset',
    misbehave: (peer, request) => later(peer, request, reset(peer.stream, INTERNAL_ERROR)),
  },
  {
    name: 'RST_STREAM with NO_ERROR within the body',
    outcome: 'cut',
    cause: 'reset',
    misbehave: (peer, request) => later(peer, request, reset(peer.stream, 0)),
  },
  {
    name: 'REFUSED_STREAM within the body',
    outcome: 'cut',
    cause: 'reset',
    misbehave: (peer, request) => later(peer, request, reset(peer.stream, REFUSED_STREAM)),
  },
  {
    name: 'closed within the body',
    outcome: 'cut',
    cause: 'reset',
    isAlone: true,
    misbehave: (peer, request) => {
      later(peer, request);
      setTimeout(() => peer.socket.end(), 70);
    },
  },
  {
    name: 'closed within a frame',
    outcome: 'cut',
    cause: 'reset',
    isAlone: true,
    misbehave: (peer, request) => {
      later(peer, request, data(peer.stream, 'abcdef').subarray(0, 11));
      setTimeout(() => peer.socket.end(), 70);
    },
  },
  {
    name: 'GOAWAY with an error within the body',
    outcome: 'cut',
    cause: 'reset',
    isAlone: true,
    misbehave: (peer, request) => later(peer, request, goaway(peer.stream, PROTOCOL_ERROR)),
  },
  {
    name: 'a body shorter than its Content-Length',
    outcome: 'cut',
    cause: 'bad_response',
    misbehave: (peer, request) => {
      peer.send(headers(peer.stream, [...headOf(request), ['content-length', '100']], 0));
      drip(peer, [...LATER, data(peer.stream, 'abc', END_STREAM)], 15);
    },
  },
  {
    name: 'a body longer than its Content-Length',
    outcome: 'cut',
    cause: 'reset or bad_response',
    misbehave: (peer, request) => {
      peer.send(headers(peer.stream, [...headOf(request), ['content-length', '4']], 0));
      drip(peer, [data(peer.stream, 'abc'), ...LATER, data(peer.stream, 'def', END_STREAM)], 15);
    },
  },
  {
    name: 'two heads',
    outcome: 'cut',
    cause: 'bad_response',
    misbehave: (peer, request) => later(peer, request, headers(peer.stream, OK, 0)),
  },
  {
    name: 'a window of more than 2^31 bytes for the request',
    outcome: 'cut',
    cause: 'reset or bad_response',
    misbehave: (peer, request) =>
      later(peer, request, frame(FRAME.windowUpdate, 0, peer.stream, number32(2 ** 31 - 1))),
  },
];

const TRAILER_FAULTS: readonly Http2Fault[] = [
  {
    name: 'a pseudo-field in trailers',
    outcome: 'cut',
    cause: 'bad_response',
    misbehave: (peer, request) => later(peer, request, headers(peer.stream, [[':status', '200'], ...FINE])),
  },
  {
    name: 'a field of the connection in trailers',
    outcome: 'cut',
    cause: 'bad_response',
    misbehave: (peer, request) =>
      later(peer, request, headers(peer.stream, [...FINE, ['connection', 'close']])),
  },
  {
    name: 'trailers in upper case',
    outcome: 'cut',
    cause: 'bad_response',
    misbehave: (peer, request) => later(peer, request, headers(peer.stream, [...FINE, ['X-Upper', 'y']])),
  },
  {
    name: 'trailers that do not end the stream',
    outcome: 'cut',
    cause: 'bad_response',
    misbehave: (peer, request) => later(peer, request, headers(peer.stream, FINE, 0)),
  },
  {
    name: 'trailers of 70 kB',
    outcome: 'cut',
    cause: 'bad_response',
    misbehave: (peer, request) => {
      const field = encodeFields([['x', 'y'.repeat(10_000)]]);
      const more = Array.from({ length: 7 }, (_item, index) =>
        frame(FRAME.continuation, index === 6 ? END_HEADERS : 0, peer.stream, field),
      );
      later(peer, request, frame(FRAME.headers, END_STREAM, peer.stream, encodeFields(FINE)), ...more);
    },
  },
];

/** What is wrong is around a response that is right. */
const QUIET_FAULTS: readonly Http2Fault[] = [
  {
    name: 'RST_STREAM behind a response',
    outcome: 'whole',
    cause: undefined,
    misbehave: (peer, request) => peer.send(...whole(peer, request), reset(peer.stream, INTERNAL_ERROR)),
  },
  {
    name: 'a second response behind the first',
    outcome: 'whole',
    cause: undefined,
    isAlone: true,
    misbehave: (peer, request) => peer.send(...whole(peer, request), ...whole(peer, request)),
  },
  {
    name: 'a response to a stream that was not opened',
    outcome: 'whole',
    cause: undefined,
    isAlone: true,
    misbehave: (peer, request) => peer.send(...whole(peer, request), headers(peer.stream + 1_000, OK)),
  },
  {
    name: 'FIN behind a response',
    outcome: 'whole',
    cause: undefined,
    isAlone: true,
    misbehave: (peer, request) => void peer.socket.end(Buffer.concat(whole(peer, request))),
  },
  {
    name: 'frames of unknown types around a response',
    outcome: 'whole',
    cause: undefined,
    misbehave: (peer, request) =>
      peer.send(
        frame(0xbe, 0xff, peer.stream, Buffer.alloc(20)),
        frame(FRAME.priority, 0, peer.stream, Buffer.from([0, 0, 0, 0, 1])),
        ...whole(peer, request),
        frame(0xbf, 0xff, 0, Buffer.alloc(20)),
      ),
  },
];

export const HTTP2_FAULTS: readonly Http2Fault[] = [
  ...HEAD_FAULTS,
  ...BODY_FAULTS,
  ...TRAILER_FAULTS,
  ...QUIET_FAULTS,
];
