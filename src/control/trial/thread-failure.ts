/**
 * Why a thread for a task has failed: because the files of the gateway are of another version, from which it cannot
 * start or not load what it lacks, or because of an error in it, which is logged.
 */
import { messageOf } from '../../lib/error-message.ts';
import type { Logger } from '../../observe/log.ts';
import { versionProblem } from '../threads/program-version.ts';

export interface ThreadProgram {
  readonly url: URL;
  /** Of the main thread. */
  readonly version: string;
  readonly log: Pick<Logger, 'error'>;
}

/** @param thread its name, for the log */
export function threadFailure(error: unknown, thread: string, { url, version, log }: ThreadProgram): string {
  const replaced = replacedFiles(url, version);
  if (replaced === undefined) log.error({ err: error, thread }, 'a thread for a task has failed');
  return replaced ?? messageOf(error);
}

/** undefined also for a program that is in no package, or whose files have gone. */
function replacedFiles(url: URL, version: string): string | undefined {
  try {
    return versionProblem(url.href, version);
  } catch {
    return undefined;
  }
}
