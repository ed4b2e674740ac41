/**
 * Checks that no other process listens on an address. Workers share the traffic port (SO_REUSEPORT), so a second
 * gateway that the same user starts by mistake could share it too and would receive some of the connections. Listening
 * without SO_REUSEPORT detects that.
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
 * this machine: a client that connects at that moment would be accepted and then disconnected, while a closed port
 * makes it try another gateway.
 */
export async function takenError(address: Address): Promise<Error | undefined> {
  return isListenedOn(address.port) ? await listeningError(address) : undefined;
}

/** Whether any address of this machine listens on the port (proc(5), `/proc/net/tcp`); false if unknown. */
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
