/**
 * Whether a client or a backend is gone without a word, as far as the system knows: it repeats its bytes to them. A
 * backend in a data centre is gone after seconds; a client may be in a tunnel, and come back.
 *
 * In a streamed exchange each piece of one side extends the idle time-out. The system takes megabytes for the other
 * side, and gives up on it only after a quarter of an hour.
 */
import type { Socket } from 'node:net';
import { systemClock } from '../../lib/clock.ts';
import { ABOUT_A_MINUTE, SECONDS, UnansweredPeers } from '../../lib/sockets/unanswered-peers.ts';

/** How often a streamed exchange looks, unless its idle time-out is shorter. */
export const LOOK_MS_MAX = 60_000;

const peers = new UnansweredPeers(systemClock);

export function isUnansweredBackend(socket: Socket): boolean {
  return peers.has(socket, SECONDS);
}

export function isUnansweredClient(socket: Socket): boolean {
  return peers.has(socket, ABOUT_A_MINUTE);
}

export type GonePeer = 'backend' | 'client';

/** Which side of an exchange is gone. */
export function gonePeer(
  backend: { isUnanswered?(): boolean } | undefined,
  client: { isUnanswered(): boolean },
): GonePeer | undefined {
  if (backend?.isUnanswered?.() === true) return 'backend';
  return client.isUnanswered() ? 'client' : undefined;
}
