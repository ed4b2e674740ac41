/**
 * Notices when the files of the program no longer belong to the version that runs, for example after an upgrade of its
 * package without a restart. Threads of its version can then no longer start. Owns the finding.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import { found, type FoundProblem } from '../problems/found-problem.ts';
import { programVersion } from '../threads/program-version.ts';

const LOOK_MS = 60_000;

export interface ProgramWatchDeps {
  /** URL of a program in the folder of main.ts. */
  readonly program: string;
  /** The version that runs. */
  readonly version: string;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

export class ProgramWatch {
  readonly #deps: ProgramWatchDeps;
  #timer: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  /** When it was noticed, Unix milliseconds. */
  #noticedAtMs: number | undefined;

  constructor(deps: ProgramWatchDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Looks at the files now. */
  problems(): FoundProblem[] {
    this.#look();
    if (this.#problem === undefined) return [];
    const detail = `${this.#problem}. Workers that die are not replaced, and replays and imports fail: restart it to finish the upgrade`;
    return [found('warning', 'files_replaced', detail, { kind: 'workers' }, this.#noticedAtMs)];
  }

  #look(): void {
    const { log, version, clock } = this.#deps;
    const before = this.#problem;
    this.#problem = this.#find();
    this.#noticedAtMs = this.#problem === undefined ? undefined : (this.#noticedAtMs ?? clock.nowMs());
    if (this.#problem !== undefined && this.#problem !== before)
      log.warn({ version, problem: this.#problem }, 'the files of this gateway were replaced: restart it');
    if (this.#problem === undefined && before !== undefined)
      log.info({ version }, 'the files of this gateway match its version again');
  }

  #find(): string | undefined {
    const { program, version } = this.#deps;
    try {
      const files = programVersion(program);
      if (files === version) return undefined;
      return `This gateway has version ${version}, but its files have version ${files}`;
    } catch (error) {
      return `The files of this gateway cannot be read: ${(error as Error).message}`;
    }
  }
}
