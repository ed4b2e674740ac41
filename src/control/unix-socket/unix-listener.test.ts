import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import * as net from 'node:net';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { pino } from 'pino';
import { descriptorCopies } from './descriptor-copies.ts';
import { UnixListener } from './unix-listener.ts';

test('what killed gateways left beside the path is removed, and nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-socket-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'traffic.sock');
  // The program that creates a socket for a gateway ends without removing the file; its copies are closed with it.
  const living = net.createServer();
  await new Promise<void>((done) => living.listen(`${path}.4000000001`, done));
  onTestFinished(() => void living.close());
  await abandon(`${path}.4000000002`);
  await abandon(`${path}.other`);
  writeFileSync(`${path}.4000000003`, 'no socket');
  const listener = await UnixListener.open(path, 0o600, 1, pino({ enabled: false }));
  listener.publish();
  expect(readdirSync(folder).toSorted()).toEqual([
    'traffic.sock',
    'traffic.sock.4000000001',
    'traffic.sock.4000000003',
    'traffic.sock.other',
  ]);
  listener.remove();
});

test('a socket that another gateway has replaced comes back when that one is gone, not before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-socket-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'traffic.sock');
  const listener = await UnixListener.open(path, 0o660, 1, pino({ enabled: false }));
  listener.publish();
  expect(await listener.restore(), 'it is there').toBe(false);
  const other = net.createServer();
  await new Promise<void>((done) => other.listen(`${path}.other`, done));
  onTestFinished(() => void other.close());
  renameSync(`${path}.other`, path);
  expect(await listener.restore(), 'the other one lives').toBe(false);
  await abandon(`${path}.other`);
  renameSync(`${path}.other`, path);
  expect(await listener.restore()).toBe(true);
  expect((statSync(path).mode & 0o777).toString(8)).toBe('660');
  expect(await listener.restore(), 'once').toBe(false);
  const server = net.createServer((socket) => socket.end('a worker'));
  await new Promise<void>((done) => server.listen({ fd: listener.take() }, done));
  onTestFinished(() => void server.close());
  expect(await text(net.connect(path))).toBe('a worker');
  listener.remove();
  expect(readdirSync(folder)).toEqual([]);
});

/** A socket whose process is gone. */
async function abandon(path: string): Promise<void> {
  const [copy] = await descriptorCopies(path, 1);
  const server = net.createServer();
  await new Promise<void>((done) => server.listen({ fd: copy?.fd }, done));
  await new Promise((done) => server.close(done));
}
