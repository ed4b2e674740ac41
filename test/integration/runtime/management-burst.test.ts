/**
 * A burst of connections to the management port while the gateway is busy: the kernel keeps them all, so that no client
 * has to try again after seconds.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { startGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';

/** Node.js by default asks the kernel for room for 511. The kernel may be set to give less than it is asked for. */
const CONNECTIONS = Math.min(900, Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')));

const closers = closeAfterEach();

it('has room for hundreds of connections that wait for the gateway', async () => {
  const gateway = await startGateway();
  closers.push(() => gateway.kill());
  const pid = gateway.process.pid as number;
  process.kill(pid, 'SIGSTOP');
  const sockets: Socket[] = [];
  closers.push(async () => sockets.forEach((socket) => socket.destroy()));
  let connected = 0;
  for (let count = 0; count < CONNECTIONS; count++) {
    const socket = connect(gateway.managementPort, '127.0.0.1', () => (connected += 1));
    sockets.push(socket.on('error', () => undefined));
  }
  await until(() => connected === CONNECTIONS);
  process.kill(pid, 'SIGCONT');
  expect((await gateway.api('GET', '/health')).status).toBe(200);
});
