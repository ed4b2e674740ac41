/**
 * A server at the address of a limit store that answers with rubbish, of a kind that can be changed. What follows the
 * first answer of an endless kind comes as fast as it is read.
 */
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';

export interface Rubbish {
  /** What each command is answered with. */
  readonly answer: string | Buffer;
  /** What follows without an end. */
  readonly endless?: string | Buffer;
  /** The commands with which a connection begins are answered as Redis does. */
  readonly isLate?: boolean;
}

export interface RubbishStore {
  readonly url: string;
  /** Connections so far, and answers. */
  readonly counts: { connections: number; answers: number };
  /**
   * From now on, on new connections: those that stand are closed. Undefined: what comes is passed on to a real store.
   */
  become(rubbish: Rubbish | undefined): void;
  close(): Promise<void>;
}

const BEGINNING = /^\*\d+\r\n\$\d+\r\n(?:CLIENT|SELECT|AUTH|HELLO)\r\n/i;

/** @param realPort port of the store to which all is passed on without rubbish */
export async function startRubbishStore(realPort: number): Promise<RubbishStore> {
  const sockets = new Set<net.Socket>();
  const counts = { connections: 0, answers: 0 };
  let rubbish: Rubbish | undefined;
  const server = net.createServer((socket) => {
    counts.connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (rubbish === undefined) return void passOn(socket, realPort);
    serve(socket, rubbish, counts);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    become: (kind) => {
      rubbish = kind;
      for (const socket of sockets) socket.destroy();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

function passOn(socket: net.Socket, port: number): void {
  const real = net.connect(port, '127.0.0.1');
  real.on('error', () => socket.destroy());
  real.on('close', () => socket.destroy());
  socket.on('close', () => real.destroy());
  socket.pipe(real).pipe(socket);
}

function serve(socket: net.Socket, { answer, endless, isLate }: Rubbish, counts: { answers: number }): void {
  let flooding = false;
  const flood = (): void => {
    while (endless !== undefined && socket.writable && socket.write(endless));
  };
  socket.on('data', (bytes) => {
    const text = bytes.toString('latin1');
    if (isLate === true && BEGINNING.test(text)) {
      socket.write('+OK\r\n'.repeat(text.match(/(?:CLIENT|SELECT|AUTH|HELLO)\r\n/gi)?.length ?? 1));
      return;
    }
    counts.answers++;
    socket.write(answer);
    if (flooding || endless === undefined) return;
    flooding = true;
    socket.on('drain', flood);
    flood();
  });
}
