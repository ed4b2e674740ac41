/** An HTTP/2 connection keeps nothing of the heads of requests that have been answered. */
import { expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { startOrigin } from '../../support/backends/origin.ts';
import {
  encodeFields,
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  GET,
  headers,
  PREFACE,
  type Fields,
} from '../../support/clients/http2-frames.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { bufferBytes, heapBytes } from '../../support/measure/garbage.ts';
import { until } from '../../support/measure/until.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';

const CLIENTS = 30;
const FRAME_BYTES = 16_000;
const LONG = ['x-long', 'x'.repeat(28_000)] as const;
const STREAMS = 16;
const toPath = (path: string): Fields => [...GET.slice(0, 3), [':path', path]];

const closers = closeAfterEach();

/** A GET in HEADERS and CONTINUATION. */
function request(stream: number, fields: Fields): Buffer {
  const block = encodeFields(fields);
  const frames: Buffer[] = [];
  for (let from = 0; from < block.length; from += FRAME_BYTES) {
    const piece = block.subarray(from, from + FRAME_BYTES);
    const isLast = from + FRAME_BYTES >= block.length;
    const [type, flags] = from === 0 ? [FRAME.headers, END_STREAM] : [FRAME.continuation, 0];
    frames.push(frame(type, flags | (isLast ? END_HEADERS : 0), stream, piece));
  }
  return Buffer.concat(frames);
}

const numberOf = (stream: number): string => frame(0, 0, stream).subarray(5).toString('latin1');

async function memory(): Promise<number> {
  const buffers = await bufferBytes();
  return heapBytes() + buffers;
}

it.each([
  {
    what: 'a section that is too long',
    bytesMax: 48 * 1024,
    sent: request(3, [...GET, ...Array.from({ length: 8 }, () => LONG)]),
    answered: [3],
  },
  { what: 'a long section', bytesMax: 48 * 1024, sent: request(3, [...GET, LONG]), answered: [3] },
  {
    what: 'long sections beside a request under way',
    // The request under way has its connection to the backend, and each idle stream a few KiB.
    bytesMax: 256 * 1024,
    sent: Buffer.concat([
      headers(3, toPath('/a/v1/wait')),
      ...Array.from({ length: STREAMS }, (_, at) => request(5 + 2 * at, [...GET, LONG])),
    ]),
    answered: Array.from({ length: STREAMS }, (_, at) => 5 + 2 * at),
  },
])('after $what', { timeout: 60_000 }, async ({ sent, answered, bytesMax }) => {
  const origin = await startOrigin(({ url }, response) => {
    if (url === '/wait') return;
    // It is in this process, too, and would keep the heads with its connections.
    response.setHeader('Connection', 'close').end('served');
  });
  closers.push(() => origin.close());
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }), { h2c: true });
  closers.push(() => proxy.close());
  const clients: RawClient[] = [];
  for (let count = 0; count < CLIENTS; count++) {
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0), headers(1, GET)]));
    await until(() => client.received().includes('served'));
    clients.push(client);
  }
  const before = await memory();
  for (const client of clients) {
    client.write(sent);
    await until(() => answered.every((stream) => client.received().includes(numberOf(stream))));
  }
  // After two seconds without requests, a connection releases what it has kept for further ones.
  await new Promise((done) => setTimeout(done, 4_000));
  expect(((await memory()) - before) / CLIENTS).toBeLessThan(bytesMax);
});
