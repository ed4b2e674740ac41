/**
 * A relay in front of a TCP server that can be told to misbehave as a network does: to swallow everything without a
 * word, to be slow, to reset connections, to cut one off at a certain message.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface TcpRelay {
  readonly port: number;
  /** Connections that clients have made so far. */
  readonly connections: number;
  /**
   * As it should be: whatever was swallowed stays lost, and its connections with it.
   * @param lost what becomes of these connections: `silent` ones stay open, and nothing ever passes
   */
  heal(lost?: 'closed' | 'silent'): void;
  /** From now on nothing passes in either direction, and neither side is told; new connections are accepted. */
  swallow(): void;
  /** The same from the message with this text on, of whichever connection it is. */
  swallowAt(text: string): void;
  /** Each chunk, in each direction, waits for so long. */
  delay(ms: number): void;
  /** Ends all connections, and new ones at once, by a reset. */
  refuse(): void;
  /** Passes the message with this text on, and cuts the client off before there is an answer. */
  cutAt(text: string): void;
  close(): void;
}

type Mode = 'pass' | 'swallow' | 'refuse';

export async function startTcpRelay(targetPort: number): Promise<TcpRelay> {
  const pairs = new Set<{ readonly client: Socket; readonly upstream: Socket; broken: boolean }>();
  let mode: Mode = 'pass';
  let connections = 0;
  let delayMs = 0;
  let trigger: string | undefined;
  let last: string | undefined;
  // With Nagle's algorithm small messages wait for delayed acknowledgements: an unwanted outage of 40 ms.
  const server: Server = createServer({ noDelay: true }, (client) => {
    connections += 1;
    client.on('error', () => undefined);
    if (mode === 'refuse') return void client.resetAndDestroy();
    const upstream = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    upstream.on('error', () => undefined);
    const pair = { client, upstream, broken: false };
    pairs.add(pair);
    const forward = (from: Socket, to: Socket): void => {
      from.on('data', (chunk: Buffer) => {
        if (from === client && last !== undefined && chunk.includes(last)) mode = 'swallow';
        if (mode === 'swallow') pair.broken = true;
        if (pair.broken) return;
        const cut = from === client && trigger !== undefined && chunk.includes(trigger);
        if (delayMs === 0) to.write(chunk);
        else setTimeout(() => to.write(chunk), delayMs);
        if (!cut) return;
        trigger = undefined;
        pair.broken = true;
        client.destroy();
      });
      from.on('close', () => {
        // A partition does not pass on the end of a connection either.
        if (pair.broken || mode === 'swallow') return;
        pairs.delete(pair);
        to.end();
      });
    };
    forward(client, upstream);
    forward(upstream, client);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const endAll = (): void => {
    for (const { client, upstream } of pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
    pairs.clear();
  };
  return {
    port: address.port,
    get connections() {
      return connections;
    },
    heal(lost = 'closed') {
      mode = 'pass';
      delayMs = 0;
      trigger = undefined;
      last = undefined;
      if (lost === 'silent') return;
      for (const { client, upstream, broken } of pairs)
        if (broken) [client, upstream].forEach((one) => one.destroy());
    },
    swallow() {
      mode = 'swallow';
    },
    swallowAt(text) {
      last = text;
    },
    delay(ms) {
      delayMs = ms;
    },
    refuse() {
      mode = 'refuse';
      endAll();
    },
    cutAt(text) {
      trigger = text;
    },
    close() {
      mode = 'refuse';
      endAll();
      server.close();
    },
  };
}
