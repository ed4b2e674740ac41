/**
 * Backends of HTTP/2 that answer with frames at random: good ones, bad ones, ones in the wrong place, and damaged
 * bytes. Whatever comes, no response holds a byte of another stream, every exchange ends, and a good backend is served
 * well afterwards over new connections.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startFrameBackend, type FrameConnection } from '../../support/backends/http2-backend.ts';
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  headers,
  number32,
  type Fields,
} from '../../support/clients/http2-frames.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';
import { Random } from '../../fuzz/random.ts';

const ROUNDS = 60;
const REQUESTS = 12;

const closers = closeAfterEach();

const FIELDS: readonly Fields[] = [
  [[':status', '200']],
  [
    [':status', '200'],
    ['content-length', '6'],
  ],
  [[':status', '103']],
  [[':status', '204']],
  [[':status', '500']],
  [['x-end', '1']],
  [
    [':status', '200'],
    ['connection', 'close'],
  ],
  [[':status', '2']],
];

/** Content that tells to which stream it belongs. */
const piece = (stream: number): Buffer => Buffer.from(`<${stream}>`.padEnd(6), 'latin1');

/** Of frames; the first ones do not concern other streams. */
const KINDS = 12;
const STREAM_KINDS = 7;

function randomFrame(random: Random, stream: number, kind: number): Buffer {
  const flags = random.pick([0, 0, END_STREAM]);
  const bytes = Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
  switch (kind) {
    case 0:
    case 1:
    case 2:
      return headers(stream, random.pick(FIELDS), flags);
    case 3:
    case 4:
    case 5:
      return frame(FRAME.data, flags, stream, piece(stream));
    case 6:
      return frame(FRAME.rstStream, 0, stream, number32(random.below(16)));
    case 7:
      return frame(FRAME.windowUpdate, 0, random.pick([0, stream]), number32(random.below(2 ** 31)));
    case 8:
      return frame(
        FRAME.goaway,
        0,
        0,
        Buffer.concat([number32(random.below(stream + 4)), number32(random.below(4))]),
      );
    case 9:
      return frame(
        FRAME.settings,
        0,
        0,
        Buffer.from([0, 1 + random.below(6), 0, 0, random.below(2), random.below(256)]),
      );
    case 10:
      return frame(random.below(14), random.below(64), random.pick([0, stream, stream + 2]), bytes);
    default:
      return headers(stream, random.pick(FIELDS), flags & ~END_HEADERS);
  }
}

/** A good response in a random number of pieces. */
function behave(connection: FrameConnection, stream: number, random: Random): void {
  connection.send(headers(stream, [[':status', '200']], 0));
  for (let left = random.below(5); left > 0; left--)
    connection.send(frame(FRAME.data, 0, stream, piece(stream)));
  connection.send(frame(FRAME.data, END_STREAM, stream, piece(stream)));
}

function answer(connection: FrameConnection, stream: number, random: Random): void {
  if (!random.oneIn(3)) return behave(connection, stream, random);
  const count = 1 + random.below(6);
  // Mostly what concerns the stream alone.
  const kinds = random.oneIn(6) ? KINDS : STREAM_KINDS;
  for (let index = 0; index < count; index++) {
    const sent = randomFrame(random, stream, random.below(kinds));
    const isDamaged = kinds === KINDS && random.oneIn(12);
    if (isDamaged) sent[random.below(sent.length)] = random.below(256);
    connection.send(isDamaged ? sent.subarray(0, random.below(sent.length)) : sent);
  }
  if (random.oneIn(20)) connection.socket.destroy();
}

it(
  'random frames mix up no streams, end every exchange, and leave nothing open',
  { timeout: 120_000 },
  async () => {
    let random: Random | undefined;
    const backend = await startFrameBackend((connection, { type, flags, stream, payload }) => {
      if (type === FRAME.ping && (flags & ACK) === 0) connection.send(frame(FRAME.ping, ACK, 0, payload));
      if (type !== FRAME.headers) return;
      if (random !== undefined) return answer(connection, stream, random);
      connection.send(
        headers(stream, [[':status', '200']], 0),
        frame(FRAME.data, END_STREAM, stream, piece(stream)),
      );
    });
    closers.push(() => backend.close());
    const proxy = await startProxy(
      oneRoute({
        backendPort: backend.port,
        revision: { backend_protocol: 'h2', circuit_breaker: { failures: 10_000 } },
        policy: { timeouts: { first_byte_ms: 250, idle_ms: 250, total_ms: 2_000 } },
      }),
    );
    closers.push(() => proxy.close());
    const url = `http://127.0.0.1:${proxy.port}/a/v1/x`;
    const ask = async (): Promise<string> => {
      try {
        const response = await fetch(url, { method: 'POST', body: 'x' });
        return `${response.status} ${await response.text()}`;
      } catch {
        return 'cut off';
      }
    };
    let whole = 0;
    for (let seed = 1; seed <= ROUNDS; seed++) {
      random = new Random(seed);
      for (const seen of await Promise.all(Array.from({ length: REQUESTS }, ask))) {
        const [, status = '', text = ''] = /^(\d+) (.*)$/s.exec(seen) ?? [];
        const tags = new Set(text.match(/<\d+>/g));
        const isError = status.startsWith('5') && text.startsWith('{');
        expect([seed, seen, isError || tags.size <= 1]).toEqual([seed, seen, true]);
        if (status === '200' && tags.size === 1) whole += 1;
      }
      random = undefined;
      await untilHolds(
        () => proxy.context.exchangeLimiter.inUse === 0,
        `the end of all exchanges of seed ${seed}`,
      );
      // What the seed has left behind may still end the connection.
      let good = await ask();
      for (let tries = 0; tries < 20 && !good.startsWith('200 <'); tries++) {
        await pause(20);
        good = await ask();
      }
      expect([seed, good]).toEqual([seed, expect.stringMatching(/^200 <\d+> *$/)]);
    }
    expect(whole).toBeGreaterThan(ROUNDS);
    expect(proxy.defects).toEqual([]);
    expect(proxy.context.permits.waiting).toBe(0);
  },
);
