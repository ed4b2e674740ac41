/** The client socket as exchanges and bodies see it: writing, pausing and resuming. Owns the pause. */
import { writeFrom, type ClientSocket } from './client-socket.ts';
import type { AnsweredClient } from './unread-clients.ts';
import { WaitingClient } from './waiting-clients.ts';

export abstract class ClientLink extends WaitingClient implements AnsweredClient {
  abstract readonly isSecure: boolean;
  /** No request is under way; the client may not have read all answers yet. */
  abstract readonly isAnswered: boolean;
  protected readonly socket: ClientSocket;
  #paused = false;

  constructor(socket: ClientSocket) {
    super();
    this.socket = socket;
  }

  get isUnread(): boolean {
    return this.isAnswered && !this.socket.isFlushed;
  }

  cutOff(): void {
    // Otherwise the system would offer the client the rest for minutes.
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
