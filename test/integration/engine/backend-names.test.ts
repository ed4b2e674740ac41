/**
 * Backends that are given by name: their addresses change, are several, or cannot be found
 * (docs/reference/backend-connections.md).
 */
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import * as tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { operatorDetail } from '../../../src/model/reason.ts';
import type { Revision } from '../../../src/model/resources.ts';
import { startBlackHole } from '../../support/backends/black-hole.ts';
import { CA, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';

const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';

const closers = closeAfterEach();

/** A backend on one of the addresses of the loopback network, which says which; resolves with its port. */
async function backendAt(host: string, port = 0, scheme: 'http' | 'https' = 'http'): Promise<number> {
  const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${host.length}\r\n\r\n${host}`;
  const sockets = new Set<Socket>();
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('data', () => socket.write(answer)).on('error', () => undefined);
  };
  const server = scheme === 'http' ? createServer(accept) : tls.createServer(TLS_PAIR, accept);
  await once(server.listen(port, host), 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function proxyTo(
  port: number,
  setup: TestProxyOptions,
  revision: Partial<Revision> = {},
): Promise<TestProxy> {
  const route = oneRoute({
    backendPort: port,
    revision: { backend_host: 'backend.example', ...revision },
  });
  const proxy = await startProxy(route, setup);
  closers.push(() => proxy.close());
  return proxy;
}

const addresses = (...list: string[]): LookupAddress[] =>
  list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

describe('a backend given by name', () => {
  it('is reached at its new address although connections to the old one still work', async () => {
    const port = await backendAt('127.0.0.1');
    await backendAt('127.0.0.2', port);
    let known = addresses('127.0.0.1');
    // Connections, and what is known of the name, grow old at once.
    let aheadMs = 0;
    const proxy = await proxyTo(port, {
      resolve: async () => known,
      resolverClock: () => performance.now() + aheadMs,
      upstreamAgeMsMax: 300,
    });
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    const ask = async (): Promise<string> => {
      client.write(GET);
      return (await client.response()).body;
    };
    expect(await ask()).toBe('127.0.0.1');
    known = addresses('127.0.0.2');
    aheadMs = 60_000;
    const endMs = performance.now() + 5_000;
    let body = await ask();
    while (body !== '127.0.0.2' && performance.now() < endMs) body = await ask();
    expect(body).toBe('127.0.0.2');
  });

  it('with several addresses is reached at the one that answers', async () => {
    const port = await backendAt('127.0.0.3');
    const proxy = await proxyTo(port, {
      resolve: async () => addresses('::1', '127.0.0.2', '127.0.0.3'),
    });
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write(GET);
    expect((await client.response()).body).toBe('127.0.0.3');
  });

  it.each(['http', 'https'] as const)(
    'with an address that is silent is reached at another one within the time for connecting, over %s',
    async (backend_scheme) => {
      const port = await backendAt('127.0.0.3', 0, backend_scheme);
      const hole = await startBlackHole('127.0.0.2', port);
      closers.push(() => hole.close());
      const proxy = await proxyTo(
        port,
        { resolve: async () => addresses('127.0.0.2', '127.0.0.3') },
        { backend_scheme, backend_host: 'backend.test', backend_tls: { ca: CA } },
      );
      const client = await connectRaw(proxy.port);
      closers.push(() => client.end());
      client.write(GET);
      expect((await client.response()).body).toBe('127.0.0.3');
      // On the first connection, which is kept for the next request.
      expect([proxy.failures, proxy.repeated]).toEqual([[], []]);
      client.write(GET);
      expect((await client.response()).body).toBe('127.0.0.3');
      expect(proxy.pool.idleCount).toBe(1);
    },
  );

  it('that cannot be found is 502, and says so to the operator alone', async () => {
    const details: string[] = [];
    const proxy = await proxyTo(1, {
      observer: {
        exchangeEnded: ({ reason }) => void details.push(reason === undefined ? '' : operatorDetail(reason)),
      },
      resolve: () => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })),
    });
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write(GET);
    const response = await client.response();
    expect(response.status).toBe(502);
    expect(JSON.parse(response.body)).toMatchObject({ code: 'upstream_connect_failed' });
    expect(response.body).not.toContain('ENOTFOUND');
    await expect.poll(() => details.join()).toContain('ENOTFOUND');
  });

  it('whose resolver hangs is 502 after the time for connecting', async () => {
    const proxy = await proxyTo(1, {
      resolve: () => new Promise(() => undefined),
      options: { connectTimeoutMs: 200 },
    });
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write(GET);
    expect((await client.response()).status).toBe(502);
  });
});
