/** Max-Forwards (RFC 9110 section 7.6.2): OPTIONS and TRACE are answered here, or forwarded with one less. */
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { Policy } from '../../../src/policy/registry.ts';
import { startRawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';

const closers = closeAfterEach();

async function setUp(policy?: Policy): Promise<{ client: RawClient; received: readonly string[] }> {
  const origin = await startRawOrigin((socket, received) => {
    if (received.endsWith('\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  });
  closers.push(() => origin.close());
  const proxy = await startProxy(
    oneRoute({ backendPort: origin.port, ...(policy === undefined ? {} : { policy }) }),
  );
  closers.push(() => proxy.close());
  const client = await connectRaw(proxy.port);
  closers.push(() => client.end());
  return { client, received: origin.received };
}

const ask = (method: string, fields: string): string =>
  `${method} /a/v1/x?q HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;

describe('a request that may go no further', () => {
  it('is answered here: OPTIONS with 204, TRACE with the request except its secrets', async () => {
    const { client, received } = await setUp();
    client.write(ask('OPTIONS', 'Max-Forwards: 0\r\n'));
    expect((await client.response()).status).toBe(204);
    client.write(ask('TRACE', 'max-forwards:  000\r\nCookie: secret\r\nVia: 1.1 first\r\n'));
    const { status, headers, body } = await client.response();
    expect([status, headers['content-type']]).toEqual([200, 'message/http']);
    expect(body).toBe('TRACE /a/v1/x?q HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\nVia: 1.1 first\r\n\r\n');
    expect(received).toEqual([]);
  });

  it.each(['OPTIONS', 'TRACE'])('passes policy first: %s without a key is 401', async (method) => {
    const { client } = await setUp({ auth: { auth_type: 'api_key' } });
    client.write(ask(method, 'Max-Forwards: 0\r\n'));
    expect((await client.response()).status).toBe(401);
  });

  it.each(['-1', 'x', '', '1, 2', '1.5'])('with the value %j is a 400', async (value) => {
    const { client, received } = await setUp();
    client.write(ask('OPTIONS', `Max-Forwards: ${value}\r\n`));
    expect((await client.response()).status).toBe(400);
    expect(received).toEqual([]);
  });
});

describe('a request that may be forwarded', () => {
  it.each(['OPTIONS', 'TRACE'])('%s has one less, however often it comes', async (method) => {
    const { client, received } = await setUp();
    for (let n = 0; n < 5; n++) {
      client.write(ask(method, 'X-A: b\r\nMax-Forwards: 10\r\n'));
      expect((await client.response()).status).toBe(200);
    }
    const fields = received.join('').match(/^max-forwards:.*$/gim);
    expect(fields).toEqual(Array.from({ length: 5 }, () => 'Max-Forwards: 9'));
    expect(received.join('').match(/X-A: b/g)).toHaveLength(5);
  });

  it('keeps the field unchanged with other methods, also when methods alternate', async () => {
    const { client, received } = await setUp();
    for (const method of ['GET', 'OPTIONS', 'GET', 'OPTIONS', 'DELETE']) {
      client.write(ask(method, 'Max-Forwards: 1\r\n'));
      expect((await client.response()).status).toBe(200);
    }
    const counts = received.join('').match(/(?<=max-forwards: )\d/gi);
    expect(counts).toEqual(['1', '0', '1', '0', '1']);
  });
});
