import * as http from 'node:http';
import * as https from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import * as tls from 'node:tls';
import { expect, it } from 'vitest';
import { TLS_PAIR } from '../../test/support/clients/http2-client.ts';
import { closeAfterEach } from '../../test/support/closers.ts';
import { until } from '../../test/support/measure/until.ts';
import { keepRoom } from './connection-room.ts';

const closers = closeAfterEach();
const HEAD = 'POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** A server with room for three; what it is asked for at `/slow` waits for its body, and at `/hang` for ever. */
async function start(isSecure: boolean) {
  const answer: http.RequestListener = (request, response) => {
    if (request.url === '/hang') return;
    request.resume().on('end', () => response.end('ok'));
  };
  const server = isSecure ? https.createServer(TLS_PAIR, answer) : http.createServer(answer);
  keepRoom(server, 3);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise<void>((done) => void server.close(() => done()));
  });
  const { port } = server.address() as AddressInfo;
  return async (text: string) => {
    const plain = connect(port, '127.0.0.1');
    const socket: Socket = isSecure ? tls.connect({ socket: plain, rejectUnauthorized: false }) : plain;
    const client = { socket, received: '', isClosed: false };
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => (client.received += bytes.toString('latin1')));
    socket.on('close', () => (client.isClosed = true));
    await new Promise((done) =>
      socket.once(isSecure ? 'secureConnect' : 'connect', done).once('close', done),
    );
    socket.write(text);
    closers.push(async () => void socket.destroy());
    return client;
  };
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
