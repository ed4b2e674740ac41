/** Clients that send thousands of requests at once take turns with the others, and end no worker. */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  number32,
  PREFACE,
} from '../../support/clients/http2-frames.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { until } from '../../support/measure/until.ts';

const CLIENTS = 48;
/** As much as the gateway reads at once. */
const READ_BYTES = 65_536;
/** At least. */
const ANSWER_BYTES = 200;
const REQUEST = 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n';
/** The same over HTTP/2, in fields of the static table. */
const BLOCK = Buffer.from([0x82, 0x86, 0x84, 0x01, 0x01, 0x61]);
const STREAMS = Math.floor(READ_BYTES / (9 + BLOCK.length));

const floods = {
  'HTTP/1.1': Buffer.from(REQUEST.repeat(READ_BYTES / REQUEST.length)),
  'HTTP/2': Buffer.concat([
    PREFACE,
    frame(FRAME.settings, 0, 0),
    frame(FRAME.windowUpdate, 0, 0, number32(2 ** 30)),
    ...Array.from({ length: STREAMS }, (_, index) =>
      frame(FRAME.headers, END_HEADERS | END_STREAM, 2 * index + 1, BLOCK),
    ),
  ]),
};

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_LOG__ACCESS: 'off', GATEWAY_PROXY__H2C: 'true' } });
});
afterAll(() => gateway.stop());

it.each(['HTTP/1.1', 'HTTP/2'] as const)(
  'another client is answered long before thousands of requests of others (%s) are',
  { timeout: 120_000 },
  async (protocol) => {
    const requests = CLIENTS * (protocol === 'HTTP/2' ? STREAMS : READ_BYTES / REQUEST.length);
    let floodBytes = 0;
    const flood = await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        const socket = await opened(gateway.proxyPort);
        socket.on('data', (bytes: Buffer) => (floodBytes += bytes.length));
        return socket;
      }),
    );
    const honest = await connectRaw(gateway.proxyPort);
    const ordinal = async (): Promise<number> => {
      honest.write(REQUEST);
      const { headers } = await honest.response({ timeoutMs: 60_000 });
      return Number.parseInt(headers['x-request-id']?.split('-')[1] ?? '', 36);
    };
    const first = await ordinal();
    for (const socket of flood) socket.write(floods[protocol]);
    expect(((await ordinal()) - first) / requests).toBeLessThan(0.25);
    // All of them are answered in the end.
    expect(await until(() => floodBytes > requests * ANSWER_BYTES, 60_000)).toBe(true);
    honest.end();
    for (const socket of flood) socket.destroy();
    expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
  },
);

it(
  'all of them are answered, in order, also where the client has ended its side',
  { timeout: 60_000 },
  async () => {
    const paths = Array.from({ length: 500 }, (_, index) => `/none/${index}/x`);
    const client = await connectRaw(gateway.proxyPort);
    client.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
    client.socket.end();
    await client.closed(30_000);
    const answered = [...client.received().matchAll(/"detail":"[^"]* ([^" ]+)"/g)].map(([, path]) => path);
    expect(answered).toEqual(paths);
  },
);

function opened(port: number): Promise<Socket> {
  return new Promise((done, fail) => {
    const socket = connect(port, '127.0.0.1', () => done(socket));
    socket.on('error', fail);
  });
}
