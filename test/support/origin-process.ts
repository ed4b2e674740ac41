/** What tests need to run somebody else's server as a process of their own: a port, its start, its lines, its end. */
import type { ChildProcess } from 'node:child_process';
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';
import { until } from './until.ts';

const READY_MS_MAX = 10_000;

/** The complete lines on its standard output so far. */
export function collectLines(child: ChildProcess): () => string[] {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return () => text.split('\n').slice(0, -1);
}

/** Waits until `look` holds. */
export async function ready(look: () => boolean | Promise<boolean>, name: string): Promise<void> {
  await until<boolean>(look, READY_MS_MAX, 20, `${name} is ready`);
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

/** Ports on which nobody listens, each another one. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => net.createServer());
  await Promise.all(servers.map((one) => new Promise<void>((done) => one.listen(0, '127.0.0.1', done))));
  const ports = servers.map((one) => (one.address() as AddressInfo).port);
  await Promise.all(servers.map((one) => new Promise((done) => one.close(done))));
  return ports;
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await exited;
}
