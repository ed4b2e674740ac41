/**
 * A client and a backend that cost next to nothing, so that the gateway is what a full load fills: one connection
 * with one request at a time, answers and requests found by their blank line and Content-Length alone. They check
 * framing only as far as they need it; for anything odd there is raw-client.ts.
 */
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';

const ANSWER_MS_MAX = 20_000;

export interface LeanResponse {
  readonly status: number;
  /** Status line and fields, as they came. */
  readonly head: string;
  readonly body: string;
}

export interface LeanClientOptions {
  readonly localAddress?: string;
  /** Default: 20 seconds. */
  readonly answerMsMax?: number;
}

export class LeanClient {
  readonly #socket: net.Socket;
  readonly #answerMsMax: number;
  #received = '';
  #waiting: { resolve(response: LeanResponse): void; reject(error: Error): void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failure: Error | undefined;

  private constructor(socket: net.Socket, answerMsMax: number) {
    this.#socket = socket;
    this.#answerMsMax = answerMsMax;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the connection was closed')));
  }

  static async connect(
    port: number,
    { answerMsMax = ANSWER_MS_MAX, ...from }: LeanClientOptions = {},
  ): Promise<LeanClient> {
    const socket = net.connect({ port, host: '127.0.0.1', ...from });
    await new Promise<void>((done, fail) => {
      socket.once('connect', done);
      socket.once('error', fail);
    });
    return new LeanClient(socket, answerMsMax);
  }

  /** Rejects when the connection ends, or the answer takes too long, before it is whole. */
  ask(request: string): Promise<LeanResponse> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#timer = setTimeout(() => {
        this.#fail(new Error(`no answer within ${this.#answerMsMax} ms`));
        this.#socket.destroy();
      }, this.#answerMsMax);
      this.#socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    this.#received += chunk.toString('latin1');
    const headEnd = this.#received.indexOf('\r\n\r\n') + 4;
    if (headEnd < 4) return;
    const head = this.#received.slice(0, headEnd);
    const end = headEnd + Number(fieldOf(head, 'content-length') ?? 0);
    if (this.#received.length < end) return;
    const body = this.#received.slice(headEnd, end);
    const rest = this.#received.slice(end);
    this.#received = '';
    const waiting = this.#waiting;
    if (waiting === undefined || rest !== '') {
      return this.#fail(new Error(`unrequested bytes: ${JSON.stringify(rest || body)}`));
    }
    this.#waiting = undefined;
    clearTimeout(this.#timer);
    waiting.resolve({ status: Number(head.slice(9, 12)), head, body });
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    clearTimeout(this.#timer);
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

/** Value of the first field of that (lower-case) name in a head. */
export function fieldOf(head: string, name: string): string | undefined {
  const start = head.toLowerCase().indexOf(`\r\n${name}:`);
  if (start < 0) return undefined;
  const from = start + name.length + 3;
  return head.slice(from, head.indexOf('\r\n', from)).trim();
}

export interface LeanBackend {
  readonly port: number;
  /** Connections that stand. */
  connections(): number;
  close(): Promise<void>;
}

/** Answers every request (without a body) 200 with what `answer` makes of its head. */
export async function startLeanBackend(answer: (head: string) => string): Promise<LeanBackend> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      for (let end = received.indexOf('\r\n\r\n'); end >= 0; end = received.indexOf('\r\n\r\n')) {
        const body = answer(received.slice(0, end + 2));
        received = received.slice(end + 4);
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`, 'latin1');
      }
    });
  });
  await new Promise<void>((done) => server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, done));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => sockets.size,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((done) => server.close(() => done()));
    },
  };
}
