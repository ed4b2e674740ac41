/**
 * A backend that reads strictly what it is sent and answers as badly as it can: every misbehaviour that a gateway
 * meets, chosen at random for each request. It echoes the request's id, so that an answer in wrong hands shows.
 * What it must never see (a malformed request, a foreign body, a request before the last answer) is a violation.
 *
 * Bytes that come late, behind a complete answer, are never a response: no gateway could tell such a one from the
 * answer to its next request.
 */
import type * as net from 'node:net';
import * as tls from 'node:tls';
import { Random } from '../../fuzz/random.ts';
import { startSocketServer, type Certificate, type SocketServer } from './socket-server.ts';

export interface StormBackend extends SocketServer {
  readonly violations: string[];
  /** How often the head of a request with that id arrived. */
  readonly arrivals: ReadonlyMap<string, number>;
  /** Behaviours that no request has met. */
  missed(): Behaviour[];
  /** Over TLS, those with a complete handshake. */
  openSockets(): number;
}

const BEHAVIOURS = [
  'length', 'length', 'length', 'chunked', 'chunked', 'until_close', 'early', 'early_close', 'extra',
  'extra_response', 'fin', 'rst', 'fin_head', 'rst_head', 'cut_length', 'cut_chunk', 'bad_chunk', 'flood',
  'interim', 'garbage', 'silent', 'stall', 'slow', 'later_fin', 'later_rst', 'later_garbage', 'big_length',
  'big_chunked', 'no_content', 'not_modified', 'says_close', 'lazy_reader', 'http10',
] as const; // prettier-ignore
export type Behaviour = (typeof BEHAVIOURS)[number];

/** `size` characters that only the exchange with that id can have. */
export function bodyOf(id: string, size: number): string {
  const unit = `[${id}]`;
  return unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
}

export async function startStormBackend(
  seed: number,
  certificate: Certificate | undefined,
): Promise<StormBackend> {
  const violations: string[] = [];
  const arrivals = new Map<string, number>();
  const open = new Set<net.Socket>();
  const accept = (socket: net.Socket): void => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    void new BackendPeer(socket, seed, arrivals, violations);
  };
  return {
    ...(await startSocketServer(accept, certificate)),
    violations,
    arrivals,
    missed: () =>
      BEHAVIOURS.filter(
        (behaviour) => ![...arrivals.keys()].some((id) => plan(seed, id).behaviour === behaviour),
      ),
    openSockets: () => open.size,
  };
}

interface Request {
  readonly method: string;
  readonly id: string;
  readonly plain: boolean;
  readonly size: number;
  /** -1: chunked. */
  readonly length: number;
  body: string;
  answered: boolean;
}

class BackendPeer {
  readonly #socket: net.Socket;
  readonly #seed: number;
  readonly #arrivals: Map<string, number>;
  readonly #violations: string[];
  #buffer = '';
  #request: Request | undefined;
  #answering = false;
  #dead = false;

  constructor(socket: net.Socket, seed: number, arrivals: Map<string, number>, violations: string[]) {
    this.#socket = socket;
    this.#seed = seed;
    this.#arrivals = arrivals;
    this.#violations = violations;
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.#buffer += text;
      while (!this.#dead && this.#read());
    });
    socket.on('end', () => this.#socket.end());
    socket.on('error', () => undefined);
    socket.on('close', () => (this.#dead = true));
  }

  /** False when more bytes are needed. */
  #read(): boolean {
    const request = this.#request;
    if (request === undefined) return this.#readHead();
    const body = request.length >= 0 ? this.#readLength(request.length) : this.#readChunks(request);
    if (body === undefined) return false;
    if (body !== bodyOf(request.id, request.size)) this.#violate(`a foreign body for ${request.id}`);
    this.#request = undefined;
    if (!request.answered) this.#answer(request);
    return true;
  }

  #readHead(): boolean {
    const end = this.#buffer.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const [line = '', ...fields] = this.#buffer.slice(0, end).split('\r\n');
    this.#buffer = this.#buffer.slice(end + 4);
    const value = (name: string): string | undefined => {
      const found = fields.filter((field) => field.toLowerCase().startsWith(`${name}: `));
      if (found.length > 1) this.#violate(`${name} more than once`);
      return found[0]?.slice(name.length + 2);
    };
    const [, method = '', path = ''] = /^([A-Z]+) (\/\S*) HTTP\/1\.1$/.exec(line) ?? [];
    const id = value('x-test-id') ?? '';
    if (method === '' || path !== `/${id}`) return this.#violate(`a request line ${JSON.stringify(line)}`);
    if (this.#answering) return this.#violate(`${id} came before the last answer had ended`);
    this.#arrivals.set(id, (this.#arrivals.get(id) ?? 0) + 1);
    const chunked = value('transfer-encoding') === 'chunked';
    this.#request = {
      method,
      id,
      plain: value('x-plan') === 'plain',
      size: Number(value('x-size') ?? 0),
      length: chunked ? -1 : Number(value('content-length') ?? 0),
      body: '',
      answered: false,
    };
    this.#onHead(this.#request, value('expect') !== undefined);
    return true;
  }

  #readLength(length: number): string | undefined {
    if (this.#buffer.length < length) return undefined;
    const body = this.#buffer.slice(0, length);
    this.#buffer = this.#buffer.slice(length);
    return body;
  }

  #readChunks(request: Request): string | undefined {
    for (;;) {
      const lineEnd = this.#buffer.indexOf('\r\n');
      if (lineEnd < 0) return undefined;
      const line = this.#buffer.slice(0, lineEnd);
      if (!/^[0-9a-f]+$/.test(line)) {
        this.#violate(`a chunk size ${JSON.stringify(line)}`);
        return undefined;
      }
      const size = parseInt(line, 16);
      const end = lineEnd + 2 + size;
      if (this.#buffer.length < end + 2) return undefined;
      if (this.#buffer.slice(end, end + 2) !== '\r\n') {
        this.#violate('a chunk without its end');
        return undefined;
      }
      request.body += this.#buffer.slice(lineEnd + 2, end);
      this.#buffer = this.#buffer.slice(end + 2);
      if (size === 0) return request.body;
    }
  }

  /** What is done before the body has come. */
  #onHead(request: Request, expects: boolean): void {
    if (request.plain) return;
    const { behaviour, random } = plan(this.#seed, request.id);
    if (behaviour === 'early' || behaviour === 'early_close') return this.#answer(request);
    if (behaviour === 'lazy_reader') {
      this.#socket.pause();
      setTimeout(() => this.#socket.resume(), 20 + random.below(100));
    }
    if (expects && random.oneIn(2)) this.#socket.write('HTTP/1.1 100 Continue\r\n\r\n');
  }

  #answer(request: Request): void {
    request.answered = true;
    this.#answering = true;
    const { behaviour, random } = plan(this.#seed, request.id);
    const isHead = request.method === 'HEAD';
    // Without a body there is none to get wrong, and no byte of it may follow.
    const bodiless = isHead && ['bad_chunk', 'stall', 'until_close'].includes(behaviour);
    const name = request.plain || bodiless ? 'length' : behaviour;
    const big = name.startsWith('big');
    const size = request.plain ? 20 : big ? 100_000 + random.below(700_000) : 10 + random.below(5_000);
    const body = bodyOf(request.id, size);
    const status = `200 OK\r\nX-Echo-Id: ${request.id}\r\nX-Echo-Size: ${size}\r\n`;
    const sized = `HTTP/1.1 ${status}Content-Length: ${size}\r\n`;
    const whole = `${sized}\r\n${isHead ? '' : body}`;
    const inChunks = `HTTP/1.1 ${status}Transfer-Encoding: chunked\r\n\r\n${isHead ? '' : chunks(body, random)}`;
    const cut = (text: string): string => text.slice(0, text.length - 1 - random.below(10));
    switch (name) {
      case 'length':
      case 'early':
      case 'big_length':
      case 'lazy_reader':
        return this.#send(whole, random);
      case 'chunked':
      case 'big_chunked':
        return this.#send(inChunks, random);
      case 'until_close':
        return this.#send(`HTTP/1.1 ${status}\r\n${isHead ? '' : body}`, random, 'fin');
      case 'early_close':
        return this.#send(`${sized}Connection: close\r\n\r\n${isHead ? '' : body}`, random, 'fin');
      case 'extra':
        return this.#write(`${whole}more than was announced`);
      case 'extra_response':
        return this.#write(`${whole}HTTP/1.1 200 OK\r\nX-Echo-Id: evil\r\nContent-Length: 4\r\n\r\nevil`);
      case 'fin':
        return this.#send('', random, 'fin');
      case 'rst':
        return this.#send('', random, 'rst');
      case 'fin_head':
        return this.#send(sized.slice(0, 1 + random.below(sized.length - 1)), random, 'fin');
      case 'rst_head':
        return this.#send(sized.slice(0, 1 + random.below(sized.length - 1)), random, 'rst');
      case 'cut_length':
        return this.#send(cut(whole), random, random.pick(['fin', 'rst']));
      case 'cut_chunk':
        return this.#send(cut(inChunks), random, random.pick(['fin', 'rst']));
      case 'bad_chunk':
        return this.#send(
          `HTTP/1.1 ${status}Transfer-Encoding: chunked\r\n\r\n5\r\n${body.slice(0, 5)}x\r\n`,
          random,
        );
      case 'flood':
        return this.#send('HTTP/1.1 100 Continue\r\n\r\n'.repeat(40) + whole, random);
      case 'interim':
        return this.#send('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(3) + whole, random);
      case 'garbage':
        return this.#send(
          random.repeat(30, () => String.fromCharCode(random.below(256))),
          random,
        );
      case 'silent':
        return;
      case 'stall':
        return this.#send(`${sized}\r\n${body.slice(0, size >> 1)}`, random, 'stay');
      case 'slow':
        return this.#send(whole, random, undefined, 10 + random.below(30));
      case 'later_fin':
        return this.#send(whole, random, 'later_fin');
      case 'later_rst':
        return this.#send(whole, random, 'later_rst');
      case 'later_garbage':
        return this.#send(whole, random, 'later_garbage');
      case 'no_content':
        return this.#send(
          `HTTP/1.1 204 No Content\r\nX-Echo-Id: ${request.id}\r\nX-Echo-Size: 0\r\n\r\n`,
          random,
        );
      case 'not_modified':
        return this.#send(
          `HTTP/1.1 304 Not Modified\r\nX-Echo-Id: ${request.id}\r\nX-Echo-Size: 0\r\nContent-Length: 99\r\n\r\n`,
          random,
        );
      case 'says_close':
        return this.#send(`${sized}Connection: close\r\n\r\n${isHead ? '' : body}`, random);
      case 'http10':
        return this.#send(`HTTP/1.0 ${status}Content-Length: ${size}\r\n\r\n${isHead ? '' : body}`, random);
    }
  }

  /** Writes in random pieces, then does what it says; `answering` ends with the last piece. */
  #send(text: string, random: Random, then?: string, stepMs = 0): void {
    const pieces = text === '' || (stepMs === 0 && random.oneIn(2)) ? [text] : cuts(text, random);
    const next = (): void => {
      if (this.#dead) return;
      const piece = pieces.shift();
      if (piece === undefined) return this.#finish(then, random);
      if (pieces.length === 0 && (then === undefined || then.startsWith('later'))) this.#answering = false;
      if (piece !== '') this.#socket.write(piece, 'latin1');
      if (stepMs > 0) setTimeout(next, stepMs);
      else if (random.oneIn(3)) setTimeout(next, random.below(3));
      else setImmediate(next);
    };
    next();
  }

  #finish(then: string | undefined, random: Random): void {
    switch (then) {
      case 'fin':
        this.#dead = true;
        return void this.#socket.end();
      case 'rst':
        return this.#reset();
      case 'later_fin':
        return void setTimeout(() => {
          // The body of the next answer might end by it.
          if (!this.#answering) this.#socket.end();
        }, random.below(40));
      case 'later_rst':
        return void setTimeout(() => {
          // Over TLS there is no reset, and it could not be told from the end of the next answer.
          if (!this.#answering || !(this.#socket instanceof tls.TLSSocket)) this.#reset();
        }, random.below(40));
      case 'later_garbage':
        return void setTimeout(() => {
          // Within the next answer it would be that answer's own.
          if (!this.#answering) this.#write('junk\r\n\r\n');
        }, random.below(40));
      default:
    }
  }

  #write(text: string): void {
    this.#answering = false;
    if (!this.#dead) this.#socket.write(text, 'latin1');
  }

  #reset(): void {
    this.#dead = true;
    // Node can reset neither TLS nor a socket that it has shut down.
    if (this.#socket instanceof tls.TLSSocket || this.#socket.writableEnded) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  #violate(what: string): false {
    this.#violations.push(`the backend got ${what}`);
    this.#dead = true;
    this.#socket.destroy();
    return false;
  }
}

/** What the request with that id meets. */
function plan(seed: number, id: string): { readonly behaviour: Behaviour; readonly random: Random } {
  let hash = seed;
  for (let index = 0; index < id.length; index++) hash = Math.imul(hash, 31) + id.charCodeAt(index);
  const random = new Random(hash | 0);
  return { behaviour: random.pick(BEHAVIOURS), random };
}

function chunks(body: string, random: Random): string {
  let text = '';
  for (let at = 0; at < body.length;) {
    const size = Math.min(body.length - at, 1 + random.below(random.oneIn(2) ? 50 : 40_000));
    text += `${size.toString(16)}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  return `${text}0\r\n\r\n`;
}

/** At most a dozen pieces, cut anywhere, none of them empty. */
export function cuts(text: string, random: Random): string[] {
  const at = Array.from({ length: 1 + random.below(11) }, () => random.below(text.length + 1));
  const ends = [...at, text.length].sort((left, right) => left - right);
  let from = 0;
  return ends.map((end) => text.slice(from, (from = end))).filter((piece) => piece !== '');
}
