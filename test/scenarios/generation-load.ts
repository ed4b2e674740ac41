/** Starts and stops the process of generation-load-process.ts. */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { childReply } from '../support/programs/child-reply.ts';
import type { LoadCommand, LoadReply, LoadReport, LoadRequest } from './generation-load-process.ts';

const PROCESS = join(import.meta.dirname, 'generation-load-process.ts');

export class GenerationLoad {
  readonly backendPort: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, backendPort: number) {
    this.#child = child;
    this.backendPort = backendPort;
  }

  static async open(): Promise<GenerationLoad> {
    const child = fork(PROCESS, { execArgv: [] });
    const { backendPort } = await childReply<LoadReply, 'ready'>(child, 'ready');
    return new GenerationLoad(child, backendPort);
  }

  start(port: number, connections: number, requests: LoadRequest[]): void {
    this.#send({ kind: 'start', port, connections, requests });
  }

  /** Resolves when every exchange that had begun is over. */
  stop(): Promise<LoadReport> {
    const report = childReply<LoadReply, 'report'>(this.#child, 'report');
    this.#send({ kind: 'stop' });
    return report;
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  #send(command: LoadCommand): void {
    this.#child.send(command);
  }
}
