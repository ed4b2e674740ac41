/** Starts and stops the process of generation-load-process.ts. */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { LoadCommand, LoadReply, LoadReport, LoadRequest } from './generation-load-process.ts';

const PROCESS = join(import.meta.dirname, 'generation-load-process.ts');
const REPLY_MS_MAX = 60_000;

export class GenerationLoad {
  readonly backendPort: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, backendPort: number) {
    this.#child = child;
    this.backendPort = backendPort;
  }

  static async open(): Promise<GenerationLoad> {
    const child = fork(PROCESS, { execArgv: [] });
    const { backendPort } = await reply(child, 'ready');
    return new GenerationLoad(child, backendPort);
  }

  start(port: number, connections: number, requests: LoadRequest[]): void {
    this.#send({ kind: 'start', port, connections, requests });
  }

  /** Resolves when every exchange that had begun is over. */
  stop(): Promise<LoadReport> {
    const report = reply(this.#child, 'report');
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

function reply<K extends LoadReply['kind']>(
  child: ChildProcess,
  kind: K,
): Promise<Extract<LoadReply, { kind: K }>> {
  return new Promise((done, fail) => {
    const timer = setTimeout(
      () => finish(() => fail(new Error(`No "${kind}" within ${REPLY_MS_MAX} ms`))),
      REPLY_MS_MAX,
    );
    const onMessage = (message: LoadReply): void => {
      if (message.kind === kind) finish(() => done(message as Extract<LoadReply, { kind: K }>));
    };
    const onExit = (): void => finish(() => fail(new Error(`The load ended before "${kind}"`)));
    function finish(then: () => void): void {
      clearTimeout(timer);
      child.off('message', onMessage).off('exit', onExit);
      then();
    }
    child.on('message', onMessage).once('exit', onExit);
  });
}
