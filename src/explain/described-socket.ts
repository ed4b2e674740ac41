/**
 * The client of an explained request: a socket without a network, on which the engine reads the described request
 * and writes its answer. Keeps what is written; bounded, since nothing but the gateway's own answers gets here.
 */
import type { ClientSocket, ClientSocketEvents } from '../proxy/downstream/client-socket.ts';

export class ExplainSocket implements ClientSocket {
  readonly needsDrain = false;
  readonly isFlushed = true;
  destroyed = false;
  /** Everything written, latin1. */
  written = '';
  #events: ClientSocketEvents | undefined;

  attach(events: ClientSocketEvents): void {
    this.#events = events;
  }

  /** What the client sends. */
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
