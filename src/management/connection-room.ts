/**
 * Room for newcomers at a management port. Probes, Prometheus and operators connect to it, and so can every program on
 * its network. A client that only opens connections, or does not read its answers, must not keep them out. When the
 * limit of connections is reached, or the file descriptors of the process are nearly used up, the connection that has
 * waited longest for its client is closed: it is idle, or its request has not fully arrived. If there is none, or it is
 * very new, a connection whose client has not read its answer is closed instead. The newcomer is refused only when the
 * server is working for all of them. A client that reads nothing of an answer for a while is cut off in any case, and
 * so is one that sends many requests without waiting for answers: one read may hold two thousand, and Node.js would
 * begin all of them at once.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { systemClock } from '../lib/clock.ts';
import { DescriptorRoom } from '../lib/listeners.ts';

export const CONNECTIONS_MAX = 1_024;
/** Connections that have been closed may not have ended yet. */
const ENDING_MAX = 256;
/** A connection that has waited for less than this is not closed while there are others. */
const YOUNG_MS = 1_000;
/** A client that takes nothing of an answer for this long is cut off. */
const STALL_MS_MAX = 30_000;
/** Requests of a connection without a whole response. */
export const PIPELINED_MAX = 16;

interface Guest {
  /** The socket of the system. */
  readonly plain: Socket;
  /** The TLS socket over `plain`, once the handshake is done; `plain` itself without TLS. */
  socket: Socket;
  /** Requests without a whole response. */
  readonly requests: Set<IncomingMessage>;
  /** Since its last response, or since it was opened. */
  waitsSinceMs: number;
  /** What had been received when `closeWaiting` last looked; -1: it has not. */
  seenBytes: number;
}

/** Of each server, its connections; those that have waited longest come first. */
const rooms = new WeakMap<Server, ReadonlySet<Guest>>();

/**
 * Closes connections on which no request is being answered. Those that have not sent a whole head count as active for
 * Node.js, such as the ones that a browser opens in advance. A connection whose request lacks a part of its body is
 * closed when nothing of it has arrived since the last call.
 */
export function closeWaiting(server: Server): void {
  for (const guest of rooms.get(server) ?? []) {
    const { socket, requests, seenBytes } = guest;
    guest.seenBytes = socket.bytesRead;
    const isSilent = seenBytes === guest.seenBytes && isWaitingForRequest(guest) && !isUnread(guest);
    if (requests.size === 0 || isSilent) socket.destroy();
  }
}

/** @param server over TLS or not; does not listen yet */
export function keepRoom(server: Server, connectionsMax = CONNECTIONS_MAX, stallMsMax = STALL_MS_MAX): void {
  server.maxConnections = connectionsMax + ENDING_MAX;
  const descriptors = new DescriptorRoom(systemClock);
  const guests = new Set<Guest>();
  rooms.set(server, guests);
  const bySocket = new WeakMap<Socket, Guest>();
  /** For TLS, whose sockets do not tell the socket of the system. */
  const byPeer = new Map<string, Guest>();
  server.prependListener('connection', (socket: Socket) => {
    if (guests.size >= connectionsMax && !closeLongestWaiting(guests)) return void socket.destroy();
    if (descriptors.isShort() && closeLongestWaiting(guests)) descriptors.gained();
    const waitsSinceMs = systemClock.monotonicMs();
    const guest: Guest = { plain: socket, socket, requests: new Set(), waitsSinceMs, seenBytes: -1 };
    const peer = peerOf(socket);
    guests.add(guest);
    bySocket.set(socket, guest);
    byPeer.set(peer, guest);
    socket.once('close', () => {
      guests.delete(guest);
      if (byPeer.get(peer) === guest) byPeer.delete(peer);
    });
  });
  // After Node's listener, which makes the parser; over TLS, the one of the socket above.
  for (const event of ['connection', 'secureConnection'])
    server.on(event, (socket: Socket) => {
      const guest = bySocket.get(socket);
      if (guest !== undefined) boundPipeline(socket, guest);
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
      guest.waitsSinceMs = systemClock.monotonicMs();
      if (guests.delete(guest)) guests.add(guest);
    });
  });
  // Nothing was read or written for so long, or the time of an idle connection is over.
  server.setTimeout(stallMsMax, (socket) => {
    const guest = bySocket.get(socket);
    if (guest === undefined || guest.requests.size === 0) socket.destroy();
    else if (isUnread(guest)) cutOff(guest);
  });
}

/** The part of Node's parser of a connection that is used here. */
interface Parser {
  /** Called with each head. @returns what follows it: 2 for another protocol, which is not parsed */
  onIncoming?: (...args: readonly unknown[]) => number;
}

const NOT_PARSED = 2;

/**
 * Cuts the client off when it has too many requests, and reads no more of what it has sent: Node.js would make objects
 * of some kilobytes for each request in it, and has no public call for this.
 */
function boundPipeline(socket: Socket, guest: Guest): void {
  const { parser } = socket as { parser?: Parser | null };
  const begin = parser?.onIncoming;
  if (parser === undefined || parser === null || begin === undefined) return;
  parser.onIncoming = (...args) => {
    if (guest.requests.size < PIPELINED_MAX) return begin(...args);
    cutOff(guest);
    return NOT_PARSED;
  };
}

function closeLongestWaiting(guests: Set<Guest>): boolean {
  const all = [...guests];
  const oldest = all.find(isWaitingForRequest);
  const isYoung = oldest !== undefined && systemClock.monotonicMs() - oldest.waitsSinceMs < YOUNG_MS;
  // A client that has just come is about to send its request.
  const guest = oldest === undefined || isYoung ? (all.find(isUnread) ?? oldest) : oldest;
  if (guest === undefined) return false;
  guests.delete(guest);
  cutOff(guest);
  return true;
}

function cutOff({ plain, socket }: Guest): void {
  if (isUnread({ socket }) && plain.remoteAddress !== undefined) {
    // Otherwise the system would offer the client the rest of the answer for minutes.
    plain.resetAndDestroy();
  }
  socket.destroy();
}

const isWaitingForRequest = ({ requests }: Guest): boolean =>
  [...requests].every(({ complete }) => !complete);

/** The system has no room for more of the answer, because the client does not read it or has a slow connection. */
const isUnread = ({ socket }: Pick<Guest, 'socket'>): boolean => socket.writableLength > 0;

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
