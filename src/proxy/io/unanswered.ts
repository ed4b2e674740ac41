/**
 * Looks, while an exchange streams, whether its client or its backend is gone without a word, as far as the system
 * knows. In a streamed exchange each piece of one side extends the idle time-out, and the system takes megabytes for a
 * side that is gone, and gives up on it only after a quarter of an hour.
 */
import type { Socket } from 'node:net';
import { systemClock } from '../../lib/clock.ts';
import { PeerWatch } from '../../lib/sockets/peer-watch.ts';

/** How often a streamed exchange looks, unless its idle time-out is shorter. */
export const LOOK_MS_MAX = 30_000;
/** How long a client may be in a tunnel, and come back; a network may need as long to find another way to a backend. */
const PATIENCE_MS_MAX = 50_000;
/** Also with a short idle time-out: a single loss may cost a second or two. */
const PATIENCE_MS_MIN = 6_000;

const peers = new PeerWatch(systemClock);

export type GonePeer = 'backend' | 'client';

interface Peer {
  /** undefined: not connected, or by something else than a connection of the system. */
  readonly tcpSocket: Socket | undefined;
}

/**
 * @param idleTimeoutMs how long the backend may stay silent at most
 * @param onGone called later, if at all; the exchange may be over by then
 */
export function watchPeers(
  backend: Peer | undefined,
  client: Peer,
  idleTimeoutMs: number,
  onGone: (peer: GonePeer) => void,
): void {
  const patienceMs = Math.min(Math.max(idleTimeoutMs, PATIENCE_MS_MIN), PATIENCE_MS_MAX);
  const backendSocket = backend?.tcpSocket;
  if (backendSocket !== undefined) peers.watch(backendSocket, patienceMs, () => onGone('backend'));
  const clientSocket = client.tcpSocket;
  if (clientSocket !== undefined) peers.watch(clientSocket, PATIENCE_MS_MAX, () => onGone('client'));
}
