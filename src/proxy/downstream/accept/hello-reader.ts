/**
 * Reads the server name of a client, and what it offers, before its handshake, and then gives the socket back with all
 * of its bytes. Owns the socket until then.
 */
import type { Socket } from 'node:net';
import type { Expiring } from '../../resilience/deadlines.ts';
import type { SharedParts } from '../../interfaces/shared-parts.ts';
import { HelloBytes, type Hello } from '../tls/client-hello.ts';

export class HelloReader implements Expiring {
  deadlineMs: number;
  readonly #socket: Socket;
  readonly #deadlines: SharedParts['deadlines'];
  readonly #onHello: (hello: Hello) => void;
  readonly #onEnd: () => void;
  readonly #bytes = new HelloBytes();
  readonly #onReadable = (): void => this.#read();
  readonly #onGone = (): void => this.#close();

  /**
   * @param onHello called once
   * @param onEnd called instead if the client disconnects or is too slow; the socket is closed
   */
  constructor(
    socket: Socket,
    { deadlines, options }: Pick<SharedParts, 'deadlines' | 'options'>,
    onHello: (hello: Hello) => void,
    onEnd: () => void,
  ) {
    this.#socket = socket;
    this.#deadlines = deadlines;
    this.#onHello = onHello;
    this.#onEnd = onEnd;
    this.deadlineMs = deadlines.nowMs + options.headTimeoutMs;
    deadlines.add(this);
    socket.on('readable', this.#onReadable);
    for (const event of ['end', 'error', 'close']) socket.on(event, this.#onGone);
    // Bytes that were read after a PROXY header cause no event.
    if (socket.readableLength > 0) this.#read();
  }

  onDeadline(): void {
    this.#close();
  }

  #read(): void {
    for (let chunk = this.#next(); chunk !== undefined; chunk = this.#next()) {
      const hello = this.#bytes.add(chunk);
      if (hello === undefined) continue;
      this.#release();
      this.#socket.unshift(this.#bytes.received);
      return this.#onHello(hello);
    }
  }

  #next(): Buffer | undefined {
    return (this.#socket.read() as Buffer | null) ?? undefined;
  }

  #close(): void {
    this.#release();
    this.#socket.destroy();
    this.#onEnd();
  }

  #release(): void {
    this.#deadlines.delete(this);
    this.#socket.off('readable', this.#onReadable);
    for (const event of ['end', 'error', 'close']) this.#socket.off(event, this.#onGone);
    // Closing it may still report an error, which concerns only this client.
    this.#socket.on('error', () => undefined);
  }
}
