/**
 * Whether an address can be listened on by this process alone. Workers share the traffic port (SO_REUSEPORT), and
 * with them would another gateway of the same user that was started by mistake: each would get a part of the
 * connections. Who listens without sharing is told.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** `TCP_LISTEN` of Linux. */
const LISTEN = '0A';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The system's error (EADDRINUSE, EADDRNOTAVAIL, EACCES …), or undefined. Listens for a moment. */
export function listeningError({ host, port }: Address): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}

/**
 * Why somebody who listens already stands in the way; undefined when nobody does. Listens only where the port is
 * listened on at some address: a client that came in that moment would be accepted and cut off, where a closed port
 * would have sent it on to another gateway.
 */
export async function takenError(address: Address): Promise<Error | undefined> {
  return isListenedOn(address.port) ? await listeningError(address) : undefined;
}

/** On whatever address of this machine (proc(5), `/proc/net/tcp`); false where that cannot be seen. */
function isListenedOn(port: number): boolean {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return ['/proc/net/tcp', '/proc/net/tcp6'].some((table) => {
    try {
      return readFileSync(table, 'latin1')
        .split('\n')
        .some((line) => {
          const [, local = '', , state] = line.trim().split(/\s+/, 4);
          return state === LISTEN && local.endsWith(suffix);
        });
    } catch {
      return false;
    }
  });
}
