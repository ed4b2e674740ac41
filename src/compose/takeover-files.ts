/**
 * Which process serves a database folder: claims and releases its pid file, takes over from the current process, and
 * refuses a start that would share files or ports with another gateway.
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemClock } from '../lib/clock.ts';
import type { Logger } from '../observe/log.ts';
import { requestTakeover, type Successor, type Takeover } from '../control/takeover/takeover.ts';
import { takenError } from '../control/takeover/free-address.ts';
import { hasOpen, type PidFile } from '../control/takeover/pid-file.ts';
import { unixSocketProblem } from '../control/unix-socket/unix-listener.ts';
import type { Settings } from '../settings/settings.ts';
import { makeFolder } from '../storage/make-folder.ts';
import { GatewayLock, hasHardLink } from '../storage/sqlite/gateway-lock.ts';
import { listenError, startError, StartError } from './start-error.ts';

/**
 * The path that the pid file of a gateway without a database is named after. Several such gateways may serve
 * the same files, so each is identified by its management port.
 * @returns undefined for a gateway that cannot be taken over
 */
export function fileOfPort({ configFile, server }: Settings, log: Logger): string | undefined {
  if (configFile === undefined || server.port === 0) return undefined;
  const folder = resolve('data');
  try {
    makeFolder(folder, 0o700);
  } catch (error) {
    log.debug({ err: error, folder }, 'cannot make the folder of the pid file');
  }
  return join(folder, `headgate-${server.port}`);
}

/** How often a pid file that could not be written is tried again. */
const CLAIM_AGAIN_MS = 5_000;
/** Of the files that could not be written, as on a full disk. */
const retries = new WeakMap<PidFile, NodeJS.Timeout>();

/**
 * Writes this process into the pid file. The gateway also runs if the file cannot be written, which is tried again.
 * @param replace `ended`: only if the process in the file has ended
 * @throws StartError when another gateway keeps its files there
 */
export function claim(pidFile: PidFile | undefined, replace: 'any' | 'ended', log: Logger): void {
  try {
    if (pidFile?.claim(replace) === false) throw sharedFolder(pidFile, pidFile.holder());
  } catch (error) {
    if (error instanceof StartError) throw error;
    log.warn({ err: error }, 'cannot write the pid file; takeover is not possible until that works');
    if (pidFile !== undefined) claimLater(pidFile, log);
  }
}

function claimLater(pidFile: PidFile, log: Logger): void {
  clearInterval(retries.get(pidFile));
  const timer = setInterval(() => {
    try {
      // A gateway that is taken over has its file until it has ended.
      if (!pidFile.claim('ended')) return;
      clearInterval(timer);
      log.info('the pid file is written: takeover is possible again');
    } catch {
      // It is told already.
    }
  }, CLAIM_AGAIN_MS).unref();
  retries.set(pidFile, timer);
}

/** After a takeover that failed: the other process may have claimed the file before. Does not throw. */
function claimAgain(pidFile: PidFile | undefined, log: Logger): void {
  try {
    claim(pidFile, 'ended', log);
  } catch (error) {
    log.warn({ err: error }, 'the pid file names another gateway; takeover of this one is not possible');
  }
}

/** A file that cannot be removed, as on a read-only disk, names a process that has ended, and is ignored later. */
export function release(pidFile: PidFile | undefined, log: Logger): void {
  if (pidFile !== undefined) clearInterval(retries.get(pidFile));
  try {
    pidFile?.release();
  } catch (error) {
    log.warn({ err: error }, 'cannot remove the pid file');
  }
}

/** Gateways may share a PostgreSQL database, but not the files that each keeps for itself. */
function sharedFolder({ path }: PidFile, pid: number | undefined): StartError {
  return new StartError(
    `Cannot keep files in "${dirname(path)}": the gateway with the process id ${pid ?? 'unknown'} uses the same files there ` +
      `(${path}); expected GATEWAY_SNAPSHOT_FILE to name a file of its own for each gateway, such as ` +
      `"${join(dirname(path), 'second.snapshot')}", or another working directory (start --take-over replaces it)`,
  );
}

/** The process that takes over from this one. If it fails, the folder is this process's again. */
export function successorIn(pidFile: PidFile | undefined, log: Logger): Omit<Successor, 'mayRead'> {
  return { pid: () => pidFile?.nextPid(), failed: () => claimAgain(pidFile, log) };
}

/** Tells the process that takes over from this one which configuration this one has. Does not throw. */
export function leave(pidFile: PidFile | undefined, configVersion: number, log: Logger): void {
  try {
    pidFile?.leave(configVersion);
  } catch (error) {
    log.debug({ err: error }, 'cannot write the file that tells the new process of the configuration');
  }
}

/**
 * Refuses to take over with a copy of the database that lacks changes made since: they would be lost.
 * @throws StartError when the gateway that is taken over has a later configuration
 */
export function assertUpToDate(pidFile: PidFile | undefined, configVersion: number): void {
  const left = pidFile?.leftVersion();
  if (left === undefined || left <= configVersion) return;
  throw new StartError(
    `Cannot take over: the running gateway has config version ${left}, and this database has ${configVersion}; expected ` +
      'all that was changed there (empty the database and copy it again by "headgate copy"; to return to an older ' +
      'configuration, stop that gateway and start without --take-over)',
  );
}

/** Throws when another gateway that started at the same moment has claimed the file after this one. */
export function assertClaimed(pidFile: PidFile | undefined): void {
  const pid = pidFile?.holder();
  if (pidFile !== undefined && pid !== undefined) throw sharedFolder(pidFile, pid);
}

/** @returns a process that takes over from the same gateway already */
function announced(pidFile: PidFile | undefined, from: number, log: Logger): number | undefined {
  try {
    return pidFile?.announce(from);
  } catch (error) {
    log.debug({ err: error }, 'cannot write the file that names this process to the running gateway');
    return undefined;
  }
}

const HARD_LINK =
  'the database file has a second name (a hard link): a process that opens it by that name destroys it, and a ' +
  'backup that is this link changes with it; make the other file a copy, by "headgate copy"';

/** How often the lock is tried that a gateway which is taken over still has, or whose folder is not there yet. */
const LOCK_AGAIN_MS = 1_000;

export interface DatabaseLock {
  /** @throws StartError when a gateway has it that is not taken over */
  take(): void;
  /** Does not throw. */
  release(): void;
}

/**
 * Keeps gateways away from a SQLite database whose pid file does not tell them of this one, since they do not see its
 * process. A gateway that is taken over has the lock until it has ended.
 */
export function databaseLock(file: string | undefined, isTakeover: boolean, log: Logger): DatabaseLock {
  if (file === undefined) return { take: () => {}, release: () => {} };
  if (hasHardLink(file)) log.warn({ file }, HARD_LINK);
  const lock = new GatewayLock(file);
  let timer: NodeJS.Timeout | undefined;
  const isOver = (): boolean => {
    const outcome = lock.take();
    return outcome === 'held' || (outcome === 'unknown' && existsSync(dirname(file)));
  };
  return {
    take() {
      if (!isTakeover && lock.take() === 'held elsewhere') throw lockedElsewhere(file, lock);
      timer ??= setInterval(() => {
        if (isOver()) clearInterval(timer);
      }, LOCK_AGAIN_MS).unref();
    },
    release() {
      clearInterval(timer);
      try {
        lock.release();
      } catch (error) {
        log.debug({ err: error }, 'cannot remove the lock of the database, which ends with this process');
      }
    },
  };
}

function lockedElsewhere(file: string, { path }: GatewayLock): StartError {
  return new StartError(
    `Cannot use the database "${file}": a gateway serves it whose process cannot be seen from here, such as one in ` +
      `another container or one that has another name for the file (it has locked "${path}"); expected one gateway ` +
      'for a SQLite database (stop that one first; several can share a PostgreSQL database)',
  );
}

/** Takes over from the running gateway; undefined when there is none. */
export async function takeover(
  pidFile: PidFile | undefined,
  { server }: Settings,
  log: Logger,
): Promise<Takeover | undefined> {
  if (server.port === 0) throw new StartError('Cannot take over: GATEWAY_SERVER__PORT must name a port');
  const pid = pidFile?.otherPid();
  if (pid === undefined) {
    log.info('there is no running gateway to take over from');
    return undefined;
  }
  const rival = announced(pidFile, pid, log);
  if (rival !== undefined)
    throw new StartError(
      `Cannot take over: the process with the id ${rival} takes over from the gateway with the process id ${pid} already; ` +
        'expected one takeover at a time (wait until that process serves or has ended, then start this one again)',
    );
  try {
    return await requestTakeover(pid, server, systemClock);
  } catch (error) {
    release(pidFile, log);
    throw startError('Cannot take over', error);
  }
}

/**
 * Refuses to share ports or a SQLite database with another process, which would not see the writes of this one. Runs
 * before anything is opened or created, so that a start by mistake leaves no trace.
 * @param file of the SQLite database
 */
export async function assertAlone(
  pidFile: PidFile | undefined,
  file: string | undefined,
  { server, proxy }: Settings,
): Promise<void> {
  const pid = pidFile?.otherPid();
  if (pid !== undefined && file !== undefined && hasOpen(pid, file)) {
    throw new StartError(
      `Cannot use the database "${file}": the gateway with the process id ${pid} serves it; expected one gateway ` +
        'for a SQLite database (start --take-over replaces it; several can share a PostgreSQL database)',
    );
  }
  const listeners: readonly (readonly [
    what: string,
    address: { readonly host: string; readonly port: number },
    setting: string,
  ])[] = [
    ['management', server, 'GATEWAY_SERVER__PORT'],
    ['traffic', proxy, 'GATEWAY_PROXY__PORT'],
    ['traffic', { host: proxy.host, port: proxy.tlsPort ?? 0 }, 'GATEWAY_PROXY__TLS__PORT'],
  ];
  for (const [what, address, setting] of listeners) {
    const error = address.port === 0 ? undefined : await takenError(address);
    if (error !== undefined) throw listenError(what, `${address.host}:${address.port}`, setting, error);
  }
  const sockets = [
    ['management', server.unixSocket, 'GATEWAY_SERVER__UNIX_SOCKET'],
    ['traffic', proxy.unixSocket === 'systemd' ? undefined : proxy.unixSocket, 'GATEWAY_PROXY__UNIX_SOCKET'],
  ] as const;
  for (const [what, path, setting] of sockets) {
    if (path === undefined) continue;
    const problem = await unixSocketProblem(path);
    if (problem !== undefined) throw listenError(what, path, setting, new Error(problem));
  }
}
