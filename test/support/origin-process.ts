/** What tests need to run somebody else's server as a process of their own: a port, its start, its lines, its end. */
import type { ChildProcess } from 'node:child_process';
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';

const READY_MS_MAX = 10_000;

/** The complete lines on its standard output so far. */
export function collectLines(child: ChildProcess): () => string[] {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return () => text.split('\n').slice(0, -1);
}

/** Waits until `look` holds. */
export async function ready(look: () => boolean | Promise<boolean>, name: string): Promise<void> {
  const endMs = performance.now() + READY_MS_MAX;
  while (!(await look())) {
    if (performance.now() > endMs) throw new Error(`${name} did not start within ${READY_MS_MAX} ms`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

export function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}

export async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await exited;
}
