/**
 * The client of an explained request: a socket without a network, from which the engine reads the described request and
 * to which it writes its response. Keeps what is written, which is bounded: only the gateway's own responses are
 * written.
 */
import type { ClientSocket, ClientSocketEvents } from '../proxy/downstream/client-socket.ts';

export class ExplainSocket implements ClientSocket {
  readonly needsDrain = false;
  readonly isFlushed = true;
  readonly tcpSocket = undefined;
  destroyed = false;
  /** Everything written, latin1. */
  written = '';
  #events: ClientSocketEvents | undefined;

  attach(events: ClientSocketEvents): void {
    this.#events = events;
  }

  /** Delivers bytes that the client sends. */
  receive(bytes: Buffer): void {
    this.#events?.onData(bytes);
  }

  writeText(text: string): boolean {
    this.written += text;
    return true;
  }

  writeBytes(bytes: Buffer, release?: () => void): boolean {
    this.written += bytes.toString('latin1');
    if (release !== undefined) queueMicrotask(release);
    return true;
  }

  cork(): void {}
  uncork(): void {}
  pause(): void {}
  resume(): void {}

  retain(): undefined {
    return undefined;
  }

  end(): void {}

  destroySoon(): void {
    this.destroyed = true;
  }

  destroy(): void {
    this.destroyed = true;
  }

  reset(): void {
    this.destroyed = true;
  }
}
