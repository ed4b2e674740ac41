/**
 * A connection of a load balancer until its PROXY header has arrived, which says whose connection it is. Without a
 * header, or with a malformed one, nothing that follows can be trusted: the connection is closed. Owns the socket until
 * then.
 */
import type { Socket } from 'node:net';
import { readProxyHeader } from '../../../http/heads/proxy-header.ts';
import type { SharedParts } from '../../interfaces/shared-parts.ts';
import type { Expiring } from '../../resilience/deadlines.ts';
import { WaitingClient } from '../waiting-clients.ts';

export interface Announcement {
  /**
   * @param client its address; undefined: the balancer itself
   * @param early what has arrived behind the header
   */
  announced(client: string | undefined, early: Buffer): void;
  /**
   * Called once instead of `announced`; the connection is closed.
   * @param problem what was wrong; undefined: nothing, it was closed for want of room, or by the balancer, which tries
   *   in this way whether the port is open
   */
  ended(problem: string | undefined): void;
}

const NOTHING = Buffer.alloc(0);

export class AnnouncedClient extends WaitingClient implements Expiring {
  deadlineMs: number;
  readonly #socket: Socket;
  readonly #context: Pick<SharedParts, 'deadlines' | 'waiting'>;
  readonly #end: Announcement;
  /** On the scale of `Deadlines.nowMs`. */
  readonly #sinceMs: number;
  #received: Buffer = NOTHING;
  readonly #onReadable = (): void => this.#read();
  readonly #onGone = (): void =>
    this.#close(this.#received.length === 0 ? undefined : 'its PROXY header is cut');

  constructor(
    socket: Socket,
    context: Pick<SharedParts, 'deadlines' | 'waiting' | 'options'>,
    end: Announcement,
  ) {
    super();
    this.#socket = socket;
    this.#context = context;
    this.#end = end;
    this.#sinceMs = context.deadlines.nowMs;
    this.deadlineMs = this.#sinceMs + context.options.headTimeoutMs;
    context.deadlines.add(this);
    context.waiting.add(this);
    socket.on('readable', this.#onReadable);
    for (const event of ['end', 'error', 'close']) socket.on(event, this.#onGone);
  }

  onDeadline(): void {
    this.#close('its PROXY header did not arrive in time');
  }

  giveWay(): boolean {
    this.abort();
    return true;
  }

  /** Closes the connection if it was opened this long ago and has sent nothing. */
  closeIfSilent(silentMs: number): void {
    if (this.#received.length > 0) return;
    if (this.#context.deadlines.nowMs - this.#sinceMs >= silentMs) this.abort();
  }

  abort(): void {
    this.#close(undefined);
  }

  #read(): void {
    for (let chunk = this.#next(); chunk !== undefined; chunk = this.#next()) {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      const header = readProxyHeader(this.#received);
      if (header.kind === 'malformed') return this.#close(header.problem);
      if (header.kind === 'incomplete') continue;
      const early = [this.#received.subarray(header.length)];
      for (let more = this.#next(); more !== undefined; more = this.#next()) early.push(more);
      this.#release();
      return this.#end.announced(header.client, Buffer.concat(early));
    }
  }

  #next(): Buffer | undefined {
    return (this.#socket.read() as Buffer | null) ?? undefined;
  }

  #close(problem: string | undefined): void {
    this.#release();
    this.#socket.destroy();
    this.#end.ended(problem);
  }

  /** From here on, the socket belongs to another. */
  #release(): void {
    this.#context.deadlines.delete(this);
    this.#context.waiting.delete(this);
    this.#socket.off('readable', this.#onReadable);
    for (const event of ['end', 'error', 'close']) this.#socket.off(event, this.#onGone);
    // Closing it may still report an error, which concerns only this client.
    this.#socket.on('error', () => undefined);
  }
}
