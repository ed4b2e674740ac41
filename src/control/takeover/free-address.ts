/**
 * Checks that no other process listens on an address. Workers share the traffic port (SO_REUSEPORT), so a second
 * gateway that the same user starts by mistake could share it too and would receive some of the connections. Listening
 * without SO_REUSEPORT detects that.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** Of proc(5). Those of the process itself are there also where /proc shows nothing but processes (`subset=pid`). */
const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];

/** `TCP_LISTEN` of Linux. */
const LISTEN = '0A';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Listens for a moment; returns the system's error (EADDRINUSE, EADDRNOTAVAIL, EACCES …), if any. */
export function listeningError({ host, port }: Address): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}

/**
 * The error if another process listens on the address. Tries to listen only if the port is in use at some address of
 * this machine, or that is unknown: a client that connects at that moment would be accepted and then disconnected,
 * while a closed port makes it try another gateway.
 * @param tables for tests
 */
export async function takenError(address: Address, tables = TABLES): Promise<Error | undefined> {
  const listening = socketsAt(address.port, tables);
  return listening === undefined || listening.size > 0 ? await listeningError(address) : undefined;
}

/**
 * The sockets that listen on the port at any address of this machine, as links of descriptors name them, such as
 * `socket:[1234]`; none if unknown.
 */
export function listeningSockets(port: number): Set<string> {
  return socketsAt(port, TABLES) ?? new Set();
}

/** undefined if no table can be read. */
function socketsAt(port: number, tables: readonly string[]): Set<string> | undefined {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let found: Set<string> | undefined;
  for (const table of tables) {
    let text = '';
    try {
      text = readFileSync(table, 'latin1');
    } catch {
      continue;
    }
    found ??= new Set();
    for (const line of text.split('\n')) {
      const fields = line.trim().split(/\s+/);
      if (fields[3] === LISTEN && fields[1]?.endsWith(suffix) === true) found.add(`socket:[${fields[9]}]`);
    }
  }
  return found;
}
