/**
 * A backend that is gone without a word in the middle of an upload, as when its machine loses its power, and a client
 * that is gone during a stream: their packets are dropped in a network namespace. The other side goes on to send a
 * little, which the system keeps for them.
 * Needs root, and the commands ip and iptables (`apt install iproute2 iptables`).
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectRaw } from '../support/clients/raw-client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/measure/until.ts';
import { createService } from '../support/traffic.ts';

const NAME = `hg${process.pid % 100_000}`;
const HOST = `10.231.${process.pid % 250}.2`;
const PORTS = { http1: 9_911, h2: 9_912 };
const OWN = HOST.replace(/2$/, '1');
const run = (command: string): boolean => spawnSync('sh', ['-ec', command]).status === 0;
const canRun = run(`
  ip netns add ${NAME}
  ip link add ${NAME}a type veth peer name ${NAME}b netns ${NAME}
  ip addr add ${OWN}/24 dev ${NAME}a && ip link set ${NAME}a up
  ip -n ${NAME} addr add ${HOST}/24 dev ${NAME}b && ip -n ${NAME} link set ${NAME}b up
  ip netns exec ${NAME} iptables -L`);
/** In both directions: a program that gives up tells the other side. */
const VANISH = `for way in INPUT OUTPUT; do ip netns exec ${NAME} iptables -I $way -j DROP; done`;
const COME_BACK = `ip netns exec ${NAME} iptables -F`;
const BACKEND = `
  const read = (stream) => stream.resume();
  require('node:net').createServer(read).listen(${PORTS.http1}, () =>
    require('node:http2').createServer().on('stream', read).listen(${PORTS.h2}, () => console.log('up')))`;

let backend: ChildProcess | undefined;
let gateway: TestGateway;
beforeAll(async () => {
  if (!canRun) throw new Error('root, ip and iptables are needed');
  gateway = await startGateway({
    env: { GATEWAY_PROXY__IDLE_TIMEOUT_MS: '4000', GATEWAY_PROXY__HOST: '0.0.0.0' },
  });
  backend = spawn('ip', ['netns', 'exec', NAME, process.execPath, '-e', BACKEND], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (backend.stdout !== null) await once(backend.stdout, 'data');
});
afterAll(async () => {
  await gateway.stop();
  backend?.kill();
  run(`ip netns del ${NAME}`);
});

it.each(['http1', 'h2'] as const)(
  'an upload by %s ends with the next idle time-out, also while the client sends',
  { timeout: 60_000 },
  async (protocol) => {
    const revision = { backend_host: HOST, backend_protocol: protocol };
    await createService(gateway, protocol, PORTS[protocol], { revision });
    const client = await connectRaw(gateway.proxyPort);
    client.write(`POST /${protocol}/v1/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const sending = setInterval(() => client.write('1\r\na\r\n'), 250);
    try {
      // Longer than the idle time-out: as long as the backend acknowledges, an upload may be slow.
      await pause(6_000);
      expect(client.received()).toBe('');
      expect(run(VANISH)).toBe(true);
      // The next look finds it, once the system has tried for six seconds or more.
      expect((await client.response({ timeoutMs: 25_000 })).status).toBe(504);
      const line = `is gone: it acknowledges nothing of the request","app":"${protocol}"`;
      await until(() => gateway.output().includes(line));
    } finally {
      run(COME_BACK);
      clearInterval(sending);
      client.end();
    }
  },
);

it('a stream of events ends about a minute after its client has vanished', { timeout: 180_000 }, async () => {
  let closedAtMs = 0;
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => response.write('data: 1\n\n'), 250);
    response.once('close', () => {
      clearInterval(timer);
      closedAtMs = performance.now();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  await createService(gateway, 'events', (server.address() as AddressInfo).port);
  const script = `require('node:http').get('http://${OWN}:${gateway.proxyPort}/events/v1/x', (response) =>
      response.once('data', () => console.log('data')).resume()).on('error', () => undefined)`;
  const client = spawn('ip', ['netns', 'exec', NAME, process.execPath, '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    if (client.stdout !== null) await once(client.stdout, 'data');
    await pause(6_000);
    expect(closedAtMs).toBe(0);
    expect(run(VANISH)).toBe(true);
    const goneAtMs = performance.now();
    await pause(30_000);
    expect(closedAtMs, 'it may come back').toBe(0);
    await until(() => closedAtMs > 0, 100_000);
    expect(closedAtMs - goneAtMs).toBeGreaterThan(50_000);
  } finally {
    run(COME_BACK);
    client.kill();
    server.closeAllConnections();
    server.close();
  }
});
