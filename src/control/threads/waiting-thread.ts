/**
 * A thread that loads its program at once and waits for its start data, so that a gateway's workers load while its main
 * thread does. Until it has the data it runs no code of the program: it stands still where the program asks for them.
 */
import { parentPort, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads';
import { memoryShares } from '../../settings/memory-shares.ts';
import { programUrl } from './program-url.ts';

const MIB = 1024 * 1024;

export class WaitingThread {
  readonly worker: Worker;
  /** It may have ended before it got any data, for a program that cannot be loaded. */
  hasEnded = false;
  /** Why, if known. */
  cause: Error | undefined;
  readonly #isTold = new Int32Array(new SharedArrayBuffer(4));

  /** @param workers how many of them share the memory (settings/memory-shares.ts) */
  constructor(program: URL, name: string, workers: number) {
    const { youngBytes } = memoryShares({ workers, hasTls: false });
    this.worker = new Worker(program, {
      workerData: this.#isTold,
      name,
      resourceLimits: { maxYoungGenerationSizeMb: youngBytes / MIB },
    });
    this.worker.on('error', (error: Error) => (this.cause ??= error));
    this.worker.once('exit', () => (this.hasEnded = true));
  }

  /** Ends the wait; called once. @param start see `startData` */
  begin(start: unknown): void {
    this.worker.postMessage(start);
    Atomics.store(this.#isTold, 0, 1);
    Atomics.notify(this.#isTold, 0);
  }
}

/** What systems show of a worker's thread. */
export const threadName = (workerNumber: number): string => `proxy-${workerNumber}`;

/** @param workers how many of them the gateway has */
export function waitingWorkers(workers: number): WaitingThread[] {
  const program = programUrl('worker');
  return Array.from(
    { length: workers },
    (_, index) => new WaitingThread(program, threadName(index + 1), workers),
  );
}

/** For the thread's program: waits for its start data, and returns them. Messages that follow wait for a listener. */
export function startData(): unknown {
  Atomics.wait(workerData as Int32Array, 0, 0);
  if (parentPort === null) throw new Error('Cannot start: this is not a thread');
  return receiveMessageOnPort(parentPort)?.message;
}
