import * as http from 'node:http';
import * as https from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import * as tls from 'node:tls';
import { expect, it } from 'vitest';
import { TLS_PAIR } from '../../test/support/clients/http2-client.ts';
import { closeAfterEach } from '../../test/support/closers.ts';
import { until } from '../../test/support/measure/until.ts';
import { keepRoom, PIPELINED_MAX } from './connection-room.ts';

const closers = closeAfterEach();
const HEAD = 'POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** More than the system keeps for a client that reads nothing. */
const LONG = Buffer.alloc(16 * 1024 * 1024, 'x');
const GET_LONG = 'GET /long HTTP/1.1\r\nHost: a\r\n\r\n';
const GET_LATE = 'GET /late HTTP/1.1\r\nHost: a\r\n\r\n';
const STALL_MS_MAX = 500;

/**
 * A server with room for three; what it is asked for at `/slow` waits for its body, and at `/hang` for ever; at `/late`
 * it takes longer than a client that does not read has.
 */
async function start(isSecure: boolean) {
  let begun = 0;
  const answer: http.RequestListener = (request, response) => {
    begun += 1;
    if (request.url === '/hang') return;
    if (request.url === '/long') return void response.end(LONG);
    if (request.url === '/late') return void setTimeout(() => response.end('late'), 3 * STALL_MS_MAX);
    request.resume().on('end', () => response.end('ok'));
  };
  const server = isSecure ? https.createServer(TLS_PAIR, answer) : http.createServer(answer);
  keepRoom(server, 3, STALL_MS_MAX);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise<void>((done) => void server.close(() => done()));
  });
  const { port } = server.address() as AddressInfo;
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  /** @param isDeaf it reads nothing after the first bytes */
  const open = async (text: string, isDeaf = false) => {
    const plain = connect(port, '127.0.0.1');
    const socket: Socket = isSecure ? tls.connect({ socket: plain, rejectUnauthorized: false }) : plain;
    const client = { socket, received: '', isClosed: false, error: '' };
    socket.on('error', (error: NodeJS.ErrnoException) => (client.error = error.code ?? ''));
    socket.on('data', (bytes: Buffer) => {
      client.received += bytes.toString('latin1');
      if (isDeaf && client.received.length === bytes.length) socket.pause();
    });
    socket.on('close', () => (client.isClosed = true));
    await new Promise((done) =>
      socket.once(isSecure ? 'secureConnect' : 'connect', done).once('close', done),
    );
    socket.write(text);
    closers.push(async () => void socket.destroy());
    return client;
  };
  return Object.assign(open, { connections, begun: () => begun });
}

it.each([
  ['TCP', false],
  ['TLS', true],
])('over %s a newcomer takes the place of what waits longest for its client', async (_name, isSecure) => {
  const open = await start(isSecure);
  const idle = await open(GET);
  await until(() => idle.received.endsWith('ok'));
  const [head, body] = [await open('GET / HT'), await open(HEAD)];
  for (const waiting of [idle, head, body]) {
    const newcomer = await open('GET /hang HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => waiting.isClosed);
    expect(newcomer.isClosed).toBe(false);
  }
});

it('a connection is idle from its last response on', async () => {
  const open = await start(false);
  const [first, second, third] = [await open(GET), await open(GET), await open(GET)];
  await until(() => third.received.endsWith('ok'));
  first.received = '';
  first.socket.write(GET);
  await until(() => first.received.endsWith('ok'));
  await open(GET);
  await until(() => second.isClosed);
  expect([first.isClosed, third.isClosed]).toEqual([false, false]);
});

it.each([
  ['TCP', false],
  ['TLS', true],
])('over %s a client that does not read makes room for a newcomer, in its turn', async (_name, isSecure) => {
  const open = await start(isSecure);
  const deaf = [];
  for (let count = 0; count < 3; count++) {
    const client = await open(GET_LONG, true);
    await until(() => client.received !== '');
    deaf.push(client);
  }
  await new Promise((done) => setTimeout(done, 100));
  // Before newcomers that have not sent their requests yet.
  const newcomers = [await open(''), await open('')];
  await new Promise((done) => setTimeout(done, 100));
  for (const newcomer of newcomers) newcomer.socket.write(GET);
  await until(() => newcomers.every(({ received }) => received.endsWith('ok')));
  expect(newcomers.map(({ isClosed }) => isClosed)).toEqual([false, false]);
});

it.each([
  ['TCP', false],
  ['TLS', true],
])('over %s a client that reads nothing is cut off, and one that waits is not', async (_name, isSecure) => {
  const open = await start(isSecure);
  const [deaf, waiting] = [await open(GET_LONG, true), await open(GET_LATE)];
  await until(() => waiting.received.endsWith('late'), 10_000);
  await until(() => open.connections.size === 1, 10_000);
  deaf.socket.resume();
  await until(() => deaf.isClosed);
  expect(deaf.received.length).toBeLessThan(LONG.length);
  // With what the system would have kept for it.
  expect(deaf.error).toBe('ECONNRESET');
});

it('requests that are being answered keep their places', async () => {
  const open = await start(false);
  const hanging = [];
  for (let count = 0; count < 3; count++) hanging.push(await open('GET /hang HTTP/1.1\r\nHost: a\r\n\r\n'));
  // The server has read the last of them.
  await new Promise((done) => setTimeout(done, 50));
  const newcomer = await open(GET);
  await until(() => newcomer.isClosed);
  expect(hanging.map(({ isClosed }) => isClosed)).toEqual([false, false, false]);
});

it.each([
  ['plain', false],
  ['over TLS', true],
])('cuts off a client that sends many requests without waiting for answers (%s)', async (_name, isSecure) => {
  const open = await start(isSecure);
  const patient = await open(GET.repeat(PIPELINED_MAX));
  await until(() => patient.received.split('200 OK').length === PIPELINED_MAX + 1);
  expect(patient.isClosed).toBe(false);
  const before = open.begun();
  const flood = await open('GET /hang HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1_500));
  await until(() => flood.isClosed);
  expect(open.begun() - before).toBe(PIPELINED_MAX);
  await until(() => open.connections.size === 1);
});
