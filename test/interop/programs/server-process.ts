/** A server in a process of its own, ready when its port accepts connections. */
import { spawn } from 'node:child_process';
import * as net from 'node:net';
import { plainEnvironment } from '../../support/programs/programs.ts';

export interface ServerProcess {
  readonly port: number;
  stop(): Promise<void>;
}

const START_MS_MAX = 60_000;
const isOpen = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => done(true)).once('error', () => done(false));
    socket.once('connect', () => socket.destroy());
  });

export async function startServer(
  port: number,
  program: string,
  args: readonly string[],
): Promise<ServerProcess> {
  const child = spawn(program, args, { env: plainEnvironment('/tmp'), stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-10_000)));
  const exited = new Promise<void>((done) => child.once('close', () => done()));
  const startedMs = Date.now();
  while (!(await isOpen(port))) {
    if (child.exitCode !== null || Date.now() - startedMs > START_MS_MAX) {
      child.kill('SIGKILL');
      throw new Error(`${program} did not start: ${output}`);
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  return {
    port,
    stop: () => {
      child.kill('SIGKILL');
      return exited;
    },
  };
}
