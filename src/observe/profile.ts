/** Profiles of running threads: the types that the management API, the main thread and the workers exchange. */

export interface ProfileTask {
  /** `cpu`: where the thread spends its time; `heap`: everything in its memory. */
  readonly kind: 'cpu' | 'heap';
  /** Duration of a CPU profile. */
  readonly seconds: number;
}

/** Receives a profile while it is created: pieces of text, then one end. */
export interface ProfileSink {
  chunk(text: string): void;
  /** @param problem why there is no complete profile; undefined when it is complete */
  end(problem: string | undefined): void;
}

/** A profile that is being created. */
export interface RunningProfile {
  /** Stops the profile as soon as the thread can; the sink receives the end. */
  stop(): void;
}

export const PROFILE_SECONDS_MAX = 60;

/** `stopping`: the gateway stops, and no more profiles are created. */
export type ProfileRefusal = 'running' | 'stopping' | 'no_worker';

/** Creates at most one profile at a time. */
export interface ProfileSource {
  /** Numbers of the workers that can be profiled. */
  workers(): readonly number[];
  /** @param thread number of a worker; undefined: any worker */
  start(
    thread: number | 'main' | undefined,
    task: ProfileTask,
    sink: ProfileSink,
  ): RunningProfile | ProfileRefusal;
}
