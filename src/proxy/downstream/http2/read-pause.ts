/** Pauses the reading of a connection for as long as there is a reason. */
import type { FrameSocket } from '../client-socket.ts';

/** Reasons: the client does not read, or its further requests wait for a later turn of the event loop. */
type Reason = 'unread' | 'turn';

export class ReadPause {
  readonly #socket: FrameSocket;
  readonly #reasons = new Set<Reason>();

  constructor(socket: FrameSocket) {
    this.#socket = socket;
  }

  pause(reason: Reason): void {
    if (this.#reasons.size === 0) this.#socket.pause();
    this.#reasons.add(reason);
  }

  resume(reason: Reason): void {
    if (this.#reasons.delete(reason) && this.#reasons.size === 0) this.#socket.resume();
  }
}
