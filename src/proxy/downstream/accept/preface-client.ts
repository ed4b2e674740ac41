/**
 * A connection without TLS until its first bytes show whether its client speaks HTTP/2 with prior knowledge (RFC
 * 9113 section 3.3): it then begins with the preface of section 3.4. Any other connection is served as HTTP/1.1. So
 * is a client that stops within the preface; its head is then late.
 */
import type { Socket } from 'node:net';
import { OpeningClient, type OpeningContext } from './opening-client.ts';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** Whether a connection that begins with these bytes speaks HTTP/2; undefined when more bytes are needed. */
export function beginsHttp2(bytes: Buffer): boolean | undefined {
  const known = Math.min(bytes.length, PREFACE.length);
  if (PREFACE.compare(bytes, 0, known, 0, known) !== 0) return false;
  return known === PREFACE.length ? true : undefined;
}

export interface Opening {
  /** @param early all bytes that were read */
  opened(isHttp2: boolean, early: Buffer): void;
  /** Called once instead of `opened`; the connection is closed. */
  ended(): void;
}

export class PrefaceClient extends OpeningClient {
  readonly #end: Opening;

  /** @param early bytes that were read before; they must not decide the protocol */
  constructor(socket: Socket, early: Buffer, context: OpeningContext, end: Opening) {
    super(socket, early, context);
    this.#end = end;
  }

  onDeadline(): void {
    if (this.received.length === 0) this.abort();
    else this.#open(false);
  }

  abort(): void {
    if (this.leave() === undefined) return;
    this.socket.destroy();
    this.#end.ended();
  }

  protected inspect(): boolean {
    const isHttp2 = beginsHttp2(this.received);
    if (isHttp2 !== undefined) this.#open(isHttp2);
    return isHttp2 === undefined;
  }

  protected onGone(): void {
    this.abort();
  }

  #open(isHttp2: boolean): void {
    const early = this.leave();
    if (early !== undefined) this.#end.opened(isHttp2, early);
  }
}
