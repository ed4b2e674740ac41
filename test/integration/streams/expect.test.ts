/**
 * Expect: 100-continue in all its orders (RFC 9110 section 10.1.1), several interim responses (RFC 8297), and trailers
 * both ways (RFC 9110 section 6.5), against backends that send chosen bytes at chosen times.
 */
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { startRawOrigin, type RawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { until } from '../../support/measure/until.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const POST = 'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n';

const closers = closeAfterEach();

async function between(
  onData: Parameters<typeof startRawOrigin>[0],
): Promise<{ readonly origin: RawOrigin; readonly proxy: TestProxy; readonly client: RawClient }> {
  const origin = await startRawOrigin(onData);
  closers.push(() => origin.close());
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }));
  closers.push(() => proxy.close());
  const client = await connectRaw(proxy.port);
  closers.push(() => client.end());
  return { origin, proxy, client };
}

const hasHead = (text: string): boolean => text.includes('\r\n\r\n');

describe('Expect: 100-continue', () => {
  it('the backend says 100, then the body goes, then the answer comes', async () => {
    const { origin, client } = await between((socket, received) => {
      if (received.endsWith('body')) socket.write(OK);
      else if (hasHead(received)) socket.write(CONTINUE);
    });
    client.write(POST);
    await until(() => client.received().includes(CONTINUE));
    expect(origin.received[0]).not.toContain('body');
    client.write('body');
    expect(await client.response()).toMatchObject({ status: 200, interim: [100], body: 'ok' });
    expect(origin.received[0]).toMatch(/\r\nExpect: 100-continue\r\n/i);
  });

  it.each([
    ['417', 'HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n', 417],
    ['401', 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n', 401],
    ['200', OK, 200],
  ])('the backend answers %s at once: no 100, and no body is asked for', async (_name, answer, status) => {
    const { origin, client } = await between((socket, received) => {
      if (hasHead(received)) socket.write(answer);
    });
    client.write(POST);
    expect(await client.response()).toMatchObject({ status, interim: [] });
    // Whether the client would now send the body or another request cannot be told: the connection ends.
    await client.closed();
    expect(client.received()).toMatch(/\r\nConnection: close\r\n/);
    expect(origin.received[0]).not.toContain('body');
  });

  it('the client does not wait: its body goes, and the answer comes with or without a 100', async () => {
    const { client } = await between((socket, received) => {
      if (received.endsWith('body')) socket.write(OK);
    });
    client.write(`${POST}body`);
    expect(await client.response()).toMatchObject({ status: 200, body: 'ok' });
    client.write(`${POST}body`);
    expect((await client.response()).status).toBe(200);
  });

  it('an HTTP/1.0 client is not made to wait and gets no 100', async () => {
    const { origin, client } = await between((socket, received) => {
      if (received.endsWith('body')) socket.write(CONTINUE + OK);
    });
    client.write(POST.replace('HTTP/1.1', 'HTTP/1.0') + 'body');
    expect(await client.response()).toMatchObject({ status: 200, interim: [] });
    expect(origin.received[0]).not.toMatch(/\r\nExpect:/i);
  });

  it('of a chunked body with trailers', async () => {
    const { origin, client } = await between((socket, received) => {
      if (received.endsWith('X-Sum: 1\r\n\r\n')) socket.write(OK);
      else if (hasHead(received) && !received.includes('body')) socket.write(CONTINUE);
    });
    client.write(POST.replace('Content-Length: 4', 'Transfer-Encoding: chunked'));
    await until(() => client.received().includes(CONTINUE));
    client.write('4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\n');
    expect((await client.response()).status).toBe(200);
    expect(origin.received[0]).toContain('4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\n');
  });

  it('the gateway itself refuses without asking for the body', async () => {
    const { origin, client } = await between(() => undefined);
    client.write(POST.replace('/a/v1/x', '/nowhere'));
    expect(await client.response()).toMatchObject({ status: 404, interim: [] });
    expect(origin.connections()).toBe(0);
  });
});

describe('103 Early Hints', () => {
  const hints = (number: number): string =>
    `HTTP/1.1 103 Early Hints\r\nLink: </${number}.css>; rel=preload\r\n\r\n`;

  it('reach the client before the answer, each as it comes', async () => {
    let answer: (bytes: string) => void = () => undefined;
    const { client } = await between((socket) => {
      answer = (bytes) => void socket.write(bytes);
      socket.write(hints(0));
    });
    client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    for (let number = 1; number <= 4; number++) {
      await until(() => client.received().includes(`</${number - 1}.css>; rel=preload`));
      answer(number < 4 ? hints(number) : OK);
    }
    expect(await client.response()).toMatchObject({ status: 200, interim: [103, 103, 103, 103] });
  });

  it('are dropped for HTTP/1.0 clients', async () => {
    const { client } = await between((socket) => void socket.write(hints(0) + hints(1) + OK));
    client.write('GET /a/v1/x HTTP/1.0\r\n\r\n');
    expect(await client.response()).toMatchObject({ status: 200, interim: [], body: 'ok' });
    expect(client.received()).not.toContain('.css');
  });
});

describe('trailers', () => {
  const CHUNKED = 'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n';

  it('pass both ways in one exchange, without those that may not be trailers', async () => {
    const { origin, client } = await between((socket, received) => {
      if (received.endsWith('\r\n\r\n') && received.includes('\r\n0\r\nX-Sum'))
        socket.write(`${CHUNKED}2\r\nok\r\n0\r\nX-Sum: 2\r\nSet-Cookie: a=b\r\nTransfer-Encoding: x\r\n\r\n`);
    });
    client.write(
      'POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\nTransfer-Encoding: chunked\r\n\r\n' +
        '2\r\nhi\r\n0\r\nX-Sum: 1\r\nX-Forwarded-For: 6.6.6.6\r\nHost: evil\r\n\r\n',
    );
    expect((await client.response()).body).toBe('ok');
    expect(client.received()).toMatch(/\r\n0\r\nX-Sum: 2\r\n\r\n$/);
    expect(origin.received[0]).toMatch(/\r\n0\r\nX-Sum: 1\r\n\r\n$/);
    expect(origin.received[0]).toMatch(/\r\nTE: trailers\r\n/i);
  });

  it('are dropped for a client of HTTP/1.0, which gets the body alone', async () => {
    const { client } = await between(
      (socket) => void socket.write(`${CHUNKED}2\r\nok\r\n0\r\nX-Sum: 2\r\n\r\n`),
    );
    client.write('GET /a/v1/x HTTP/1.0\r\n\r\n');
    await client.closed();
    expect(client.received()).toMatch(/\r\n\r\nok$/);
    expect(client.received()).not.toContain('X-Sum: 2');
  });

  it('are not lost between responses on one connection', async () => {
    const { client } = await between((socket) => void socket.write(`${CHUNKED}0\r\nX-Sum: 0\r\n\r\n`));
    for (let count = 1; count <= 3; count++) {
      client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
      expect((await client.response()).body).toBe('');
      expect(client.received().split('X-Sum: 0').length - 1).toBe(count);
    }
  });
});
