/**
 * Checks the limits of this machine, process and container that a gateway meets under load: file descriptors,
 * memory, the kernel's queues and ports. Reads proc(5) and cgroups(7) through a function, so that tests can replace
 * them. A container or a service may hide proc(5): what cannot be read is not judged, and the finding says so.
 */
import { memoryNeeded } from '../../settings/memory-shares.ts';
import type { Settings } from '../../settings/settings.ts';
import { error, ok, warning, type Finding } from './finding.ts';
import { counted } from '../../lib/text/counted.ts';

/** The text of a file; undefined when it cannot be read. */
export type ReadText = (path: string) => string | undefined;

/** The queue length that Node.js requests for a listener. */
const BACKLOG = 511;
/** Connections to one backend address need one port each; closed ones keep theirs for a minute. */
const LOCAL_PORTS_MIN = 16_384;
/** Descriptors of the main thread, of the files of the program and others, and of temporary uses. */
const OWN_DESCRIPTORS = 256;
const DESCRIPTORS_MIN = 1_024;
const MIB = 1_048_576;
const QUEUE_FILE = '/proc/sys/net/core/somaxconn';
const PORTS_FILE = '/proc/sys/net/ipv4/ip_local_port_range';

const count = (value: number): string => value.toLocaleString('en-US');

export function machineChecks(settings: Settings | undefined, read: ReadText): Finding[] {
  return [...descriptorChecks(settings, read), ...memoryChecks(settings, read), ...kernelChecks(read)];
}

function descriptorChecks(settings: Settings | undefined, read: ReadText): Finding[] {
  const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(read('/proc/self/limits') ?? '') ?? [];
  if (soft === undefined) return [unread('descriptors', '/proc/self/limits', 'ulimit -n')];
  const limit = soft === 'unlimited' ? Infinity : Number(soft);
  const shown = limit === Infinity ? 'not limited' : count(limit);
  const fix =
    'raise it: LimitNOFILE= in a systemd unit, --ulimit nofile= of a container, ulimit -n in a shell';
  if (limit < DESCRIPTORS_MIN) {
    const detail = `the process may have ${shown} file descriptors: each connection takes one, and further ones are closed at once`;
    return [error('descriptors', detail, fix)];
  }
  if (settings === undefined) return [ok('descriptors', shown)];
  // One for the client and one for its backend.
  const { maxConnections } = settings.proxy;
  const wanted = 2 * settings.workers * maxConnections + OWN_DESCRIPTORS;
  if (limit >= wanted)
    return [ok('descriptors', `${shown}; all connections together may need ${count(wanted)}`)];
  const detail = `the process may have ${shown} file descriptors; ${counted(settings.workers, 'worker')} with ${count(maxConnections)} connections each may need ${count(wanted)}`;
  return [warning('descriptors', detail, `${fix}, or lower GATEWAY_PROXY__MAX_CONNECTIONS`)];
}

function memoryChecks(settings: Settings | undefined, read: ReadText): Finding[] {
  const limit = cgroupLimit(read);
  const workers = settings?.workers ?? 1;
  const needed = memoryNeeded(workers);
  const overcommit = read('/proc/sys/vm/overcommit_memory')?.trim() === '2';
  const found: Finding[] = [];
  if (limit !== undefined && limit < needed) {
    const detail = `the memory limit of the container or unit is ${mib(limit)}; this gateway needs ${mib(needed)} under much traffic, and the kernel ends what goes beyond the limit`;
    found.push(
      warning('memory', detail, `raise the limit${workers === 1 ? '' : ', or lower GATEWAY_WORKERS'}`),
    );
  } else {
    found.push(limit === undefined ? withoutLimit(read) : ok('memory', `limit ${mib(limit)}`));
  }
  if (overcommit) {
    const detail =
      'vm.overcommit_memory is 2: the kernel refuses memory that Node.js reserves and does not use';
    found.push(warning('memory', detail, 'sysctl vm.overcommit_memory=0'));
  }
  return found;
}

function withoutLimit(read: ReadText): Finding {
  if (read('/proc/self/cgroup') === undefined)
    return unread('memory', '/proc/self/cgroup', 'the memory limit of the container or unit');
  return ok('memory', 'no limit of a container or unit');
}

function unread(check: string, file: string, instead: string): Finding {
  return warning(check, `cannot be checked: ${file} cannot be read`, `look yourself: ${instead}`);
}

const mib = (bytes: number): string => `${count(Math.floor(bytes / MIB))} MiB`;

/** The smallest limit of this process's cgroup and those above it (version 2), or the limit of version 1. */
function cgroupLimit(read: ReadText): number | undefined {
  const limits: number[] = [];
  const add = (path: string): void => {
    const text = read(path)?.trim() ?? '';
    // Version 1 has a number near 2^63 for "none".
    if (/^\d+$/.test(text) && Number(text) < 2 ** 60) limits.push(Number(text));
  };
  const [, own = '/'] = /^0::(.*)$/m.exec(read('/proc/self/cgroup') ?? '') ?? [];
  const parts = own.split('/').filter((part) => part !== '');
  for (let depth = parts.length; depth >= 0; depth -= 1) {
    const folder = ['/sys/fs/cgroup', ...parts.slice(0, depth)].join('/');
    for (const name of ['memory.max', 'memory.high']) add(`${folder}/${name}`);
  }
  add('/sys/fs/cgroup/memory/memory.limit_in_bytes');
  return limits.length === 0 ? undefined : Math.min(...limits);
}

function kernelChecks(read: ReadText): Finding[] {
  const found: Finding[] = [];
  const [queueText, portsText] = [QUEUE_FILE, PORTS_FILE].map(read);
  if (queueText === undefined && portsText === undefined)
    return [unread('kernel', QUEUE_FILE, 'sysctl net.core.somaxconn net.ipv4.ip_local_port_range')];
  const queue = Number(queueText ?? NaN);
  if (queue < BACKLOG) {
    const detail = `net.core.somaxconn is ${queue}: a burst of more new connections than that is refused`;
    found.push(warning('kernel', detail, 'sysctl net.core.somaxconn=4096'));
  }
  const [low = NaN, high = NaN] = (portsText ?? '').trim().split(/\s+/).map(Number);
  if (high - low < LOCAL_PORTS_MIN) {
    const detail = `net.ipv4.ip_local_port_range has ${count(high - low + 1)} ports, which allow as many connections to one backend address at most`;
    found.push(warning('kernel', detail, 'sysctl net.ipv4.ip_local_port_range="16384 60999"'));
  }
  return found.length > 0
    ? found
    : [ok('kernel', 'the queues of listeners and the local ports are large enough')];
}
