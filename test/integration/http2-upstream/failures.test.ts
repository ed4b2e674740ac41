/**
 * Backends of HTTP/2 that refuse, reset, close, stall, or break the protocol: what requests get, and what stays whole.
 */
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/policy/registry.ts';
import type { ProxyOptions } from '../../../src/proxy/options.ts';
import { startFrameBackend, type FrameConnection } from '../../support/backends/http2-backend.ts';
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  encodeFields,
  FRAME,
  frame,
  headers,
  number32,
  type Fields,
  type Frame,
} from '../../support/clients/http2-frames.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';

const closers = closeAfterEach();

const OK: Fields = [[':status', '200']];
const REFUSED_STREAM = 7;
const CANCEL = 8;
const INTERNAL_ERROR = 2;
const NO_ERROR = 0;

const reset = (stream: number, code: number): Buffer => frame(FRAME.rstStream, 0, stream, number32(code));
const goaway = (lastStream: number, code = NO_ERROR): Buffer =>
  frame(FRAME.goaway, 0, 0, Buffer.concat([number32(lastStream), number32(code)]));
const data = (stream: number, text: string, flags = 0): Buffer =>
  frame(FRAME.data, flags, stream, Buffer.from(text, 'latin1'));
const whole = (stream: number, text = 'fine'): Buffer =>
  Buffer.concat([headers(stream, OK, 0), data(stream, text, END_STREAM)]);

interface Setup {
  readonly policy?: Policy;
  readonly options?: Partial<ProxyOptions>;
  readonly settings?: Buffer;
}

/** @param onRequest gets each HEADERS frame that begins a stream */
async function start(
  onRequest: (connection: FrameConnection, stream: number) => void,
  { policy, options, settings }: Setup = {},
  onFrame: (connection: FrameConnection, frame: Frame) => void = answerPing,
) {
  const backend = await startFrameBackend((connection, received) => {
    if (received.type === FRAME.headers) onRequest(connection, received.stream);
    else onFrame(connection, received);
  }, settings);
  closers.push(() => backend.close());
  const revision = { backend_protocol: 'h2' } as const;
  const proxy = await startProxy(
    oneRoute({ backendPort: backend.port, revision, ...(policy && { policy }) }),
    { ...(options && { options }) },
  );
  closers.push(() => proxy.close());
  return { backend, proxy, url: `http://127.0.0.1:${proxy.port}/a/v1/x` };
}

function answerPing(connection: FrameConnection, { type, flags, payload }: Frame): void {
  if (type === FRAME.ping && (flags & ACK) === 0) connection.send(frame(FRAME.ping, ACK, 0, payload));
}

async function codeOf(response: Response): Promise<[number, string | undefined]> {
  const text = await response.text();
  return [response.status, response.status < 400 ? undefined : (JSON.parse(text) as { code: string }).code];
}

describe('GOAWAY', () => {
  it('loses no request: those above its last stream go to another connection', async () => {
    const held: number[] = [];
    const { backend, proxy, url } = await start((connection, stream) => {
      if (connection.index > 0) return connection.send(whole(stream, 'second'));
      held.push(stream);
      if (held.length < 6) return;
      connection.send(goaway(3), whole(1, 'first'), whole(3, 'first'));
    });
    const warm = Array.from({ length: 6 }, () => fetch(url, { method: 'POST', body: 'x' }));
    const texts = await Promise.all((await Promise.all(warm)).map((response) => response.text()));
    expect(texts.filter((text) => text === 'first')).toHaveLength(2);
    expect(texts.filter((text) => text === 'second')).toHaveLength(4);
    expect(proxy.failures).toEqual([]);
    expect(new Set(proxy.repeated)).toEqual(new Set(['unsent']));
    expect(backend.connections).toHaveLength(2);
  });

  it('in a storm, one for every few requests, loses none', async () => {
    let served = 0;
    const ending = new Set<FrameConnection>();
    const { backend, proxy, url } = await start((connection, stream) => {
      // Above the last stream, as it has said; a request that it answered would also count for the next GOAWAY.
      if (ending.has(connection)) return;
      served += 1;
      connection.send(whole(stream));
      if (served % 7 > 0) return;
      ending.add(connection);
      connection.send(goaway(stream));
    });
    for (let round = 0; round < 20; round++) {
      const responses = await Promise.all(
        Array.from({ length: 20 }, () => fetch(url, { method: 'POST', body: 'x' })),
      );
      expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    }
    expect(backend.connections.length).toBeGreaterThan(10);
    expect(proxy.failures).toEqual([]);
  });

  it('with an error ends the streams it names, and repeats the others', async () => {
    const held: number[] = [];
    const { proxy, url } = await start((connection, stream) => {
      if (connection.index > 0) return connection.send(whole(stream));
      held.push(stream);
      if (held.length === 2) connection.send(goaway(1, INTERNAL_ERROR));
    });
    const responses = await Promise.all([1, 2].map(() => fetch(url, { method: 'POST', body: 'x' })));
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 502]);
    expect(proxy.failures).toEqual(['reset']);
  });
});

describe('a stream that the backend resets', () => {
  it('with REFUSED_STREAM goes to another connection, whatever its method', async () => {
    let refused = 0;
    const { proxy, url } = await start((connection, stream) => {
      refused += 1;
      connection.send(refused < 3 ? reset(stream, REFUSED_STREAM) : whole(stream));
    });
    expect(await codeOf(await fetch(url, { method: 'POST', body: 'x' }))).toEqual([200, undefined]);
    expect(proxy.repeated).toEqual(['unsent', 'unsent']);
  });

  it('with REFUSED_STREAM again and again is given up', async () => {
    let refused = 0;
    const { url } = await start((connection, stream) => {
      refused += 1;
      connection.send(reset(stream, REFUSED_STREAM));
    });
    expect(await codeOf(await fetch(url, { method: 'POST', body: 'x' }))).toEqual([502, 'upstream_reset']);
    expect(refused).toBeLessThan(10);
  });

  it.each([NO_ERROR, INTERNAL_ERROR, CANCEL])('with code %i before a response is 502', async (code) => {
    const { proxy, url } = await start((connection, stream) => connection.send(reset(stream, code)));
    expect(await codeOf(await fetch(url, { method: 'POST', body: 'x' }))).toEqual([502, 'upstream_reset']);
    expect(proxy.failures).toEqual(['reset']);
  });

  it('is repeated where the policy says so', async () => {
    let count = 0;
    const { proxy, url } = await start(
      (connection, stream) => {
        count += 1;
        connection.send(count === 1 ? reset(stream, INTERNAL_ERROR) : whole(stream));
      },
      { policy: { retries: { max: 1, on: ['reset'] } } },
    );
    expect(await codeOf(await fetch(url))).toEqual([200, undefined]);
    expect(proxy.repeated).toEqual(['reset']);
  });

  it.each([NO_ERROR, INTERNAL_ERROR, CANCEL])(
    'with code %i in the middle of its response is never taken for whole',
    async (code) => {
      const { proxy, url } = await start((connection, stream) => {
        connection.send(headers(stream, OK, 0), data(stream, 'a part'));
        setTimeout(() => connection.send(reset(stream, code)), 100);
      });
      await expect(fetch(url).then((response) => response.text())).rejects.toThrow();
      expect(proxy.failures).toEqual(['reset']);
      expect(proxy.defects).toEqual([]);
    },
  );

  it('after an early whole response, with NO_ERROR, leaves that response whole', async () => {
    const { proxy, url } = await start((connection, stream) =>
      connection.send(
        headers(stream, [[':status', '413']], 0),
        data(stream, 'too much', END_STREAM),
        reset(stream, NO_ERROR),
      ),
    );
    const client = await connectRaw(proxy.port);
    closers.push(() => client.socket.destroy());
    client.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\nxxx');
    expect(await client.response()).toMatchObject({ status: 413, body: 'too much' });
    expect((await fetch(url)).status).toBe(413);
  });
});

describe('a connection that breaks', () => {
  it('fails its requests, and the next ones get another', async () => {
    const { backend, proxy, url } = await start((connection, stream) => {
      if (connection.index === 0) connection.socket.destroy();
      else connection.send(whole(stream));
    });
    expect(await codeOf(await fetch(url, { method: 'POST', body: 'x' }))).toEqual([502, 'upstream_reset']);
    expect(await codeOf(await fetch(url, { method: 'POST', body: 'x' }))).toEqual([200, undefined]);
    expect(backend.connections).toHaveLength(2);
    expect(proxy.failures).toEqual(['reset']);
  });

  it.each([
    ['text', Buffer.from('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')],
    ['a frame that is too long', frame(FRAME.data, 0, 1, Buffer.alloc(20_000))],
    [
      'HPACK that cannot be read',
      frame(FRAME.headers, END_HEADERS | END_STREAM, 1, Buffer.from([0xff, 0xff, 0xff, 0xff])),
    ],
    [
      'a pushed response',
      frame(
        5,
        END_HEADERS,
        1,
        Buffer.concat([
          number32(2),
          encodeFields([
            [':method', 'GET'],
            [':scheme', 'http'],
            [':authority', 'a'],
            [':path', '/'],
          ]),
        ]),
      ),
    ],
    [
      'SETTINGS that are not allowed',
      frame(FRAME.settings, 0, 0, Buffer.from([0, 4, 0xff, 0xff, 0xff, 0xff])),
    ],
    ['DATA before the head', data(1, 'x')],
  ])('because of %s is 502, and replaced', async (_name, bytes) => {
    let isFirst = true;
    const { proxy, url } = await start((connection, stream) => {
      connection.send(isFirst ? bytes : whole(stream));
      isFirst = false;
    });
    const [status, code] = await codeOf(await fetch(url, { method: 'POST', body: 'x' }));
    expect(status).toBe(502);
    expect(['upstream_bad_response', 'upstream_reset']).toContain(code);
    expect(await codeOf(await fetch(url))).toEqual([200, undefined]);
    expect(proxy.defects).toEqual([]);
  });

  it('by being silent is noticed by PING: a request that must not be sent twice goes elsewhere', async () => {
    const { backend, proxy, url } = await start(
      (connection, stream) => connection.send(whole(stream, String(connection.index))),
      {},
      () => undefined,
    );
    expect(await (await fetch(url, { method: 'POST', body: 'x' })).text()).toBe('0');
    await new Promise((done) => setTimeout(done, 1_300));
    expect(await (await fetch(url, { method: 'POST', body: 'x' })).text()).toBe('1');
    expect(backend.connections).toHaveLength(2);
    expect(proxy.failures).toEqual([]);
    expect(backend.connections[0]?.frames.filter(({ type }) => type === FRAME.headers)).toHaveLength(1);
  });

  it('after a silent time-out serves no further request until it replies', async () => {
    const { backend, url } = await start(
      (connection, stream) => {
        if (connection.index > 0) connection.send(whole(stream));
      },
      { options: { firstByteTimeoutMs: 300 } },
      () => undefined,
    );
    expect(await codeOf(await fetch(url))).toEqual([504, 'upstream_timeout']);
    await new Promise((done) => setTimeout(done, 2_300));
    expect(await codeOf(await fetch(url))).toEqual([200, undefined]);
    expect(backend.connections).toHaveLength(2);
  });

  it('is pinged, and lives, as long as it replies', async () => {
    const { backend, proxy, url } = await start((connection, stream) => connection.send(whole(stream)));
    for (let count = 0; count < 2; count++) {
      expect(await codeOf(await fetch(url, { method: 'POST', body: 'x' }))).toEqual([200, undefined]);
      await new Promise((done) => setTimeout(done, 1_300));
    }
    expect(backend.connections).toHaveLength(1);
    expect(backend.connections[0]?.frames.some(({ type }) => type === FRAME.ping)).toBe(true);
    expect(proxy.failures).toEqual([]);
  });
});

describe('a malformed response', () => {
  const many = (count: number): Fields =>
    Array.from({ length: count }, (_, index) => [`x-${index}`, 'v'] as const);
  it.each<[string, (stream: number) => Buffer]>([
    ['without :status', (stream) => headers(stream, [['x', 'y']])],
    ['with another pseudo-field', (stream) => headers(stream, [...OK, [':path', '/']])],
    ['with a pseudo-field last', (stream) => headers(stream, [['x', 'y'], ...OK])],
    ['with :status twice', (stream) => headers(stream, [...OK, ...OK])],
    ['with a status that is no number', (stream) => headers(stream, [[':status', 'abc']])],
    ['with a name in upper case', (stream) => headers(stream, [...OK, ['X-Upper', 'y']])],
    ['with a field of a connection', (stream) => headers(stream, [...OK, ['connection', 'close']])],
    ['with Transfer-Encoding', (stream) => headers(stream, [...OK, ['transfer-encoding', 'chunked']])],
    [
      'with two lengths',
      (stream) => headers(stream, [...OK, ['content-length', '1'], ['content-length', '2']]),
    ],
    ['with a length that is no number', (stream) => headers(stream, [...OK, ['content-length', 'x']])],
    ['with 101', (stream) => headers(stream, [[':status', '101']], 0)],
    ['with 201 fields', (stream) => headers(stream, [...OK, ...many(201)])],
    ['with 2000 fields', (stream) => headers(stream, [...OK, ...many(2_000)].slice(0, 1_200))],
    [
      'with a head of 70 kB',
      (stream) => {
        const block = encodeFields([
          ...OK,
          ...Array.from({ length: 70 }, (_, index) => [`x-${index}`, 'v'.repeat(1_000)] as const),
        ]);
        const parts: Buffer[] = [];
        for (let from = 0; from < block.length; from += 16_000) {
          const part = block.subarray(from, from + 16_000);
          const isLast = from + 16_000 >= block.length;
          parts.push(
            frame(
              from === 0 ? FRAME.headers : FRAME.continuation,
              (isLast ? END_HEADERS : 0) | (from === 0 ? END_STREAM : 0),
              stream,
              part,
            ),
          );
        }
        return Buffer.concat(parts);
      },
    ],
    [
      'after too many interim ones',
      (stream) =>
        Buffer.concat([
          ...Array.from({ length: 17 }, () => headers(stream, [[':status', '103']], 0)),
          whole(stream),
        ]),
    ],
  ])('%s is 502 upstream_bad_response, as over HTTP/1.1', async (_name, bytes) => {
    let isFirst = true;
    const { proxy, url } = await start((connection, stream) => {
      connection.send(isFirst ? bytes(stream) : whole(stream));
      isFirst = false;
    });
    expect(await codeOf(await fetch(url))).toEqual([502, 'upstream_bad_response']);
    expect(proxy.failures).toEqual(['bad_response']);
    expect(await codeOf(await fetch(url))).toEqual([200, undefined]);
    expect(proxy.defects).toEqual([]);
  });

  it.each<[string, (stream: number) => Buffer]>([
    [
      'shorter than its length',
      (stream) =>
        Buffer.concat([
          headers(stream, [...OK, ['content-length', '10']], 0),
          data(stream, 'short', END_STREAM),
        ]),
    ],
    [
      'longer than its length',
      (stream) =>
        Buffer.concat([
          headers(stream, [...OK, ['content-length', '3']], 0),
          data(stream, 'longer', END_STREAM),
        ]),
    ],
    [
      'with pseudo-fields in its trailers',
      (stream) =>
        Buffer.concat([headers(stream, OK, 0), data(stream, 'x'), headers(stream, [[':status', '200']])]),
    ],
    [
      'with two heads',
      (stream) =>
        Buffer.concat([
          headers(stream, OK, 0),
          data(stream, 'x'),
          headers(stream, OK, 0),
          data(stream, 'y', END_STREAM),
        ]),
    ],
  ])('%s is never taken for whole', async (_name, bytes) => {
    const { proxy, url } = await start((connection, stream) => connection.send(bytes(stream)));
    const outcome = await fetch(url).then(
      async (response) => [response.status, await response.text().catch(() => 'cut off')],
      () => ['cut off'],
    );
    expect(outcome.includes('cut off') || outcome[0] === 502).toBe(true);
    expect(proxy.failures).toHaveLength(1);
    expect(proxy.defects).toEqual([]);
  });

  it('ends only its own stream', async () => {
    const { backend, url } = await start((connection, stream) => {
      if (stream === 1) return;
      connection.send(headers(stream, [...OK, ['X-Upper', 'y']]));
      if (stream === 5) connection.send(whole(1));
    });
    const first = fetch(url);
    await untilHolds(
      () => backend.connections[0]?.frames.some(({ stream }) => stream === 1) === true,
      'the first',
    );
    expect((await fetch(url)).status).toBe(502);
    expect((await fetch(url)).status).toBe(502);
    expect(await (await first).text()).toBe('fine');
    expect(backend.connections).toHaveLength(1);
  });
});

describe('a flood', () => {
  it.each([
    ['PING', (): Buffer => frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
    ['SETTINGS', (): Buffer => frame(FRAME.settings, 0, 0)],
    ['empty DATA', (): Buffer => data(1, '')],
    ['WINDOW_UPDATE', (): Buffer => frame(FRAME.windowUpdate, 0, 0, number32(1))],
    ['PRIORITY', (): Buffer => frame(FRAME.priority, 0, 1, Buffer.from([0, 0, 0, 3, 1]))],
    ['RST_STREAM', (): Buffer => reset(1, CANCEL)],
  ])('of %s ends the connection, and the next request gets another', async (name, make) => {
    const { backend, proxy, url } = await start((connection, stream) => {
      if (connection.index > 0) return connection.send(whole(stream));
      if (name === 'empty DATA') connection.send(headers(stream, OK, 0));
      else connection.send(whole(stream));
      const pieces = Buffer.concat(Array.from({ length: 1_000 }, make));
      const flood = (): void => {
        if (!connection.socket.destroyed && connection.socket.write(pieces)) setImmediate(flood);
        else if (!connection.socket.destroyed) connection.socket.once('drain', flood);
      };
      flood();
    });
    await fetch(url, { method: 'POST', body: 'x' }).then((response) =>
      response.text().catch(() => 'cut off'),
    );
    const connection = backend.connections[0];
    await untilHolds(() => connection?.socket.destroyed === true, 'the end of the connection', 20_000);
    expect(await codeOf(await fetch(url))).toEqual([200, undefined]);
    expect(proxy.defects).toEqual([]);
  });
});

describe('a window that the backend never opens', () => {
  it('holds an upload back until the idle time-out', async () => {
    const { proxy } = await start(() => undefined, { options: { idleTimeoutMs: 400 } });
    const client = await connectRaw(proxy.port);
    closers.push(() => client.socket.destroy());
    client.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n');
    client.write(Buffer.alloc(5_000_000, 'x'));
    expect((await client.response()).status).toBe(504);
    expect(proxy.failures).toEqual(['idle_timeout']);
  });
});
