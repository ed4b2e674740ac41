/** For tests: a connection, and its row in the table of the system with another timer. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll } from 'vitest';

export interface TestConnection {
  readonly port: number;
  readonly client: Socket;
  readonly accepted: Socket;
}

/** Opens a connection before the tests of a file. */
export function testConnection(): () => TestConnection {
  const server = createServer();
  let pair: TestConnection | undefined;
  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const arrived = new Promise<Socket>((done) => server.once('connection', done));
    const { port } = server.address() as AddressInfo;
    const client = connect(port, '127.0.0.1');
    pair = { port, client, accepted: await arrived };
  });
  afterAll(() => {
    pair?.client.destroy();
    pair?.accepted.destroy();
    server.close();
  });
  return () => {
    if (pair === undefined) throw new Error('only within a test');
    return pair;
  };
}

interface Timer {
  readonly timer?: string;
  /** Hexadecimal. */
  readonly repetitions?: string;
  readonly questions?: string;
}

/** The table with another timer for the accepted connection. */
export function withTimer(
  table: string,
  { accepted, client }: TestConnection,
  { timer = '01:00000200', repetitions = '00000000', questions = '0' }: Timer,
): string {
  const own = `:${hex(accepted.localPort)} 0100007F:${hex(client.localPort)} 01`;
  return table.replaceAll(/^.*$/gm, (row) => {
    if (!row.includes(own)) return row;
    const fields = row.trim().split(/\s+/);
    const [uid = ''] = fields.slice(7);
    return `  ${[...fields.slice(0, 5), timer, repetitions, uid, questions, ...fields.slice(9)].join(' ')}`;
  });
}

const hex = (port = 0): string => port.toString(16).toUpperCase().padStart(4, '0');
