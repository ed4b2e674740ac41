/** The conformance corpus over real sockets: every request to the running engine, every response from a backend. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCases } from '../../conformance/read-cases.ts';
import { startRawOrigin, type RawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';
import { connectRaw, sendRaw } from '../../support/clients/raw-client.ts';
import { untilHolds } from '../../support/measure/until.ts';

const CATCH_ALL = { app: { gateway_path: '/', allow_encoded_slashes: true }, version: { gateway_path: '/' } };
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

describe('requests of the corpus', () => {
  let origin: RawOrigin;
  let proxy: TestProxy;
  beforeAll(async () => {
    origin = await startRawOrigin((socket, received) => {
      // One answer per connection is enough: the gateway opens another one when it needs to.
      if (received.includes('\r\n\r\n') && socket.bytesWritten === 0) socket.end(OK);
    });
    proxy = await startProxy(oneRoute({ backendPort: origin.port, ...CATCH_ALL }));
  });
  afterAll(async () => {
    await proxy.close();
    await origin.close();
  });

  /** Resolves when what earlier cases left behind opens no connection to the backend any more. */
  async function settled(): Promise<void> {
    await untilHolds(() => proxy.listener.connectionCount === 0, 'earlier cases have ended');
    // A connection of theirs on its way to the backend is accepted before that of this request.
    expect((await sendRaw(proxy.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')).status).toBe(200);
    await untilHolds(() => proxy.listener.connectionCount === 0, 'the request has ended');
  }

  it.each(readCases('request').map((entry) => [`${entry.location} ${entry.name}`, entry] as const))(
    '%s',
    async (_name, { rawBytes, expect: expected }) => {
      const isRefusedAtHead = expected.outcome === 'refuse' && expected.at === 'head';
      if (isRefusedAtHead) await settled();
      const before = origin.connections();
      const client = await connectRaw(proxy.port);
      client.write(rawBytes);
      if (expected.outcome === 'incomplete') {
        await new Promise((done) => setTimeout(done, 50));
        expect(client.received()).not.toMatch(/^HTTP\/1\.1 [45]/);
        client.end();
        return;
      }
      const response = await client.response({ head: rawBytes.toString('latin1').startsWith('HEAD ') });
      if (expected.outcome === 'refuse') {
        // A body may be refused after the backend has answered its head; then the connection just ends.
        if (expected.at !== 'body') expect(response.status).toBe(expected.status);
        else expect([200, expected.status]).toContain(response.status);
        if (isRefusedAtHead) expect(origin.connections()).toBe(before);
        if (expected.close) await client.closed();
      } else {
        const isOwnAnswer = rawBytes.toString('latin1').startsWith('OPTIONS * ');
        expect(response.status).toBe(isOwnAnswer ? 204 : 200);
      }
      client.end();
      expect(proxy.defects).toEqual([]);
    },
  );
});

describe('responses of the corpus', () => {
  let bytes: Buffer = Buffer.alloc(0);
  let origin: RawOrigin;
  let proxy: TestProxy;
  beforeAll(async () => {
    origin = await startRawOrigin((socket, received) => {
      if (!received.includes('\r\n\r\n') || socket.bytesWritten > 0) return;
      socket.end(bytes);
    });
    proxy = await startProxy(
      oneRoute({
        backendPort: origin.port,
        ...CATCH_ALL,
        revision: { circuit_breaker: { failures: 1_000_000 } },
      }),
    );
  });
  afterAll(async () => {
    await proxy.close();
    await origin.close();
  });

  // The engine's own limit of fields is higher than the corpus's, and an unrequested 101 is refused.
  const cases = readCases('response').filter(
    ({ name, expect: expected }) => name !== 'Too many fields' && expected.status !== 101,
  );
  it.each(cases.map((entry) => [`${entry.location} ${entry.name}`, entry] as const))(
    '%s',
    async (_name, { rawBytes, requestMethod, expect: expected }) => {
      bytes = rawBytes;
      const client = await connectRaw(proxy.port);
      client.write(`${requestMethod} /x HTTP/1.1\r\nHost: a\r\n\r\n`);
      if (expected.outcome === 'accept') {
        const response = await client.response({ head: requestMethod === 'HEAD' });
        if (expected.status !== undefined) expect(response.status).toBe(expected.status);
        else expect(response.headers['content-type']).not.toBe('application/problem+json');
        client.write('GET //x HTTP/1.1\r\nHost: a\r\n\r\n');
        expect((await client.response()).status).toBe(400);
      } else {
        await endOrError(client);
        // Either nothing of the response was passed on and the answer is 502, or the client sees it cut short.
        if (!withoutInterim(client.received()).startsWith('HTTP/1.1 502 ')) {
          await client.closed();
          await expect(client.response({ head: requestMethod === 'HEAD' })).rejects.toThrow();
        }
      }
      client.end();
      expect(proxy.defects).toEqual([]);
    },
  );

  function withoutInterim(text: string): string {
    return text.replace(/^(?:HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)+/, '');
  }

  async function endOrError(client: Awaited<ReturnType<typeof connectRaw>>): Promise<void> {
    const deadline = performance.now() + 5_000;
    let closed = false;
    client.closed(5_000).then(
      () => (closed = true),
      () => undefined,
    );
    while (
      !closed &&
      !withoutInterim(client.received()).includes('\r\n\r\n') &&
      performance.now() < deadline
    ) {
      await new Promise((done) => setTimeout(done, 5));
    }
  }
});
