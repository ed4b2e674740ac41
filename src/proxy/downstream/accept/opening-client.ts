/**
 * A connection whose first bytes decide how it is served: a PROXY header, or the preface of HTTP/2. Until then, owns
 * the socket and the bytes that were read. Limited by the time for a head; `inspect` must not wait for more bytes
 * than the longest such beginning.
 */
import type { Socket } from 'node:net';
import type { SharedParts } from '../../interfaces/shared-parts.ts';
import type { Expiring } from '../../resilience/deadlines.ts';
import { WaitingClient } from '../waiting-clients.ts';

export type OpeningContext = Pick<SharedParts, 'deadlines' | 'waiting' | 'options'>;

export abstract class OpeningClient extends WaitingClient implements Expiring {
  deadlineMs: number;
  protected readonly socket: Socket;
  protected received: Buffer;
  readonly #context: OpeningContext;
  /** On the scale of `Deadlines.nowMs`. */
  readonly waitsSinceMs: number;
  /** When the last bytes arrived. */
  #heardAtMs: number;
  #isOver = false;
  readonly #onReadable = (): void => this.#read();
  readonly #onGone = (): void => this.onGone();

  /** @param received bytes that were read before */
  constructor(socket: Socket, received: Buffer, context: OpeningContext) {
    super();
    this.socket = socket;
    this.received = received;
    this.#context = context;
    this.waitsSinceMs = context.deadlines.nowMs;
    this.#heardAtMs = this.waitsSinceMs;
    this.deadlineMs = this.waitsSinceMs + context.options.headTimeoutMs;
    context.deadlines.add(this);
    context.waiting.add(this);
    socket.on('readable', this.#onReadable);
    for (const event of ['end', 'error', 'close']) socket.on(event, this.#onGone);
  }

  abstract onDeadline(): void;

  /** Looks at `received`. @returns whether it needs more bytes; otherwise `leave` or `close` was called */
  protected abstract inspect(): boolean;

  /** The client has ended its side, or the connection is lost. */
  protected abstract onGone(): void;

  /** Closes the connection, without an error. */
  abstract abort(): void;

  giveWay(): boolean {
    this.abort();
    return true;
  }

  /**
   * Closes the connection if its client has been silent for this long.
   * @param startedMs the limit for one that has sent a part of the beginning
   */
  closeIfSilent(silentMs: number, startedMs: number): void {
    const limitMs = this.received.length === 0 ? silentMs : startedMs;
    if (this.#context.deadlines.nowMs - this.#heardAtMs >= limitMs) this.abort();
  }

  /** Gives the socket away. @returns the bytes that were read; undefined when the client has already left */
  protected leave(): Buffer | undefined {
    if (this.#isOver) return undefined;
    this.#isOver = true;
    this.#context.deadlines.delete(this);
    this.#context.waiting.delete(this);
    this.socket.off('readable', this.#onReadable);
    for (const event of ['end', 'error', 'close']) this.socket.off(event, this.#onGone);
    // Closing it may still report an error, which concerns only this client.
    this.socket.on('error', () => undefined);
    const parts = [this.received];
    for (let more = this.#next(); more !== undefined; more = this.#next()) parts.push(more);
    return parts.length === 1 ? this.received : Buffer.concat(parts);
  }

  #read(): void {
    this.#heardAtMs = this.#context.deadlines.nowMs;
    for (let chunk = this.#next(); chunk !== undefined; chunk = this.#next()) {
      this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
      if (!this.inspect()) return;
    }
  }

  #next(): Buffer | undefined {
    return (this.socket.read() as Buffer | null) ?? undefined;
  }
}
