/**
 * One proxy worker as the main thread sees it: the thread, what it was asked and has not answered, whether it
 * listens, and whether it still counts. Decides nothing: which workers there are, and what becomes of one that is
 * lost, is the supervisor's.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../lib/clock.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import { createHeartbeatMemory, HeartbeatWatch } from './heartbeat.ts';
import type { FromWorker, ToWorker, WorkerStart } from './protocol.ts';

export interface WorkerThreadOptions {
  /** The program that it runs. */
  readonly url: URL;
  readonly start: Omit<WorkerStart, 'heartbeat'>;
  readonly clock: Clock;
  /** How long it may take until it listens, or, as a spare, until it is told to and does; milliseconds. */
  readonly startTimeoutMs: number;
  onMessage(message: FromWorker): void;
  onExit(code: number): void;
}

/**
 * Of a worker's heap, for objects that are new; without it V8 takes above 100 MiB under many connections. What one
 * collection of them has to move, for which all of the worker's clients wait, is at most a third of it.
 */
const YOUNG_GENERATION_MIB_MAX = 48;
const TERMINATION_PATIENCE_MS = 2_000;

export class WorkerThread {
  readonly number: number;
  readonly heartbeat: HeartbeatWatch;
  /** Ready to serve, but not told to listen yet. */
  isSpare: boolean;
  isListening = false;
  /** It has taken its first configuration. */
  isConfigured = false;
  /** It has ended, or will: it counts no more. */
  isLost = false;
  isDrained = false;
  /** Changes that it has been given and not answered. */
  applying = 0;
  /** Why it died, as far as it is known. */
  cause: Error | undefined;
  /** Monotonic; Infinity before. */
  listeningSinceMs = Infinity;
  /** Resolves with its port; rejects when it ends before it listens. */
  readonly listening: Promise<number>;
  /** Resolves when it accepts no more connections, or has ended. */
  readonly portClosed: Promise<void>;
  /** Resolves when the thread has ended. */
  readonly exited: Promise<void>;
  readonly #worker: Worker;
  readonly #options: WorkerThreadOptions;
  /** Resolved with undefined when the worker ends before it answers. */
  readonly #waiting = new Map<number, (message: FromWorker | undefined) => void>();
  #nextId = 1;
  readonly #port = Promise.withResolvers<number>();
  readonly #portClosed = Promise.withResolvers<void>();
  #startTimer: NodeJS.Timeout | undefined;

  constructor(options: WorkerThreadOptions) {
    const { start, clock, url } = options;
    const { workerNumber, settings } = start;
    this.#options = options;
    this.number = workerNumber;
    this.isSpare = start.isSpare;
    this.listening = this.#port.promise;
    this.portClosed = this.#portClosed.promise;
    // The caller that awaits it sees the error; for a spare there may be none.
    this.listening.catch(() => undefined);
    const heartbeat = createHeartbeatMemory();
    const stallTimeoutMs = settings.workerStallTimeoutMs || Infinity;
    this.heartbeat = new HeartbeatWatch(heartbeat, stallTimeoutMs, clock.monotonicMs());
    this.#worker = new Worker(url, {
      workerData: { ...start, heartbeat } satisfies WorkerStart,
      name: `proxy-${workerNumber}`,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB_MAX },
    });
    this.#worker.on('error', (error: Error) => (this.cause ??= error));
    this.#worker.on('message', (message: FromWorker) => this.#onMessage(message));
    this.exited = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#onExit(code);
        resolve();
      });
    });
    if (!this.isSpare) this.#timeStart();
  }

  post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  /** The answer to a message, which is given an id; undefined when there is none in time, or the worker ends. */
  ask(message: (id: number) => ToWorker, timeoutMs: number): Promise<FromWorker | undefined> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const settle = (answer: FromWorker | undefined): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(answer);
      };
      const timer = setTimeout(() => settle(undefined), timeoutMs);
      this.#waiting.set(id, settle);
      this.post(message(id));
    });
  }

  /** A spare becomes one of those that serve; see `listening`. */
  promote(): void {
    this.isSpare = false;
    this.#timeStart();
    this.post({ type: 'listen' });
  }

  /**
   * Ends the thread, whatever it does; resolves when it has ended, or is stuck in something that cannot be ended: it
   * runs no line of the program any more then.
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
        this.#port.resolve(message.port);
        return;
      case 'listen_failed':
        return this.#giveUp(message.message);
      case 'applied':
        this.isConfigured = true;
        return this.#waiting.get(message.id)?.(message);
      case 'sample':
      case 'explained':
        return this.#waiting.get(message.id)?.(message);
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
    this.#portClosed.resolve();
    this.#options.onExit(code);
    this.#port.reject(this.cause ?? new Error(`Worker ${this.number} ended before it listened`));
  }
}
