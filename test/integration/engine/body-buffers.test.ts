/**
 * Requests with bodies of a few KiB, which the gateway keeps until they are answered and in memory that it uses again
 * (src/proxy/io/body-buffer-pool.ts): each arrives to the byte, also at the second attempt, while others come and go;
 * and in the end all of that memory is back. Sizes and order are random, from a seed that a failure names.
 */
import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { BODY_BUFFERS_MAX, bodyBuffersInUse } from '../../../src/proxy/io/body-buffer-pool.ts';
import { Random } from '../../fuzz/random.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';
import { untilHolds } from '../../support/measure/until.ts';

const SEED = Number(process.env['STORM_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const closers = closeAfterEach();

/** Echoes what it is sent; what `x-do` asks for it does to the first attempt of each request. */
async function startBackend(onRequest: () => void = () => undefined): Promise<number> {
  const seen = new Set<string>();
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      onRequest();
      const id = String(request.headers['x-number']);
      const isFirst = !seen.has(id);
      seen.add(id);
      const what = isFirst ? request.headers['x-do'] : 'echo';
      const body = Buffer.concat(chunks);
      if (what === 'reset') return void request.socket.resetAndDestroy();
      if (what === '503') return void response.writeHead(503).end('not now');
      if (what === 'late') return void setTimeout(() => response.end(body), 20);
      return void response.end(body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

async function proxyTo(backendPort: number): Promise<TestProxy> {
  const proxy = await startProxy(
    oneRoute({
      backendPort,
      revision: { circuit_breaker: { failures: 1_000_000 } },
      policy: { retries: { max: 2, on: ['connect', 'reset', '503'] } },
    }),
  );
  closers.push(() => proxy.close());
  return proxy;
}

interface Asked {
  readonly port: number;
  readonly agent: http.Agent;
  readonly method: string;
  readonly number: number;
  readonly what: string;
  readonly body: Buffer;
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

/** undefined when the connection ended without an answer. */
function ask(asked: Asked, leaves = false): Promise<Answer | undefined> {
  const { port, agent, method, number, what, body } = asked;
  return new Promise((done) => {
    const headers = { 'x-number': number, 'x-do': what, 'content-length': body.length };
    const options = { port, host: '127.0.0.1', agent, method, path: '/a/v1/x', headers };
    const request = http.request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => done(undefined));
      response.on('end', () => done({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
    });
    request.on('error', () => done(undefined));
    request.end(body);
    if (leaves) setTimeout(() => request.destroy(), 5);
  });
}

function randomBody(random: Random): Buffer {
  const body = Buffer.alloc(random.below(18_000));
  for (let at = 0; at < body.length; at++) body[at] = random.below(256);
  return body;
}

it('brings every body to the backend as it was, also again', async () => {
  const proxy = await proxyTo(await startBackend());
  const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
  closers.push(async () => agent.destroy());
  const wrong: string[] = [];
  let begun = 0;
  let repeated = 0;
  let held = 0;
  const some = async (): Promise<void> => {
    while (begun < 1_500) {
      const number = begun++;
      const random = new Random(SEED + number * 7_919);
      const what = ['echo', 'echo', 'echo', 'late', 'reset', '503'][random.below(6)] ?? '';
      const isRepeated = what === 'reset' || what === '503';
      // A POST is not sent twice.
      const method = isRepeated ? 'PUT' : 'POST';
      const body = randomBody(random);
      const leaves = what === 'late' && random.below(3) === 0;
      const answer = await ask({ port: proxy.port, agent, method, number, what, body }, leaves);
      held = Math.max(held, bodyBuffersInUse());
      if (leaves && answer === undefined) continue;
      if (isRepeated && answer?.status === 200) repeated += 1;
      const isRight = answer?.status === 200 && answer.body.equals(body);
      // What is over the retry budget is answered with the failure.
      const isFailed = isRepeated && (answer?.status === 502 || answer?.status === 503);
      if (!isRight && !isFailed) wrong.push(`${number} ${what} ${body.length}: ${answer?.status}`);
    }
  };
  await Promise.all(Array.from({ length: 24 }, some));
  expect({ seed: SEED, wrong, defects: proxy.defects }).toEqual({ seed: SEED, wrong: [], defects: [] });
  // Else it would prove nothing.
  expect(repeated).toBeGreaterThan(50);
  expect(held).toBeGreaterThan(2);
  await untilHolds(() => bodyBuffersInUse() === 0, 'all memory back');
}, 60_000);

it('serves more of them at once than are kept', async () => {
  let waiting = 0;
  const proxy = await proxyTo(await startBackend(() => void (waiting += 1)));
  const agent = new http.Agent({ keepAlive: true });
  closers.push(async () => agent.destroy());
  const bodies = Array.from({ length: BODY_BUFFERS_MAX + 40 }, (_, number) =>
    Buffer.alloc(2_000, `${number};`),
  );
  let held = 0;
  const watch = setInterval(() => (held = Math.max(held, bodyBuffersInUse())), 0);
  const answers = await Promise.all(
    bodies.map((body, number) =>
      ask({ port: proxy.port, agent, method: 'POST', number, what: 'late', body }),
    ),
  );
  clearInterval(watch);
  answers.forEach((answer, number) => expect(answer?.body.equals(bodies[number] as Buffer)).toBe(true));
  expect(waiting).toBe(bodies.length);
  expect(held).toBeLessThanOrEqual(BODY_BUFFERS_MAX);
  await pause(0);
  await untilHolds(() => bodyBuffersInUse() === 0, 'all memory back');
}, 60_000);
