/**
 * One proxy worker as the main thread sees it: the thread, its unanswered messages, whether it listens, and whether it
 * still counts. The supervisor decides which workers exist and what happens when one is lost.
 */
import type { Worker } from 'node:worker_threads';
import type { Clock } from '../../lib/clock.ts';
import type { ProfileSink, ProfileTask, RunningProfile } from '../../observe/profile.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import type { WaitingThread } from '../threads/waiting-thread.ts';
import { createHeartbeatMemory, HeartbeatWatch } from './heartbeat.ts';
import type { FromWorker, ToWorker, TrafficPorts, WorkerStart } from './protocol.ts';

export interface WorkerThreadOptions {
  /** Has not ended. */
  readonly thread: WaitingThread;
  readonly start: Omit<WorkerStart, 'heartbeat'>;
  readonly clock: Clock;
  /** Timeout until it listens, or, for a spare, until it is told to listen and does; milliseconds. */
  readonly startTimeoutMs: number;
  onMessage(message: FromWorker): void;
  onExit(code: number): void;
}

const TERMINATION_PATIENCE_MS = 2_000;
/** A worker that takes a heap snapshot does not count meanwhile. */
const SNAPSHOT_MS_MAX = 60_000;

export class WorkerThread {
  readonly number: number;
  readonly heartbeat: HeartbeatWatch;
  /** Ready to serve, but not told to listen yet. */
  isSpare: boolean;
  isListening = false;
  /** It has a descriptor of the Unix socket for traffic. */
  hasUnixSocket = false;
  /** It has applied its first configuration. */
  isConfigured = false;
  /** It has ended or will end: it no longer counts. */
  isLost = false;
  isDrained = false;
  /** Changes that it was sent and has not answered. */
  applying = 0;
  /** Monotonic. Until this time the worker takes a heap snapshot, which does not count as a stall. */
  snapshotUntilMs = -Infinity;
  /** Why it died, if known. */
  cause: Error | undefined;
  /** Monotonic; Infinity before it listens. */
  listeningSinceMs = Infinity;
  /** Resolves with its ports; rejects if it ends before it listens. */
  readonly listening: Promise<TrafficPorts>;
  /** Resolves when it accepts no more connections, or has ended. */
  readonly portClosed: Promise<void>;
  /** Resolves when the thread has ended. */
  readonly exited: Promise<void>;
  readonly #worker: Worker;
  readonly #options: WorkerThreadOptions;
  /** Resolved with undefined if the worker ends before it answers. */
  readonly #waiting = new Map<number, (message: FromWorker | undefined) => void>();
  #nextId = 1;
  #profile: ProfileSink | undefined;
  readonly #ports = Promise.withResolvers<TrafficPorts>();
  readonly #portClosed = Promise.withResolvers<void>();
  #startTimer: NodeJS.Timeout | undefined;

  constructor(options: WorkerThreadOptions) {
    const { start, clock, thread } = options;
    const { workerNumber, settings } = start;
    this.#options = options;
    this.number = workerNumber;
    this.isSpare = start.isSpare;
    this.cause = thread.cause;
    this.listening = this.#ports.promise;
    this.portClosed = this.#portClosed.promise;
    // The caller that awaits it handles the error; a spare may have no such caller.
    this.listening.catch(() => undefined);
    const heartbeat = createHeartbeatMemory();
    const stallTimeoutMs = settings.workerStallTimeoutMs || Infinity;
    this.heartbeat = new HeartbeatWatch(heartbeat, stallTimeoutMs, clock.monotonicMs());
    this.#worker = thread.worker;
    this.#worker.on('error', (error: Error) => (this.cause ??= error));
    this.#worker.on('message', (message: FromWorker) => this.#onMessage(message));
    this.exited = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#onExit(code);
        resolve();
      });
    });
    thread.begin({ ...start, heartbeat } satisfies WorkerStart);
    if (!this.isSpare) this.#timeStart();
  }

  post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  /**
   * Sends a message with an id and resolves with the answer; undefined after a timeout or if the worker ends.
   * @param whileRunning the timeout begins again as long as the worker's event loop runs
   */
  ask(
    message: (id: number) => ToWorker,
    timeoutMs: number,
    whileRunning = false,
  ): Promise<FromWorker | undefined> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const settle = (answer: FromWorker | undefined): void => {
        clearInterval(timer);
        this.#waiting.delete(id);
        resolve(answer);
      };
      let { count } = this.heartbeat;
      const timer = setInterval(() => {
        const before = count;
        ({ count } = this.heartbeat);
        if (!whileRunning || count === before) settle(undefined);
      }, timeoutMs);
      this.#waiting.set(id, settle);
      this.post(message(id));
    });
  }

  /** Must not be called while another of its profiles runs. The end of the thread ends the profile. */
  profile(task: ProfileTask, sink: ProfileSink): RunningProfile {
    this.#profile = sink;
    if (task.kind === 'heap') this.snapshotUntilMs = this.#options.clock.monotonicMs() + SNAPSHOT_MS_MAX;
    this.post({ type: 'profile', task });
    return { stop: () => this.post({ type: 'end_profile' }) };
  }

  /** A spare becomes a serving worker; see `listening`. */
  promote(): void {
    this.isSpare = false;
    this.#timeStart();
    this.post({ type: 'listen' });
  }

  /**
   * Ends the thread; resolves when it has ended, or is stuck in something that cannot be ended. In either case it runs
   * no more of the program.
   */
  async terminate(): Promise<void> {
    this.isLost = true;
    await withTimeout(TERMINATION_PATIENCE_MS, this.#worker.terminate());
  }

  #timeStart(): void {
    const { startTimeoutMs } = this.#options;
    this.#startTimer = setTimeout(
      () => this.#giveUp(`Worker ${this.number} did not listen within ${startTimeoutMs} ms`),
      startTimeoutMs,
    );
  }

  #endProfile(problem: string | undefined): void {
    const sink = this.#profile;
    this.#profile = undefined;
    this.snapshotUntilMs = -Infinity;
    sink?.end(problem);
  }

  /** A worker that fails to listen is ended here; no other code has a reference to it. */
  #giveUp(why: string): void {
    this.cause ??= new Error(why);
    void this.#worker.terminate();
  }

  #onMessage(message: FromWorker): void {
    switch (message.type) {
      case 'listening':
        clearTimeout(this.#startTimer);
        this.isListening = true;
        this.listeningSinceMs = this.#options.clock.monotonicMs();
        this.#ports.resolve(message.ports);
        break;
      case 'listen_failed':
        return this.#giveUp(message.message);
      case 'applied':
        this.isConfigured = true;
        return this.#waiting.get(message.id)?.(message);
      case 'sample':
      case 'explained':
      case 'traffic_records':
        return this.#waiting.get(message.id)?.(message);
      case 'profile_chunk':
        return this.#profile?.chunk(message.text);
      case 'profile_end':
        return this.#endProfile(message.problem);
      case 'port_closed':
        return this.#portClosed.resolve();
      case 'drained':
        this.isDrained = true;
        return;
      case 'failed':
        this.cause ??= message.error;
    }
    this.#options.onMessage(message);
  }

  #onExit(code: number): void {
    clearTimeout(this.#startTimer);
    for (const answer of this.#waiting.values()) answer(undefined);
    this.#endProfile('its worker has ended');
    this.#portClosed.resolve();
    this.#options.onExit(code);
    this.#ports.reject(this.cause ?? new Error(`Worker ${this.number} ended before it listened`));
  }
}
