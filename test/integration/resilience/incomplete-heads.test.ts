/** GATEWAY_PROXY__MAX_INCOMPLETE_HEAD_BYTES: heads that never end do not use up the memory of a worker. */
import { expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { startOrigin } from '../../support/backends/origin.ts';
import { TLS_PAIR } from '../../support/clients/http2-client.ts';
import { connectFrames, FRAME, GET, headers } from '../../support/clients/http2-frames.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';

const HEAD_BYTES = 12 * 1024;
const ROOM = { incompleteHeadBytesMax: 4 * HEAD_BYTES, options: { headTimeoutMs: 60_000 } };
const BEGUN = `GET /a/v1/x HTTP/1.1\r\nHost: a\r\nX-Long: `;

const closers = closeAfterEach();

async function start(options: TestProxyOptions): Promise<TestProxy> {
  const origin = await startOrigin((_request, response) => void response.end('served'));
  closers.push(() => origin.close());
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }), options);
  closers.push(async () => {
    await proxy.close();
    expect(proxy.defects).toEqual([]);
  });
  return proxy;
}

async function begin(proxy: TestProxy, bytes: number): Promise<RawClient> {
  const client = await connectRaw(proxy.port);
  closers.push(() => client.end());
  client.write(BEGUN.padEnd(bytes, 'x'));
  return client;
}

it('closes the oldest large heads when there are too many, and serves the others', async () => {
  const proxy = await start(ROOM);
  const small = await begin(proxy, 200);
  const flood: RawClient[] = [];
  for (let count = 0; count < 12; count++) flood.push(await begin(proxy, HEAD_BYTES));
  for (const client of flood.slice(0, 8)) {
    expect((await client.response()).status).toBe(408);
    await client.closed();
  }
  for (const client of [small, ...flood.slice(-3)]) {
    client.write('\r\n\r\n');
    expect((await client.response()).body).toBe('served');
  }
});

it('counts heads behind pipelined requests, too', async () => {
  const proxy = await start(ROOM);
  const ahead = 'GET /b HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20);
  const clients: RawClient[] = [];
  for (let count = 0; count < 8; count++) {
    const client = await begin(proxy, 0);
    client.write(`${'x'.repeat(9_000)}\r\n\r\n${ahead}${BEGUN.padEnd(HEAD_BYTES, 'x')}`);
    clients.push(client);
  }
  for (const client of clients.slice(0, 3)) {
    await client.closed();
    expect(client.received()).toContain('HTTP/1.1 408 ');
  }
});

it('counts a head no longer once it is complete, or its client has gone', async () => {
  const proxy = await start(ROOM);
  for (let count = 0; count < 12; count++) {
    const client = await begin(proxy, HEAD_BYTES);
    if (count % 2 === 0) client.end();
    else {
      client.write('\r\n\r\n');
      expect((await client.response()).body).toBe('served');
    }
  }
  const clients = [await begin(proxy, HEAD_BYTES), await begin(proxy, HEAD_BYTES)];
  for (const client of clients) {
    client.write('\r\n\r\n');
    expect((await client.response()).body).toBe('served');
  }
});

it('closes connections over HTTP/2 whose heads wait for the rest, also with a request under way', async () => {
  const proxy = await start({ ...ROOM, tls: TLS_PAIR });
  const head = headers(1, [...GET, ['x-long', 'x'.repeat(HEAD_BYTES - 1_024)]]);
  const clients = [];
  for (let count = 0; count < 8; count++) {
    const client = await connectFrames(proxy.port);
    closers.push(() => client.close());
    client.send(head.subarray(0, -1));
    clients.push(client);
  }
  const isGoaway = ({ type }: { type: number }): boolean => type === FRAME.goaway;
  for (const client of clients.slice(0, 3)) expect(await client.next(isGoaway, 'GOAWAY')).toBeDefined();
  const last = clients.at(-1);
  last?.send(head.subarray(-1));
  const isAnswer = ({ type, stream }: { type: number; stream: number }): boolean =>
    type === FRAME.headers && stream === 1;
  expect(await last?.next(isAnswer, 'the response')).toBeDefined();
});
