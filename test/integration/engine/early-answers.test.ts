/**
 * Backends that answer before they have the whole request: the client gets the answer, whatever becomes of the
 * connection that the rest of the body was written to (RFC 9112 section 9.5, RFC 9110 section 15.5.14).
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { Policy } from '../../../src/policy/registry.ts';
import { CA, connectHttp2, request, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { oneRoute, startProxy, type TestProxy, type TestProxyOptions } from '../../support/proxy.ts';
import { connectRaw, type RawResponse } from '../../support/clients/raw-client.ts';
import { startSocketServer, type Certificate } from '../../support/backends/socket-server.ts';

const closers = closeAfterEach();

const KIB = 1024;
const TEXT = 'the request is refused: '.repeat(40);
const sized = (status: number, extra = ''): string =>
  `HTTP/1.1 ${status} No\r\nContent-Length: ${TEXT.length}\r\n${extra}\r\n${TEXT}`;
const CHUNKED = `HTTP/1.1 413 No\r\nTransfer-Encoding: chunked\r\n\r\n${TEXT.length.toString(16)}\r\n${TEXT}\r\n0\r\n\r\n`;
const UNTIL_CLOSE = `HTTP/1.1 413 No\r\nConnection: close\r\n\r\n${TEXT}`;

interface Backend {
  readonly answer: string;
  /** Bytes that it reads before it answers. */
  readonly reads: number;
  readonly closes: boolean;
  readonly certificate?: Certificate;
}

/**
 * Answers when it has read so much of a request. With `closes` it reads no more, and the system resets the connection
 * since bytes lie there unread.
 */
function refuse(socket: Socket, { answer, reads, closes }: Backend): void {
  let read = 0;
  let isAnswered = false;
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    if (chunk.includes('POST ')) {
      read = 0;
      isAnswered = false;
    }
    read += chunk.length;
    if (isAnswered || read < reads) return;
    isAnswered = true;
    if (closes) socket.pause();
    socket.write(answer, () => {
      if (closes) socket.destroy();
    });
  });
}

async function proxyTo(backend: Backend, options: TestProxyOptions = {}): Promise<TestProxy> {
  const server = await startSocketServer((socket) => refuse(socket, backend), backend.certificate);
  const secure = { backend_scheme: 'https', backend_host: 'localhost', backend_tls: { ca: CA } } as const;
  const proxy = await startProxy(
    oneRoute({
      backendPort: server.port,
      revision: {
        circuit_breaker: { failures: 1, open_secs: 60 },
        ...(backend.certificate === undefined ? {} : secure),
      },
    }),
    options,
  );
  closers.push(
    () => server.close(),
    () => proxy.close(),
  );
  return proxy;
}

interface Upload {
  readonly bytes: number;
  readonly chunked?: boolean;
}

/** Writes the body piece by piece, as the connection takes it, until it is out or the answer has come. */
async function upload(port: number, { bytes, chunked = false }: Upload): Promise<RawResponse> {
  const client = await connectRaw(port);
  const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes}`;
  client.write(`POST /a/v1/x HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`);
  const piece = 'x'.repeat(8 * KIB);
  const framed = chunked ? `${piece.length.toString(16)}\r\n${piece}\r\n` : piece;
  let isAnswered = false;
  const send = async (): Promise<void> => {
    for (let sent = 0; sent < bytes && !isAnswered; sent += piece.length)
      await new Promise<void>((done) => void client.socket.write(framed, () => done()));
    if (chunked && !isAnswered) client.write('0\r\n\r\n');
  };
  const sending = send();
  try {
    return await client.response();
  } finally {
    isAnswered = true;
    client.end();
    await sending;
  }
}

const SIZES = [64, 128, 256, 1_024, 3_072].map((kib) => kib * KIB);
const UPLOADS = 100;

function expectAnswered(response: RawResponse, status: number): void {
  expect(response.status).toBe(status);
  expect(response.body).toBe(TEXT);
}

describe('a backend that answers 413 and closes with the upload unread', () => {
  it.each<[string, Partial<Backend>, boolean]>([
    ['with Content-Length', { answer: sized(413) }, false],
    ['with Content-Length, to a chunked upload', { answer: sized(413) }, true],
    ['that says close', { answer: sized(413, 'Connection: close\r\n') }, false],
    ['in chunks', { answer: CHUNKED }, true],
    ['that ends with the connection', { answer: UNTIL_CLOSE }, false],
    ['after a part of the upload', { answer: sized(413), reads: 100 * KIB }, false],
    ['over TLS', { answer: sized(413), certificate: TLS_PAIR }, false],
    ['over TLS, to a chunked upload', { answer: sized(413), certificate: TLS_PAIR }, true],
  ])('%s: every client gets the answer, and no breaker opens', async (_name, backend, chunked) => {
    const proxy = await proxyTo({ answer: '', reads: 1, closes: true, ...backend });
    const lowest = (backend.reads ?? 0) + 64 * KIB;
    for (let n = 0; n < UPLOADS; n += 4) {
      const four = [0, 1, 2, 3].map((k) => Math.max(lowest, SIZES[(n + k) % SIZES.length] ?? 0));
      const responses = await Promise.all(four.map((bytes) => upload(proxy.port, { bytes, chunked })));
      for (const response of responses) expectAnswered(response, 413);
    }
    expect(proxy.failures).toEqual([]);
    expect(proxy.breakerOf('rev-1').status.state).toBe('closed');
    expect(proxy.defects).toEqual([]);
    expect(proxy.pool.idleCount).toBe(0);
  });

  it('reaches clients of HTTP/2, whose connection stays', async () => {
    const proxy = await proxyTo({ answer: sized(413), reads: 1, closes: true }, { tls: TLS_PAIR });
    // What node's client has to send on streams that were closed counts as memory of its session until that ends.
    const client = await connectHttp2(proxy.port, { maxSessionMemory: 1_000 });
    closers.push(() => client.close());
    for (let n = 0; n < UPLOADS; n += 4) {
      const bodies = [0, 1, 2, 3].map((k) => Buffer.alloc(SIZES[(n + k) % SIZES.length] ?? 0, 'x'));
      const responses = await Promise.all(
        bodies.map((body) =>
          request(client, { ':method': 'POST', ':path': '/a/v1/x' }, { body, pieceBytes: 8 * KIB }),
        ),
      );
      for (const { status, body } of responses) {
        expect(status).toBe(413);
        expect(body.toString()).toBe(TEXT);
      }
    }
    expect(proxy.failures).toEqual([]);
    expect(client.session.destroyed).toBe(false);
  });
});

describe('a backend that answers early and reads on', () => {
  it.each([401, 403, 413])('with %i: every client gets the answer', async (status) => {
    const proxy = await proxyTo({ answer: sized(status), reads: 1, closes: false });
    for (const bytes of [...SIZES, ...SIZES]) {
      expectAnswered(await upload(proxy.port, { bytes }), status);
      expectAnswered(await upload(proxy.port, { bytes, chunked: true }), status);
    }
    expect(proxy.failures).toEqual([]);
  });
});

describe('a backend that answers early, reads nothing more and does not close', () => {
  const MIB = 1024 * KIB;

  /** On its first connection it answers the head of a request and reads no more; on others it answers what comes. */
  async function proxyToDeaf(answer: string, policy: Policy = {}): Promise<TestProxy> {
    let connections = 0;
    const server = await startSocketServer((socket) => {
      const isDeaf = connections++ === 0;
      socket.on('error', () => undefined);
      socket.on('data', () => {
        if (isDeaf) socket.pause();
        socket.write(isDeaf ? answer : sized(200));
      });
    });
    const proxy = await startProxy(oneRoute({ backendPort: server.port, policy }));
    closers.push(
      () => server.close(),
      () => proxy.close(),
    );
    return proxy;
  }

  async function get(port: number): Promise<RawResponse> {
    const client = await connectRaw(port);
    client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    const response = await client.response();
    client.end();
    return response;
  }

  it.each<[string, string, number, Policy]>([
    ['413 to a body that the system has taken whole', sized(413), 2 * KIB, {}],
    ['403 to a body that it has not', sized(403), 12 * MIB, { buffer_request_bytes: 16 * MIB }],
    ['200 to a body that it has not', sized(200), 12 * MIB, { buffer_request_bytes: 16 * MIB }],
  ])('%s: the next request gets another connection', async (_name, answer, bytes, policy) => {
    const proxy = await proxyToDeaf(answer, policy);
    expectAnswered(await upload(proxy.port, { bytes }), Number(answer.slice(9, 12)));
    expect(proxy.pool.idleCount).toBe(0);
    expectAnswered(await get(proxy.port), 200);
    expect(proxy.failures).toEqual([]);
  });

  it.each([
    [403, 0],
    [200, 1],
  ])('%i that began before the request was sent: %i connections stay', async (status, idle) => {
    const backend = Promise.withResolvers<Socket>();
    const read = Promise.withResolvers<void>();
    const server = await startSocketServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => {
        if (chunk.includes('POST ')) socket.write(sized(status).slice(0, -8));
        if (chunk.includes('the rest')) read.resolve();
      });
      backend.resolve(socket);
    });
    const proxy = await startProxy(oneRoute({ backendPort: server.port }));
    closers.push(
      () => server.close(),
      () => proxy.close(),
    );
    const client = await connectRaw(proxy.port);
    client.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 13\r\n\r\nhalf ');
    await once(client.socket, 'data');
    client.write('the rest');
    await read.promise;
    (await backend.promise).write(TEXT.slice(-8));
    expectAnswered(await client.response(), status);
    expect(proxy.pool.idleCount).toBe(idle);
    client.end();
  });
});

describe('a backend that closes in the middle of an upload', () => {
  it('without an answer is a 502, and counts', async () => {
    const proxy = await proxyTo({ answer: '', reads: 1, closes: true });
    expect((await upload(proxy.port, { bytes: 256 * KIB })).status).toBe(502);
    expect(proxy.failures).toEqual(['reset']);
    expect(proxy.breakerOf('rev-1').status.state).toBe('open');
  });

  it('with a part of an answer cuts the client off', async () => {
    const proxy = await proxyTo({ answer: sized(200).slice(0, -8), reads: 1, closes: true });
    await expect(upload(proxy.port, { bytes: 256 * KIB })).rejects.toThrow(/Closed before a response/);
    expect(proxy.failures).toEqual(['reset']);
  });

  it('with an answer that would end with the connection, and is no error, cuts the client off', async () => {
    const answer = UNTIL_CLOSE.replace('413 No', '200 OK');
    const proxy = await proxyTo({ answer, reads: 1, closes: true });
    await expect(upload(proxy.port, { bytes: 256 * KIB })).rejects.toThrow(/Closed before a response/);
    expect(proxy.failures).toEqual(['reset']);
  });
});
