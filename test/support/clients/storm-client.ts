/**
 * A client whose connection sends random exchanges in random ways (pipelined, dripping, half-closed, given up in
 * the middle, not reading) and looks at every byte that comes back: an answer that carries an id must be the whole
 * answer to the request at its place and to no other.
 */
import * as net from 'node:net';
import * as tls from 'node:tls';
import type { Random } from '../../fuzz/random.ts';
import { bodyOf, cuts } from '../backends/storm-backend.ts';

/** How long a connection may take for everything; the proxy's own time-outs are far below. */
const BOUND_MS = 20_000;

export interface StormOptions {
  readonly port: number;
  readonly secure: boolean;
  readonly violations: string[];
  /** A unique id, for a request with that method. */
  nextId(method: string): string;
}

interface Planned {
  readonly id: string;
  readonly method: string;
  readonly text: string;
}

export interface StormResult {
  /** Answers of the backend that were complete, and the gateway's own, by status. */
  readonly whole: number;
  readonly statuses: readonly number[];
}

/** One connection from its start to its end. */
export async function stormClient(random: Random, options: StormOptions): Promise<StormResult> {
  const planned = Array.from({ length: 1 + random.below(6) }, () => plan(random, options));
  return converse(planned, options, (socket, reader) => sendAll(socket, planned, reader, random));
}

/** As many exchanges, one after the other on one connection, that ask the backend to behave. */
export async function plainClient(count: number, options: StormOptions): Promise<StormResult> {
  const planned = Array.from({ length: count }, (): Planned => {
    const id = options.nextId('GET');
    return {
      id,
      method: 'GET',
      text: `GET /a/v1/${id} HTTP/1.1\r\nHost: a\r\nX-Test-Id: ${id}\r\nX-Plan: plain\r\n\r\n`,
    };
  });
  return converse(planned, options, async (socket, reader) => {
    for (const [index, { text }] of planned.entries()) {
      socket.write(text);
      if (!(await reader.answered(index + 1))) return;
    }
  });
}

async function converse(
  planned: readonly Planned[],
  options: StormOptions,
  send: (socket: net.Socket, reader: Reader) => Promise<void>,
): Promise<StormResult> {
  const reader = new Reader(planned, options);
  const { port } = options;
  const socket: net.Socket = options.secure
    ? tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    : net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => reader.fail());
  socket.on('data', (chunk: Buffer) => reader.add(chunk));
  socket.on('end', () => reader.end());
  socket.on('close', () => reader.end());
  const timer = setTimeout(() => {
    options.violations.push(`an exchange did not end: ${reader.describe()}`);
    socket.destroy();
  }, BOUND_MS);
  await send(socket, reader);
  await reader.finished();
  clearTimeout(timer);
  socket.destroy();
  return reader;
}

function plan(random: Random, options: StormOptions): Planned {
  const method = random.pick(['GET', 'GET', 'GET', 'HEAD', 'POST', 'POST', 'PUT', 'DELETE', 'PATCH']);
  const id = options.nextId(method);
  const old = random.oneIn(12);
  const hasBody = method !== 'GET' && method !== 'HEAD' && random.below(3) > 0;
  const size = hasBody ? random.below(random.oneIn(5) ? 150_000 : 3_000) : 0;
  const chunked = hasBody && !old && random.oneIn(2);
  let head = `${method} /a/v1/${id} HTTP/1.${old ? 0 : 1}\r\nHost: a\r\nX-Test-Id: ${id}\r\nX-Size: ${size}\r\n`;
  if (old && random.oneIn(2)) head += 'Connection: keep-alive\r\n';
  if (random.oneIn(15)) head += 'Connection: close\r\n';
  if (hasBody && random.oneIn(6)) head += 'Expect: 100-continue\r\n';
  if (chunked) head += 'Transfer-Encoding: chunked\r\n';
  else if (hasBody) head += `Content-Length: ${size}\r\n`;
  const body = bodyOf(id, size);
  return { id, method, text: `${head}\r\n${chunked ? inChunks(body, random) : body}` };
}

function inChunks(body: string, random: Random): string {
  let text = '';
  for (let at = 0; at < body.length;) {
    const size = Math.min(body.length - at, 1 + random.below(random.oneIn(2) ? 50 : 20_000));
    text += `${size.toString(16)}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  return `${text}0\r\n\r\n`;
}

async function sendAll(
  socket: net.Socket,
  planned: readonly Planned[],
  reader: Reader,
  random: Random,
): Promise<void> {
  const manner = random.pick(['sequence', 'sequence', 'sequence', 'pipeline', 'pipeline', 'drip']);
  const trouble = random.pick(['none', 'none', 'none', 'none', 'reset', 'half_close', 'give_up', 'deaf']);
  const texts = planned.map(({ text }) => text);
  if (trouble === 'give_up') texts.push((texts.pop() ?? '').slice(0, -1 - random.below(20)));
  if (trouble === 'reset') setTimeout(() => reset(socket, reader), random.below(60));
  if (trouble === 'deaf') {
    socket.pause();
    setTimeout(() => socket.resume(), 100 + random.below(600));
  }
  if (manner === 'sequence') {
    for (const [index, text] of texts.entries()) {
      await sendPieces(socket, random.oneIn(3) ? cuts(text, random) : [text], random);
      if (!(await reader.answered(index + 1))) return;
    }
  } else
    await sendPieces(socket, manner === 'drip' ? cuts(texts.join(''), random) : [texts.join('')], random);
  if (trouble === 'half_close') socket.end();
}

async function sendPieces(socket: net.Socket, pieces: readonly string[], random: Random): Promise<void> {
  for (const [index, piece] of pieces.entries()) {
    if (socket.destroyed) return;
    if (index > 0) await new Promise((done) => setTimeout(done, random.below(4)));
    socket.write(piece, 'latin1');
  }
}

function reset(socket: net.Socket, reader: Reader): void {
  reader.fail();
  if (socket instanceof tls.TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

/** Takes the stream of bytes apart into answers, strictly, and checks each against the request at its place. */
class Reader implements StormResult {
  whole = 0;
  readonly statuses: number[] = [];
  readonly #planned: readonly Planned[];
  readonly #options: StormOptions;
  readonly #wake = new Set<() => void>();
  #buffer = '';
  #ended = false;
  #failed = false;

  constructor(planned: readonly Planned[], options: StormOptions) {
    this.#planned = planned;
    this.#options = options;
  }

  add(chunk: Buffer): void {
    this.#buffer += chunk.toString('latin1');
    while (this.#readOne());
    this.#notify();
  }

  /** The connection was reset: what has come is not all. */
  fail(): void {
    this.#failed = true;
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    while (this.#readOne());
    this.#notify();
  }

  describe(): string {
    const waiting = this.#planned[this.statuses.length];
    return `${this.statuses.length} of ${this.#planned.length}, then ${waiting?.text.slice(0, 200)}`;
  }

  /** Whether that many answers are there; false when the connection ended before. */
  async answered(count: number): Promise<boolean> {
    while (this.statuses.length < count && !this.#ended) {
      await new Promise<void>((done) => this.#wake.add(done));
    }
    return this.statuses.length >= count;
  }

  async finished(): Promise<void> {
    await this.answered(this.#planned.length);
  }

  #notify(): void {
    for (const wake of this.#wake) wake();
    this.#wake.clear();
  }

  /** False when no complete answer is there. */
  #readOne(): boolean {
    const headEnd = this.#buffer.indexOf('\r\n\r\n');
    if (headEnd < 0) return false;
    const head = this.#buffer.slice(0, headEnd);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    if (!(status >= 100)) return this.#violate(`a head ${JSON.stringify(head.slice(0, 200))}`);
    if (status < 200) {
      this.#buffer = this.#buffer.slice(headEnd + 4);
      return true;
    }
    const request = this.#planned[this.statuses.length];
    // The gateway may say that it waited for one more which did not come.
    if (request === undefined) {
      if (status !== 408) return this.#violate(`an answer ${status} too many`);
      this.#buffer = '';
      return false;
    }
    const field = (name: string): string | undefined =>
      new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim();
    const hasBody = request.method !== 'HEAD' && status !== 204 && status !== 304;
    const body = hasBody
      ? this.#body(headEnd + 4, field('transfer-encoding') === 'chunked', field('content-length'))
      : { text: '', end: headEnd + 4 };
    if (body === undefined) return false;
    this.#check(request, status, field, body.text, hasBody);
    this.#buffer = this.#buffer.slice(body.end);
    this.statuses.push(status);
    return true;
  }

  #check(
    request: Planned,
    status: number,
    field: (name: string) => string | undefined,
    body: string,
    hasBody: boolean,
  ): void {
    const id = field('x-echo-id');
    if (id === undefined) {
      if (field('content-type') !== 'application/problem+json' || field('x-echo-size') !== undefined)
        this.#violate(`an answer ${status} from nowhere to ${request.id}`);
      else if (hasBody && (JSON.parse(body) as { status: unknown }).status !== status)
        this.#violate('a problem document of another status');
      return;
    }
    const size = Number(field('x-echo-size'));
    if (id !== request.id) this.#violate(`the answer to ${id} for ${request.id}`);
    else if (hasBody && !this.#isWhole(field, body, bodyOf(id, size)))
      this.#violate(
        `for ${id} ${body.length} characters instead of ${size}: ${difference(body, bodyOf(id, size))}`,
      );
    else this.whole += 1;
  }

  /** Without a length only the way in which the connection ends can tell, and of TLS, Node does not say it. */
  #isWhole(field: (name: string) => string | undefined, body: string, expected: string): boolean {
    if (body === expected) return true;
    const endsByClosing = field('content-length') === undefined && field('transfer-encoding') === undefined;
    return endsByClosing && (this.#options.secure || this.#failed) && expected.startsWith(body);
  }

  #body(
    from: number,
    chunked: boolean,
    length: string | undefined,
  ): { readonly text: string; readonly end: number } | undefined {
    const buffer = this.#buffer;
    if (!chunked && length === undefined)
      return this.#ended ? { text: buffer.slice(from), end: buffer.length } : undefined;
    if (!chunked) {
      const end = from + Number(length);
      return buffer.length < end ? undefined : { text: buffer.slice(from, end), end };
    }
    // Only when the end is there, so that a large body is not read again with every piece.
    if (!buffer.includes('\r\n0\r\n\r\n', from - 2)) return undefined;
    let text = '';
    for (let at = from; ;) {
      const lineEnd = buffer.indexOf('\r\n', at);
      const size = lineEnd < 0 ? '' : buffer.slice(at, lineEnd);
      if (lineEnd < 0) return undefined;
      if (!/^[0-9a-f]+$/.test(size)) {
        this.#violate(`a chunk size ${JSON.stringify(size)}`);
        return undefined;
      }
      const end = lineEnd + 2 + parseInt(size, 16);
      if (buffer.length < end + 2) return undefined;
      text += buffer.slice(lineEnd + 2, end);
      at = end + 2;
      if (size === '0') return { text, end: at };
    }
  }

  #violate(what: string): false {
    this.#options.violations.push(`a client got ${what}`);
    return false;
  }
}

/** Where two texts begin to differ, and what stands there. */
function difference(actual: string, expected: string): string {
  let at = 0;
  while (at < actual.length && actual[at] === expected[at]) at += 1;
  return `from ${at} on ${JSON.stringify(actual.slice(at, at + 60))}, not ${JSON.stringify(expected.slice(at, at + 20))}`;
}
