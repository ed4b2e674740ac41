/**
 * A backend that is gone without a word in the middle of an upload, as when its machine loses its power, and a client
 * that is gone during a stream: their packets are dropped in a network namespace. The other side goes on to send a
 * little, which the system keeps for them. Also networks that are gone for a while only.
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
/** Of the streams of events: longer than a client may be away. */
const IDLE_MS = 60_000;
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
  { timeout: 120_000 },
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
      // The next look finds it, and it has six seconds to answer, and the next repetition of the system.
      expect((await client.response({ timeoutMs: 60_000 })).status).toBe(504);
      const line = `is gone: it acknowledges nothing of the request","app":"${protocol}"`;
      await until(() => gateway.output().includes(line));
    } finally {
      run(COME_BACK);
      clearInterval(sending);
      client.end();
    }
  },
);

interface Events {
  /** When the backend has seen the end of the stream; 0 before that. */
  closedAtMs: number;
  end(): void;
}

/** A client in the namespace that gets a stream of events. @param reads whether it reads more than the first of them */
async function events(slug: string, reads: boolean): Promise<Events> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // Slowly: the idle time-out would end a stream that has filled the buffers of the system.
    const timer = setInterval(() => response.write(`data: ${'1'.repeat(100)}\n\n`), 1_000);
    response.once('close', () => {
      clearInterval(timer);
      stream.closedAtMs = performance.now();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const timeouts = { idle_ms: IDLE_MS };
  const { port } = server.address() as AddressInfo;
  await createService(gateway, slug, port, { app: { default_policy: { timeouts } } });
  // The agent of Node.js would ask for signs of life, and give up itself.
  const script = `require('node:http').get('http://${OWN}:${gateway.proxyPort}/${slug}/v1/x', { agent: false }, (response) => {
      response.once('data', () => { console.log('data'); if (${!reads}) response.pause(); });
      if (${reads}) response.resume();
    }).on('error', () => undefined)`;
  const client = spawn('ip', ['netns', 'exec', NAME, process.execPath, '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stream = {
    closedAtMs: 0,
    end(): void {
      run(COME_BACK);
      client.kill();
      server.closeAllConnections();
      server.close();
    },
  };
  if (client.stdout !== null) await once(client.stdout, 'data');
  return stream;
}

it.each([
  ['that reads', true],
  // Its window is shut: the system does not repeat bytes, but asks for room.
  ['that has stopped reading before', false],
])(
  'a stream of events ends within three minutes after a client %s has vanished',
  { timeout: 240_000 },
  async (_which, reads) => {
    if (!reads) expect(run(`ip netns exec ${NAME} sysctl -w net.ipv4.tcp_rmem='4096 4096 4096'`)).toBe(true);
    const stream = await events(reads ? 'read' : 'unread', reads);
    try {
      await pause(20_000);
      expect(stream.closedAtMs).toBe(0);
      expect(run(VANISH)).toBe(true);
      const goneAtMs = performance.now();
      await pause(30_000);
      expect(stream.closedAtMs, 'it may come back').toBe(0);
      await until(() => stream.closedAtMs > 0, 150_000);
      expect(stream.closedAtMs - goneAtMs).toBeGreaterThan(45_000);
    } finally {
      stream.end();
    }
  },
);

it(
  'a stream of events outlasts 40 seconds without a network, although the system says that there is none',
  { timeout: 180_000 },
  async () => {
    const stream = await events('lan', true);
    try {
      await pause(20_000);
      // With no answer to ARP, the system repeats its bytes without waiting for longer each time.
      expect(run(`ip -n ${NAME} link set ${NAME}b arp off; ip neigh flush dev ${NAME}a; ${VANISH}`)).toBe(
        true,
      );
      await pause(42_000);
      expect(run(`${COME_BACK}; ip -n ${NAME} link set ${NAME}b arp on`)).toBe(true);
      await pause(15_000);
      expect(stream.closedAtMs).toBe(0);
    } finally {
      run(`ip -n ${NAME} link set ${NAME}b arp on`);
      stream.end();
    }
  },
);
