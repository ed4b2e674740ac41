/** Checks whether the Unix sockets of the settings can be created, and otherwise what prevents it. */
import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemReason } from '../../lib/error-message.ts';
import type { Settings } from '../../settings/settings.ts';
import { unixSocketProblem } from '../unix-socket/unix-listener.ts';
import { error, ok, type Finding } from './finding.ts';

/** @param servingPid pid of the gateway that runs with these settings */
export async function socketChecks(
  { server, proxy }: Pick<Settings, 'server' | 'proxy'>,
  servingPid: number | undefined,
): Promise<Finding[]> {
  const sockets = [
    { what: 'management', path: server.unixSocket, setting: 'GATEWAY_SERVER__UNIX_SOCKET' },
    { what: 'traffic', path: proxy.unixSocket, setting: 'GATEWAY_PROXY__UNIX_SOCKET' },
  ];
  const found: Finding[] = [];
  for (const { what, path, setting } of sockets) {
    // The service manager creates its own socket.
    if (path === undefined || path === 'systemd') continue;
    found.push(await socketCheck(what, path, setting, servingPid));
  }
  return found;
}

async function socketCheck(
  what: string,
  path: string,
  setting: string,
  servingPid: number | undefined,
): Promise<Finding> {
  const at = `${what} on ${path}`;
  const folder = dirname(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    return error('sockets', `${at}: there is no folder "${folder}"`, `make it, or change ${setting}`);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (failure) {
    const fix = `let the gateway's user make files in "${folder}", or change ${setting}`;
    return error('sockets', `${at}: ${systemReason(failure)}`, fix);
  }
  const problem = await unixSocketProblem(path);
  if (problem === undefined) return ok('sockets', `${at} is free`);
  if (statSync(path, { throwIfNoEntry: false })?.isSocket() !== true)
    return error('sockets', `${at}: ${problem}`, `remove the file, or change ${setting}`);
  if (servingPid !== undefined)
    return ok('sockets', `${at}: the running gateway (process ${servingPid}), as it seems`);
  const fix = `stop the process (ss -xlp names it), or change ${setting}; start --take-over replaces a gateway`;
  return error('sockets', `${at}: ${problem}`, fix);
}
