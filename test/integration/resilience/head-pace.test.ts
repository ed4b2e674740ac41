/** GATEWAY_PROXY__MIN_HEAD_BYTES_PER_SEC: a client that drips the head of its request is gone long before its time. */
import { constants } from 'node:http2';
import * as tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { ProxyOptions } from '../../../src/proxy/options.ts';
import { startGateway } from '../../support/gateway.ts';
import { CA, TLS_PAIR } from '../../support/clients/http2-client.ts';
import {
  connectFrames,
  FRAME,
  GET as GET_FIELDS,
  headers,
  type Frame,
} from '../../support/clients/http2-frames.ts';
import { startOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { steadily } from '../../support/measure/steady.ts';
import { createService } from '../../support/traffic.ts';
import { untilHolds } from '../../support/measure/until.ts';

/** The absolute time is far beyond what a test waits for. */
const PACE = { minHeadBytesPerSec: 1_000, minHeadGraceMs: 300, headTimeoutMs: 60_000 };
const BEGUN = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\nX-Long: ';
const GET = `${BEGUN}x\r\n\r\n`;

const closers = closeAfterEach();

async function start(options: Partial<ProxyOptions> = PACE, more: TestProxyOptions = {}): Promise<TestProxy> {
  const origin = await startOrigin((_request, response) => void setTimeout(() => response.end('served'), 50));
  closers.push(() => origin.close());
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }), { ...more, options });
  closers.push(async () => {
    await proxy.close();
    expect(proxy.defects).toEqual([]);
  });
  return proxy;
}

async function open(proxy: TestProxy, text: string): Promise<RawClient> {
  const client = await connectRaw(proxy.port);
  closers.push(() => client.end());
  client.write(text);
  return client;
}

/** Calls every so often until the test is over. */
function repeatedly(step: () => void, everyMs = 20): void {
  const timer = setInterval(step, everyMs);
  closers.push(() => clearInterval(timer));
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

describe('a head below the minimum pace', () => {
  it.each([
    ['from its start', BEGUN],
    ['after a burst', BEGUN + 'x'.repeat(20_000)],
    ['behind another request', GET + BEGUN],
  ])('%s is answered 408 and the connection closed', async (_name, beginning) => {
    const proxy = await start();
    const client = await open(proxy, beginning);
    repeatedly(() => client.write('x'));
    if (beginning.startsWith(GET)) expect((await client.response()).body).toBe('served');
    const response = await client.response();
    expect([response.status, JSON.parse(response.body)]).toMatchObject([408, { code: 'request_timeout' }]);
    expect(response.headers['connection']).toBe('close');
    await client.closed();
  });

  it('over TLS is answered 408 and the connection closed', async () => {
    const proxy = await start(PACE, { tls: TLS_PAIR });
    const socket = tls.connect({ port: proxy.port, host: '127.0.0.1', servername: 'localhost', ca: CA });
    closers.push(() => void socket.destroy());
    socket.on('error', () => undefined);
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    socket.write(BEGUN);
    repeatedly(() => socket.write('x'));
    await new Promise((done) => socket.once('end', done));
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('over HTTP/2 ends the connection', async () => {
    const proxy = await start(PACE, { tls: TLS_PAIR });
    const client = await connectFrames(proxy.port);
    closers.push(() => client.close());
    const head = headers(1, [...GET_FIELDS, ['x-long', 'x'.repeat(10_000)]]);
    let at = 5_000;
    client.send(head.subarray(0, at));
    repeatedly(() => client.send(head.subarray(at, ++at)));
    expect(await client.ended()).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
});

describe('a head is served', () => {
  it(
    'that keeps the pace, for as long as it takes',
    steadily(async () => {
      const proxy = await start({ ...PACE, minHeadGraceMs: 600 });
      const client = await open(proxy, BEGUN);
      for (let piece = 0; piece < 12; piece++) {
        client.write('x'.repeat(300));
        await pause(100);
      }
      client.write('\r\n\r\n');
      expect((await client.response()).body).toBe('served');
    }),
  );

  it(
    'that keeps the pace over HTTP/2',
    steadily(async () => {
      const proxy = await start({ ...PACE, minHeadGraceMs: 1_500 }, { tls: TLS_PAIR });
      const client = await connectFrames(proxy.port);
      closers.push(() => client.close());
      const head = headers(1, [...GET_FIELDS, ['x-long', 'x'.repeat(9_000)]]);
      for (let at = 0; at < head.length; at += 300) {
        client.send(head.subarray(at, at + 300));
        await pause(100);
      }
      const isAnswer = ({ type, stream }: Frame): boolean => type === FRAME.headers && stream === 1;
      expect(await client.next(isAnswer, 'the response')).toBeDefined();
    }),
    30_000,
  );

  it(
    'whose connection rested before it for longer than the grace',
    steadily(async () => {
      const proxy = await start({ ...PACE, minHeadGraceMs: 200 });
      const client = await open(proxy, '');
      for (let round = 0; round < 2; round++) {
        client.write(BEGUN);
        // Two reads, and longer than a sweep of the deadlines.
        await pause(100);
        client.write('x\r\n\r\n');
        expect((await client.response()).body).toBe('served');
        await pause(500);
      }
    }),
  );

  it('however slowly it comes, where no pace is set', async () => {
    const proxy = await start({ minHeadGraceMs: 50 });
    const client = await open(proxy, BEGUN);
    let sent = 0;
    repeatedly(() => {
      if (sent < 20) client.write('x');
      sent += 1;
    });
    await untilHolds(() => sent >= 20, 'it has dripped for long enough');
    client.write('\r\n\r\n');
    expect((await client.response()).body).toBe('served');
  });
});

it(
  'the settings of a gateway say how much is asked of heads, and of bodies',
  { timeout: 60_000 },
  async () => {
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const gateway = await startGateway({
      env: {
        GATEWAY_PROXY__HEAD_TIMEOUT_MS: '60000',
        GATEWAY_PROXY__MIN_HEAD_BYTES_PER_SEC: '1000',
        GATEWAY_PROXY__MIN_HEAD_GRACE_MS: '300',
        GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC: '1000',
        GATEWAY_PROXY__MIN_BODY_GRACE_MS: '300',
      },
    });
    closers.push(async () => void (await gateway.stop()));
    await createService(gateway, 'a', origin.port);
    const head = await connectRaw(gateway.proxyPort);
    const body = await connectRaw(gateway.proxyPort);
    closers.push(
      () => head.end(),
      () => body.end(),
    );
    head.write(BEGUN);
    body.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n');
    repeatedly(() => head.write('x'));
    repeatedly(() => body.write('x'));
    expect((await head.response()).status).toBe(408);
    expect((await body.response()).status).toBe(408);
  },
);
