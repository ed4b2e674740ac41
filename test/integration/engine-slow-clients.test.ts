/**
 * Many slow clients at once, against the program: heads that drip, bodies that stop, answers that nobody reads.
 * Other traffic does not notice, each of them is let go at its deadline, and memory stays within bounds. The times
 * are short so that the test is; the numbers are those of a small attack.
 */
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import * as http from 'node:http';
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { watchMemory } from '../support/process-memory.ts';
import { createService, request } from '../support/traffic.ts';

const HEADS = 2_000;
const BODIES = 200;
const DEAF = 200;
const HEAD_MS = 4_000;
const IDLE_MS = 2_000;
/** Bytes drip until then; a body that drips is no fault, one that stops is. */
const DRIP_MS = 2_000;
const DRIP_EVERY_MS = 400;
/** All deadlines, a slow machine and the two seconds of lingering. */
const CLOSED_MS_MAX = 15_000;
const ANSWER_MS_MAX = 1_500;
const MEMORY_BYTES_MAX = 200 * 1024 * 1024;
/** More than the buffers on the way take. */
const LARGE_BYTES = 32 * 1024 * 1024;
const LISTENING = '0A';
const BLOCK = Buffer.alloc(64 * 1024, 'x');

let gateway: TestGateway;
let backend: http.Server;

beforeAll(async () => {
  backend = http.createServer((incoming, response) => {
    incoming.resume();
    if (incoming.url !== '/large') return void incoming.on('end', () => response.end('ok'));
    response.setHeader('content-length', LARGE_BYTES);
    let left = LARGE_BYTES;
    const more = (): void => {
      while (left > 0) {
        left -= BLOCK.length;
        sentBytes += BLOCK.length;
        if (!response.write(BLOCK)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  });
  await new Promise<void>((done) => backend.listen(0, '127.0.0.1', done));
  gateway = await startGateway({
    env: {
      GATEWAY_PROXY__HEAD_TIMEOUT_MS: String(HEAD_MS),
      GATEWAY_PROXY__IDLE_TIMEOUT_MS: String(IDLE_MS),
    },
  });
  await createService(gateway, 'slow', (backend.address() as AddressInfo).port);
});
afterAll(async () => {
  await gateway.stop();
  backend.closeAllConnections();
  await new Promise((done) => backend.close(done));
});

it('lets slow clients go, and nobody else notices', async () => {
  const clients: SlowClient[] = [];
  const answersMs: number[] = [];
  const { monitorEventLoopDelay } = await import('node:perf_hooks');
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const cpu = () => {
    const f = readFileSync('/proc/' + gateway.process.pid + '/stat', 'utf8')
      .split(') ')[1]!
      .split(' ');
    return [f[11], f[12]];
  };
  const use = await watchMemory(gateway.process.pid ?? 0, async () => {
    const head = 'GET /slow/v1/x HTTP/1.1\r\nHost: a\r\nX: ';
    for (let n = 0; n < HEADS; n++) clients.push(await connect(head, true));
    const body = 'POST /slow/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n';
    for (let n = 0; n < BODIES; n++) clients.push(await connect(body, true));
    const large = 'GET /slow/v1/large HTTP/1.1\r\nHost: a\r\n\r\n';
    for (let n = 0; n < DEAF; n++) clients.push(await connect(large, false));
    console.log('connected', cpu(), process.cpuUsage(), delay.max / 1e6);
    delay.reset();
    const startedMs = performance.now();
    let drippedMs = 0;
    while (heldConnections(gateway.proxyPort) > 0 && performance.now() - startedMs < CLOSED_MS_MAX) {
      const nowMs = performance.now();
      if (nowMs - startedMs < DRIP_MS && nowMs - drippedMs >= DRIP_EVERY_MS) {
        drippedMs = nowMs;
        for (const client of clients) client.drip();
      }
      const askedMs = performance.now();
      expect((await request(gateway, '/slow/v1/x')).body).toBe('ok');
      answersMs.push(performance.now() - askedMs);
      if (performance.now() - askedMs > 300)
        console.log(
          'slow',
          performance.now() - askedMs,
          askedMs - startedMs,
          heldConnections(gateway.proxyPort),
        );
      await new Promise((done) => setTimeout(done, 20));
    }
  });
  expect(heldConnections(gateway.proxyPort)).toBe(0);
  // They hear of it only when they read.
  for (const { socket } of clients) socket.resume();
  const closed = await Promise.all(clients.map((client) => client.closed));
  console.log(closed.length, performance.now() / 1000, (use.peakBytes - use.beforeBytes) / 2 ** 20);
  const [heads, bodies, deaf] = [
    clients.slice(0, HEADS),
    clients.slice(HEADS, HEADS + BODIES),
    clients.slice(HEADS + BODIES),
  ];
  expect(heads.filter(({ status }) => status !== '408')).toHaveLength(0);
  expect(bodies.filter(({ status }) => status !== '408')).toHaveLength(0);
  expect(
    deaf.filter(({ status, receivedBytes }) => status !== '200' || receivedBytes >= LARGE_BYTES),
  ).toHaveLength(0);
  expect(Math.max(...answersMs)).toBeLessThan(ANSWER_MS_MAX);
  expect(answersMs.length).toBeGreaterThan(20);
  expect((use.peakBytes - use.beforeBytes) / 2 ** 20).toBeLessThan(MEMORY_BYTES_MAX / 2 ** 20);
}, 60_000);

/** Connections to that port that a process of this machine still holds open (proc_net_tcp). */
function heldConnections(port: number): number {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let held = 0;
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, address, , state, , , , , , inode] = line.trim().split(/\s+/);
    if (address === local && state !== LISTENING && inode !== '0') held += 1;
  }
  return held;
}

function deafBytes() {
  return sentBytes;
}
let sentBytes = 0;
interface SlowClient {
  readonly socket: net.Socket;
  readonly closed: Promise<unknown>;
  /** Of the answer, '' without one. */
  readonly status: string;
  readonly receivedBytes: number;
  drip(): void;
}

/** Sends `first` at once, and a byte with every drip; or else does not even read. */
async function connect(first: string, drips: boolean): Promise<SlowClient> {
  const socket = net.connect({ port: gateway.proxyPort, host: '127.0.0.1' });
  const closed = new Promise((done) => socket.once('close', done));
  let start = '';
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    if (start === '') start = chunk.toString('latin1', 0, 12);
  });
  if (!drips) socket.pause();
  await once(socket, 'connect');
  socket.write(first);
  return {
    socket,
    closed,
    get status() {
      return start.split(' ')[1] ?? '';
    },
    get receivedBytes() {
      return socket.bytesRead;
    },
    drip: () => {
      if (drips && socket.writable) socket.write('x');
    },
  };
}
