/**
 * Closes a listening socket without resetting a client. A client's connection is established as soon as the kernel has
 * queued it; closing the socket resets all queued connections, and a connection may arrive between the check for an
 * empty queue and the close. So the gateway first fills the queue with its own connection: with a queue length of 0 the
 * kernel accepts no other, and the close resets only that connection.
 *
 * `/proc/self/net/tcp` (proc_net(5)) shows which connections are queued: connections that are not accepted yet have
 * inode 0. Several sockets may share the port (SO_REUSEPORT) and the kernel chooses among them, so the gateway connects
 * until one of its connections is in the right queue. If the file cannot be read, the socket is closed when its queue
 * was found empty.
 */
import { accessSync, constants, readFileSync, readlinkSync } from 'node:fs';
import * as net from 'node:net';
import type { Clock } from '../../../lib/clock.ts';

export interface ClosePortOptions {
  readonly clock: Clock;
  /** Number of connections that the server has accepted so far. */
  readonly acceptedCount: () => number;
  /** The port is closed after this many milliseconds in any case. */
  readonly patienceMs: number;
}

/** Own connections per attempt: with two sockets on the port, one in 256 attempts misses. */
const FILLERS = 8;
/**
 * A pause in which connections of another socket on the port are accepted, but not those in the queue of this socket.
 */
const LOOKS = 3;
const BETWEEN_LOOKS_MS = 2;
/** The last resort: the queue was at least found empty once. */
const QUIET_MS_MAX = 1_000;
const ESTABLISHED = '01';
const SYN_RECEIVED = '03';
const LISTENING = '0A';
const NOT_ACCEPTED = '0';

interface Handle {
  readonly fd?: number;
  listen?(backlog: number): number;
}

/** Resolves when the port is closed; does not affect accepted connections. Never rejects. */
export async function closePort(server: net.Server, options: ClosePortOptions): Promise<void> {
  const { clock, patienceMs } = options;
  const endMs = clock.monotonicMs() + patienceMs;
  // Node has no public call for listen(2) on a listening socket; without it the queue length does not change.
  const handle = Reflect.get(server, '_handle') as Handle | null;
  handle?.listen?.(0);
  const inode = inodeOf(handle?.fd);
  const address = server.address();
  while (inode !== undefined && address !== null && typeof address !== 'string') {
    await untilQuiet(options, endMs);
    if (clock.monotonicMs() >= endMs || (await closeBehindOwn(server, address, inode))) break;
  }
  if (!server.listening) return;
  await untilQuiet(options, clock.monotonicMs() + QUIET_MS_MAX);
  server.close();
}

/**
 * Like `closePort` for a Unix socket, which other threads also listen on: they serve its queue, which outlives
 * this descriptor.
 */
export async function closeShared(server: net.Server, options: ClosePortOptions): Promise<void> {
  await untilQuiet(options, options.clock.monotonicMs() + options.patienceMs);
  server.close();
}

/** Node accepts one connection in each loop tick. */
async function untilQuiet({ clock, acceptedCount }: ClosePortOptions, endMs: number): Promise<void> {
  while (clock.monotonicMs() < endMs) {
    const before = acceptedCount();
    // Twice: the first call ends the current loop tick, the second runs after all sockets were polled.
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    if (acceptedCount() === before) return;
  }
}

/**
 * One attempt. It runs within one loop tick, from the first connection to the close, since the next tick would accept
 * queued connections. Returns true when the port is closed.
 */
async function closeBehindOwn(
  server: net.Server,
  { address, port, family }: net.AddressInfo,
  inode: string,
): Promise<boolean> {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;
  const fillers = Array.from({ length: FILLERS }, () => {
    const filler = net.connect({ host, port });
    filler.on('error', () => undefined);
    return filler;
  });
  try {
    // Node connects in a separate tick; on one machine the handshake is complete when this returns.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    const own = new Set(fillers.map(({ localPort = 0 }) => localPort));
    if (!isBehindOwn({ port, isIpv6: family === 'IPv6', inode, own })) return false;
    server.close();
    return true;
  } finally {
    for (const filler of fillers) filler.destroy();
  }
}

interface Queue {
  readonly port: number;
  readonly isIpv6: boolean;
  /** Inode of the listening socket. */
  readonly inode: string;
  /** Local ports of the gateway's own connections. */
  readonly own: ReadonlySet<number>;
}

/**
 * Whether the queue of the socket contains one of the gateway's own connections, and so no other. A full queue does not
 * change: it contains no connection that arrives later or is accepted meanwhile.
 */
function isBehindOwn(queue: Queue): boolean {
  let strangers: readonly string[] | undefined;
  for (let look = 0; look < LOOKS; look++) {
    if (look > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BETWEEN_LOOKS_MS);
    const seen = readPort(queue);
    if (!seen.isFull) return false;
    strangers =
      strangers === undefined ? seen.strangers : strangers.filter((name) => seen.strangers.includes(name));
    if (strangers.length === 0) return true;
  }
  return false;
}

/**
 * Whether the socket's queue is full, and which other connections wait in the queue of a socket on the port. Rows of
 * listening sockets come first, so a connection that was queued when the queue was found full is in a later row.
 */
function readPort({ port, isIpv6, inode, own }: Queue): { isFull: boolean; strangers: readonly string[] } {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const strangers: string[] = [];
  let isFull = false;
  for (const row of readFileSync(`/proc/self/net/${isIpv6 ? 'tcp6' : 'tcp'}`, 'latin1').split('\n')) {
    if (!row.includes(suffix)) continue;
    const [, local = '', remote = '', state, queues = '', , , , , rowInode] = row.trim().split(/\s+/);
    if (!local.endsWith(suffix)) continue;
    if (state === LISTENING && rowInode === inode) isFull = parseInt(queues.split(':')[1] ?? '', 16) > 0;
    else if (state === SYN_RECEIVED || (state === ESTABLISHED && rowInode === NOT_ACCEPTED)) {
      if (!own.has(parseInt(remote.split(':')[1] ?? '', 16))) strangers.push(remote);
    }
  }
  return { isFull, strangers };
}

/** undefined without the files of proc(5). */
function inodeOf(fd: number | undefined): string | undefined {
  if (fd === undefined || fd < 0) return undefined;
  try {
    accessSync('/proc/self/net/tcp', constants.R_OK);
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
  } catch {
    return undefined;
  }
}
