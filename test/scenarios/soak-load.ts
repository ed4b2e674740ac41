/** Starts and steers the process of soak-load-process.ts. */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { childReply } from '../support/programs/child-reply.ts';
import type { SoakCommand, SoakReply, SoakReport, Target } from './soak-load-process.ts';

const PROCESS = join(import.meta.dirname, 'soak-load-process.ts');

export class SoakLoad {
  readonly backendPort: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, backendPort: number) {
    this.#child = child;
    this.backendPort = backendPort;
    // One listener for each removal that is waited for.
    child.setMaxListeners(0);
  }

  static async open(): Promise<SoakLoad> {
    const child = fork(PROCESS, { execArgv: [] });
    const { backendPort } = await childReply<SoakReply, 'ready'>(child, 'ready');
    return new SoakLoad(child, backendPort);
  }

  /** @param perSecond Infinity: as many as are answered */
  start(port: number, connections: number, perSecond: number): void {
    // JSON knows no Infinity.
    this.#send({ kind: 'start', port, connections, perSecond: Math.min(perSecond, 1e9) });
  }

  add(target: Target): void {
    this.#send({ kind: 'add', target });
  }

  /** Resolves when no exchange of the target is under way any more. */
  async remove(id: string): Promise<void> {
    const removed = childReply<SoakReply, 'removed'>(this.#child, 'removed', (message) => message.id === id);
    this.#send({ kind: 'remove', id });
    await removed;
  }

  /** Counts since the last start; every exchange that had begun is over. */
  stop(): Promise<SoakReport> {
    const report = childReply<SoakReply, 'report'>(this.#child, 'report');
    this.#send({ kind: 'stop' });
    return report;
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  #send(command: SoakCommand): void {
    this.#child.send(command);
  }
}
