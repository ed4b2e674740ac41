/** The HTTP/1.1 engine against a real client and a real backend, exchange by exchange. */
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { startOrigin, startRawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';

const closers = closeAfterEach();

async function proxied(
  port: number,
  ...rest: Parameters<typeof startProxy> extends [unknown, ...infer R] ? R : never
): Promise<TestProxy> {
  const proxy = await startProxy(oneRoute({ backendPort: port }), ...rest);
  closers.push(() => proxy.close());
  return proxy;
}

async function echo() {
  const origin = await startOrigin();
  closers.push(() => origin.close());
  return origin;
}

const GET = 'GET /a/v1/x?q=1 HTTP/1.1\r\nHost: gateway.test\r\n\r\n';

describe('exchanges', () => {
  it('proxies a GET and strips the gateway path', async () => {
    const origin = await echo();
    const proxy = await proxied(origin.port);
    const response = await sendRaw(proxy.port, GET);
    expect(response.status).toBe(200);
    expect(JSON.parse(response.body)).toMatchObject({ method: 'GET', url: '/x?q=1' });
    expect(origin.seen[0]?.headers.host).toBe(`127.0.0.1:${origin.port}`);
  });

  it.each([
    ['one read', 0],
    ['two reads', 20],
  ])('times no attempt beyond the end of its exchange: a response in %s', async (_name, pauseMs) => {
    const origin = await startRawOrigin((socket) => {
      const [head, body] = ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 'hello'];
      if (pauseMs === 0) return void socket.write(head + body);
      socket.write(head);
      setTimeout(() => socket.write(body), pauseMs);
    });
    closers.push(() => origin.close());
    const bodyMs: number[] = [];
    const proxy = await proxied(origin.port, {
      observer: {
        timesStages: () => true,
        exchangeEnded: ({ timeline, startedMs, durationMs }) =>
          void bodyMs.push(startedMs + durationMs - (timeline?.attempts[0]?.endedMs ?? NaN)),
      },
    });
    for (let count = 0; count < 5; count++) expect((await sendRaw(proxy.port, GET)).body).toBe('hello');
    expect(bodyMs).toHaveLength(5);
    for (const each of bodyMs) {
      // Times are sums of fractions.
      expect(each).toBeGreaterThan(-1e-6);
      expect(each >= pauseMs - 2).toBe(true);
    }
  });

  it('serves many requests on one connection, also pipelined, in order', async () => {
    const origin = await echo();
    const proxy = await proxied(origin.port);
    const client = await connectRaw(proxy.port);
    client.write([1, 2, 3, 4, 5].map((n) => `GET /a/v1/${n} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
    for (const n of [1, 2, 3, 4, 5]) {
      expect(JSON.parse((await client.response()).body).url).toBe(`/${n}`);
    }
    client.end();
    expect(proxy.defects).toEqual([]);
  });

  it('sends a small and a large body, with Content-Length and chunked', async () => {
    const origin = await echo();
    const proxy = await proxied(origin.port);
    for (const size of [0, 1, 5_000, 200_000]) {
      const body = 'x'.repeat(size);
      const sized = await sendRaw(
        proxy.port,
        `POST /a/v1/p HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n${body}`,
      );
      expect(JSON.parse(sized.body).body).toHaveLength(size);
      const chunk = size === 0 ? '' : `${size.toString(16)}\r\n${body}\r\n`;
      const chunked = await sendRaw(
        proxy.port,
        `POST /a/v1/p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`,
      );
      expect(JSON.parse(chunked.body).body).toHaveLength(size);
    }
  });

  it('answers 404 for a path without a version, as a problem document', async () => {
    const origin = await echo();
    const proxy = await proxied(origin.port);
    const response = await sendRaw(proxy.port, 'GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(response.status).toBe(404);
    expect(response.headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(response.body)).toMatchObject({
      status: 404,
      code: 'no_route',
      instance: '/nowhere',
      data: null,
    });
    expect(origin.seen).toHaveLength(0);
  });

  it('answers 502 when the backend does not listen', async () => {
    const origin = await startRawOrigin(() => undefined);
    await origin.close();
    const proxy = await proxied(origin.port);
    const response = await sendRaw(proxy.port, GET);
    expect(response.status).toBe(502);
    expect(JSON.parse(response.body).code).toBe('upstream_connect_failed');
  });

  it('matches both spellings of a character that needs no encoding, and forwards the one that was sent', async () => {
    const origin = await echo();
    const proxy = await startProxy(
      oneRoute({
        backendPort: origin.port,
        app: { gateway_path: '/a:b' },
        endpoints: [
          { path: '/users:batch', policy_override: { auth: { auth_type: 'api_key' } } },
          { path: '/{id}/x' },
        ],
      }),
    );
    closers.push(() => proxy.close());
    for (const path of ['/a:b/v1/users:batch', '/a%3Ab/v1/users%3abatch', '/a%3Ab/v1/users%3A%62atch']) {
      expect((await sendRaw(proxy.port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)).status, path).toBe(401);
    }
    const response = await sendRaw(proxy.port, 'GET /a%3ab/v1/%2b1%2a/x?y=%3A HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(JSON.parse(response.body).url).toBe('/%2B1%2A/x?y=%3A');
    const bare = await sendRaw(proxy.port, 'GET /a%3Ab/v1 HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(JSON.parse(bare.body).url).toBe('/');
  });
});
