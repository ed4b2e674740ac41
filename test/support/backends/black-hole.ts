/**
 * An address where connecting neither succeeds nor fails: a listener whose thread stands still, with its queue full,
 * so that the kernel drops every further SYN. Nothing outside of the loopback interface is asked for that.
 */
import * as net from 'node:net';
import { Worker } from 'node:worker_threads';

export interface BlackHole {
  readonly port: number;
  close(): Promise<void>;
}

const PROGRAM = `
  const net = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  const { memory, host, port } = workerData;
  const server = net.createServer().listen({ host, port, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(memory), 0, 0);
    process.exit(0);
  });
`;
/** Connecting over loopback takes less; what takes longer was never accepted. */
const CONNECT_MS_MAX = 300;
const FILLERS_MAX = 20;

/**
 * @param host an address of the loopback network
 * @param wantedPort 0: any that is free
 */
export async function startBlackHole(host = '127.0.0.1', wantedPort = 0): Promise<BlackHole> {
  const memory = new SharedArrayBuffer(4);
  const worker = new Worker(PROGRAM, { eval: true, workerData: { memory, host, port: wantedPort } });
  const ended = new Promise((done) => worker.once('exit', done));
  const port = await new Promise<number>((done, fail) => {
    worker.once('message', done);
    worker.once('error', fail);
  });
  const fillers: net.Socket[] = [];
  const close = async (): Promise<void> => {
    for (const filler of fillers) filler.destroy();
    Atomics.store(new Int32Array(memory), 0, 1);
    Atomics.notify(new Int32Array(memory), 0);
    await ended;
  };
  for (let count = 0; count < FILLERS_MAX; count++) {
    const filler = net.connect(port, host);
    filler.on('error', () => undefined);
    fillers.push(filler);
    if (!(await connects(filler))) return { port, close };
  }
  await close();
  throw new Error(`The queue took ${FILLERS_MAX} connections and is not full`);
}

function connects(socket: net.Socket): Promise<boolean> {
  return new Promise((done) => {
    const timer = setTimeout(() => done(false), CONNECT_MS_MAX);
    socket.once('connect', () => {
      clearTimeout(timer);
      done(true);
    });
  });
}
