/** Requests and apps that have the same backend of HTTP/2: what one of them has under way leaves room for others. */
import * as http from 'node:http';
import * as net from 'node:net';
import { expect, it } from 'vitest';
import type { ConfigChange } from '../../../src/model/config.ts';
import { setTimeout as pause } from 'node:timers/promises';
import {
  startFrameBackend,
  startHttp2Backend,
  type FrameConnection,
} from '../../support/backends/http2-backend.ts';
import { ACK, END_STREAM, FRAME, frame, headers, number32 } from '../../support/clients/http2-frames.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { until } from '../../support/measure/until.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';

const closers = closeAfterEach();

/** The apps `a` and `b`, with one backend. */
function twoApps(backendPort: number): ConfigChange {
  const revision = { backend_protocol: 'h2' } as const;
  const one = oneRoute({ backendPort, revision });
  const other = oneRoute({
    backendPort,
    app: { id: 'app-2', slug: 'b', gateway_path: '/b' },
    version: { id: 'ver-2' },
    revision: { ...revision, id: 'rev-2' },
  });
  return { ...one, apps: [...one.apps, ...other.apps] };
}

/** As servers in Go and Rust do, it opens the window of the connection when its application reads, which is never. */
async function startUnreadingBackend() {
  const server = await startFrameBackend((connection, { type, flags, stream, payload }) => {
    if (type === FRAME.ping) connection.send(frame(FRAME.ping, ACK, 0, payload));
    if (type === FRAME.data && (flags & END_STREAM) !== 0)
      connection.send(headers(stream, [[':status', '200']]));
  }, settings);
  closers.push(() => server.close());
  return server;
}

it('requests that hang at a backend of two apps leave streams for the other app', async () => {
  let hanging = 0;
  const server = await startHttp2Backend((stream, headers) => {
    if (headers[':path'] === '/hang') hanging += 1;
    else {
      stream.respond({ ':status': 200 });
      stream.end('well');
    }
  });
  closers.push(() => server.close());
  const proxy = await startProxy(twoApps(server.port), {
    options: { maxUpstreamHttp2Streams: 100, maxUpstreamHttp2Connections: 1, maxUpstreamQueue: 20 },
  });
  closers.push(() => proxy.close());
  const agent = new http.Agent({ maxSockets: Infinity });
  closers.push(async () => agent.destroy());
  const statusOf = (path: string): Promise<number> =>
    new Promise((resolve) => {
      const request = http.get({ port: proxy.port, path, agent }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.on('error', () => resolve(0));
    });
  // More than there are streams and places in the queue.
  const statuses = Array.from({ length: 150 }, () => statusOf('/a/v1/hang'));
  await until(() => hanging === 90);
  await until(() => proxy.context.permits.waiting === 20);
  for (let count = 0; count < 10; count++) expect(await statusOf('/b/v1/x')).toBe(200);
  agent.destroy();
  expect(new Set(await Promise.all(statuses))).toEqual(new Set([0, 503]));
});

it('a body that a backend does not read does not keep back the bodies of other requests', async () => {
  const server = await startUnreadingBackend();
  const proxy = await startProxy(
    oneRoute({ backendPort: server.port, revision: { backend_protocol: 'h2' } }),
  );
  closers.push(() => proxy.close());
  const post = (body: string, signal?: AbortSignal) =>
    fetch(`http://127.0.0.1:${proxy.port}/a/v1/x`, { method: 'POST', body, signal: signal ?? null });
  const unread = new AbortController();
  const first = post('x'.repeat(CONNECTION_WINDOW_BYTES + 1), unread.signal).catch(() => undefined);
  await until(() => bytesOf(server.connections[0]) === CONNECTION_WINDOW_BYTES);
  // The first of these shows that the window is shut, those after it find another connection.
  const second = post('y', unread.signal).catch(() => undefined);
  await until(() => server.connections[0]?.frames.filter(({ type }) => type === FRAME.headers).length === 2);
  await pause(1_000);
  for (let count = 0; count < 10; count++) expect((await post('z')).status).toBe(200);
  expect(server.connections).toHaveLength(2);
  unread.abort();
  await Promise.all([first, second]);
});

it.each([1, 3])(
  'bodies that a backend does not read, on all of %i connections, do not keep back those of another app',
  async (connections) => {
    const server = await startUnreadingBackend();
    const proxy = await startProxy(twoApps(server.port), {
      options: { maxUpstreamHttp2Connections: connections },
    });
    closers.push(() => proxy.close());
    const post = (app: string, body: string, signal: AbortSignal) =>
      fetch(`http://127.0.0.1:${proxy.port}/${app}/v1/x`, { method: 'POST', body, signal });
    const unread = new AbortController();
    const uploads: Promise<unknown>[] = [];
    const upload = async () => {
      const opened = Math.min(uploads.length / 2, connections - 1);
      const body = 'x'.repeat(CONNECTION_WINDOW_BYTES + 1);
      uploads.push(post('a', body, unread.signal).catch(() => undefined));
      await until(() => bytesOf(server.connections[opened]) === CONNECTION_WINDOW_BYTES);
      // The first of these shows that the window is shut.
      uploads.push(post('a', 'y', unread.signal).catch(() => undefined));
      await pause(500);
    };
    for (let count = 0; count < connections; count++) await upload();
    // These cannot shut the connection of the other app either, since their own app has shut all others.
    for (let count = 0; count < 3; count++) {
      expect((await post('b', 'z', AbortSignal.timeout(5_000))).status).toBe(200);
      await upload();
    }
    expect(server.connections).toHaveLength(connections + 1);
    unread.abort();
    await Promise.all(uploads);
  },
);

it('clients that do not read do not make the backend fail for others, or open its breaker', async () => {
  // Node's server resets further streams of a connection, with ENHANCE_YOUR_CALM, when 10 MB wait on it.
  const large = Buffer.alloc(2_000_000);
  let unread = 0;
  const server = await startHttp2Backend((stream, headers) => {
    stream.respond({ ':status': 200 });
    const isLarge = headers[':path'] === '/large';
    if (isLarge) unread += 1;
    stream.end(isLarge ? large : 'well');
  });
  closers.push(() => server.close());
  const revision = { backend_protocol: 'h2' } as const;
  const proxy = await startProxy(oneRoute({ backendPort: server.port, revision }));
  closers.push(() => proxy.close());
  for (let count = 0; count < 12; count++) {
    const socket = net.connect({ port: proxy.port, host: '127.0.0.1' }).pause();
    socket.write('GET /a/v1/large HTTP/1.1\r\nHost: a\r\n\r\n');
    closers.push(async () => socket.destroy());
  }
  await until(() => unread >= 6);
  await pause(500);
  const url = `http://127.0.0.1:${proxy.port}/a/v1/x`;
  for (let count = 0; count < 10; count++) {
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([200, 'well']);
  }
  const posts = await Promise.all(
    Array.from({ length: 20 }, () => fetch(url, { method: 'POST', body: 'x' })),
  );
  expect(posts.map(({ status }) => status)).not.toContain(503);
  expect((await fetch(url)).status).toBe(200);
});

it.each([
  ['GET', 5, 'upstream_reset'],
  ['POST', 1, 'upstream_reset'],
])(
  'a backend without room for a %s gets it %i times, and its breaker stays closed',
  async (method, times, code) => {
    let streams = 0;
    const server = await startFrameBackend((connection, { type, stream, payload }) => {
      if (type === FRAME.ping) connection.send(frame(FRAME.ping, ACK, 0, payload));
      if (type !== FRAME.headers) return;
      streams += 1;
      connection.send(frame(FRAME.rstStream, 0, stream, number32(ENHANCE_YOUR_CALM)));
    });
    closers.push(() => server.close());
    const proxy = await startProxy(
      oneRoute({ backendPort: server.port, revision: { backend_protocol: 'h2' } }),
    );
    closers.push(() => proxy.close());
    for (let count = 1; count <= 10; count++) {
      const response = await fetch(`http://127.0.0.1:${proxy.port}/a/v1/x`, { method });
      expect([response.status, await response.json(), streams]).toEqual([
        502,
        expect.objectContaining({ code }),
        count * times,
      ]);
    }
  },
);

const ENHANCE_YOUR_CALM = 11;
const CONNECTION_WINDOW_BYTES = 65_535;
/** SETTINGS_INITIAL_WINDOW_SIZE: larger than the window of the connection. */
const settings = Buffer.from([0, 4, 0, 16, 0, 0]);
const bytesOf = (connection: FrameConnection | undefined): number =>
  (connection?.frames ?? [])
    .filter(({ type }) => type === FRAME.data)
    .reduce((sum, { payload }) => sum + payload.length, 0);
