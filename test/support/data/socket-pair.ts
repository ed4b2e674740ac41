/** Two ends of one TCP connection over loopback, for tests of what sits right on a socket. */
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';
import type { SocketReader } from '../../../src/proxy/io/read-buffers.ts';

export interface SocketPair {
  /** The end under test. */
  readonly near: net.Socket;
  /** The peer's; takes next to nothing until the test listens for data. */
  readonly far: net.Socket;
  close(): void;
}

/** @param reader reads the near end; without one it is a plain socket */
export async function socketPair(reader?: SocketReader): Promise<SocketPair> {
  const server = net.createServer({ allowHalfOpen: true });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const accepted = new Promise<net.Socket>((done) => server.once('connection', done));
  const { port } = server.address() as AddressInfo;
  const near = net.connect({
    port,
    host: '127.0.0.1',
    allowHalfOpen: true,
    ...(reader === undefined ? {} : { onread: reader.onread }),
  });
  if (reader !== undefined) {
    reader.attach(near);
    near.on('close', () => reader.close());
  }
  near.on('error', () => undefined);
  await new Promise<void>((done) => near.once('connect', done));
  const far = await accepted;
  far.on('error', () => undefined);
  server.close();
  return {
    near,
    far,
    close: () => {
      near.destroy();
      far.destroy();
    },
  };
}
