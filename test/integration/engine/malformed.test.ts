/** What can never become a message of HTTP is refused when it is seen, from either side, and not after a time-out. */
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { startRawOrigin, type RawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';
import { connectRaw, sendRaw, type RawClient } from '../../support/clients/raw-client.ts';

const closers = closeAfterEach();

/** Its time-outs are a minute: what is answered within the patience of a test was not waited for. */
async function proxyTo(port: number): Promise<TestProxy> {
  const proxy = await startProxy(oneRoute({ backendPort: port }));
  closers.push(() => proxy.close());
  return proxy;
}

async function rawOrigin(...args: Parameters<typeof startRawOrigin>): Promise<RawOrigin> {
  const origin = await startRawOrigin(...args);
  closers.push(() => origin.close());
  return origin;
}

const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n';
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

describe('a backend whose connection stays open gets 502 at once for', () => {
  it.each([
    ['lines that end with LF', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
    ['a status line that ends with LF', 'HTTP/1.1 200 OK\n'],
    ['a field that ends with LF', 'HTTP/1.1 200 OK\r\nA: b\n'],
    ['a CR in a field', 'HTTP/1.1 200 OK\r\nA: b\rc'],
    ['a NUL in a field', 'HTTP/1.1 200 OK\r\nA: \0'],
    ['a head that is too large', `HTTP/1.1 200 OK\r\nA: ${'b'.repeat(70_000)}`],
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a TLS record', '\x15\x03\x01\0\x02\x02\x46'],
    ['another version', 'HTTP/2.0 200 OK\r\n'],
    ['a body without a head', '<html>'],
    ['a status that is no number', 'HTTP/1.1 OK\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n'],
    ['an empty line ahead', '\r\n'],
    ['an interim response and rubbish', 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\n'],
    ['a bad chunk in the read of the head', `${CHUNKED}zz\r\nabc\r\n`],
    ['a bad chunk behind a good one', `${CHUNKED}3\r\nabc\r\nzz\r\n`],
    ['a bad chunk behind an early end of data', `${CHUNKED}3\r\nabcd\r\n`],
    ['bad trailers', `${CHUNKED}3\r\nabc\r\n0\r\nX\r\n\r\n`],
  ])('%s', async (_what, bytes) => {
    const origin = await rawOrigin((socket) => void socket.write(bytes, 'latin1'));
    const proxy = await proxyTo(origin.port);
    const response = await sendRaw(proxy.port, GET);
    expect(response.status).toBe(502);
    expect(JSON.parse(response.body).code).toBe('upstream_bad_response');
    expect(proxy.failures).toEqual(['bad_response']);
  });

  it('a client of HTTP/1.0, whose connection ends in order', async () => {
    const origin = await rawOrigin((socket) => void socket.write(`${CHUNKED}zz\r\n`));
    const proxy = await proxyTo(origin.port);
    const response = await sendRaw(proxy.port, 'GET /a/v1/x HTTP/1.0\r\nHost: a\r\n\r\n');
    expect([response.status, JSON.parse(response.body).code]).toEqual([502, 'upstream_bad_response']);
  });

  it('and the connection of the client serves on', async () => {
    const answers = [`${CHUNKED}zz\r\n`, 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'];
    const origin = await rawOrigin((socket) => void socket.write(answers.shift() ?? ''));
    const proxy = await proxyTo(origin.port);
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write(GET);
    expect((await client.response()).status).toBe(502);
    client.write(GET);
    expect((await client.response()).body).toBe('ok');
  });
});

describe('a response that breaks after a part of it has left', () => {
  it('is cut off', async () => {
    let backend: { write(text: string): unknown } | undefined;
    const origin = await rawOrigin((socket) => {
      backend = socket;
      socket.write(`${CHUNKED}3\r\nabc\r\n`);
    });
    const proxy = await proxyTo(origin.port);
    const client: RawClient = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.socket.once('data', () => backend?.write('zz\r\n'));
    client.write(GET);
    await client.closed();
    expect(client.received()).toMatch(/3\r\nabc\r\n$/);
  });
});

describe('a client whose connection stays open gets 400 at once for', () => {
  it.each([
    ['the PROXY protocol', 'PROXY TCP4 192.0.2.1 192.0.2.2 56324 8080\r\n'],
    ['the PROXY protocol with a request behind it', `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${GET}`],
    ['the PROXY protocol in its second version', '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c'],
    ['TLS', '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03'],
    ['SSH', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a line without a version', 'GET /a/v1/x\r\n'],
    ['a line of three words that is not a request line', 'HELO mail example\r\n'],
    ['LF alone', 'GET /a/v1/x HTTP/1.1\n'],
  ])('%s', async (_what, bytes) => {
    const proxy = await proxyTo(1);
    const client = await connectRaw(proxy.port);
    closers.push(() => client.end());
    client.write(Buffer.from(bytes, 'latin1'));
    const response = await client.response();
    expect([response.status, JSON.parse(response.body).code]).toEqual([400, 'bad_request']);
    expect(response.headers['connection']).toBe('close');
  });
});

describe('white space in chunk extensions', () => {
  it('is read, and passes neither way', async () => {
    const spaced = '3 ; a = "b" ;\tc\r\nabc\r\n0 ;d\r\n\r\n';
    const origin = await rawOrigin((socket, received) => {
      if (received.endsWith('0\r\n\r\n')) socket.write(CHUNKED + spaced);
    });
    const proxy = await proxyTo(origin.port);
    const head = 'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    const response = await sendRaw(proxy.port, head + spaced);
    expect([response.status, response.body]).toEqual([200, 'abc']);
    expect(origin.received[0]).toMatch(/\r\n\r\n3\r\nabc\r\n0\r\n\r\n$/);
  });
});
