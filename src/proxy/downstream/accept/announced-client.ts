/**
 * A connection of a load balancer until its PROXY header has arrived, which says whose connection it is. Without a
 * header, or with a malformed one, nothing that follows can be trusted: the connection is closed.
 */
import type { Socket } from 'node:net';
import { readProxyHeader } from '../../../http/heads/proxy-header.ts';
import { OpeningClient, type OpeningContext } from './opening-client.ts';

export interface Announcement {
  /**
   * @param client the client's address; undefined: the connection is from the balancer itself
   * @param early bytes that have arrived after the header
   */
  announced(client: string | undefined, early: Buffer): void;
  /**
   * Called once instead of `announced`; the connection is closed.
   * @param problem what was wrong. undefined when nothing was wrong: the connection was closed to make room, or by the
   * balancer, which checks in this way whether the port is open
   */
  ended(problem: string | undefined): void;
}

export class AnnouncedClient extends OpeningClient {
  readonly #end: Announcement;

  constructor(socket: Socket, context: OpeningContext, end: Announcement) {
    super(socket, Buffer.alloc(0), context);
    this.#end = end;
  }

  onDeadline(): void {
    this.#close('its PROXY header did not arrive in time');
  }

  abort(): void {
    this.#close(undefined);
  }

  protected inspect(): boolean {
    const header = readProxyHeader(this.received);
    if (header.kind === 'incomplete') return true;
    if (header.kind === 'malformed') this.#close(header.problem);
    else {
      const received = this.leave();
      if (received !== undefined) this.#end.announced(header.client, received.subarray(header.length));
    }
    return false;
  }

  protected onGone(): void {
    this.#close(this.received.length === 0 ? undefined : 'its PROXY header is incomplete');
  }

  #close(problem: string | undefined): void {
    if (this.leave() === undefined) return;
    this.socket.destroy();
    this.#end.ended(problem);
  }
}
