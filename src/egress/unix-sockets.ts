/**
 * Backends that listen on Unix sockets, such as `unix:/run/billing.sock`, and which of them the gateway may connect
 * to: sockets below the folders of GATEWAY_PROXY__UNIX_SOCKETS_FROM, and none without that setting. Otherwise an
 * editor of revisions could reach every socket of the machine, such as that of a container runtime. Only
 * `realSocketDenial` and `folderAbove` read the file system.
 */
import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';

const PREFIX = 'unix:';
/** The length of `sun_path` (unix(7)), without the zero byte at its end. */
export const SOCKET_PATH_BYTES_MAX = 107;
/** One spelling for each path, in characters that stand for themselves in URLs, logs and metrics. */
const SOCKET_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~@+-]+)+$/;

/** The path in a host such as `unix:/run/a.sock`; undefined for a host that is not a Unix socket. */
export function socketPathOf(host: string): string | undefined {
  return host.startsWith(PREFIX) ? host.slice(PREFIX.length) : undefined;
}

/** A target for messages: its address with its port, or its socket, which has no port. */
export function placeText(host: string, port: number): string {
  return host.startsWith(PREFIX) ? host : `${host}:${port}`;
}

export function socketPathError(path: string): string | undefined {
  if (path.length > SOCKET_PATH_BYTES_MAX)
    return `must be a path of at most ${SOCKET_PATH_BYTES_MAX} bytes, the longest that a Unix socket can have`;
  return SOCKET_PATH.test(path)
    ? undefined
    : 'must be an absolute path of letters, digits and . _ ~ @ + - without empty, "." and ".." parts';
}

/** Why the gateway must not connect to a socket; undefined when it may. @param folders absolute */
export function socketDenial(path: string, folders: readonly string[]): string | undefined {
  if (folders.length === 0)
    return `${PREFIX}${path} needs GATEWAY_PROXY__UNIX_SOCKETS_FROM, which is not set`;
  return folders.some((folder) => isBelow(path, folder)) ? undefined : outside(path);
}

/**
 * Like `socketDenial`, for the path after its links are followed: a link in an allowed folder must not lead out
 * of it. A path that does not exist is allowed here; the connection then fails.
 */
export function realSocketDenial(path: string, folders: readonly string[]): string | undefined {
  const real = realPath(path);
  if (real === undefined) return undefined;
  const isInside = folders.some((folder) => {
    const realFolder = realPath(folder);
    return realFolder !== undefined && isBelow(real, realFolder);
  });
  return isInside ? undefined : outside(path);
}

/**
 * The folder of the list in which a socket at this path would be created; undefined when it is in none of them.
 * Links in both are followed.
 */
export function folderAbove(path: string, folders: readonly string[]): string | undefined {
  const parent = realPath(dirname(path));
  if (parent === undefined) return undefined;
  return folders.find((folder) => {
    const realFolder = realPath(folder);
    return realFolder !== undefined && isBelow(`${parent}/`, realFolder);
  });
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function outside(path: string): string {
  return `${PREFIX}${path} is not below a folder of GATEWAY_PROXY__UNIX_SOCKETS_FROM`;
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
