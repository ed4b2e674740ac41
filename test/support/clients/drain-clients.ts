/**
 * Clients of every kind that a stop may catch in the middle of something, over TCP or TLS. Each goes on until no
 * connection can be made any more, and tells of every exchange that it began what became of it.
 */
import { randomInt } from 'node:crypto';
import * as http2 from 'node:http2';
import * as net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import * as tls from 'node:tls';
import { CA } from './http2-client.ts';
import { heldUpSince } from '../measure/steady.ts';

export type Kind =
  | 'keep-alive'
  | 'new connection each'
  | 'pipelined'
  | 'chunked upload'
  | 'slow download'
  | 'http/2';

export interface DrainClientOptions {
  readonly port: number;
  readonly isTls: boolean;
  /** The longest exchange; they last from nothing to this. */
  readonly exchangeMsMax: number;
}

/** `200`: as it should be; `refused`: no connection, nothing begun; all else is a failure, told in words. */
export type Report = (kind: Kind, outcome: string) => void;

/** Ends all bodies of the backend. */
export const LAST_WORD = 'the end';
/** A connection on which nothing is asked for half a second is closed in a drain: so may be one of a client held up. */
export const HELD_UP_MS_MAX = 300;
const PIPELINED = 3;
const PIECES = 5;
const STREAMS = 4;
const PAUSE_MS = 10;

/** Resolves when the port is closed. */
export async function runClient(kind: Kind, options: DrainClientOptions, report: Report): Promise<void> {
  const tell = (outcome: string): void => report(kind, outcome);
  if (kind === 'http/2') return runHttp2(options, tell);
  for (;;) {
    const wire = await Wire.open(options);
    if (typeof wire === 'string') return wire === 'refused' ? undefined : tell(wire);
    while (wire.isUsable) {
      for (const outcome of await EXCHANGES[kind](wire, options)) tell(outcome);
      if (kind === 'new connection each') break;
      await pause(PAUSE_MS);
    }
    const broken = await wire.brokenAtRest();
    if (broken !== undefined) tell(broken);
    wire.end();
  }
}

const EXCHANGES: Readonly<
  Record<Exclude<Kind, 'http/2'>, (wire: Wire, options: DrainClientOptions) => Promise<string[]>>
> = {
  'keep-alive': async (wire, options) => {
    wire.write(request('GET', `/wait/${someMs(options)}`));
    return [await wire.answer()];
  },
  'new connection each': async (wire) => {
    wire.write(request('GET', '/wait/0'));
    return [await wire.answer()];
  },
  pipelined: async (wire, options) => {
    const one = (): string => request('GET', `/wait/${Math.round(someMs(options) / PIPELINED)}`);
    wire.write(Array.from({ length: PIPELINED }, one).join(''));
    const outcomes: string[] = [];
    for (let count = 0; count < PIPELINED; count++) outcomes.push(await wire.answer());
    return outcomes;
  },
  'chunked upload': async (wire, options) => {
    const everyMs = someMs(options) / PIECES;
    wire.write(request('POST', '/wait/0', 'Transfer-Encoding: chunked\r\n'));
    for (let piece = 0; piece < PIECES && wire.isUsable; piece++) {
      await pause(everyMs);
      wire.write('5\r\npiece\r\n');
    }
    wire.write('0\r\n\r\n');
    return [await wire.answer()];
  },
  'slow download': async (wire, options) => {
    wire.write(request('GET', `/drip/${someMs(options)}`));
    return [await wire.answer()];
  },
};

async function runHttp2(options: DrainClientOptions, tell: (outcome: string) => void): Promise<void> {
  for (;;) {
    const session = http2.connect(`https://localhost:${options.port}`, { ca: CA });
    let broken: string | undefined;
    session.on('error', (error) => (broken = 'code' in error ? String(error.code) : error.message));
    let lastStreamId = Infinity;
    session.on('goaway', (_code, last) => (lastStreamId = last));
    const isOpen = await new Promise<boolean>((done) => {
      session.once('connect', () => done(true));
      session.once('close', () => done(false));
    });
    if (!isOpen) return broken === 'ECONNREFUSED' ? undefined : tell(`the handshake was cut: ${broken}`);
    while (lastStreamId === Infinity && !session.closed && !session.destroyed) {
      const streams = Array.from({ length: STREAMS }, () =>
        stream(session, someMs(options), (id) => id <= lastStreamId),
      );
      for (const outcome of await Promise.all(streams)) tell(outcome);
      await pause(PAUSE_MS);
    }
    if (!session.destroyed) await new Promise((done) => session.once('close', done));
    if (broken !== undefined) tell(`the session ended with ${broken}`);
  }
}

/**
 * One that the server did not look at (REFUSED_STREAM, or above the last one of GOAWAY) had not begun.
 * @param isLookedAt by what is known when the stream has ended
 */
function stream(
  session: http2.ClientHttp2Session,
  ms: number,
  isLookedAt: (streamId: number) => boolean,
): Promise<string> {
  return new Promise((done) => {
    let text = '';
    let status = 0;
    const one = session.request({ ':path': `/a/v1/wait/${ms}` });
    one.setEncoding('latin1');
    one.on('response', (headers) => (status = headers[':status'] ?? 0));
    one.on('data', (part: string) => (text += part));
    one.on('error', () => undefined);
    one.on('close', () => {
      if (text.endsWith(LAST_WORD) && one.rstCode === 0) return done(String(status));
      const wasLookedAt = one.id !== undefined && isLookedAt(one.id);
      const isRefused = one.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM || !wasLookedAt;
      done(isRefused ? 'refused' : `a stream was ended with ${one.rstCode}`);
    });
  });
}

function request(method: string, path: string, fields = ''): string {
  return `${method} /a/v1${path} HTTP/1.1\r\nHost: gateway.test\r\n${fields}\r\n`;
}

function someMs({ exchangeMsMax }: DrainClientOptions): number {
  return randomInt(exchangeMsMax + 1);
}

/** A connection of HTTP/1.1, whose answers are read one after the other. */
class Wire {
  readonly #socket: net.Socket;
  #text = '';
  #ended: string | undefined;
  /** What ended it, if that was no orderly end and no answer has told of it. */
  #broken: string | undefined;
  #saysClose = false;
  #wake: (() => void) | undefined;
  #heldUp: () => number;
  /** Before a part of what is asked for now. */
  #wasLate = false;

  private constructor(socket: net.Socket, heldUp: () => number) {
    this.#socket = socket;
    this.#heldUp = heldUp;
    socket.setEncoding('latin1');
    socket.setNoDelay(true);
    socket.on('data', (text: string) => {
      this.#text += text;
      this.#wake?.();
    });
    socket.on('error', (error) => {
      const how = `the connection ended with ${error.message}`;
      if (this.#ended === undefined) this.#broken = how;
      this.#end(how);
    });
    socket.on('end', () => this.#end('the connection was closed'));
    socket.on('close', () => this.#end('the connection was closed'));
  }

  /** The connection, `refused`, or what else went wrong. */
  static open({ port, isTls }: DrainClientOptions): Promise<Wire | string> {
    return new Promise((done) => {
      const heldUp = heldUpSince();
      const socket = isTls
        ? tls.connect({ port, host: '127.0.0.1', servername: 'localhost', ca: CA })
        : net.connect({ port, host: '127.0.0.1' });
      const onError = (error: Error): void =>
        done(
          'code' in error && error.code === 'ECONNREFUSED' ? 'refused' : `no connection: ${error.message}`,
        );
      socket.once('error', onError);
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        socket.off('error', onError);
        done(new Wire(socket, heldUp));
      });
    });
  }

  get isUsable(): boolean {
    return this.#ended === undefined && !this.#saysClose;
  }

  write(text: string): void {
    this.#wasLate ||= this.#heldUp() > HELD_UP_MS_MAX;
    this.#heldUp = heldUpSince();
    if (!this.#socket.destroyed) this.#socket.write(text, 'latin1');
  }

  /** The status of the next answer, or how the connection ended instead. */
  async answer(): Promise<string> {
    for (;;) {
      const end = answerEnd(this.#text);
      if (end !== undefined) {
        const answer = this.#text.slice(0, end);
        this.#text = this.#text.slice(end);
        this.#wasLate = false;
        if (/\r\nconnection: close\r\n/i.test(answer)) this.#saysClose = true;
        return answer.includes(LAST_WORD)
          ? answer.slice(9, 12)
          : `an answer that was not asked for: ${answer}`;
      }
      if (this.#ended !== undefined) {
        this.#broken = undefined;
        if (this.#wasLate && this.#text === '') return 'refused';
        return `${this.#ended} after ${JSON.stringify(this.#text.slice(0, 200))}`;
      }
      await new Promise<void>((wake) => (this.#wake = wake));
    }
  }

  /**
   * How it was broken between two exchanges or behind the last one, for whose end it waits when an answer has
   * announced it; undefined for an orderly end, and for what an answer has told.
   */
  async brokenAtRest(): Promise<string | undefined> {
    while (this.#saysClose && this.#ended === undefined)
      await new Promise<void>((wake) => (this.#wake = wake));
    return this.#broken && `${this.#broken} between two exchanges`;
  }

  end(): void {
    this.#socket.destroy();
  }

  #end(how: string): void {
    this.#ended ??= how;
    this.#wake?.();
  }
}

/** Where an answer with a Content-Length or in chunks ends. */
function answerEnd(text: string): number | undefined {
  const headEnd = text.indexOf('\r\n\r\n') + 4;
  if (headEnd < 4) return undefined;
  const head = text.slice(0, headEnd).toLowerCase();
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  if (length !== undefined) {
    const end = headEnd + Number(length);
    return text.length >= end ? end : undefined;
  }
  const last = text.indexOf('\r\n0\r\n\r\n', headEnd);
  return last < 0 ? undefined : last + 7;
}
