/**
 * A TCP relay to a server on the loopback that can be made slow, or swallow everything like a network that is cut: the
 * connections stay open and new ones are made, but no byte comes through in either direction.
 */
import * as net from 'node:net';

export interface FlakyLink {
  readonly port: number;
  /** 0: as fast as the server. Applies to bytes that come from now on, in each direction. */
  setDelayMs(delayMs: number): void;
  cut(): void;
  /** Connections that were cut stay dead: their bytes are lost. */
  mend(): void;
  close(): Promise<void>;
}

export async function startLink(targetPort: number): Promise<FlakyLink> {
  let delayMs = 0;
  let isCut = false;
  const sockets = new Set<net.Socket>();
  // With Nagle's algorithm small messages wait for delayed acknowledgements: an outage of 40 ms that nobody asked for.
  const server = net.createServer({ noDelay: true }, (client) => {
    const target = net.connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    let isDead = false;
    const relay = (from: net.Socket, to: net.Socket): void => {
      sockets.add(from);
      from.on('data', (bytes) => {
        isDead ||= isCut;
        if (isDead) return;
        if (delayMs === 0) to.write(bytes);
        else setTimeout(() => void (to.writable && to.write(bytes)), delayMs);
      });
      from.on('error', () => from.destroy());
      from.on('close', () => {
        sockets.delete(from);
        // A network that is cut does not tell that a side has gone.
        if (!isDead && !isCut) to.destroy();
      });
    };
    relay(client, target);
    relay(target, client);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as net.AddressInfo).port,
    setDelayMs: (ms) => void (delayMs = ms),
    cut: () => void (isCut = true),
    mend: () => void (isCut = false),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
