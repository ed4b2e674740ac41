/** Contract part 2 "Policy object": `allowed_methods`; and the extension `max_body_bytes`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createPolicies } from '../../support/policies.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';
import { echoed, problem, request, requestText } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const GLOBAL_BYTES = 2_000;
let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({ env: { GATEWAY_PROXY__MAX_BODY_BYTES: String(GLOBAL_BYTES) } }),
    startOrigin(),
  ]);
  await createPolicies(gateway, 'shop', origin.port, [
    { path: '/read', policy: { allowed_methods: ['GET'] } },
    { path: '/write', policy: { allowed_methods: ['post', 'PURGE'] } },
    { path: '/ten', policy: { max_body_bytes: 10 } },
    { path: '/more', policy: { max_body_bytes: 100_000 } },
    { path: '/zero', policy: { max_body_bytes: 0 } },
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const statusOf = async (path: string, method: string): Promise<number> =>
  (await request(gateway, `/shop/v1${path}`, { method })).status;

describe('allowed_methods', () => {
  it('a method outside is 405 with Allow, and never reaches the backend', async () => {
    const before = origin.seen.length;
    const response = await request(gateway, '/shop/v1/read', { method: 'POST', body: 'x' });
    expect(problem(response)).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(response.headers['allow']).toBe('GET, HEAD');
    expect(origin.seen).toHaveLength(before);
  });

  it('HEAD is allowed where GET is, and nowhere else', async () => {
    expect(await statusOf('/read', 'HEAD')).toBe(200);
    expect(await statusOf('/write', 'HEAD')).toBe(405);
  });

  it('the configured names are read as upper case; RFC 9110 9.1: the method of a request is compared unchanged', async () => {
    expect(await statusOf('/write', 'POST')).toBe(200);
    expect(await statusOf('/write', 'PURGE')).toBe(200);
    expect(await statusOf('/write', 'post')).toBe(405);
    expect(await statusOf('/write', 'GET')).toBe(405);
  });

  it('OPTIONS is a method like any other', async () => {
    const response = await request(gateway, '/shop/v1/write', { method: 'OPTIONS' });
    expect([response.status, response.headers['allow']]).toEqual([405, 'POST, PURGE']);
  });
});

const chunked = (path: string, chunks: readonly string[]): string =>
  `POST /shop/v1${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n` +
  `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`;
const sized = (path: string, bytes: number): string =>
  requestText(`/shop/v1${path}`, { method: 'POST', body: 'x'.repeat(bytes) });

describe('max_body_bytes', () => {
  it('a body of exactly the limit passes, one byte more is 413 and reaches no backend', async () => {
    expect(echoed(await sendRaw(gateway.proxyPort, sized('/ten', 10))).body).toBe('x'.repeat(10));
    const before = origin.seen.length;
    const response = await sendRaw(gateway.proxyPort, sized('/ten', 11));
    expect(problem(response)).toMatchObject({ status: 413, code: 'body_too_large' });
    expect(origin.seen).toHaveLength(before);
  });

  it('the same for a chunked body, whose length is not announced', async () => {
    const exact = await sendRaw(gateway.proxyPort, chunked('/ten', ['12345', '67890']));
    expect(echoed(exact).body).toBe('1234567890');
    const before = origin.seen.length;
    for (const chunks of [['12345', '678901'], ['1234567890', 'x'], ['x'.repeat(5_000)]]) {
      const response = await sendRaw(gateway.proxyPort, chunked('/ten', chunks));
      expect(problem(response)).toMatchObject({ status: 413, code: 'body_too_large' });
    }
    expect(origin.seen).toHaveLength(before);
  });

  it('a chunked body that becomes too large is cut there: the client gets the error before the body ends', async () => {
    const client = await connectRaw(gateway.proxyPort);
    client.write(
      'POST /shop/v1/ten HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n12345678\r\n',
    );
    client.write('8\r\n12345678\r\n');
    expect((await client.response()).status).toBe(413);
    client.end();
  });

  it('a client that waits for 100-continue is refused before it sends the body', async () => {
    const client = await connectRaw(gateway.proxyPort);
    client.write(
      'POST /shop/v1/ten HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n',
    );
    expect(await client.response()).toMatchObject({ status: 413, interim: [] });
    client.end();
  });

  it('a client that waits for 100-continue with a chunked body may continue, and is cut off where the body becomes too large', async () => {
    const client = await connectRaw(gateway.proxyPort);
    client.write(
      'POST /shop/v1/ten HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    await until(() => client.received().startsWith('HTTP/1.1 100 '));
    client.write('8\r\n12345678\r\n8\r\n12345678\r\n');
    expect(await client.response()).toMatchObject({ status: 413, interim: [100] });
    client.end();
  });

  it('HTTP/1.0 bodies have a length, and the same limit', async () => {
    const send = (bytes: number) =>
      sendRaw(
        gateway.proxyPort,
        `POST /shop/v1/ten HTTP/1.0\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`,
      );
    expect(echoed(await send(10)).body).toBe('x'.repeat(10));
    expect(problem(await send(11))).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  it('chunk framing and trailers do not count, only the body does', async () => {
    const chunks = Array.from({ length: 10 }, () => '1;extension=value\r\nx\r\n').join('');
    const text = `POST /shop/v1/ten HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\nX-Trailer: ${'y'.repeat(50)}\r\n\r\n`;
    expect(echoed(await sendRaw(gateway.proxyPort, text)).body).toBe('x'.repeat(10));
  });

  it('the limit of a policy wins over GATEWAY_PROXY__MAX_BODY_BYTES, in both directions', async () => {
    expect((await sendRaw(gateway.proxyPort, sized('/other', GLOBAL_BYTES))).status).toBe(200);
    expect((await sendRaw(gateway.proxyPort, sized('/other', GLOBAL_BYTES + 1))).status).toBe(413);
    expect((await sendRaw(gateway.proxyPort, sized('/more', GLOBAL_BYTES + 1))).status).toBe(200);
    expect((await sendRaw(gateway.proxyPort, sized('/zero', GLOBAL_BYTES))).status).toBe(200);
    expect((await sendRaw(gateway.proxyPort, sized('/zero', GLOBAL_BYTES + 1))).status).toBe(413);
  });
});
