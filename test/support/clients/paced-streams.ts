/**
 * Many large bodies at once through the program, at the pace of a slow reader: downloads that clients take in slowly,
 * uploads that the backend takes in slowly. The fast side sends as fast as it may, so that whatever the gateway
 * accepts beyond what it can pass on has to lie in its memory. Every byte that arrives is checked against a pattern.
 */
import { once } from 'node:events';
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';

/** A prime, so that no block, buffer or segment begins with the same byte as the one before. */
const PERIOD = 251;
const BLOCK_BYTES = PERIOD * 256;
const BLOCK = Buffer.alloc(BLOCK_BYTES + PERIOD);
for (let index = 0; index < BLOCK.length; index++) BLOCK[index] = index % PERIOD;
const TICK_MS = 50;

/** `bytes` of the pattern from position `at` on; at most a block. */
function patternAt(at: number, bytes: number): Buffer {
  const start = at % PERIOD;
  return BLOCK.subarray(start, start + Math.min(bytes, BLOCK_BYTES));
}

/** Reads a socket at no more than its pace and compares what comes, from the end of the head on, with the pattern. */
export class PacedReader {
  head = '';
  received = 0;
  /** Position of the first byte that is not the right one; -1: none. */
  wrongAt = -1;
  readonly #socket: net.Socket;
  readonly #bytesPerTick: number;
  #allowance = 0;
  #headEnded = false;
  readonly #timer: NodeJS.Timeout;

  constructor(socket: net.Socket, bytesPerSecond: number) {
    this.#socket = socket;
    this.#bytesPerTick = (bytesPerSecond * TICK_MS) / 1000;
    socket.on('readable', () => this.#read());
    socket.on('error', () => undefined);
    socket.on('close', () => this.stop());
    this.#timer = setInterval(() => {
      // No saving up: a reader that got nothing for a while does not take in more later.
      this.#allowance = Math.min(this.#allowance + this.#bytesPerTick, 2 * this.#bytesPerTick);
      this.#read();
    }, TICK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #read(): void {
    while (this.#allowance > 0) {
      const available = Math.min(this.#allowance, this.#socket.readableLength);
      const chunk = available < 1 ? null : (this.#socket.read(Math.floor(available)) as Buffer | null);
      if (chunk === null) break;
      this.#allowance -= chunk.length;
      this.#take(chunk);
    }
    // Asks for more when its own buffer is empty; it holds no more than its high-water mark.
    if (this.#socket.readableLength === 0) this.#socket.read(0);
  }

  #take(chunk: Buffer): void {
    let body = chunk;
    if (!this.#headEnded) {
      this.head += chunk.toString('latin1');
      const end = this.head.indexOf('\r\n\r\n');
      if (end < 0) return;
      this.#headEnded = true;
      body = Buffer.from(this.head.slice(end + 4), 'latin1');
      this.head = this.head.slice(0, end + 4);
    }
    for (let at = 0; at < body.length; at += BLOCK_BYTES) {
      const part = body.subarray(at, at + BLOCK_BYTES);
      const expected = patternAt(this.received, part.length);
      if (this.wrongAt < 0 && !part.equals(expected)) this.wrongAt = this.received;
      this.received += part.length;
    }
  }
}

/** Writes the pattern, up to `bytes`, as fast as the socket takes it. */
function writePattern(socket: net.Socket, bytes: number): { readonly sent: () => number } {
  let sent = 0;
  const more = (): void => {
    while (sent < bytes && !socket.destroyed) {
      const part = patternAt(sent, bytes - sent);
      sent += part.length;
      if (!socket.write(part)) return;
    }
  };
  socket.on('drain', more);
  socket.on('error', () => undefined);
  more();
  return { sent: () => sent };
}

export interface StreamBackend {
  readonly port: number;
  /** One per upload. */
  readonly uploads: PacedReader[];
  close(): Promise<void>;
}

/** Answers GET with `bytes` of the pattern, and reads what is sent with any other method at a pace. */
export async function startStreamBackend(bytes: number, bytesPerSecond: number): Promise<StreamBackend> {
  const uploads: PacedReader[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.once('readable', () => {
      const first = socket.read() as Buffer | null;
      if (first === null) return;
      if (first.toString('latin1', 0, 4) === 'GET ') {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`);
        writePattern(socket, bytes);
      } else {
        socket.unshift(first);
        uploads.push(new PacedReader(socket, bytesPerSecond));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    uploads,
    close: async () => {
      for (const upload of uploads) upload.stop();
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

/** A download on a connection of its own, read at a pace. */
export async function download(
  port: number,
  target: string,
  bytesPerSecond: number,
): Promise<{ readonly socket: net.Socket; readonly reader: PacedReader }> {
  const socket = net.connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  const reader = new PacedReader(socket, bytesPerSecond);
  socket.write(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
  return { socket, reader };
}

/** An upload of `bytes` on a connection of its own, sent as fast as it is taken. */
export async function upload(port: number, target: string, bytes: number): Promise<net.Socket> {
  const socket = net.connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  socket.write(`POST ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`);
  writePattern(socket, bytes);
  return socket;
}
