/**
 * The client socket as exchanges and bodies see it: writing, pausing and resuming. One read may hold some thousand
 * small requests; after PIPELINED_PER_TURN of them the worker's other clients have their turn. Owns the pause.
 */
import type { Socket } from 'node:net';
import { inLaterTurn } from '../io/turns.ts';
import { writeFrom, type ClientSocket } from './client-socket.ts';
import type { AnsweredClient } from './unread-clients.ts';
import { WaitingClient } from './waiting-clients.ts';

/** Pipelined requests of a connection that are begun at once. */
export const PIPELINED_PER_TURN = 8;

export abstract class ClientLink extends WaitingClient implements AnsweredClient {
  abstract readonly isSecure: boolean;
  /** No request is under way; the client may not have read all answers yet. */
  abstract readonly isAnswered: boolean;
  protected readonly socket: ClientSocket;
  #paused = false;
  /** Further requests of this client wait for a later turn of the event loop. */
  protected isYielding = false;

  constructor(socket: ClientSocket) {
    super();
    this.socket = socket;
  }

  get isUnread(): boolean {
    return this.isAnswered && !this.socket.isFlushed;
  }

  cutOff(): void {
    // Otherwise the system would keep trying to send the rest to the client for minutes.
    if (this.isSecure) this.socket.destroy();
    else this.socket.reset();
  }

  /** Text is latin1. False when the client reads too slowly; `Exchange.onClientWritable` follows. */
  writeText(text: string): boolean {
    return this.socket.writeText(text);
  }

  /** Only for an HTTP/2 stream: like `writeText` for the last text; these trailers follow the content. */
  writeEnd(text: string, trailers: string): boolean {
    return this.socket.writeEnd?.(text, trailers) ?? this.socket.writeText(text);
  }

  /** Writes `bytes[from, to)` of another socket. Without `release` they are copied. */
  writeFrom(bytes: Buffer, from: number, to: number, release: (() => void) | undefined): boolean {
    return writeFrom(this.socket, bytes, from, to, release);
  }

  /** See `ClientSocket.retain`; for the bytes of the body's sink or the tunnel. */
  retain(bytes: Buffer): (() => void) | undefined {
    return this.socket.retain(bytes);
  }

  /** See `ClientSocket.tcpSocket`. */
  get tcpSocket(): Socket | undefined {
    return this.socket.tcpSocket;
  }

  cork(): void {
    this.socket.cork();
  }

  uncork(): void {
    this.socket.uncork();
  }

  get writableNeedDrain(): boolean {
    return this.socket.needsDrain;
  }

  get bodyPaused(): boolean {
    return this.#paused;
  }

  /** Reads nothing until then. */
  protected yieldBefore(step: () => void): void {
    this.isYielding = true;
    this.pauseBody();
    inLaterTurn(() => {
      this.isYielding = false;
      step();
    });
  }

  pauseBody(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.socket.pause();
  }

  resumeBody(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.socket.resume();
  }
}
