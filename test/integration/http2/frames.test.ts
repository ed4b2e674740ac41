/**
 * Frames of clients that RFC 9113 and RFC 7541 forbid: which of them end a stream, which the connection, and with which
 * code the client hears of it; frames that are rare and allowed; windows, in both directions; and that requests of one
 * connection have nothing of each other.
 */
import * as http from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../../fuzz/random.ts';
import { connectHttp2, request } from '../../support/clients/http2-client.ts';
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
  POST,
  PREFACE,
  resetCode,
  type Fields,
  type FrameClient,
} from '../../support/clients/http2-frames.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import {
  bytes,
  CODE,
  data,
  forbiddenFrames,
  PADDED,
  PRIORITY,
  setting,
  settings,
  windowUpdate,
} from '../../support/data/forbidden-frames.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';

const closers = closeAfterEach();

const WINDOW_BYTES = 256 * 1024;

const to = (path: string, fields: Fields = GET): Fields => [...fields.slice(0, 3), [':path', `/a/v1${path}`]];

let origin: http.Server;
let proxy: TestProxy;
let served = 0;
const held = new Set<http.ServerResponse>();

/** Gives back what it gets; `/held` gets no answer, `/large` a megabyte, `/head` a head of 8 KB and nothing else. */
beforeAll(async () => {
  origin = http.createServer((incoming, response) => {
    if (incoming.url === '/held') return void held.add(response);
    if (incoming.url === '/deaf') return void incoming.pause();
    if (incoming.url === '/large') return void response.end(Buffer.alloc(1_000_000, 'x'));
    if (incoming.url === '/head') return void response.setHeader('x-large', 'x'.repeat(8_000)).end();
    response.setHeader('x-echo', incoming.headers['x-own'] ?? 'none');
    if (incoming.headers['x-length'] === 'yes')
      response.setHeader('content-length', incoming.headers['content-length'] ?? '0');
    incoming.pipe(response);
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  proxy = await startProxy(oneRoute({ backendPort: (origin.address() as AddressInfo).port }), {
    h2c: true,
    observer: { exchangeEnded: () => void (served += 1) },
  });
});
afterAll(async () => {
  await proxy.close();
  origin.closeAllConnections();
  origin.close();
});

async function connected(first?: Buffer): Promise<FrameClient> {
  const client = await connectFrames(proxy.port, first, true);
  closers.push(() => client.close());
  return client;
}

async function answered(client: FrameClient, stream: number): Promise<void> {
  const isEnd = (one: { stream: number; flags: number; type: number }): boolean =>
    one.stream === stream && (one.flags & END_STREAM) !== 0 && one.type !== FRAME.windowUpdate;
  await client.next(isEnd, `the end of ${stream}`);
}

const contentOf = (client: FrameClient, stream: number): Buffer =>
  Buffer.concat(
    client
      .frames()
      .filter((one) => one.type === FRAME.data && one.stream === stream)
      .map(({ payload }) => payload),
  );

describe('a frame that ends the connection', () => {
  it.each<[string, number, Buffer]>([
    ...forbiddenFrames(GET),
    ['an even stream', CODE.protocol, headers(2, GET)],
    ['a stream below the last one', CODE.protocol, Buffer.concat([headers(5, GET), headers(3, GET)])],
    ['pushes allowed by 2', CODE.protocol, settings(setting(2, 2))],
  ])('%s: GOAWAY with code %i', async (_name, code, sent) => {
    const client = await connected();
    client.send(sent);
    expect(await client.ended()).toBe(code);
    expect(proxy.defects).toEqual([]);
  });

  it('a frame other than SETTINGS after the preface, and an invalid preface', async () => {
    for (const first of [headers(1, GET), frame(FRAME.ping, 0, 0, Buffer.alloc(8))]) {
      const raw = await connectRaw(proxy.port);
      closers.push(() => raw.end());
      raw.write(Buffer.concat([PREFACE, first]));
      await raw.closed();
    }
    expect(proxy.defects).toEqual([]);
  });

  it('trailers for a stream that both sides have ended', async () => {
    const client = await connected();
    client.send(headers(1, GET));
    await answered(client, 1);
    client.send(headers(1, [['x', 'y']]));
    expect(await client.ended()).toBe(CODE.streamClosed);
  });
});

describe('a frame that ends its stream', () => {
  const held1 = headers(1, to('/held', POST), 0);
  it.each<[string, number, Buffer]>([
    ['DATA behind the end', CODE.streamClosed, Buffer.concat([headers(1, to('/held')), data(1, 'x')])],
    [
      'HEADERS after the end',
      CODE.streamClosed,
      Buffer.concat([headers(1, to('/held')), headers(1, [['x', 'y']])]),
    ],
    ['trailers that go on', CODE.protocol, Buffer.concat([held1, headers(1, [['x', 'y']], 0)])],
    ['a pseudo-field in trailers', CODE.protocol, Buffer.concat([held1, headers(1, [[':path', '/']])])],
    ['a line end in trailers', CODE.protocol, Buffer.concat([held1, headers(1, [['x', 'y\r\nz: 1']])])],
    ['WINDOW_UPDATE of nothing', CODE.protocol, Buffer.concat([held1, windowUpdate(1, 0)])],
    [
      'WINDOW_UPDATE beyond all windows',
      CODE.flowControl,
      Buffer.concat([held1, windowUpdate(1, 2 ** 31 - 1)]),
    ],
    ['white space behind a value', CODE.protocol, headers(1, [...GET, ['x', 'y ']])],
    ['no name', CODE.protocol, headers(1, [...GET, ['', 'y']])],
    ['a name with white space', CODE.protocol, headers(1, [...GET, ['x y', 'z']])],
    ['keep-alive', CODE.protocol, headers(1, [...GET, ['keep-alive', '1']])],
    [
      'more content than its length',
      CODE.protocol,
      Buffer.concat([headers(1, [...to('/held', POST), ['content-length', '3']], 0), data(1, 'four')]),
    ],
    [
      'less content than its length',
      CODE.protocol,
      Buffer.concat([
        headers(1, [...to('/held', POST), ['content-length', '5']], 0),
        data(1, 'four', END_STREAM),
      ]),
    ],
    [
      'trailers before the length',
      CODE.protocol,
      Buffer.concat([
        headers(1, [...to('/held', POST), ['content-length', '5']], 0),
        headers(1, [['x', 'y']]),
      ]),
    ],
    [
      'a head of more fields than are read',
      CODE.calm,
      headers(1, [...GET, ...Array.from({ length: 320 }, (_, n) => [`x-${n}`, '1'] as const)]),
    ],
  ])('%s: code %i, and others go on', async (_name, code, sent) => {
    const client = await connected();
    client.send(sent);
    expect(await resetCode(client, 1)).toBe(code);
    client.send(headers(3, GET));
    await answered(client, 3);
    expect(client.frames().filter(({ type }) => type === FRAME.goaway)).toEqual([]);
    expect(proxy.defects).toEqual([]);
  });

  it('what is still on its way to a stream that was reset is dropped', async () => {
    const client = await connected();
    client.send(
      headers(1, [...POST, ['te', 'gzip']], 0),
      data(1, 'x'),
      headers(1, [['x', 'y']]),
      windowUpdate(1, 9),
    );
    client.send(headers(3, GET));
    await answered(client, 3);
    const resets = client.frames().filter(({ type }) => type === FRAME.rstStream);
    expect(resets.map(({ stream, payload }) => [stream, payload.readUInt32BE()])).toEqual([
      [1, CODE.protocol],
    ]);
  });
});

describe('what is rare and allowed', () => {
  it('padding, priorities, unknown frames and settings, and a head in parts of a byte', async () => {
    const client = await connected();
    const block = encodeFields(to('/x', POST));
    const first = Buffer.concat([bytes(4, 0, 0, 0, 0, 9), block.subarray(0, 1), Buffer.alloc(4)]);
    client.send(
      settings(setting(99, 7), setting(8, 1)),
      frame(FRAME.priority, 0, 1, bytes(0, 0, 0, 1, 1)),
      frame(FRAME.headers, PADDED | PRIORITY, 1, first),
      ...Array.from({ length: 50 }, (_, n) => frame(FRAME.continuation, 0, 1, block.subarray(n + 1, n + 2))),
      frame(FRAME.continuation, END_HEADERS, 1, block.subarray(51)),
      frame(77, 255, 1, Buffer.alloc(10)),
      frame(FRAME.data, PADDED, 1, Buffer.concat([bytes(3), Buffer.from('own'), Buffer.alloc(3)])),
      frame(FRAME.ping, ACK, 0, Buffer.alloc(8)),
      frame(FRAME.data, PADDED | END_STREAM, 1, bytes(2, 0, 0)),
    );
    await answered(client, 1);
    expect(contentOf(client, 1).toString()).toBe('own');
  });

  it('the client says with GOAWAY that it opens no more streams: what runs is answered, then the end', async () => {
    const client = await connected();
    client.send(headers(1, to('/held')));
    await untilHolds(() => held.size > 0, 'the request arrives');
    client.send(frame(FRAME.goaway, 0, 0, Buffer.alloc(8)));
    await client.next(({ type }) => type === FRAME.goaway, 'GOAWAY');
    for (const response of held) response.end('late');
    held.clear();
    await answered(client, 1);
    expect(contentOf(client, 1).toString()).toBe('late');
    expect(await client.ended()).toBe(CODE.none);
  });
});

describe('windows', () => {
  // Each frame would otherwise cost a turn of all streams that wait.
  it.each([
    ['connection', 0],
    ['stream', 1],
  ])('of the %s that open byte by byte are used once for each read', async (_which, opened) => {
    const first = 65_535;
    const updates = 1_000;
    const client = await connected(opened === 0 ? setting(4, 2 ** 30) : undefined);
    client.send(headers(1, to('/large')), ...(opened === 0 ? [] : [windowUpdate(0, 2 ** 30)]));
    await untilHolds(() => contentOf(client, 1).length === first, 'the window is used');
    const frames = client.frames().length;
    client.send(...Array.from({ length: updates }, () => windowUpdate(opened, 1)));
    await untilHolds(() => contentOf(client, 1).length === first + updates, 'what has opened is used');
    expect(client.frames().length - frames).toBeLessThan(updates / 10);
    client.send(windowUpdate(opened, 2_000_000), windowUpdate(1 - opened, 2_000_000));
    await answered(client, 1);
  });

  it('of responses are kept to the byte, also when a setting takes them below nothing', async () => {
    const client = await connected(setting(4, 1_000));
    client.send(headers(1, to('/large')));
    await untilHolds(() => contentOf(client, 1).length === 1_000, 'the window is used');
    client.send(settings(setting(4, 0)), windowUpdate(1, 1_500));
    await untilHolds(() => contentOf(client, 1).length === 1_500, 'what is left of it');
    // The window of the connection is next.
    client.send(settings(setting(4, 1_000_000)));
    await untilHolds(() => contentOf(client, 1).length === 65_535, 'all that the connection has');
    await wait(50);
    expect(contentOf(client, 1).length).toBe(65_535);
    client.send(windowUpdate(0, 2_000_000));
    await answered(client, 1);
    expect(contentOf(client, 1).equals(Buffer.alloc(1_000_000, 'x'))).toBe(true);
  });

  it('of requests: more than they allow is an error of the stream, and others have their own', async () => {
    const client = await connected();
    client.send(headers(1, to('/deaf', POST), 0));
    const isReset = (): boolean => client.frames().some(({ type }) => type === FRAME.rstStream);
    // The first megabytes may still go to the backend, whose socket takes some.
    for (let sent = 0; sent < 2_000 && !isReset(); sent++) {
      client.send(data(1, Buffer.alloc(16_384)));
      await client.flushed();
      await wait(1);
    }
    expect(await resetCode(client, 1)).toBe(CODE.flowControl);
    client.send(headers(3, to('/x', POST), 0), data(3, 'fine', END_STREAM));
    await answered(client, 3);
    expect(contentOf(client, 3).toString()).toBe('fine');
    const settled = client.frames().find(({ type }) => type === FRAME.settings)?.payload;
    expect(settled?.includes(setting(4, WINDOW_BYTES))).toBe(true);
  });

  it(
    'a client that asks and never reads is not read on, and gets everything when it reads',
    { timeout: 60_000 },
    async () => {
      const client = await connected();
      client.socket.pause();
      const before = served;
      let sent = 0;
      for (let isOn = true; isOn && sent < 6_000;) {
        client.send(
          ...Array.from({ length: 50 }, () =>
            headers(2 * sent++ + 1, to('/head', [[':method', 'HEAD'], ...GET.slice(1)])),
          ),
        );
        const endMs = performance.now() + 1_000;
        while (served - before < sent && performance.now() < endMs) await wait(2);
        isOn = served - before === sent;
      }
      expect(sent, 'the gateway has stopped reading').toBeLessThan(6_000);
      client.socket.resume();
      await answered(client, 2 * sent - 1);
      expect(served - before).toBe(sent);
    },
  );
});

describe('requests of one connection', () => {
  it('have nothing of each other, however many, however they end', { timeout: 60_000 }, async () => {
    const random = new Random(7);
    const client = await connectHttp2(proxy.port, { isPlain: true });
    closers.push(() => client.close());
    const one = async (n: number): Promise<void> => {
      const own = random.oneIn(4) ? undefined : `own-${n}`;
      const body = Buffer.alloc(random.oneIn(3) ? 0 : random.below(random.oneIn(8) ? 100_000 : 300), `${n}.`);
      const fields = {
        ':path': `/a/v1/${random.below(3)}`,
        ':method': 'POST',
        ...(own === undefined ? {} : { 'x-own': own }),
        ...(random.oneIn(2) ? { 'content-length': body.length, 'x-length': 'yes' } : {}),
      };
      if (random.oneIn(6)) {
        const stream = client.session.request({
          ...fields,
          ':path': random.pick(['/a/v1/held', '/a/v1/large']),
        });
        stream.on('error', () => undefined);
        setTimeout(() => stream.close(8), random.below(5));
        await once(stream, 'close');
        return;
      }
      const answer = await request(client, fields, { body });
      expect([answer.status, answer.headers['x-echo'], answer.body.equals(body), answer.code]).toEqual([
        200,
        own ?? 'none',
        true,
        0,
      ]);
    };
    let started = 0;
    const lane = async (): Promise<void> => {
      while (started < 400) await one(started++);
    };
    await Promise.all(Array.from({ length: 12 }, lane));
    expect(proxy.defects).toEqual([]);
  });
});
