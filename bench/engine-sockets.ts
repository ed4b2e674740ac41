/**
 * Sockets without a network for bench/engine-micro.ts: a client of the gateway, and all backends. They give the engine
 * what was read and take what is written through the same readers and writers as the real ones (read-buffers.ts,
 * socket-writer.ts of the checkout that is measured); in place of the handles of Node.js they have objects that copy
 * the bytes.
 */
import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import type { ClientSocket, ClientSocketEvents } from '../src/proxy/downstream/client-socket.ts';
import type * as ReadBuffers from '../src/proxy/io/read-buffers.ts';
import type { SocketReader } from '../src/proxy/io/read-buffers.ts';
import type * as SocketWriterModule from '../src/proxy/io/socket-writer.ts';
import type { SocketWriter } from '../src/proxy/io/socket-writer.ts';

type Latin1Target = { latin1Write(text: string, at: number, length: number): number };

/** What is written goes here, as it would to the system: text is flattened and copied. */
const written = Buffer.allocUnsafeSlow(64 * 1024);

class MemoryRequest {
  getAsyncId(): number {
    return 0;
  }
}

class MemoryHandle {
  /** Bytes since it was last set back. */
  taken = 0;
  /** Told of the first bytes since then. */
  onTaken: (() => void) | undefined;

  writeLatin1String(_request: MemoryRequest, text: string): number {
    if (this.taken === 0) this.onTaken?.();
    (written as unknown as Latin1Target).latin1Write(text, 0, text.length);
    this.taken += text.length;
    return 0;
  }

  writeBuffer(_request: MemoryRequest, bytes: Buffer): number {
    if (this.taken === 0) this.onTaken?.();
    written.set(bytes);
    this.taken += bytes.length;
    return 0;
  }
}

/** As much of a `net.Socket` as the engine uses while nothing goes wrong. */
class MemorySocket extends EventEmitter {
  // oxlint-disable-next-line no-underscore-dangle -- Node's name
  readonly _handle = new MemoryHandle();
  readonly writable = true;
  readonly writableLength = 0;
  readonly writableNeedDrain = false;
  readonly destroyed = false;
  connecting = false;

  setNoDelay(): void {}
  pause(): void {}
  resume(): void {}
  cork(): void {}
  uncork(): void {}
  destroy(): this {
    return this;
  }
  push(): boolean {
    return true;
  }

  write(data: string | Buffer, ...rest: unknown[]): boolean {
    // oxlint-disable-next-line no-underscore-dangle -- Node's name
    const handle = this._handle;
    if (typeof data === 'string') handle.writeLatin1String(new MemoryRequest(), data);
    else handle.writeBuffer(new MemoryRequest(), data);
    const release = rest.at(-1);
    if (typeof release === 'function') queueMicrotask(release as () => void);
    return true;
  }
}

type OnRead = SocketReader['onread'];

/** One read, as the system would do it. */
function deliver({ buffer, callback }: OnRead, into: { buffer: Buffer | undefined }, bytes: Buffer): void {
  const next = buffer() as Buffer | undefined;
  if (next !== undefined) into.buffer = next;
  const target = into.buffer as Buffer;
  target.set(bytes);
  callback(bytes.length, target);
}

export class MemoryClient implements ClientSocket {
  readonly needsDrain = false;
  readonly isFlushed = true;
  readonly destroyed = false;
  readonly #socket = new MemorySocket();
  readonly #reader: SocketReader;
  readonly #writer: SocketWriter;
  readonly #into: { buffer: Buffer | undefined } = { buffer: undefined };
  #events: ClientSocketEvents | undefined;

  constructor(readers: typeof ReadBuffers, writers: typeof SocketWriterModule) {
    this.#reader = new readers.SocketReader(
      (buffer, length) => this.#events?.onData(readers.filledPart(buffer, length)),
      () => this.#events?.expectsMore ?? false,
    );
    const socket = this.#socket as unknown as net.Socket;
    this.#reader.attach(socket);
    this.#writer = new writers.SocketWriter(socket, () => undefined);
  }

  readonly tcpSocket = undefined;

  attach(events: ClientSocketEvents): void {
    this.#events = events;
  }

  /** What the client sends. */
  receive(bytes: Buffer): void {
    deliver(this.#reader.onread, this.#into, bytes);
  }

  /** @throws when nothing has been written since it was last asked */
  takeAnswer(): void {
    // oxlint-disable-next-line no-underscore-dangle -- Node's name
    const handle = this.#socket._handle;
    if (handle.taken < 100) throw new Error('A request was not answered');
    handle.taken = 0;
  }

  writeText(text: string): boolean {
    return this.#writer.writeText(text);
  }

  writeBytes(bytes: Buffer, release?: () => void): boolean {
    return this.#writer.writeBytes(bytes, release);
  }

  /** Older checkouts give no range. */
  writeCopy(bytes: Buffer, from?: number, to?: number): boolean {
    return this.#writer.writeCopy(bytes, from, to);
  }

  retain(bytes: Buffer): (() => void) | undefined {
    return this.#reader.retain(bytes);
  }

  /** The name of `retain` in older checkouts. */
  lend(bytes: Buffer): (() => void) | undefined {
    return (this.#reader as unknown as { lend: SocketReader['retain'] }).lend(bytes);
  }

  cork(): void {}
  uncork(): void {}
  pause(): void {}
  resume(): void {}
  end(): void {}
  destroySoon(): void {}
  destroy(): void {}
  reset(): void {}
}

export interface BackendSide {
  /** Answers every request that has come. */
  answer(): void;
}

/** From now on `net.connect` of this process connects to backends that answer with each of `responses` in turn. */
export function memoryBackends(responses: readonly string[]): BackendSide {
  const answers = responses.map((response) => Buffer.from(response, 'latin1'));
  let turn = 0;
  /** That have been asked and have not answered. */
  let asked: { handle: MemoryHandle; onread: OnRead; into: { buffer: Buffer | undefined } }[] = [];
  net.connect = ((options: { onread: OnRead }) => {
    const socket = new MemorySocket();
    socket.connecting = true;
    setImmediate(() => {
      socket.connecting = false;
      socket.emit('connect');
    });
    // oxlint-disable-next-line no-underscore-dangle -- Node's name
    const handle = socket._handle;
    const side = { handle, onread: options.onread, into: { buffer: undefined } };
    handle.onTaken = () => asked.push(side);
    return socket;
  }) as unknown as typeof net.connect;
  syncBuiltinESMExports();
  return {
    answer: () => {
      const bytes = answers[turn % answers.length] as Buffer;
      const answering = asked;
      asked = [];
      for (const { handle, onread, into } of answering) {
        handle.taken = 0;
        deliver(onread, into, bytes);
      }
      if (answering.length > 0) turn += 1;
    },
  };
}
