/**
 * The thread that runs trials of configurations that are not in force (replay-worker.ts), from the main thread's
 * side. It lives for one task and at most for the time of the task, so that a trial cannot occupy memory or a
 * processor for long. Only one exists at a time; a few tasks wait for it, further ones are refused.
 */
import { Worker } from 'node:worker_threads';
import { withTimeout } from '../../lib/with-timeout.ts';
import type { TrialAnswer, TrialQuestion } from '../../explain/replay/replay-messages.ts';
import { releaseThread } from '../../limits/local/local-store.ts';
import type { LimitMemory } from '../../limits/local/memory.ts';
import type { Settings } from '../../settings/settings.ts';
import { threadFailure, type ThreadProgram } from './thread-failure.ts';

/** Start data of the thread. */
export interface TrialStart {
  /** Of the main thread. */
  readonly version: string;
  readonly settings: Settings;
  readonly limitMemory: LimitMemory;
  /** See egress/own-listeners.ts. */
  readonly ownPorts: SharedArrayBuffer;
  readonly viaName: string;
  /** Whether the traffic listener speaks TLS. */
  readonly isSecure: boolean;
  /** Its number as an owner of locks of the limit memory. */
  readonly owner: number;
}

/** Limit of tasks that wait. */
const WAITING_MAX = 4;
const THREAD = 'trial';

export const TRIALS_BUSY = 'the gateway is busy with other plans';

/** Asks the thread; undefined when it has ended, for example because the time of its task is over. */
export type AskTrial = (question: TrialQuestion) => Promise<TrialAnswer | undefined>;

export class TrialThreads {
  readonly #program: ThreadProgram;
  readonly #start: TrialStart;
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;

  /** @param log gets errors of the thread */
  constructor(url: URL, start: TrialStart, log: ThreadProgram['log']) {
    this.#program = { url, version: start.version, log };
    this.#start = start;
  }

  /**
   * Runs a task with a thread of its own, after earlier tasks.
   * @param timeMs time after which the thread is ended
   * @returns undefined when too many tasks wait already
   */
  async run<T>(timeMs: number, task: (ask: AskTrial) => Promise<T>): Promise<T | undefined> {
    if (this.#pending > WAITING_MAX) return undefined;
    this.#pending += 1;
    const done = this.#last.then(() => this.#runNow(timeMs, task));
    this.#last = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      this.#pending -= 1;
    }
  }

  async #runNow<T>(timeMs: number, task: (ask: AskTrial) => Promise<T>): Promise<T> {
    const worker = new Worker(this.#program.url, { workerData: this.#start, name: THREAD });
    const ended = Promise.withResolvers<TrialAnswer | undefined>();
    worker.once('exit', () => ended.resolve(undefined));
    worker.on('error', (error) =>
      ended.resolve({ type: 'failed', message: threadFailure(error, THREAD, this.#program) }),
    );
    const timer = setTimeout(() => void worker.terminate(), timeMs);
    try {
      return await task((question) => {
        const answered = new Promise<TrialAnswer>((resolve) => worker.once('message', resolve));
        worker.postMessage(question);
        return Promise.race([answered, ended.promise]);
      });
    } finally {
      clearTimeout(timer);
      await withTimeout(TERMINATION_PATIENCE_MS, worker.terminate());
      releaseThread(this.#start.limitMemory, this.#start.owner);
    }
  }
}

const TERMINATION_PATIENCE_MS = 2_000;
