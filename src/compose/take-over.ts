/**
 * Which process serves a database folder: the note of it, and taking the place of the one that does now.
 */
import { systemClock } from '../kernel/clock.ts';
import type { Logger } from '../observe/log.ts';
import { beginTakeOver } from '../runtime/hand-over.ts';
import type { InstanceFile } from '../runtime/instance-file.ts';
import type { Settings } from '../settings.ts';
import { startError, StartError } from './start-error.ts';

/** The file serves a later `--take-over` only: without it the gateway runs as well. */
export function claim(instance: InstanceFile | undefined, log: Logger): void {
  try {
    instance?.claim();
  } catch (error) {
    log.warn({ err: error }, 'the file with the process id could not be written; nothing can take over');
  }
}

/** A file that stays behind, as on a disk that has turned read-only, names a process that has ended: nobody. */
export function release(instance: InstanceFile | undefined, log: Logger): void {
  try {
    instance?.release();
  } catch (error) {
    log.warn({ err: error }, 'the file with the process id could not be removed');
  }
}

/** Undefined when there is nobody to take over from. */
export async function takeOver(
  instance: InstanceFile | undefined,
  { server }: Settings,
  log: Logger,
): Promise<Awaited<ReturnType<typeof beginTakeOver>> | undefined> {
  if (server.port === 0) throw new StartError('Cannot take over: GATEWAY_SERVER__PORT must name a port');
  const pid = instance?.otherPid();
  if (pid === undefined) {
    log.info('there is no running gateway to take over from');
    return undefined;
  }
  try {
    return await beginTakeOver(pid, server, systemClock);
  } catch (error) {
    throw startError('Cannot take over', error);
  }
}
