/**
 * Room for newcomers at a management port. Probes, Prometheus and operators connect to it, and so can everybody else on
 * its network; a client that only opens connections must not keep them out. When there are as many connections as there
 * may be, the one that has waited longest for its client is closed: idle, or with a request that has not arrived whole.
 * Only when all of them are being answered, the newcomer is refused.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export const CONNECTIONS_MAX = 1_024;
/** Connections that have been closed may not have ended yet. */
const ENDING_MAX = 256;

interface Guest {
  /** With TLS, that of the system until the handshake is done. */
  socket: Socket;
  /** Requests without a whole response. */
  readonly requests: Set<IncomingMessage>;
}

/** @param server over TLS or not; does not listen yet */
export function keepRoom(server: Server, connectionsMax = CONNECTIONS_MAX): void {
  server.maxConnections = connectionsMax + ENDING_MAX;
  /** Those that have waited longest come first. */
  const guests = new Set<Guest>();
  const bySocket = new WeakMap<Socket, Guest>();
  /** For TLS, whose sockets do not tell the socket of the system. */
  const byPeer = new Map<string, Guest>();
  server.prependListener('connection', (socket: Socket) => {
    if (guests.size >= connectionsMax && !closeLongestWaiting(guests)) return void socket.destroy();
    const guest: Guest = { socket, requests: new Set() };
    const peer = peerOf(socket);
    guests.add(guest);
    bySocket.set(socket, guest);
    byPeer.set(peer, guest);
    socket.once('close', () => {
      guests.delete(guest);
      if (byPeer.get(peer) === guest) byPeer.delete(peer);
    });
  });
  server.prependListener('secureConnection', (socket: Socket) => {
    const guest = byPeer.get(peerOf(socket));
    if (guest === undefined) return;
    guest.socket = socket;
    bySocket.set(socket, guest);
  });
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const guest = bySocket.get(request.socket);
    if (guest === undefined) return;
    guest.requests.add(request);
    response.once('close', () => {
      guest.requests.delete(request);
      // It waits from now on.
      if (guests.delete(guest)) guests.add(guest);
    });
  });
}

function closeLongestWaiting(guests: Set<Guest>): boolean {
  for (const guest of guests) {
    if ([...guest.requests].some(({ complete }) => complete)) continue;
    guests.delete(guest);
    guest.socket.destroy();
    return true;
  }
  return false;
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
