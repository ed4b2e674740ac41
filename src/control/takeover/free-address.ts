/**
 * Checks that no other process listens on an address. Workers share the traffic port (SO_REUSEPORT), so a second gateway
 * of the same user, started by mistake, could share it too, and each would get a part of the connections. Listening
 * without SO_REUSEPORT finds that.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

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
 * this machine: a client that connects at that moment would be accepted and cut off, while a closed port would send it
 * to another gateway.
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
