/** The inode of a socket, by which the tables of the system name it. */
import { readlinkSync } from 'node:fs';
import type { Socket } from 'node:net';

/** Node.js has no public name for the descriptor of a socket. */
export function inodeOf(socket: Socket): string | undefined {
  const { fd } = (Reflect.get(socket, '_handle') ?? {}) as { readonly fd?: number };
  if (fd === undefined || fd < 0) return undefined;
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
  } catch {
    return undefined;
  }
}
