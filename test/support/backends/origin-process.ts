/** What tests need to run another project's server as a process: a port, its start, its lines, its end. */
import type { ChildProcess } from 'node:child_process';
import * as net from 'node:net';
import { until } from '../measure/until.ts';

const READY_MS_MAX = 30_000;

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

/**
 * Below the range from which systems give ports to connections and to programs that ask for any (ip_local_port_range:
 * from 32,768 on), so that no other program is given one between a look at it and its use, or while a test needs it
 * dead.
 */
const PORT_MIN = 11_000;
const PORTS = 21_000;
/** Processes that run at the same time look in places of their own. */
const PORTS_OF_A_PROCESS = 211;
let nextPort = (process.pid * PORTS_OF_A_PROCESS) % PORTS;

/** Free ports, each another one. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === PORTS) throw new Error('There is no free port');
    const port = PORT_MIN + nextPort;
    nextPort = (nextPort + 1) % PORTS;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

function isFree(port: number): Promise<boolean> {
  const server = net.createServer();
  return new Promise((done) => {
    server.once('error', () => done(false));
    server.listen(port, () => server.close(() => done(true)));
  });
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
