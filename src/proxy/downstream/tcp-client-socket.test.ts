import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { untilHolds } from '../../../test/support/measure/until.ts';
import type { ClientSocket, ClientSocketEvents } from './client-socket.ts';
import { tcpClientSocket } from './tcp-client-socket.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** All events of a socket, in order. */
function recorder(onData: (bytes: Buffer) => void = () => undefined) {
  const log: string[] = [];
  const events: ClientSocketEvents = {
    expectsMore: false,
    onData: (bytes) => {
      log.push(bytes.toString('latin1'));
      onData(bytes);
    },
    onDrain: () => void log.push('drain'),
    onEnd: () => void log.push('end'),
    onFlushed: () => void log.push('flushed'),
    onError: () => void log.push('error'),
    onClose: () => void log.push('close'),
  };
  return { log, events };
}

/** A client, and the gateway's side of its connection. */
async function accepted(): Promise<{
  client: Socket;
  server: Server;
  first: Socket;
  socket: ClientSocket;
}> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const arrived = new Promise<Socket>((done) => server.once('connection', done));
  const client = connect({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  client.on('error', () => undefined);
  const first = await arrived;
  const socket = tcpClientSocket(first);
  closers.push(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  return { client, server, first, socket };
}

it('carries bytes in both directions, and each side ends separately', async () => {
  const { client, socket } = await accepted();
  const { log, events } = recorder((bytes) => {
    if (bytes.toString('latin1') === 'question') socket.writeText('answer');
  });
  socket.attach(events);
  let received = '';
  client.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  client.end('question');
  await untilHolds(() => log.includes('end') && received === 'answer', 'the exchange');
  socket.writeText(', and more');
  socket.end();
  await untilHolds(() => log.includes('close'), 'the end');
  expect(received).toBe('answer, and more');
  expect(log).toEqual(['question', 'end', 'flushed', 'close']);
});

it('owns the connection, whatever happens to the accepted socket', async () => {
  const { client, first, socket } = await accepted();
  const { log, events } = recorder();
  socket.attach(events);
  first.destroy();
  await new Promise((done) => setTimeout(done, 20));
  client.write('still there');
  await untilHolds(() => log.length > 0, 'the bytes');
  expect(log).toEqual(['still there']);
});

it('is counted by its server until it is closed', async () => {
  const { server, socket } = await accepted();
  socket.attach(recorder().events);
  const count = (): Promise<number> =>
    new Promise((done, fail) =>
      server.getConnections((error, connections) => (error === null ? done(connections) : fail(error))),
    );
  expect(await count()).toBe(1);
  const closed = new Promise<void>((done) => server.close(() => done()));
  socket.destroy();
  await closed;
  expect(await count()).toBe(0);
});

it('delivers what was written before it was destroyed, and a reset on request', async () => {
  const orderly = await accepted();
  orderly.socket.attach(recorder().events);
  let received = '';
  orderly.client.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  orderly.socket.writeText('last words');
  orderly.socket.destroy();
  await untilHolds(() => received === 'last words', 'what was written');

  const torn = await accepted();
  torn.socket.attach(recorder().events);
  const codes: (string | undefined)[] = [];
  torn.client.on('error', (error: NodeJS.ErrnoException) => codes.push(error.code));
  torn.client.resume();
  torn.socket.reset();
  await untilHolds(() => codes.length > 0, 'the reset');
  expect(codes).toEqual(['ECONNRESET']);
});

it('can be reset after its end if the client has not read everything', async () => {
  const { client, server, socket } = await accepted();
  const { log, events } = recorder();
  socket.attach(events);
  socket.writeText('x'.repeat(20_000_000));
  socket.end();
  expect(socket.isFlushed).toBe(false);
  socket.reset();
  const codes: (string | undefined)[] = [];
  client.on('error', (error: NodeJS.ErrnoException) => codes.push(error.code));
  client.resume();
  await untilHolds(() => log.includes('close') && codes.length > 0, 'the reset');
  expect(codes).toEqual(['ECONNRESET']);
  expect(log).toEqual(['close']);
  const connections = await new Promise<number>((done) =>
    server.getConnections((_error, count) => done(count)),
  );
  expect(connections).toBe(0);
});

it('delivers nothing while it is paused', async () => {
  const { client, socket } = await accepted();
  const { log, events } = recorder();
  socket.attach(events);
  socket.pause();
  client.write('early');
  await new Promise((done) => setTimeout(done, 30));
  expect(log).toEqual([]);
  socket.resume();
  await untilHolds(() => log.length > 0, 'the bytes');
  expect(log).toEqual(['early']);
});

it('uses the stream itself if Node exposes no handle', async () => {
  const [near, far] = duplexPair();
  const { log, events } = recorder();
  near.pause();
  const socket = tcpClientSocket(near as Socket);
  socket.attach(events);
  far.write('hello');
  await untilHolds(() => log.length > 0, 'the bytes');
  socket.writeText('hi');
  await untilHolds(() => far.readableLength > 0, 'the answer');
  expect(log).toEqual(['hello']);
  expect(String(far.read())).toBe('hi');
});
