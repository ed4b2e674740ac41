/**
 * Creates profiles of a worker or of the main thread, one at a time. A profile counts as running until its thread
 * has ended it, or has itself ended, even when its client has gone.
 */
import type {
  ProfileRefusal,
  ProfileSink,
  ProfileSource,
  ProfileTask,
  RunningProfile,
} from '../../observe/profile.ts';
import { profileThread } from './thread-profiler.ts';

export interface ProfiledWorkers {
  /** @param worker number of a worker; undefined: any @returns undefined when there is none */
  profile(worker: number | undefined, task: ProfileTask, sink: ProfileSink): RunningProfile | undefined;
  /** Numbers of the workers that can be profiled. */
  profiled(): readonly number[];
}

export class Profiles implements ProfileSource {
  readonly #workers: ProfiledWorkers;
  #running: RunningProfile | 'starting' | undefined;
  #isClosed = false;

  constructor(workers: ProfiledWorkers) {
    this.#workers = workers;
  }

  workers(): readonly number[] {
    return this.#workers.profiled();
  }

  /** @param thread number of a worker; undefined: any worker */
  start(
    thread: number | 'main' | undefined,
    task: ProfileTask,
    sink: ProfileSink,
  ): RunningProfile | ProfileRefusal {
    if (this.#isClosed) return 'stopping';
    if (this.#running !== undefined) return 'running';
    const own: ProfileSink = {
      chunk: (text) => sink.chunk(text),
      end: (problem) => {
        this.#running = undefined;
        sink.end(this.#isClosed && problem !== undefined ? 'the gateway is stopping' : problem);
      },
    };
    this.#running = 'starting';
    const started = thread === 'main' ? profileThread(task, own) : this.#workers.profile(thread, task, own);
    this.#running = started;
    if (started === undefined) return 'no_worker';
    // After its end, the thread may have started another one.
    return { stop: () => (this.#running === started ? started.stop() : undefined) };
  }

  /**
   * Called when the gateway stops or another process takes over: ends the profile, and allows no others until
   * `reopen`.
   */
  close(): void {
    this.#isClosed = true;
    if (typeof this.#running === 'object') this.#running.stop();
  }

  reopen(): void {
    this.#isClosed = false;
  }
}
