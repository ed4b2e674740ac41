/**
 * Clients of HTTP/2 that mean harm, frame by frame, with TLS and without: each is sent away or slowed down, its cost
 * stays bounded, and others are served meanwhile and afterwards.
 */
import * as http2 from 'node:http2';
import type { Socket } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { RESETS_BURST, RESETS_PER_SECOND } from '../../../src/proxy/downstream/http2/http2-guard.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { connectHttp2, request, TLS_PAIR } from '../../support/clients/http2-client.ts';
import {
  ACK,
  connectFrames,
  encodeFields,
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  GET,
  headers,
  number32,
  POST,
  resetCode,
  type Fields,
  type Frame,
  type FrameClient,
} from '../../support/clients/http2-frames.ts';
import { startOrigin, startRawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { steadily } from '../../support/measure/steady.ts';

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_PROTOCOL_ERROR } = http2.constants;
const SETTINGS_INITIAL_WINDOW_SIZE = 4;

const closers = closeAfterEach();

/** Of the tests that run. */
let isPlain = false;

async function setUp(
  options: TestProxyOptions['options'] = {},
  backendPort?: number,
): Promise<TestProxy & { readonly served: () => number }> {
  const origin = await startOrigin();
  closers.push(() => origin.close());
  let served = 0;
  const proxy = await startProxy(oneRoute({ backendPort: backendPort ?? origin.port }), {
    ...(isPlain ? { h2c: true } : { tls: TLS_PAIR }),
    options,
    observer: { exchangeEnded: () => void (served += 1) },
  });
  closers.push(() => proxy.close());
  return { ...proxy, served: () => served };
}

async function attacker(port: number, settings?: Buffer): Promise<FrameClient> {
  const client = await connectFrames(port, settings, isPlain);
  closers.push(() => client.close());
  return client;
}

/** Another client gets an answer, and the gateway has noticed no defect of its own. */
async function othersAreServed(proxy: TestProxy): Promise<boolean> {
  const client = await connectHttp2(proxy.port, { isPlain });
  const response = await request(client, { ':path': '/nowhere' });
  await client.close();
  return response.status === 404 && proxy.defects.length === 0;
}

/** Sends batches until the connection ends or there are no more; the number of batches sent. */
async function flood(client: FrameClient, batches: number, batch: (n: number) => Buffer[]): Promise<number> {
  let sent = 0;
  while (sent < batches && !client.socket.destroyed && !client.socket.readableEnded) {
    client.send(...batch(sent++));
    await client.flushed();
    // Lets the other side, which shares this thread, have its turn.
    await new Promise((done) => setImmediate(done));
  }
  return sent;
}

const setting = (id: number, value: number): Buffer => Buffer.concat([Buffer.from([0, id]), number32(value)]);

describe.each([
  { link: 'TLS', plain: false },
  { link: 'TCP', plain: true },
])('over $link', ({ plain }) => {
  beforeAll(() => {
    isPlain = plain;
  });

  describe('floods of cheap frames end the connection', { timeout: 60_000 }, () => {
    it.each<[string, (n: number) => Buffer]>([
      ['PING', () => frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
      ['SETTINGS', () => frame(FRAME.settings, 0, 0, setting(SETTINGS_INITIAL_WINDOW_SIZE, 65_535))],
      ['empty SETTINGS', () => frame(FRAME.settings, 0, 0)],
      ['PRIORITY', (n) => frame(FRAME.priority, 0, 2 * n + 1, Buffer.from([0, 0, 0, 0, 16]))],
      ['WINDOW_UPDATE of 1', () => frame(FRAME.windowUpdate, 0, 0, number32(1))],
      ['unknown frames', () => frame(0x55, 0, 0, Buffer.alloc(200))],
      ['PING acknowledgements', () => frame(FRAME.ping, ACK, 0, Buffer.alloc(8))],
    ])('%s', async (_what, one) => {
      const proxy = await setUp();
      const client = await attacker(proxy.port);
      const batches = 20_000;
      const sent = await flood(client, batches, (n) =>
        Array.from({ length: 100 }, (_, m) => one(n * 100 + m)),
      );
      await client.ended();
      expect(sent, 'cut off before the end').toBeLessThan(batches);
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it.each<[string, Buffer]>([
      ['PING', frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
      ['SETTINGS', frame(FRAME.settings, 0, 0, setting(SETTINGS_INITIAL_WINDOW_SIZE, 65_535))],
      ['empty SETTINGS', frame(FRAME.settings, 0, 0)],
    ])('%s: a few thousand are enough, whatever their bytes', async (_what, one) => {
      const proxy = await setUp();
      const client = await attacker(proxy.port);
      const isOver = (): boolean => client.socket.destroyed || client.socket.readableEnded;
      const acks = (): number =>
        client.frames().filter(({ type, flags }) => type === one[3] && (flags & ACK) !== 0).length;
      const before = acks();
      let sent = 0;
      while (sent < 30 && !isOver()) {
        client.send(...Array.from({ length: 100 }, () => one));
        sent += 1;
        // Only the gateway counts those that are acknowledged at once; Node.js limits only those that wait.
        await untilHolds(() => acks() - before >= sent * 100 || isOver(), 'all are acknowledged');
      }
      expect(sent, 'cut off after about the burst of 1,000').toBeLessThan(30);
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it('empty DATA on an open stream', async () => {
      const origin = await startRawOrigin(() => undefined);
      closers.push(() => origin.close());
      const proxy = await setUp({}, origin.port);
      const client = await attacker(proxy.port);
      client.send(headers(1, POST, 0));
      const sent = await flood(client, 4_000, () =>
        Array.from({ length: 100 }, () => frame(FRAME.data, 0, 1)),
      );
      await client.ended();
      expect(sent).toBeLessThan(4_000);
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it('header sections of a stream that was reset, and PING beside them', async () => {
      const proxy = await setUp();
      const client = await attacker(proxy.port);
      client.send(headers(1, [...GET, ['te', 'gzip']]));
      await resetCode(client, 1);
      const late = headers(1, [['x-late', 'y'.repeat(1000)]]);
      const ping = frame(FRAME.ping, 0, 0, Buffer.alloc(8));
      const sent = await flood(client, 2_000, () => [late, ping, ping, late, ping, ping]);
      expect(await client.ended()).toBe(NGHTTP2_ENHANCE_YOUR_CALM);
      expect(sent).toBeLessThan(2_000);
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it('requests behind a GOAWAY', async () => {
      const origin = await startRawOrigin(() => undefined);
      closers.push(() => origin.close());
      const proxy = await setUp({}, origin.port);
      const client = await attacker(proxy.port);
      client.send(headers(1, GET), frame(FRAME.goaway, 0, 0, Buffer.alloc(8)));
      const sent = await flood(client, 2_000, (n) =>
        Array.from({ length: 50 }, (_, m) => headers(2 * (n * 50 + m) + 3, GET)),
      );
      await client.ended();
      expect(sent * 50 * headers(1, GET).length, 'bytes taken').toBeLessThan(4 * 1024 * 1024);
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it('DATA on a stream that is closed', async () => {
      const proxy = await setUp();
      const client = await attacker(proxy.port);
      client.send(headers(1, GET));
      await client.next((one) => one.stream === 1 && (one.flags & END_STREAM) !== 0, 'the answer');
      const data = Array.from({ length: 8 }, () => frame(FRAME.data, 0, 1, Buffer.alloc(1000)));
      const sent = await flood(client, 50_000, () => data);
      await client.ended();
      expect(sent).toBeLessThan(50_000);
      expect(await othersAreServed(proxy)).toBe(true);
    });
  });

  describe('streams that are thrown away end the connection', { timeout: 60_000 }, () => {
    it.each([
      { code: NGHTTP2_CANCEL, name: 'CANCEL' },
      { code: http2.constants.NGHTTP2_NO_ERROR, name: 'NO_ERROR' },
      { code: http2.constants.NGHTTP2_INTERNAL_ERROR, name: 'INTERNAL_ERROR' },
    ])('rapid reset by the client with $name (CVE-2023-44487)', async ({ code }) => {
      const origin = await startRawOrigin(() => undefined);
      closers.push(() => origin.close());
      const proxy = await setUp({}, origin.port);
      const client = await attacker(proxy.port);
      const sent = await flood(client, 2_000, (n) => [
        headers(2 * n + 1, GET),
        frame(FRAME.rstStream, 0, 2 * n + 1, number32(code)),
      ]);
      await client.ended();
      expect(sent, 'cut off after about the burst of 200').toBeLessThan(600);
      expect(origin.connections(), 'most were never forwarded or their connections are closed').toBeLessThan(
        600,
      );
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it('resets by the gateway that the client provokes (CVE-2025-8671)', async () => {
      const proxy = await setUp();
      const client = await attacker(proxy.port);
      const malformed: Fields = [...GET, ['te', 'gzip']];
      const sent = await flood(client, 2_000, (n) => [headers(2 * n + 1, malformed)]);
      await client.ended();
      expect(sent).toBeLessThan(600);
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it('WebSockets that the backend answers with a page', async () => {
      const proxy = await setUp();
      const client = await attacker(proxy.port);
      const websocket: Fields = [[':method', 'CONNECT'], [':protocol', 'websocket'], ...GET.slice(1)];
      const beganMs = performance.now();
      // Ten at a time, until it is over: what is counted is forgotten with time, of which a busy machine takes much.
      let sent = 0;
      for (let isOver = false; sent < 5_000 && !isOver; sent += 10) {
        const ids = Array.from({ length: 10 }, (_, index) => 2 * (sent + index) + 1);
        client.send(...ids.map((id) => headers(id, websocket, 0)));
        const ends = ({ stream, type }: Frame): boolean => stream === ids.at(-1) || type === FRAME.goaway;
        isOver = (await client.next(ends, 'an end')).type === FRAME.goaway;
      }
      expect(await client.ended()).toBe(NGHTTP2_ENHANCE_YOUR_CALM);
      const forgotten = ((performance.now() - beganMs) / 1_000) * RESETS_PER_SECOND;
      expect(sent).toBeLessThan(RESETS_BURST + forgotten + 20);
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it('a zero window update on each stream', async () => {
      const origin = await startRawOrigin(() => undefined);
      closers.push(() => origin.close());
      const proxy = await setUp({}, origin.port);
      const client = await attacker(proxy.port);
      const sent = await flood(client, 2_000, (n) => [
        headers(2 * n + 1, GET),
        frame(FRAME.windowUpdate, 0, 2 * n + 1, number32(0)),
      ]);
      await client.ended();
      expect(sent).toBeLessThan(600);
      expect(await othersAreServed(proxy)).toBe(true);
    });
  });

  describe('heads', { timeout: 60_000 }, () => {
    it('that never end (CONTINUATION flood)', async () => {
      const proxy = await setUp();
      const client = await attacker(proxy.port);
      client.send(frame(FRAME.headers, END_STREAM, 1, encodeFields(GET)));
      const piece = encodeFields([['x-more', 'y'.repeat(1000)]]);
      const sent = await flood(client, 2_000, () => [frame(FRAME.continuation, 0, 1, piece)]);
      await client.ended();
      expect(sent * 1000, 'bytes taken').toBeLessThan(1_000_000);
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it('that are small and decode to much (HPACK bomb)', async () => {
      const proxy = await setUp();
      const client = await attacker(proxy.port);
      // A literal with incremental indexing (0x40), then references to it (0xbe): one byte each for 4 KB.
      const name = Buffer.from('x-bomb');
      const value = Buffer.alloc(3900, 0x61);
      const literal = Buffer.concat([
        Buffer.from([0x40, name.length]),
        name,
        Buffer.from([0x7f, ((3900 - 127) % 128) | 0x80, (3900 - 127) >> 7]),
        value,
      ]);
      const block = Buffer.concat([encodeFields(GET), literal, Buffer.alloc(10_000, 0xbe)]);
      client.send(frame(FRAME.headers, END_STREAM | END_HEADERS, 1, block));
      const code = await Promise.race([resetCode(client, 1), client.ended()]);
      expect([
        NGHTTP2_ENHANCE_YOUR_CALM,
        NGHTTP2_PROTOCOL_ERROR,
        http2.constants.NGHTTP2_COMPRESSION_ERROR,
      ]).toContain(code);
      expect(proxy.served(), 'no exchange was made of it').toBe(0);
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it('that stop in the middle: the connection is closed in its time', async () => {
      const proxy = await setUp({ headTimeoutMs: 300 });
      const client = await attacker(proxy.port);
      client.send(frame(FRAME.headers, END_STREAM, 1, encodeFields(GET).subarray(0, 20)));
      await client.ended();
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it(
      'that stop in the middle after a request, or beside an open stream: closed all the same, unless one was only refused',
      steadily(async () => {
        const chunks = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n';
        const held: Socket[] = [];
        const origin = await startRawOrigin((socket, received) => {
          const isHeld = received.includes('GET /held');
          if (isHeld) held.push(socket);
          socket.write(isHeld ? chunks : `${chunks}0\r\n\r\n`);
        });
        closers.push(() => origin.close());
        const proxy = await setUp({ headTimeoutMs: 300 }, origin.port);
        const [after, beside, polite] = [
          await attacker(proxy.port),
          await attacker(proxy.port),
          await connectHttp2(proxy.port, { isPlain }),
        ];
        closers.push(() => polite.close());
        after.send(headers(1, GET));
        await after.next(({ flags, stream }) => stream === 1 && (flags & END_STREAM) !== 0, 'the answer');
        beside.send(headers(1, [...GET.slice(0, -1), [':path', '/a/v1/held']]));
        await beside.next(({ type }) => type === FRAME.data, 'the beginning of an answer');
        const answer = request(polite, { ':path': '/a/v1/held' });
        const refused = await request(polite, { ':path': '/a/v1/x', 'content-length': 'none' });
        expect(refused.code).toBe(NGHTTP2_PROTOCOL_ERROR);
        const half = frame(FRAME.headers, END_STREAM, 3, encodeFields(GET).subarray(0, 20));
        for (const client of [after, beside]) client.send(half);
        for (const client of [after, beside]) expect(await client.ended()).toBe(NGHTTP2_ENHANCE_YOUR_CALM);
        // Longer than the deadline of a head that begins after all three of these.
        const endMs = performance.now() + 500;
        await untilHolds(
          () => performance.now() > endMs || polite.session.destroyed,
          'its time is over, too',
        );
        for (const socket of held) if (socket.writable) socket.write('6\r\n, late\r\n0\r\n\r\n');
        expect(await answer).toMatchObject({ status: 200, body: Buffer.from('ok, late') });
        expect(await othersAreServed(proxy)).toBe(true);
      }),
    );

    it('that never begin: the connection is closed in its time', async () => {
      const proxy = await setUp({ headTimeoutMs: 300 });
      const client = await attacker(proxy.port);
      await client.ended();
      for (let n = 0; n < 400 && proxy.listener.connectionCount > 0; n++)
        await new Promise((done) => setTimeout(done, 5));
      expect(proxy.listener.connectionCount).toBe(0);
    });
  });

  describe('streams and windows', { timeout: 60_000 }, () => {
    it('more streams than allowed end the connection; a client that keeps to the limit has all of them served', async () => {
      let open = 0;
      let openMost = 0;
      const origin = await startRawOrigin((socket, received) => {
        if (!received.endsWith('\r\n\r\n')) return;
        openMost = Math.max(openMost, ++open);
        setTimeout(() => {
          open -= 1;
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        }, 200);
      });
      closers.push(() => origin.close());
      const proxy = await setUp({}, origin.port);
      const greedy = await attacker(proxy.port);
      greedy.send(...Array.from({ length: 110 }, (_, n) => headers(2 * n + 1, GET)));
      expect(await greedy.ended()).toBe(NGHTTP2_PROTOCOL_ERROR);
      const client = await connectHttp2(proxy.port, { isPlain });
      closers.push(() => client.close());
      // The limit comes with the server's SETTINGS.
      expect((await request(client, { ':path': '/nowhere' })).status).toBe(404);
      openMost = 0;
      const answers = await Promise.all(
        Array.from({ length: 250 }, () => request(client, { ':path': '/a/v1/x' })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(openMost).toBeLessThanOrEqual(100);
    });

    it('a client that never opens its window is let go at the idle time-out, its backends before', async () => {
      let written = 0;
      const origin = await startRawOrigin((socket, received) => {
        if (!received.endsWith('\r\n\r\n')) return;
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n');
        const pump = (): void => {
          while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) written += 65_536;
        };
        socket.on('drain', pump);
        pump();
      });
      closers.push(() => origin.close());
      const proxy = await setUp({ idleTimeoutMs: 400 }, origin.port);
      const client = await attacker(proxy.port, setting(SETTINGS_INITIAL_WINDOW_SIZE, 0));
      for (let n = 0; n < 20; n++) client.send(headers(2 * n + 1, GET));
      for (let n = 0; n < 20; n++) await resetCode(client, 2 * n + 1);
      expect(written, 'what the backends could leave behind').toBeLessThan(20 * 12_000_000);
      expect(proxy.served()).toBe(20);
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it('a whole small answer that is never read does not stay for ever', async () => {
      const proxy = await setUp({ idleTimeoutMs: 300 });
      const client = await attacker(proxy.port, setting(SETTINGS_INITIAL_WINDOW_SIZE, 0));
      client.send(headers(1, GET));
      await resetCode(client, 1);
      expect(await othersAreServed(proxy)).toBe(true);
    });

    it('a body that is not wanted yet is held back to its window', async () => {
      const origin = await startRawOrigin((socket) => void socket.pause());
      closers.push(() => origin.close());
      const proxy = await setUp({ idleTimeoutMs: 2_000 }, origin.port);
      const client = await connectHttp2(proxy.port, { isPlain });
      closers.push(() => client.close());
      const stream = client.session.request({ ':path': '/a/v1/x', ':method': 'POST' });
      stream.on('error', () => undefined);
      const before = process.memoryUsage();
      stream.write(Buffer.alloc(64 * 1024 * 1024));
      await new Promise((done) => setTimeout(done, 1_000));
      const { external, heapUsed } = process.memoryUsage();
      // The client's own 64 MiB live in this process too.
      const growth = external + heapUsed - before.external - before.heapUsed - 64 * 1024 * 1024;
      expect(growth).toBeLessThan(24 * 1024 * 1024);
      stream.close(NGHTTP2_CANCEL);
    });

    it.each<[string, Buffer]>([
      ['a window beyond its limit', frame(FRAME.windowUpdate, 0, 0, number32(0x7fffffff))],
      ['a frame that is too large', frame(FRAME.data, 0, 1, Buffer.alloc(16_385))],
      ['HEADERS on stream 0', headers(0, GET)],
      ['an even stream', headers(2, GET)],
      ['PUSH_PROMISE', frame(5, END_HEADERS, 1, Buffer.concat([number32(2), encodeFields(GET)]))],
      ['a SETTINGS frame of a wrong length', frame(FRAME.settings, 0, 0, Buffer.alloc(5))],
      ['CONTINUATION out of the blue', frame(FRAME.continuation, END_HEADERS, 1, encodeFields(GET))],
      ['rubbish', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000))],
    ])('%s ends the connection', async (_what, bytes) => {
      const proxy = await setUp();
      const client = await attacker(proxy.port);
      client.send(bytes);
      await client.ended();
      expect(await othersAreServed(proxy)).toBe(true);
    });
  });

  describe('fields that could end a line', { timeout: 60_000 }, () => {
    it.each<[string, readonly [string, string]]>([
      ['CR LF in a value', ['x-evil', 'a\r\nx-injected: 1']],
      ['LF in a value', ['x-evil', 'a\nx-injected: 1']],
      ['NUL in a value', ['x-evil', 'a\0x-injected']],
      ['CR LF in a name', ['x-evil: 1\r\nx-injected', '1']],
      ['a colon in a name', ['x-evil:x-injected', '1']],
    ])('%s: the stream ends, and others of the connection are served', async (_what, field) => {
      const origin = await startRawOrigin((socket) =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
      );
      closers.push(() => origin.close());
      const proxy = await setUp({}, origin.port);
      const client = await attacker(proxy.port);
      client.send(headers(1, [...GET, field]));
      expect(await resetCode(client, 1)).toBe(NGHTTP2_PROTOCOL_ERROR);
      client.send(headers(3, GET));
      await client.next(({ type, stream }) => type === FRAME.headers && stream === 3, 'an answer');
      expect(origin.received).toHaveLength(1);
      expect(origin.received[0]).not.toMatch(/x-evil|x-injected/);
    });
  });

  describe('requests that are malformed are stream errors', { timeout: 60_000 }, () => {
    const without = (name: string): Fields => GET.filter(([own]) => own !== name);
    it.each<[string, Fields]>([
      ['an upper-case name', [...GET, ['X-Upper', '1']]],
      ['a space before a value', [...GET, ['x-evil', ' a']]],
      ['connection', [...GET, ['connection', 'close']]],
      ['transfer-encoding', [...GET, ['transfer-encoding', 'chunked']]],
      ['upgrade', [...GET, ['upgrade', 'websocket']]],
      ['te', [...GET, ['te', 'gzip']]],
      ['no :path', without(':path')],
      ['no :scheme', without(':scheme')],
      ['no :method', without(':method')],
      ['two :path', [...GET, [':path', '/b']]],
      [':status', [...GET, [':status', '200']]],
      ['a late pseudo-field', [...without(':path'), ['x', '1'], [':path', '/a/v1/x']]],
      ['a path with a space', [...without(':path'), [':path', '/a/v1/x HTTP/1.1']]],
      ['a path with CR LF', [...without(':path'), [':path', '/a/v1/x\r\nx: 1']]],
      ['a URL for a path', [...without(':path'), [':path', 'https://evil/a/v1/x']]],
      ['a fragment', [...without(':path'), [':path', '/a/v1/x#f']]],
      ['a method with a space', [[':method', 'GET /other'], ...GET.slice(1)]],
      ['another host', [...GET, ['host', 'evil.test']]],
      ['user information', [...without(':authority'), [':authority', 'user@localhost']]],
      ['two lengths', [...GET, ['content-length', '0'], ['content-length', '0']]],
      ['a length without content', [...GET, ['content-length', '5']]],
      [
        'a WebSocket whose stream ends with its head',
        [[':method', 'CONNECT'], [':protocol', 'websocket'], ...GET.slice(1)],
      ],
    ])('%s', async (_what, fields) => {
      const proxy = await setUp();
      const client = await attacker(proxy.port);
      client.send(headers(1, fields));
      const outcome = await Promise.race([resetCode(client, 1), client.ended()]);
      expect(outcome).toBe(NGHTTP2_PROTOCOL_ERROR);
      expect(proxy.served()).toBe(0);
      expect(await othersAreServed(proxy)).toBe(true);
    });
  });
});
