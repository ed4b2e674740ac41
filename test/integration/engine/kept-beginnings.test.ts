/** The beginning of a request that waits for its rest keeps no more memory than it has bytes. */
import { expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { startOrigin } from '../../support/backends/origin.ts';
import { frame, FRAME, PREFACE } from '../../support/clients/http2-frames.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { bufferBytes } from '../../support/measure/garbage.ts';
import { until } from '../../support/measure/until.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';

const CLIENTS = 100;
const REQUEST = 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n';
const PING = frame(FRAME.ping, 0, 0, Buffer.alloc(8));
const READ_BYTES = 60_000;

const closers = closeAfterEach();

/** Of each client. */
const keptBytes = async (beforeBytes: number): Promise<number> =>
  ((await bufferBytes()) - beforeBytes) / CLIENTS;
const KEPT_BYTES_MAX = 16 * 1024;

it.each([
  {
    protocol: 'HTTP/1.1',
    first: Buffer.from('G'),
    rest: Buffer.from(`${REQUEST.slice(1)}${REQUEST.repeat(READ_BYTES / REQUEST.length)}G`),
    answers: Math.floor(READ_BYTES / REQUEST.length) + 1,
    answer: 'HTTP/1.1 404',
  },
  {
    protocol: 'HTTP/2',
    first: Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0), PING.subarray(0, 1)]),
    // One frame after another, and the beginning of the next.
    rest: Buffer.concat([
      PING.subarray(1),
      ...Array.from({ length: 3 }, () => frame(0x50, 0, 0, Buffer.alloc(16_000))),
      PING,
      PING.subarray(0, 1),
    ]),
    answers: 2,
    answer: PING.subarray(0, 4).toString('latin1') + '\u0001',
  },
])('over $protocol', { timeout: 60_000 }, async ({ first, rest, answer, answers }) => {
  const proxy = await startProxy(oneRoute({ backendPort: 9 }), { h2c: true });
  closers.push(() => proxy.close());
  const clients: RawClient[] = [];
  for (let count = 0; count < CLIENTS; count++) {
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write(first);
    clients.push(client);
  }
  await new Promise((done) => setTimeout(done, 100));
  const before = await bufferBytes();
  for (const client of clients) client.write(rest);
  for (const client of clients) await until(() => client.received().split(answer).length > answers, 30_000);
  await expect.poll(() => keptBytes(before), { timeout: 10_000 }).toBeLessThan(KEPT_BYTES_MAX);
});

it('sent ahead of a request under way, and dropped', { timeout: 60_000 }, async () => {
  const origin = await startOrigin(() => undefined);
  closers.push(() => origin.close());
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }));
  closers.push(() => proxy.close());
  const clients: RawClient[] = [];
  for (let count = 0; count < CLIENTS; count++) {
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    clients.push(client);
  }
  await new Promise((done) => setTimeout(done, 200));
  const before = await bufferBytes();
  for (const client of clients) client.write(REQUEST.repeat(READ_BYTES / REQUEST.length));
  // Beyond SENT_AHEAD_MS.
  await new Promise((done) => setTimeout(done, 4_000));
  await expect.poll(() => keptBytes(before), { timeout: 10_000 }).toBeLessThan(KEPT_BYTES_MAX);
});
