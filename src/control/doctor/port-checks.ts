/** Checks whether the ports of the settings are free, and otherwise which process uses them. */
import { readdirSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { systemCode, systemReason } from '../../lib/error-message.ts';
import type { Settings } from '../../settings/settings.ts';
import { listeningError, listeningSockets } from '../takeover/free-address.ts';
import { error, ok, type Finding } from './finding.ts';

/** @param servingPid pid of the gateway that runs with these settings */
export async function portChecks(
  { server, proxy }: Settings,
  servingPid: number | undefined,
): Promise<Finding[]> {
  const listeners = [
    { what: 'management', host: server.host, port: server.port, setting: 'GATEWAY_SERVER__PORT' },
    { what: 'traffic', host: proxy.host, port: proxy.port, setting: 'GATEWAY_PROXY__PORT' },
    {
      what: 'traffic (TLS)',
      host: proxy.host,
      port: proxy.tlsPort ?? 0,
      setting: 'GATEWAY_PROXY__TLS__PORT',
    },
  ].filter(({ port }) => port !== 0);
  const found: Finding[] = [];
  for (const { what, host, port, setting } of listeners) {
    const owner = listenerOf(port);
    const at = `${what} on ${host}:${port}`;
    if (owner !== undefined && owner.pid === servingPid) {
      found.push(ok('ports', `${at}: the running gateway (process ${owner.pid})`));
      continue;
    }
    const failure = await listeningError({ host, port });
    if (failure === undefined) found.push(ok('ports', `${at} is free`));
    else
      found.push(
        error(
          'ports',
          `${at}: ${systemReason(failure)}${ownerText(failure, owner)}`,
          fixOf(failure, setting),
        ),
      );
  }
  return found;
}

interface Owner {
  readonly pid: number;
  /** The file of its program. */
  readonly program: string;
  readonly folder: string;
}

/** The owner of the same port at another address is not the reason of another failure. */
function ownerText(failure: unknown, owner: Owner | undefined): string {
  return owner === undefined || systemCode(failure) !== 'EADDRINUSE'
    ? ''
    : `: process ${owner.pid} (${basename(owner.program)}, in the folder ${owner.folder}) has it`;
}

function fixOf(failure: unknown, setting: string): string {
  switch (systemCode(failure)) {
    case 'EADDRINUSE':
      return `if it is a gateway that should run, call doctor in its folder, with its settings; otherwise stop it, or choose another port with ${setting}. start --take-over replaces a gateway`;
    case 'EACCES':
      return `let the gateway have a port below 1024 (AmbientCapabilities=CAP_NET_BIND_SERVICE), or choose another one with ${setting}`;
    default:
      return `name an address of this machine in ${setting.replace(/(?:TLS__)?PORT$/, 'HOST')}`;
  }
}

/** Limit of the processes that are searched; those of other users are not readable. */
const PROCESSES_MAX = 10_000;

/** The process that listens on a port, by proc(5); undefined when there is none, or it belongs to another user. */
function listenerOf(port: number): Owner | undefined {
  const sockets = listeningSockets(port);
  if (sockets.size === 0) return undefined;
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  for (const pid of pids.slice(0, PROCESSES_MAX)) {
    try {
      const holds = readdirSync(`/proc/${pid}/fd`).some((descriptor) => {
        try {
          return sockets.has(readlinkSync(`/proc/${pid}/fd/${descriptor}`));
        } catch {
          return false;
        }
      });
      // Not its name: the main thread of Node.js is called MainThread.
      if (holds) {
        const [program, folder] = [readlinkSync(`/proc/${pid}/exe`), readlinkSync(`/proc/${pid}/cwd`)];
        return { pid: Number(pid), program, folder };
      }
    } catch {
      // The process has ended, or belongs to another user.
    }
  }
  return undefined;
}
