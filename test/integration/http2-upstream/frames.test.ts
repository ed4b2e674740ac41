/**
 * Frames of backends that RFC 9113 and RFC 7541 forbid: which of them end a stream, which the connection, and with
 * which code the backend hears of it; frames that are rare and allowed; and windows, in both directions.
 */
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/policy/registry.ts';
import { failureText } from '../../../src/proxy/upstream/upstream-failure.ts';
import {
  startFrameBackend,
  startHttp2Backend,
  type FrameBackend,
  type FrameConnection,
} from '../../support/backends/http2-backend.ts';
import {
  ACK,
  encodeFields,
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  headers,
  type Fields,
  type Frame,
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
import { oneRoute, startProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { Random } from '../../fuzz/random.ts';

const closers = closeAfterEach();

const OK: Fields = [[':status', '200']];

const whole = (stream: number, text = 'fine'): Buffer =>
  Buffer.concat([headers(stream, OK, 0), data(stream, text, END_STREAM)]);

async function start(
  onFrame: (connection: FrameConnection, frame: Frame) => void,
  { first, ...setup }: TestProxyOptions & { readonly first?: Buffer } = {},
  policy: Policy = {},
) {
  const backend = await startFrameBackend((connection, received) => {
    if (received.type === FRAME.ping && received.flags !== ACK)
      connection.send(frame(FRAME.ping, ACK, 0, received.payload));
    onFrame(connection, received);
  }, first);
  closers.push(() => backend.close());
  const proxy = await startProxy(
    oneRoute({ backendPort: backend.port, revision: { backend_protocol: 'h2' }, policy }),
    setup,
  );
  closers.push(() => proxy.close());
  return { backend, proxy, url: `http://127.0.0.1:${proxy.port}/a/v1/x` };
}

/** The code of the first frame of that type on the first connection. */
async function codeIn(backend: FrameBackend, type: number, at: number): Promise<number> {
  const find = (): Frame | undefined => backend.connections[0]?.frames.find((each) => each.type === type);
  await untilHolds(() => find() !== undefined, `a frame of type ${type}`);
  return find()?.payload.readUInt32BE(at) ?? -1;
}

async function outcome(url: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', body: 'x' });
  const text = await response.text();
  return response.status === 200 ? text : `${response.status} ${(JSON.parse(text) as { code: string }).code}`;
}

describe('a frame that ends the connection', () => {
  it.each<[string, number, Buffer]>([
    ...forbiddenFrames(OK),
    ['HEADERS of a stream of the backend', CODE.protocol, headers(2, OK)],
    ['pushes that are allowed', CODE.protocol, settings(setting(2, 1))],
  ])('%s: GOAWAY with code %i', async (_name, code, sent) => {
    const { backend, proxy, url } = await start((connection, { type, stream }) => {
      if (type === FRAME.headers) connection.send(connection.index === 0 ? sent : whole(stream));
    });
    expect(await outcome(url)).toBe('502 upstream_bad_response');
    expect(await codeIn(backend, FRAME.goaway, 4)).toBe(code);
    expect(await outcome(url)).toBe('fine');
    await untilHolds(() => backend.connections[0]?.socket.readableEnded === true, 'its end', 3_000);
    expect([backend.connections.length, proxy.defects]).toEqual([2, []]);
  });
});

describe('a frame that ends its stream', () => {
  it.each<[string, number, (stream: number) => Buffer]>([
    ['content before a head', CODE.protocol, (stream) => data(stream, 'x')],
    ['an end without a head', CODE.protocol, (stream) => data(stream, '', END_STREAM)],
    ['an interim response that ends', CODE.protocol, (stream) => headers(stream, [[':status', '103']])],
    ['WINDOW_UPDATE of nothing', CODE.protocol, (stream) => windowUpdate(stream, 0)],
    ['WINDOW_UPDATE beyond all windows', CODE.flowControl, (stream) => windowUpdate(stream, 2 ** 31 - 1)],
    ['a line end in a value', CODE.protocol, (stream) => headers(stream, [...OK, ['a', 'b\r\nc: d']])],
    ['NUL in a value', CODE.protocol, (stream) => headers(stream, [...OK, ['a', 'b\0']])],
    ['white space at the end of a value', CODE.protocol, (stream) => headers(stream, [...OK, ['a', 'b ']])],
    ['a name with a colon', CODE.protocol, (stream) => headers(stream, [...OK, ['a: b', 'c']])],
    ['a name that is empty', CODE.protocol, (stream) => headers(stream, [...OK, ['', 'c']])],
    ['a line end in the status', CODE.protocol, (stream) => headers(stream, [[':status', '2\r\n']])],
    [
      'content of an empty response',
      CODE.protocol,
      (stream) => Buffer.concat([headers(stream, [[':status', '204']], 0), data(stream, 'x')]),
    ],
  ])('%s: RST_STREAM with code %i, and the connection stays', async (_name, code, make) => {
    let count = 0;
    const { backend, proxy, url } = await start((connection, { type, stream }) => {
      if (type === FRAME.headers) connection.send(count++ === 0 ? make(stream) : whole(stream));
    });
    expect(await outcome(url)).toBe('502 upstream_bad_response');
    expect(await codeIn(backend, FRAME.rstStream, 0)).toBe(code);
    expect(await outcome(url)).toBe('fine');
    expect([backend.connections.length, proxy.defects]).toEqual([1, []]);
  });

  it('more than its window holds: RST_STREAM with FLOW_CONTROL_ERROR; others end, new ones go elsewhere', async () => {
    let heads = 0;
    const { backend, proxy, url } = await start((connection, { type, stream }) => {
      // The first request is answered once the second has been reset.
      if (type === FRAME.rstStream) return connection.send(whole(1));
      if (type !== FRAME.headers || ++heads === 1) return;
      if (heads > 2) return connection.send(whole(stream));
      connection.send(headers(stream, OK, 0));
      const pieces = Array.from({ length: 4 }, () => data(stream, Buffer.alloc(16_000)));
      // Until it is told so: who goes on for a megabyte floods the connection, which ends.
      const sendMore = (left: number): void => {
        const isReset = backend.connections[0]?.frames.some(({ type: kind }) => kind === FRAME.rstStream);
        if (isReset === true || left === 0) return;
        connection.send(...pieces);
        setImmediate(sendMore, left - 1);
      };
      sendMore(1_000);
    });
    const other = outcome(url);
    await untilHolds(() => heads === 1, 'the first request');
    const slow = await connectRaw(proxy.port);
    closers.push(() => slow.socket.destroy());
    slow.socket.pause();
    slow.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await codeIn(backend, FRAME.rstStream, 0)).toBe(CODE.flowControl);
    expect(await other).toBe('fine');
    expect(backend.connections.length).toBe(1);
    expect(await outcome(url)).toBe('fine');
    expect([backend.connections.length, proxy.defects]).toEqual([2, []]);
  });
});

describe('what is rare and allowed', () => {
  it('a head in parts, with padding and priority, padded content, unknown frames and settings', async () => {
    const { proxy, url } = await start((connection, { type, stream }) => {
      if (type !== FRAME.headers) return;
      const block = encodeFields([...OK, ['x-long', 'v'.repeat(10_000)]]);
      const first = Buffer.concat([bytes(3, 0, 0, 0, 1, 9), block.subarray(0, 10), bytes(0, 0, 0)]);
      connection.send(
        frame(0x42, 0xff, stream, Buffer.from('grease')),
        settings(setting(0x4242, 7), setting(1, 0)),
        frame(FRAME.priority, 0, stream, bytes(0, 0, 0, 0, 1)),
        frame(FRAME.headers, PADDED | PRIORITY, stream, first),
        frame(FRAME.continuation, 0, stream),
        frame(FRAME.continuation, 0, stream, block.subarray(10, 4_000)),
        frame(FRAME.continuation, 0, stream, block.subarray(4_000, 8_000)),
        frame(FRAME.continuation, END_HEADERS, stream, block.subarray(8_000)),
        frame(FRAME.data, PADDED, stream, Buffer.concat([bytes(4), Buffer.from('one '), Buffer.alloc(4)])),
        frame(FRAME.data, PADDED, stream, bytes(0)),
        frame(
          FRAME.data,
          PADDED | END_STREAM,
          stream,
          Buffer.concat([bytes(255), Buffer.from('two'), Buffer.alloc(255)]),
        ),
      );
    });
    for (let count = 0; count < 2; count++) {
      const response = await fetch(url);
      expect([response.status, response.headers.get('x-long')?.length]).toEqual([200, 10_000]);
      expect(await response.text()).toBe('one two');
    }
    expect(proxy.failures).toEqual([]);
  });

  it('frames that arrive byte by byte', async () => {
    const { url } = await start((connection, { type, stream }) => {
      if (type !== FRAME.headers) return;
      const all = whole(stream, 'slowly');
      let at = 0;
      const send = (): void => {
        connection.send(all.subarray(at, ++at));
        if (at < all.length) setImmediate(send);
      };
      send();
    });
    expect(await outcome(url)).toBe('slowly');
  });

  it('a connection that takes fewer streams than before: the others wait for their turn', async () => {
    let open = 0;
    let most = 0;
    const { backend, proxy, url } = await start(
      (connection, { type, flags, stream }) => {
        if (type === FRAME.headers) most = Math.max(most, ++open);
        if ((flags & END_STREAM) === 0 || (type !== FRAME.headers && type !== FRAME.data)) return;
        if (stream === 1) connection.send(settings(setting(3, 2)));
        setTimeout(() => {
          open -= 1;
          connection.send(whole(stream));
        }, 5);
      },
      { options: { maxUpstreamHttp2Connections: 1 } },
    );
    expect(await outcome(url)).toBe('fine');
    const all = await Promise.all(Array.from({ length: 12 }, () => outcome(url)));
    expect(all).toEqual(Array.from({ length: 12 }, () => 'fine'));
    expect([most, backend.connections.length, proxy.failures]).toEqual([2, 1, []]);
  });

  it('a connection that takes no streams for now: requests get another one', async () => {
    const { backend, proxy, url } = await start((connection, { type, stream }) => {
      if (type !== FRAME.headers) return;
      if (connection.index === 0) connection.send(settings(setting(3, 0)));
      connection.send(whole(stream));
    });
    for (let sent = 0; sent < 3; sent += 1) expect(await outcome(url)).toBe('fine');
    expect([backend.connections.length, proxy.failures]).toEqual([2, []]);
  });

  it('connections that all take no streams any more: requests get new ones, also at the limit', async () => {
    const { backend, proxy, url } = await start(
      (connection, { type, stream }) => {
        if (type === FRAME.headers) connection.send(settings(setting(3, 0)), whole(stream));
      },
      { options: { maxUpstreamHttp2Connections: 2 } },
    );
    for (let sent = 0; sent < 5; sent += 1) expect(await outcome(url)).toBe('fine');
    expect([backend.connections.length, proxy.failures]).toEqual([5, []]);
  });
});

it('connections that take no streams at all: the report says so, and not that none could be opened', async () => {
  const reports: string[] = [];
  const { url } = await start(() => undefined, {
    first: setting(3, 0),
    options: { connectTimeoutMs: 100 },
    observer: { upstreamFailed: (failure) => void reports.push(failureText(failure)) },
  });
  expect((await fetch(url)).status).toBe(502);
  expect(reports).toEqual([expect.stringMatching(/^the backend accepted no further HTTP\/2 stream in time/)]);
});

describe('a body for a backend with small windows', () => {
  it.each([0, 1_000])(
    'goes out as they open, and never beyond them (first window of %i bytes)',
    async (first) => {
      const length = 30_000;
      let [allowed, received, excess] = [first, 0, 0];
      const { proxy, url } = await start(
        (connection, { type, flags, stream, payload }) => {
          if (type === FRAME.data) received += payload.length;
          excess = Math.max(excess, received - allowed);
          if (type === FRAME.data && (flags & END_STREAM) !== 0)
            return connection.send(whole(stream, String(received)));
          if (type !== FRAME.headers && (type !== FRAME.data || received < allowed)) return;
          // By turns a larger setting, which holds for open streams, and an update.
          allowed += 3_000;
          if (allowed - first === 6_000) connection.send(settings(setting(4, first + 3_000)));
          else connection.send(windowUpdate(stream, 3_000));
        },
        { first: setting(4, first) },
      );
      const response = await fetch(url, { method: 'POST', body: 'x'.repeat(length) });
      expect([await response.text(), excess]).toEqual([String(length), 0]);
      expect(proxy.failures).toEqual([]);
    },
  );
});

it.each([
  ['connection', true],
  ['stream', false],
])(
  'windows of the %s that a backend opens byte by byte are used once for each read',
  async (_which, ofAll) => {
    const first = 65_535;
    const updates = 1_000;
    let [received, frames] = [0, 0];
    const { backend, proxy, url } = await start(
      (connection, { type, flags, stream, payload }) => {
        if (type === FRAME.headers && !ofAll) connection.send(windowUpdate(0, 10_000_000));
        if (type !== FRAME.data) return;
        [received, frames] = [received + payload.length, frames + 1];
        if ((flags & END_STREAM) !== 0) return connection.send(whole(stream, String(received)));
        const opened = ofAll ? 0 : stream;
        if (received === first) {
          frames = 0;
          connection.send(...Array.from({ length: updates }, () => windowUpdate(opened, 1)));
        } else if (received === first + updates) {
          expect(frames).toBeLessThan(updates / 10);
          connection.send(windowUpdate(opened, 1_000_000));
        }
      },
      ofAll ? { first: setting(4, 2 ** 30) } : {},
    );
    const response = await fetch(url, { method: 'POST', body: 'x'.repeat(200_000) });
    expect(await response.text()).toBe('200000');
    expect([backend.connections.length, proxy.failures, proxy.defects]).toEqual([1, [], []]);
  },
);

it('a buffered body is sent to a backend with large windows while other requests run', async () => {
  const received = new Map<number, number>();
  const { backend, proxy, url } = await start(
    (connection, { type, flags, stream, payload }) => {
      if (type === FRAME.headers) connection.send(windowUpdate(0, 10_000_000));
      received.set(stream, (received.get(stream) ?? 0) + (type === FRAME.data ? payload.length : 0));
      if (stream > 0 && (flags & END_STREAM) !== 0)
        connection.send(whole(stream, String(received.get(stream))));
    },
    { first: setting(4, 2 ** 30) },
    { buffer_request_bytes: 2_000_000 },
  );
  const sizes = [1_500_000, 10, 900_000, 0, 20_000];
  const all = sizes.map(async (length) =>
    (await fetch(url, { method: 'POST', body: 'x'.repeat(length) })).text(),
  );
  expect(await Promise.all(all)).toEqual(sizes.map(String));
  expect([backend.connections.length, proxy.failures, proxy.defects]).toEqual([1, [], []]);
});

it("fields reach Node's server unchanged, and return unchanged, with any bytes and in any order", async () => {
  const seed = Number(process.env['STORM_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const random = new Random(seed);
  const server = await startHttp2Backend((stream, _headers, raw) => {
    const own = raw.flatMap((text, index) =>
      index % 2 === 0 && text.startsWith('x-r-') ? [[text, raw[index + 1] ?? '']] : [],
    );
    stream.respond({ ':status': 200, ...Object.fromEntries(own) });
    stream.end('fine');
  });
  closers.push(() => server.close());
  const proxy = await startProxy(
    oneRoute({ backendPort: server.port, revision: { backend_protocol: 'h2' } }),
  );
  closers.push(() => proxy.close());
  const client = await connectRaw(proxy.port);
  closers.push(() => client.socket.destroy());
  const character = (): string =>
    String.fromCharCode(random.oneIn(5) ? 0x80 + random.below(128) : 0x21 + random.below(94));
  const pool = Array.from({ length: 30 }, (_, index) => [
    `x-r-${index % 20}`,
    random.repeat(random.below(random.oneIn(10) ? 900 : 30), character),
  ]);
  // Beyond a frame, in both directions.
  pool.push(['x-r-20', 'v'.repeat(20_000)]);
  for (let count = 0; count < 300; count++) {
    const fields = new Map(
      Array.from({ length: random.below(6) }, () => random.pick(pool) as [string, string]),
    );
    const lines = [...fields].map(([name, value]) => `${name}: ${value}\r\n`).join('');
    client.write(
      Buffer.from(
        `GET /a/v1/${random.repeat(random.below(200), () => 'p')} HTTP/1.1\r\nHost: a\r\n${lines}\r\n`,
        'latin1',
      ),
    );
    const { status, headers: got } = await client.response();
    const own = Object.entries(got).filter(([name]) => name.startsWith('x-r-'));
    expect([status, new Map(own)], `STORM_SEED=${seed}`).toEqual([200, fields]);
  }
  expect([server.connections(), proxy.failures]).toEqual([1, []]);
});
