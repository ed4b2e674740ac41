import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import * as net from 'node:net';
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

/** A socket whose process is gone. */
async function abandon(path: string): Promise<void> {
  const [copy] = await descriptorCopies(path, 1);
  const server = net.createServer();
  await new Promise<void>((done) => server.listen({ fd: copy?.fd }, done));
  await new Promise((done) => server.close(done));
}
