/** What a profile of a running thread is, as the management API, the main thread and the workers tell each other. */

export interface ProfileTask {
  /** Where the thread spends its time, or all that is in its memory. */
  readonly kind: 'cpu' | 'heap';
  /** Of a CPU profile. */
  readonly seconds: number;
}

/** Takes a profile as it is made: text in pieces, then its end, once. */
export interface ProfileSink {
  chunk(text: string): void;
  /** @param problem why there is no profile, or no whole one; undefined: it is whole */
  end(problem: string | undefined): void;
}

/** A profile that is being made. */
export interface RunningProfile {
  /** Ends it as soon as the thread can; its sink is told so. */
  stop(): void;
}

export const PROFILE_SECONDS_MAX = 60;

/** `stopping`: no others are made. */
export type ProfileRefusal = 'running' | 'stopping' | 'no_worker';

/** Makes at most one profile at a time. */
export interface ProfileSource {
  /** @param thread number of a worker; undefined: any worker */
  start(
    thread: number | 'main' | undefined,
    task: ProfileTask,
    sink: ProfileSink,
  ): RunningProfile | ProfileRefusal;
}
