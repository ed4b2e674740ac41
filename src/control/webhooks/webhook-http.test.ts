/** What counts as delivered, and where nothing is sent. Receivers are real. */
import * as net from 'node:net';
import type { LookupFunction } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../../../test/support/backends/origin.ts';
import { Egress } from '../../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../../egress/own-listeners.ts';
import { systemClock } from '../../lib/clock.ts';
import { waitOf, WebhookHttp } from './webhook-http.ts';

const NEVER = new AbortController().signal;
const toLoopback: LookupFunction = (_host, _options, callback) =>
  callback(null, [{ address: '127.0.0.1', family: 4 }]);

let origin: Origin;
beforeAll(async () => {
  origin = await startOrigin((request, response) => {
    const status = Number(request.url?.slice(1, 4));
    // It has a clock of its own.
    const dated = { date: 'Thu, 01 Jan 1970 00:00:00 GMT', 'retry-after': 'Thu, 01 Jan 1970 00:00:07 GMT' };
    response.writeHead(status, request.url?.endsWith('dated') === true ? dated : { 'retry-after': '2' });
    // More than is read of an answer.
    if (status === 200) for (let part = 0; part < 64; part += 1) response.write(Buffer.alloc(16_384));
    response.end();
  });
});
afterAll(() => origin.close());

async function send(path: string, { deny = [] as string[], host = '127.0.0.1' } = {}) {
  const own = new OwnListeners(createOwnPorts(), systemClock);
  const egress = new Egress({ allow: [], deny, unixSocketsFrom: [] }, own);
  const http = new WebhookHttp(egress, systemClock, 2_000, toLoopback);
  try {
    return await http.send({ url: `http://${host}:${origin.port}${path}`, headers: {}, body: '{}' }, NEVER);
  } finally {
    await http.close();
  }
}

describe('an answer', () => {
  it.each([
    [200, 'delivered', undefined],
    [204, 'delivered', undefined],
    [302, 'refused', undefined],
    [400, 'refused', undefined],
    [408, 'unavailable', 2_000],
    [410, 'gone', undefined],
    [429, 'unavailable', 2_000],
    [500, 'unavailable', 2_000],
    [503, 'unavailable', 2_000],
  ])('%i is %s', async (status, result, retryAfterMs) => {
    expect(await send(`/${status}`)).toMatchObject({ status, result, retryAfterMs });
  });

  it('asks for a later time by the clock of the receiver', async () => {
    expect(await send('/503dated')).toMatchObject({ result: 'unavailable', retryAfterMs: 7_000 });
  });

  it.each([
    ['3', 3_000],
    ['Thu, 01 Jan 1970 00:00:09 GMT', 8_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', undefined],
    ['99999999', 3_600_000],
    ['soon', undefined],
    ['', undefined],
  ])('with Retry-After %j asks for %s', (value, expected) => {
    expect(waitOf(value, 1_000)).toBe(expected);
  });
});

describe('a receiver that', () => {
  const TIMEOUT_MS = 300;
  let served: net.Server;
  let read: Promise<number>;
  /** Answers each connection with this, piece by piece; `read` counts what it could write. */
  async function serve(answer: (socket: net.Socket) => void): Promise<number> {
    let settle: (bytes: number) => void = () => undefined;
    read = new Promise((done) => (settle = done));
    served = net.createServer((socket) => {
      socket.on('error', () => undefined).on('close', () => settle(socket.bytesWritten));
      socket.once('data', () => answer(socket));
    });
    await new Promise<void>((done) => served.listen(0, '127.0.0.1', done));
    return (served.address() as net.AddressInfo).port;
  }
  afterEach(() => served.close());

  async function outcome(answer: (socket: net.Socket) => void) {
    const own = new OwnListeners(createOwnPorts(), systemClock);
    const egress = new Egress({ allow: [], deny: [], unixSocketsFrom: [] }, own);
    const http = new WebhookHttp(egress, systemClock, TIMEOUT_MS);
    const url = `http://127.0.0.1:${await serve(answer)}/`;
    try {
      return await http.send({ url, headers: {}, body: '{}' }, NEVER);
    } finally {
      // By itself the gateway has ended the connection, or the answer is over.
      await read;
      await http.close();
    }
  }
  const drip = (socket: net.Socket, text: string): void => {
    const timer = setInterval(() => socket.write(text), 10);
    socket.on('close', () => clearInterval(timer));
  };

  it('drips a head, byte by byte, gets as much time as any other', async () => {
    const ended = await outcome((socket) => {
      socket.write('HTTP/1.1 204 OK\r\nX-A: ');
      drip(socket, 'x');
    });
    expect(ended).toMatchObject({ result: 'unavailable', error: `no answer within ${TIMEOUT_MS} ms` });
    expect(ended.latencyMs).toBeLessThan(TIMEOUT_MS * 5);
  });

  it('keeps sending interim responses gets as much time as any other', async () => {
    const ended = await outcome((socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'));
    expect(ended.result).toBe('unavailable');
    expect(ended.latencyMs).toBeLessThan(TIMEOUT_MS * 5);
  });

  it('drips a body has accepted the event, and the rest of the body is not awaited', async () => {
    const ended = await outcome((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n');
      drip(socket, 'x');
    });
    expect(ended).toMatchObject({ result: 'delivered', status: 200 });
    expect(ended.latencyMs).toBeLessThan(TIMEOUT_MS * 5);
    const chunked = await outcome((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      drip(socket, '1\r\nx\r\n');
    });
    expect(chunked).toMatchObject({ result: 'delivered', status: 200 });
    expect(chunked.latencyMs).toBeLessThan(TIMEOUT_MS * 5);
  });

  it.each(['Content-Length: 10000000', 'Transfer-Encoding: chunked'])(
    'answers with 10 MB (%s) has taken the event, and most of it is not read',
    async (field) => {
      const part = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
      const ended = await outcome((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${field}\r\n\r\n`);
        let left = 10_000_000 / part.length;
        const more = (): void => {
          while (left > 0 && !socket.destroyed) {
            left -= 1;
            if (!socket.write(part)) return void socket.once('drain', more);
          }
        };
        more();
      });
      expect(ended).toMatchObject({ result: 'delivered', status: 200 });
      // What fits into the buffers of both sockets.
      expect(await read).toBeLessThan(8_000_000);
    },
  );
});

describe('the rules of egress', () => {
  it('hold for the address that a name leads to', async () => {
    const before = origin.seen.length;
    expect(await send('/204', { host: 'receiver.test' })).toMatchObject({ result: 'delivered' });
    const denied = await send('/204', { host: 'receiver.test', deny: ['127.0.0.0/8'] });
    expect(denied).toMatchObject({ result: 'unavailable', status: null });
    expect(denied.error).toMatch(/127\.0\.0\.1 is denied by GATEWAY_EGRESS__DENY/);
    expect(origin.seen).toHaveLength(before + 1);
  });

  it('hold for each address that a name leads to, as it changes', async () => {
    const own = new OwnListeners(createOwnPorts(), systemClock);
    const egress = new Egress({ allow: [], deny: [], unixSocketsFrom: [] }, own);
    // One that is allowed when it is checked, and another one for the connection.
    const answers = [
      ['127.0.0.1'],
      ['169.254.169.254'],
      ['169.254.169.254', '127.0.0.1'],
      ['::ffff:a9fe:a9fe'],
    ];
    const changing: LookupFunction = (_host, _options, callback) => {
      const found = (answers.shift() ?? []).map((address) => ({
        address,
        family: address.includes(':') ? 6 : 4,
      }));
      callback(null, found);
    };
    const http = new WebhookHttp(egress, systemClock, 2_000, changing);
    const results: string[] = [];
    // Each on a connection of its own.
    for (const path of ['/204', '/204', '/204', '/204']) {
      const url = `http://receiver.test:${origin.port}${path}`;
      const { result, error } = await http.send({ url, headers: {}, body: '{}' }, NEVER);
      results.push(`${result} ${error}`.trim());
      await http.close();
    }
    expect(results).toEqual([
      'delivered',
      expect.stringMatching(/^unavailable 169\.254\.169\.254 is /),
      'delivered',
      expect.stringMatching(/^unavailable .*(169\.254\.169\.254|a9fe:a9fe) is /),
    ]);
  });

  it('hold for an address in the URL', async () => {
    expect((await send('/204', { deny: ['127.0.0.0/8'] })).error).toMatch(/is denied/);
  });
});
