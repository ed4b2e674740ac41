/**
 * Slow, silent and dying peers on both sides: each ends at its deadline, in a clear answer, with nothing sent twice.
 */
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { startRawOrigin, type RawOrigin } from '../../support/backends/origin.ts';
import {
  oneRoute,
  startProxy,
  type RouteSetup,
  type TestProxy,
  type TestProxyOptions,
} from '../../support/proxy.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';
import { steadily } from '../../support/measure/steady.ts';
import { awakeMs } from '../../support/measure/steady.ts';

const closers = closeAfterEach();

async function proxyTo(setup: RouteSetup, options: TestProxyOptions = {}): Promise<TestProxy> {
  const proxy = await startProxy(oneRoute(setup), options);
  closers.push(() => proxy.close());
  return proxy;
}

async function rawOrigin(...args: Parameters<typeof startRawOrigin>): Promise<RawOrigin> {
  const origin = await startRawOrigin(...args);
  closers.push(() => origin.close());
  return origin;
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

describe('clients', () => {
  it('gets 408 when its head does not end in time, even if bytes keep arriving', async () => {
    const proxy = await proxyTo({ backendPort: 1 }, { options: { headTimeoutMs: 300 } });
    const client = await connectRaw(proxy.port);
    const startedMs = awakeMs();
    client.write('GET /a/v1/x HTTP/1.1\r\n');
    const drip = setInterval(() => client.write('X: y\r\n'), 50);
    const response = await client.response();
    clearInterval(drip);
    expect(response.status).toBe(408);
    expect(response.headers['connection']).toBe('close');
    // Far from the ten seconds of the default.
    expect(awakeMs() - startedMs).toBeLessThan(8_000);
    client.end();
  });

  it('is let go silently when it never sends anything', async () => {
    const proxy = await proxyTo({ backendPort: 1 }, { options: { headTimeoutMs: 200 } });
    const client = await connectRaw(proxy.port);
    await client.closed(8_000);
    expect(client.received()).toBe('');
  });

  it('is let go after the keep-alive time', async () => {
    const origin = await rawOrigin((socket) => void socket.write(OK));
    const proxy = await proxyTo({ backendPort: origin.port }, { options: { keepaliveTimeoutMs: 200 } });
    const client = await connectRaw(proxy.port);
    client.write(GET);
    expect((await client.response()).body).toBe('ok');
    await client.closed();
  });

  it('gets 408 when its body stops', async () => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo({ backendPort: origin.port }, { options: { idleTimeoutMs: 200 } });
    const response = await sendRaw(
      proxy.port,
      'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc',
    );
    expect(response.status).toBe(408);
    expect(proxy.failures).toEqual([]);
  });

  it.each([
    ['a target over the limit', `GET /${'x'.repeat(600)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414],
    ['too many fields', `GET / HTTP/1.1\r\nHost: a\r\n${'X: y\r\n'.repeat(60)}\r\n`, 431],
    ['a head over the limit', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(5_000)}\r\n\r\n`, 431],
    ['a head over the limit that never ends', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(5_000)}`, 431],
    ['a body over the limit', `POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n`, 413],
    [
      'a chunked body over the limit',
      `POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n${'x'.repeat(2_000)}\r\n0\r\n\r\n`,
      413,
    ],
  ])('gets its status for %s', async (_name, bytes, status) => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo(
      { backendPort: origin.port },
      { options: { maxTargetBytes: 512, maxHeaders: 50, maxHeadBytes: 4_096, maxBodyBytes: 1_000 } },
    );
    const response = await sendRaw(proxy.port, bytes);
    expect(response.status).toBe(status);
    expect(response.headers['connection']).toBe('close');
  });

  it('keeps its connection when an early answer leaves a small body unread', async () => {
    const proxy = await proxyTo({ backendPort: 1 });
    const client = await connectRaw(proxy.port);
    client.write(`POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n${'G'.repeat(400)}`);
    expect((await client.response()).status).toBe(404);
    client.write(`${'G'.repeat(600)}GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect((await client.response()).status).toBe(404);
    client.end();
  });

  it('loses its connection when an early answer leaves a large body unread, but gets the answer', async () => {
    const proxy = await proxyTo({ backendPort: 1 });
    const client = await connectRaw(proxy.port);
    client.write(
      `POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n${'x'.repeat(200_000)}`,
    );
    const response = await client.response();
    expect(response.status).toBe(404);
    expect(response.headers['connection']).toBe('close');
    await client.closed();
  });

  it('gets its answer also when it has closed its sending side, where that is allowed', async () => {
    const origin = await rawOrigin((socket) => void setTimeout(() => socket.write(OK), 50));
    const proxy = await proxyTo({ backendPort: origin.port }, { options: { halfClose: true } });
    const client = await connectRaw(proxy.port);
    client.write(GET);
    client.socket.end();
    expect((await client.response()).body).toBe('ok');
    await client.closed();
  });

  it('takes its backend connection with it when it goes away', async () => {
    let closed = false;
    const origin = await rawOrigin((socket) => void socket.once('close', () => (closed = true)));
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectRaw(proxy.port);
    client.write(GET);
    while (origin.connections() === 0) await pause(5);
    client.socket.resetAndDestroy();
    for (let n = 0; n < 200 && !closed; n++) await pause(10);
    expect(closed).toBe(true);
  });
});

describe('backends', () => {
  it('gets 504 when it does not begin to answer', async () => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo({ backendPort: origin.port }, { options: { firstByteTimeoutMs: 200 } });
    const response = await sendRaw(proxy.port, GET);
    expect(response.status).toBe(504);
    expect(JSON.parse(response.body).code).toBe('upstream_timeout');
    expect(proxy.failures).toEqual(['first_byte_timeout']);
  });

  it('is cut off when it stops in the middle', async () => {
    const origin = await rawOrigin(
      (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc'),
    );
    const proxy = await proxyTo({ backendPort: origin.port }, { options: { idleTimeoutMs: 200 } });
    const client = await connectRaw(proxy.port);
    client.write(GET);
    await client.closed(5_000);
    expect(client.received()).toMatch(/\r\n\r\nabc$/);
    expect(proxy.failures).toEqual(['idle_timeout']);
  });

  it('gets 502 when a TLS handshake never ends', async () => {
    const origin = await rawOrigin(() => undefined);
    const proxy = await proxyTo(
      { backendPort: origin.port, revision: { backend_scheme: 'https' } },
      { options: { connectTimeoutMs: 200 } },
    );
    const response = await sendRaw(proxy.port, GET);
    expect(response.status).toBe(502);
    expect(proxy.failures).toEqual(['connect_timeout']);
  });

  it('gets a GET again on a fresh connection when an idle one turns out to be closed', async () => {
    const origin = await rawOrigin((socket, received) => {
      if (received.split('\r\n\r\n').length === 2) socket.write(OK);
      else socket.destroy();
    });
    const proxy = await proxyTo({ backendPort: origin.port });
    for (let n = 0; n < 4; n++) expect((await sendRaw(proxy.port, GET)).body).toBe('ok');
    expect(proxy.failures).toEqual([]);
  });

  it('never gets a POST twice', async () => {
    let posts = 0;
    const origin = await rawOrigin((socket, received, connection) => {
      if (connection === 0 && received.split('\r\n\r\n').length === 2) return void socket.write(OK);
      posts += 1;
      socket.destroy();
    });
    const proxy = await proxyTo({ backendPort: origin.port });
    expect((await sendRaw(proxy.port, GET)).body).toBe('ok');
    const response = await sendRaw(
      proxy.port,
      'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx',
    );
    expect(response.status).toBe(502);
    expect(posts).toBe(1);
  });

  it('may answer early and close; the client gets the answer', async () => {
    const origin = await rawOrigin((socket, received) => {
      if (received.includes('\r\n\r\n'))
        socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig');
    });
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectRaw(proxy.port);
    client.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc');
    const response = await client.response();
    expect(response.status).toBe(413);
    expect(response.body).toBe('big');
    client.end();
  });

  it(
    'opens the breaker after failures in a row, is let alone, and comes back by one trial',
    steadily(async () => {
      let healthy = false;
      const origin = await rawOrigin((socket) => void (healthy ? socket.write(OK) : socket.destroy()));
      const opened: string[] = [];
      const proxy = await proxyTo(
        { backendPort: origin.port, revision: { circuit_breaker: { failures: 3, open_secs: 1 } } },
        {
          observer: {
            breakerChanged: ({ label }, { to }) => void (to === 'open' && opened.push(label)),
          },
        },
      );
      for (let n = 0; n < 3; n++) expect((await sendRaw(proxy.port, GET)).status).toBe(502);
      const before = origin.connections();
      const refused = await sendRaw(proxy.port, GET);
      expect(refused.status).toBe(503);
      expect(Number(refused.headers['retry-after'])).toBe(1);
      expect(JSON.parse(refused.body).code).toBe('circuit_open');
      expect(origin.connections()).toBe(before);
      expect(opened).toEqual(['r1']);
      healthy = true;
      await pause(1_050);
      expect((await sendRaw(proxy.port, GET)).status).toBe(200);
      expect((await sendRaw(proxy.port, GET)).status).toBe(200);
    }),
  );
});

/** What is sent when nothing more has been for a while. */
async function stalledAt(sent: () => number): Promise<number> {
  for (let before = -1; ;) {
    if (sent() === before) return before;
    before = sent();
    await pause(400);
  }
}

describe('back-pressure', () => {
  it('does not read from the backend faster than the client takes it', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let sent = 0;
    const origin = await rawOrigin((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const pump = (): void => {
        while (!socket.destroyed && socket.write(chunk)) sent += chunk.length;
      };
      socket.on('drain', pump);
      pump();
    });
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectRaw(proxy.port);
    client.socket.pause();
    client.write(GET);
    const stalled = await stalledAt(() => sent);
    expect(stalled).toBeLessThan(32 * 1024 * 1024);
    client.end();
  });

  it('does not read from the client faster than the backend takes it', async () => {
    const origin = await rawOrigin((socket) => void socket.pause());
    const proxy = await proxyTo({ backendPort: origin.port });
    const client = await connectRaw(proxy.port);
    client.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n');
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let sent = 0;
    while (client.socket.write(chunk)) sent += chunk.length;
    const pump = setInterval(() => {
      while (client.socket.writableLength === 0 && sent < 500_000_000) {
        client.socket.write(chunk);
        sent += chunk.length;
      }
    }, 1);
    const stalled = await stalledAt(() => sent);
    clearInterval(pump);
    expect(stalled).toBeLessThan(32 * 1024 * 1024);
    client.end();
  });
});

describe('draining', () => {
  it(
    'finishes what runs, marks connections to close, and then accepts no connection',
    steadily(async () => {
      const origin = await rawOrigin((socket) => void setTimeout(() => socket.write(OK), 200));
      const proxy = await proxyTo({ backendPort: origin.port });
      const busy = await connectRaw(proxy.port);
      const idle = await connectRaw(proxy.port);
      idle.write('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
      expect((await idle.response()).headers['connection']).toBeUndefined();
      busy.write(GET);
      while (origin.connections() === 0) await pause(2);
      proxy.startDraining();
      const drained = proxy.listener.drain(5_000);
      idle.write('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
      expect((await idle.response()).headers['connection']).toBe('close');
      const response = await busy.response();
      expect(response.body).toBe('ok');
      expect(response.headers['connection']).toBe('close');
      await drained;
      await expect(connectRaw(proxy.port)).rejects.toThrow();
    }),
  );
});
